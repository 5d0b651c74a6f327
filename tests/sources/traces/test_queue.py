"""The queue that says what runs: examples by hand, and no rule broken on whole traces."""

from __future__ import annotations

import pytest

from crop_cli.model.instance import Cluster, Job, Node, Switch
from crop_cli.sources.traces.queue import Arrival, Outcome, never_fit, run_until


def cluster(*gpus: int, uplink: float | None = None, **node: object) -> Cluster:
    """Nodes n0, n1, ... with so many GPUs each."""
    nodes = [Node(name=f"n{i}", gpus=k, uplink_gbps=uplink, **node) for i, k in enumerate(gpus)]  # type: ignore[arg-type]
    return Cluster(levels=["node"], nodes=nodes)


def job(name: str, gpus: int, at: float, seconds: float, **fields: object) -> Arrival:
    """A job with its times."""
    return Arrival(Job(name=name, gpus=gpus, **fields), at, seconds)  # type: ignore[arg-type]


def names(arrivals: list[Arrival], outcome: Outcome) -> tuple[dict[str, dict[str, int]], list[str], list[str]]:
    """Running, waiting and too large jobs by name."""
    return (
        {arrivals[i].job.name: places for i, places in outcome.running.items()},
        [arrivals[i].job.name for i in outcome.waiting],
        [arrivals[i].job.name for i in outcome.too_large],
    )


def test_the_first_node_that_holds_a_job_whole_is_taken() -> None:
    """Not the first free GPUs."""
    arrivals = [job("a", 3, 0, 9), job("b", 4, 1, 9)]
    assert names(arrivals, run_until(cluster(4, 4), arrivals, 1))[0] == {"a": {"n0": 3}, "b": {"n1": 4}}


def test_a_job_larger_than_a_node_fills_nodes_in_order() -> None:
    """The first free GPUs."""
    arrivals = [job("a", 3, 0, 9), job("b", 6, 1, 9)]
    assert names(arrivals, run_until(cluster(4, 4, 4), arrivals, 1))[0]["b"] == {"n0": 1, "n1": 4, "n2": 1}


def test_one_that_does_not_fit_holds_up_nobody() -> None:
    """A small job behind a large one starts at once."""
    arrivals = [job("a", 3, 0, 9), job("large", 4, 1, 9), job("small", 1, 2, 9)]
    assert names(arrivals, run_until(cluster(4), arrivals, 2)) == ({"a": {"n0": 3}, "small": {"n0": 1}}, ["large"], [])


def test_what_ends_makes_room_in_order_of_arrival() -> None:
    """At 10 both waiting jobs fit by themselves; the earlier one gets the place, at 13 the other one."""
    arrivals = [job("a", 4, 0, 10), job("b", 3, 1, 3), job("c", 4, 2, 5), job("d", 2, 3, 5)]
    assert names(arrivals, run_until(cluster(4), arrivals, 9.9))[1] == ["b", "c", "d"]
    assert names(arrivals, run_until(cluster(4), arrivals, 10))[:2] == ({"b": {"n0": 3}}, ["c", "d"])
    assert names(arrivals, run_until(cluster(4), arrivals, 13))[:2] == ({"c": {"n0": 4}}, ["d"])
    assert names(arrivals, run_until(cluster(4), arrivals, 18))[:2] == ({"d": {"n0": 2}}, [])
    assert names(arrivals, run_until(cluster(4), arrivals, 23)) == ({}, [], [])


def test_ends_come_before_arrivals_of_the_same_time() -> None:
    """A job that arrives as another ends finds its room."""
    arrivals = [job("a", 4, 0, 5), job("b", 4, 5, 5)]
    assert names(arrivals, run_until(cluster(4), arrivals, 5))[0] == {"b": {"n0": 4}}


def test_equal_jobs_start_in_order_of_arrival() -> None:
    """They wait in one line."""
    arrivals = [job("a", 4, 0, 5), *(job(f"b{i}", 2, 1, 99) for i in range(3))]
    assert names(arrivals, run_until(cluster(4), arrivals, 6))[:2] == ({"b0": {"n0": 2}, "b1": {"n0": 2}}, ["b2"])


def test_the_future_does_not_count() -> None:
    """Jobs that arrive later are in no list."""
    arrivals = [job("a", 1, 0, 9), job("b", 99, 5, 9)]
    assert names(arrivals, run_until(cluster(4), arrivals, 4)) == ({"a": {"n0": 1}}, [], [])


