"""Gavel's rounds by hand."""

from __future__ import annotations

from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node
from tests.solvers.baselines.batch import flat, places


def mixed(nodes: list[tuple[str, int]], jobs: list[Job]) -> Instance:
    """Nodes n0, n1, ... of a GPU type and a number of GPUs."""
    made = [Node(name=f"n{i}", gpus=gpus, gpu_type=kind) for i, (kind, gpus) in enumerate(nodes)]
    return Instance(format=FORMAT, cluster=Cluster(levels=["node"], nodes=made), jobs=jobs)


def test_largest_jobs_come_first() -> None:
    """Scale factors are served in descending order, whatever the queue says."""
    jobs = [Job(name="small", gpus=2), Job(name="large", gpus=8)]
    assert places("gavel", flat([8, 8], jobs)) == {"large": {"n0": 8}, "small": {"n1": 2}}


def test_one_pointer_over_the_servers() -> None:
    """GPUs are consumed server by server: a job that does not fit into the rest of one goes on in the next."""
    jobs = [Job(name="six", gpus=6), Job(name="four", gpus=4), Job(name="two", gpus=2)]
    assert places("gavel", flat([8, 8], jobs)) == {
        "six": {"n0": 6},
        "four": {"n0": 2, "n1": 2},
        "two": {"n1": 2},
    }


def test_equal_sizes_stay_in_queue_order() -> None:
    """The sort by size is stable."""
    jobs = [Job(name="b", gpus=4), Job(name="a", gpus=4)]
    assert places("gavel", flat([4, 4], jobs)) == {"b": {"n0": 4}, "a": {"n1": 4}}


def test_who_is_selected_follows_the_queue() -> None:
    """Jobs are chosen in queue order as long as GPUs are left; only their places go by size."""
    jobs = [Job(name="first", gpus=4), Job(name="second", gpus=8), Job(name="third", gpus=2)]
    assert places("gavel", flat([8], jobs)) == {"first": {"n0": 4}, "third": {"n0": 2}}


def test_a_job_goes_to_the_type_on_which_it_is_fastest() -> None:
    """Each job takes the type of its highest normalised throughput, before any takes its second choice."""
    jobs = [
        Job(name="old", gpus=4, compute_s={"a100": 1.0, "v100": 0.9}),
        Job(name="new", gpus=4, compute_s={"a100": 0.3, "v100": 0.9}),
    ]
    assert places("gavel", mixed([("a100", 4), ("v100", 4)], jobs)) == {"old": {"n1": 4}, "new": {"n0": 4}}


def test_a_second_choice_where_the_first_is_gone() -> None:
    """A job whose best type has too few GPUs left takes the next."""
    both = {"a100": 0.3, "v100": 0.9}
    jobs = [Job(name="one", gpus=4, compute_s=both), Job(name="two", gpus=2, compute_s=both)]
    assert places("gavel", mixed([("v100", 4), ("a100", 4)], jobs)) == {"one": {"n1": 4}, "two": {"n0": 2}}


def test_a_gang_does_not_mix_types() -> None:
    """GPUs of two types do not make a place, although the job may run on both."""
    assert places("gavel", mixed([("a100", 2), ("v100", 2)], [Job(name="j", gpus=4)])) == {}


def test_a_shape_that_does_not_fit_tries_the_next_type() -> None:
    """A type with GPUs enough but no node for a job `within` one is given up, and the job's next type tried."""
    job = Job(name="j", gpus=4, within="node", compute_s={"a100": 0.3, "v100": 0.9})
    assert places("gavel", mixed([("a100", 2), ("a100", 2), ("v100", 4)], [job])) == {"j": {"n2": 4}}


def test_a_refused_job_gives_its_gpus_to_the_next_round() -> None:
    """A job without a place leaves its share to a later one."""
    jobs = [Job(name="whole", gpus=4, within="node"), Job(name="loose", gpus=3)]
    assert places("gavel", flat([2, 2], jobs, gpus=2)) == {"loose": {"n0": 2, "n1": 1}}
