from __future__ import annotations

import random

import pytest

from benchmarks.exact_vs_textbook import LOAD, make_instance
from benchmarks.textbook import solve_textbook
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node, Switch
from crop_cli.model.problem import compile_problem, named
from tests.bruteforce import optimum


def small(seed: int) -> Instance:
    """Two racks of two nodes with a few jobs: nodes, failures and bandwidths that matter to the choice."""
    rng = random.Random(seed)
    nodes = [
        Node(
            name=f"n{i}",
            parent=f"r{i // 2}",
            gpus=rng.choice([2, 3, 4]),
            gpu_link_gbps=rng.choice([None, 20.0]),
            fabric_gbps=rng.choice([None, 30.0]),
            uplink_gbps=rng.choice([4.0, 10.0]),
            slowdown=rng.choice([1.0, 1.0, 1.5]),
            failures_per_day=rng.choice([0.0, 0.2]),
        )
        for i in range(4)
    ]
    switches = [Switch(name=f"r{r}", level="rack", uplink_gbps=rng.choice([3.0, 8.0])) for r in range(2)]
    jobs = [
        Job(
            name=f"j{i}",
            gpus=rng.randint(1, 5),
            weight=rng.choice([1.0, 2.0]),
            compute_s=rng.choice([0.2, 0.5]),
            message_mb=rng.choice([30.0, 200.0]),
            overlap=rng.choice([0.0, 0.3]),
            restart_minutes=60.0,
        )
        for i in range(5)
    ]
    return Instance(format=FORMAT, cluster=Cluster(levels=["rack", "node"], switches=switches, nodes=nodes), jobs=jobs)


@pytest.mark.parametrize("seed", range(8))
def test_textbook_model_is_correct(seed: int) -> None:
    """Its proved optimum, by the evaluator, is that of full enumeration."""
    instance = small(seed)
    best, _ = optimum(instance)
    run = solve_textbook(instance, 60.0)
    assert run.proved
    assert run.placement is not None
    evaluation = evaluate(instance, named(compile_problem(instance), run.placement))
    assert evaluation.feasible
    assert evaluation.objective == pytest.approx(best, rel=2e-6)
    assert run.bound == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("job", [{"pattern": "alltoall"}, {"within": "node"}, {"resources_per_gpu": {"cpu": 1.0}}])
def test_what_the_textbook_model_lacks_is_refused(job: dict[str, object]) -> None:
    """It says so instead of solving another problem."""
    cluster = Cluster(levels=["node"], nodes=[Node(name="n", gpus=2, resources={"cpu": 4.0})])
    instance = Instance(format=FORMAT, cluster=cluster, jobs=[Job(name="j", gpus=2, **job)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not in the textbook model"):
        solve_textbook(instance, 1.0)


def test_instances_of_the_comparison_have_the_load_that_is_claimed() -> None:
    """25 jobs of 1 to 32 GPUs ask for 1.2 times the 128 GPUs, to two per cent, whatever the seed."""
    for seed in range(10):
        sizes = [job.gpus for job in make_instance(seed).jobs]
        assert len(sizes) == 25
        assert min(sizes) >= 1
        assert max(sizes) <= 32
        assert sum(sizes) / 128 == pytest.approx(LOAD, rel=0.021)