@pytest.mark.parametrize(
    ("fields", "gpus"),
    [
        ({}, 9),
        ({"within": "node"}, 5),
        ({"compute_s": {"V100": 1.0}}, 1),
        ({"resources_per_gpu": {"cpu": 20.0}}, 1),
        ({"resources_per_gpu": {"cpu": 4.0}, "within": "node"}, 4),
        ({"resources_per_gpu": {"gold": 1.0}}, 1),
    ],
    ids=["GPUs", "one node", "type", "cores", "cores of one node", "unknown resource"],
)
def test_what_can_never_fit_is_told_apart(fields: dict[str, object], gpus: int) -> None:
    """It neither runs nor waits."""
    place = cluster(4, 4, gpu_type="A100", resources={"cpu": 12.0})
    arrivals = [job("never", gpus, 0, 9, **fields), job("b", 1, 1, 9)]
    running, waiting, too_large = names(arrivals, run_until(place, arrivals, 1))
    assert (set(running), waiting, too_large) == ({"b"}, [], ["never"])
    assert never_fit(place, [arrival.job for arrival in arrivals]) == {0}


def test_what_others_use_and_nodes_that_are_down_are_no_room() -> None:
    """Only free GPUs of nodes that are up count."""
    nodes = [
        Node(name="n0", gpus=8, state="drained"),
        Node(name="n1", gpus=8, used={"gpus": 6}),
        Node(name="n2", gpus=8, state="down"),
    ]
    arrivals = [job("a", 2, 0, 9), job("b", 3, 0, 9)]
    outcome = run_until(Cluster(levels=["node"], nodes=nodes), arrivals, 0)
    assert names(arrivals, outcome) == ({"a": {"n1": 2}}, [], ["b"])


def test_cores_are_taken_and_given_back() -> None:
    """The second job waits for the cores of the first, not for its GPUs."""
    place = cluster(8, resources={"cpu": 10.0})
    arrivals = [job("a", 1, 0, 5, resources_per_gpu={"cpu": 8.0}), job("b", 1, 1, 5, resources_per_gpu={"cpu": 4.0})]
    assert names(arrivals, run_until(place, arrivals, 1))[1] == ["b"]
    assert names(arrivals, run_until(place, arrivals, 5))[0] == {"b": {"n0": 1}}


def test_allowed_types_are_kept_to() -> None:
    """A job goes to the nodes whose type its seconds name."""
    nodes = [Node(name="n0", gpus=4, gpu_type="A"), Node(name="n1", gpus=4, gpu_type="B")]
    arrivals = [job("a", 2, 0, 9, compute_s={"B": 1.0})]
    assert names(arrivals, run_until(Cluster(levels=["node"], nodes=nodes), arrivals, 0))[0] == {"a": {"n1": 2}}


def heavy(name: str, gpus: int, at: float = 0) -> Arrival:
    """A job that fills any uplink it cuts."""
    return job(name, gpus, at, 9, message_mb=1e6, compute_s=1.0)


def test_an_uplink_that_is_full_is_left_alone() -> None:
    """The first free GPUs are on a full uplink, the first free nodes are not."""
    place = cluster(4, 4, 4, 4, uplink=10)
    arrivals = [heavy("a", 6), heavy("b", 6)]
    assert names(arrivals, run_until(place, arrivals, 0))[0] == {"a": {"n0": 4, "n1": 2}, "b": {"n2": 4, "n3": 2}}


def test_a_job_waits_for_an_uplink() -> None:
    """GPUs are free, but only behind a full uplink; oversubscription lets it in."""
    arrivals = [heavy("a", 6), heavy("b", 6)]
    place = cluster(4, 4, 4, uplink=10)
    assert names(arrivals, run_until(place, arrivals, 0))[1] == ["b"]
    wide = Cluster(levels=["node"], nodes=place.nodes, oversubscription=2.0)
    assert names(arrivals, run_until(wide, arrivals, 0))[0]["b"] == {"n1": 2, "n2": 4}


def test_uplinks_of_racks_count_too() -> None:
    """Two jobs over two racks whose uplinks one fills: the other waits, though its nodes' uplinks are free."""
    switches = [Switch(name=f"r{r}", level="rack", uplink_gbps=10) for r in range(2)]
    nodes = [Node(name=f"n{r}{i}", gpus=2, parent=f"r{r}") for r in range(2) for i in range(2)]
    nodes = [nodes[0], nodes[2], nodes[1], nodes[3]]
    arrivals = [heavy("a", 4), heavy("b", 4, 1), heavy("c", 2, 2)]
    outcome = run_until(Cluster(levels=["rack", "node"], switches=switches, nodes=nodes), arrivals, 2)
    assert names(arrivals, outcome) == ({"a": {"n00": 2, "n10": 2}, "c": {"n01": 2}}, ["b"], [])
