"""The evaluator against figures computed by hand from the definitions."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance
from tests.bruteforce import World, enumerate_job
from tests.tiny import random_instance


def instance(jobs: list[dict[str, Any]], **cluster: Any) -> Instance:
    """Two racks of two nodes of 4 GPUs unless said otherwise."""
    base: dict[str, Any] = {
        "levels": ["rack", "node"],
        "switches": [
            {"name": "r1", "level": "rack", "uplink_gbps": 100},
            {"name": "r2", "level": "rack", "uplink_gbps": 100},
        ],
        "nodes": [
            {"name": f"n{i}", "parent": f"r{1 + i // 2}", "gpus": 4, "uplink_gbps": 50, **cluster.pop(f"n{i}", {})}
            for i in range(4)
        ],
    }
    objective = cluster.pop("objective", {})
    return msgspec.convert(
        {"format": "crop-instance/1", "cluster": {**base, **cluster}, "objective": objective, "jobs": jobs}, Instance
    )


def kinds(evaluation: Evaluation) -> list[str]:
    """Words of the broken rules."""
    return [violation.kind for violation in evaluation.violations]


def test_allreduce_over_two_racks() -> None:
    """A ring over two racks is as slow as the slowest uplink it crosses, here a node's."""
    job = {"name": "a", "gpus": 8, "compute_s": 1.0, "message_mb": 1000}
    result = evaluate(instance([job]), {"a": {"n0": 4, "n2": 4}})
    assert result.feasible
    # 2·1000·7/8 = 1750 MB; 8e-3·1750/50 = 0.28 s on node uplinks, 0.14 s on rack uplinks.
    outcome = result.jobs["a"]
    assert outcome.comm_s == pytest.approx(0.28)
    assert outcome.iteration_s == pytest.approx(1.28)
    assert outcome.level == "cluster"
    assert len(outcome.cuts) == 4
    assert result.objective == pytest.approx(8 / 1.28 - 0.001 * 4)
    assert result.metrics.communication_overhead == pytest.approx(0.28 / 1.28)
    assert result.metrics.throughput == pytest.approx(8 / 1.28)
    rack = next(t for t in result.metrics.traffic if t.level == "rack")
    # r = 8e-3·1750 / (1 + 0.14) on a rack uplink of 100 Gbit/s.
    assert rack.reserved_gbps == pytest.approx(2 * 14 / 1.14)
    assert rack.highest_load == pytest.approx(14 / 1.14 / 100)
    assert rack.highest_loaded_uplink == "r1"
    assert rack.gb_per_iteration == pytest.approx(3.5)


def test_alltoall_depends_on_the_split() -> None:
    """An exchange of all with all sends V·x·(k−x)/k over an uplink."""
    job = {"name": "a", "gpus": 4, "compute_s": 0.1, "message_mb": 100, "pattern": "alltoall"}
    even = evaluate(instance([job]), {"a": {"n0": 2, "n1": 2}})
    uneven = evaluate(instance([job]), {"a": {"n0": 3, "n1": 1}})
    assert even.jobs["a"].comm_s == pytest.approx(8e-3 * 100 * 2 * 2 / 4 / 50)
    assert uneven.jobs["a"].comm_s == pytest.approx(8e-3 * 100 * 3 * 1 / 4 / 50)
    assert even.jobs["a"].level == "rack"


def test_gpu_link_and_fabric_bound_a_job_inside_one_node() -> None:
    """Inside a node the slower of GPU link and shared fabric decides; fewer workers per node load a fabric less."""
    job = {"name": "a", "gpus": 4, "message_mb": 100}
    slow = {"gpu_link_gbps": 40, "fabric_gbps": 20, "uplink_gbps": None}
    cluster = instance([job], n0=slow, n1=slow)
    together = evaluate(cluster, {"a": {"n0": 4}})
    split = evaluate(cluster, {"a": {"n0": 2, "n1": 2}})
    # b¹ = 150 MB: 1.2/40 s on the link, x·1.2/20 s on the fabric.
    assert together.jobs["a"].comm_s == pytest.approx(0.24)
    assert split.jobs["a"].comm_s == pytest.approx(0.12)


def test_one_worker_never_communicates() -> None:
    """A job of one worker has no link of its own to cross."""
    job = {"name": "a", "gpus": 1, "message_mb": 1e6}
    result = evaluate(instance([job], n0={"gpu_link_gbps": 1, "fabric_gbps": 1}), {"a": {"n0": 1}})
    assert result.jobs["a"].comm_s == 0
    assert result.objective == pytest.approx(1.0)


def test_overlap_hides_communication_behind_computation() -> None:
    """Only what exceeds o·comp is waited for."""
    job = {"name": "a", "gpus": 8, "message_mb": 1000, "overlap": 0.2}
    result = evaluate(instance([job]), {"a": {"n0": 4, "n2": 4}})
    assert result.jobs["a"].iteration_s == pytest.approx(1.08)


def test_types_slowdown_and_failures() -> None:
    """Efficiency is relative to the cluster's best type; a failure costs restart and half a checkpoint interval."""
    job = {"name": "a", "gpus": 2, "compute_s": {"A": 1.0, "B": 2.0}, "restart_minutes": 9, "checkpoint_minutes": 6}
    cluster = instance(
        [job],
        n0={"gpu_type": "B", "slowdown": 1.5, "failures_per_day": 2.0},
        n1={"gpu_type": "A"},
        n2={"gpu_type": "C"},
        n3={"gpu_type": "C"},
    )
    result = evaluate(cluster, {"a": {"n0": 2}})
    assert result.jobs["a"].efficiency == pytest.approx(1 / 3)
    assert result.jobs["a"].goodput == pytest.approx(2 * (1 / 3 - 2.0 * 12 / 1440))
    assert result.metrics.failures_per_day == pytest.approx(2.0)
    assert kinds(evaluate(cluster, {"a": {"n2": 2}})) == ["type not allowed"]


def test_migration_is_paid_only_when_something_moves() -> None:
    """A movable job pays w·k·migration/horizon when its placement differs in any node."""
    job = {
        "name": "a",
        "gpus": 2,
        "weight": 3,
        "placement": {"n0": 2},
        "movable": True,
        "migration_minutes": 72,
    }
    stays = evaluate(instance([job]), {"a": {"n0": 2}})
    moves = evaluate(instance([job]), {"a": {"n1": 2}})
    assert stays.objective == pytest.approx(6.0)
    assert moves.objective == pytest.approx(6.0 - 3 * 2 * 72 / 1440)
    assert moves.metrics.jobs_moved == 1


def test_blast_radius_is_the_weighted_goodput_of_what_touches() -> None:
    """The worst node is the one whose jobs are worth most together."""
    jobs = [{"name": "a", "gpus": 2, "weight": 2}, {"name": "b", "gpus": 2}, {"name": "c", "gpus": 3}]
    metrics = evaluate(instance(jobs), {"a": {"n0": 2}, "b": {"n0": 2}, "c": {"n2": 3}}).metrics
    assert (metrics.worst_node, metrics.worst_node_blast) == ("n0", pytest.approx(6.0))
    assert (metrics.worst_switch, metrics.worst_switch_blast) == ("r1", pytest.approx(6.0))


@pytest.mark.parametrize(
    ("job", "placement", "rule"),
    [
        ({}, {"n0": 3}, "gang"),
        ({}, {}, "gang"),
        ({}, {"n9": 4}, "unknown node"),
        ({}, {"n0": 4, "n1": 0}, "bad count"),
        ({}, {"n0": 5, "n1": -1}, "bad count"),
        ({"within": "node"}, {"n0": 2, "n1": 2}, "within"),
        ({"within": "rack"}, {"n0": 2, "n2": 2}, "within"),
        ({"segment": {"gpus": 2, "level": "rack"}}, {"n0": 3, "n2": 1}, "segment"),
        ({"spread": {"level": "rack", "max_gpus": 2}}, {"n0": 2, "n1": 2}, "spread"),
        ({"gpus_per_node": 2}, {"n0": 4}, "gpus_per_node"),
        ({"gpus": 5}, {"n0": 5}, "capacity"),
        ({"resources_per_gpu": {"cpu": 1}}, {"n0": 4}, "capacity"),
        ({"placement": {"n0": 4}}, {"n1": 4}, "pinned job moved"),
    ],
)
def test_every_rule_is_checked(job: dict[str, Any], placement: dict[str, int], rule: str) -> None:
    """A placement that breaks one rule is refused by that rule alone."""
    result = evaluate(instance([{"name": "a", "gpus": 4, **job}]), {"a": placement})
    assert set(kinds(result)) == {rule}


def test_jobs_that_must_run_are_missed() -> None:
    """A required job without a place and a running job that was stopped are violations."""
    jobs = [
        {"name": "a", "gpus": 1, "required": True},
        {"name": "b", "gpus": 1, "placement": {"n0": 1}, "movable": True},
    ]
    assert kinds(evaluate(instance(jobs), {"x": {"n0": 1}})) == [
        "unknown job",
        "required job missing",
        "running job stopped",
    ]


def test_nodes_that_are_not_up_take_nothing() -> None:
    """Drained and down nodes are refused, and their GPUs are not counted."""
    result = evaluate(instance([{"name": "a", "gpus": 4}], n0={"state": "drained"}), {"a": {"n0": 4}})
    assert kinds(result) == ["node not up"]
    assert result.metrics.gpus_total == 12


def test_an_uplink_is_not_overbooked() -> None:
    """Two rings may not reserve more than φ·B of one uplink; more oversubscription admits them."""
    jobs = [{"name": n, "gpus": 4, "compute_s": 0.1, "message_mb": 400} for n in "ab"]
    placement = {"a": {"n0": 2, "n2": 2}, "b": {"n0": 2, "n2": 2}}
    # Each: 4.8 Gbit per iteration of 0.1 + 4.8/50 s = 24.5 Gbit/s of the 50 of a node: 48.98 fits, 49 % more does not.
    assert evaluate(instance(jobs), placement).feasible
    tight = evaluate(instance(jobs, oversubscription=0.9), placement)
    assert kinds(tight) == ["uplink", "uplink"]
    assert "of 45" in tight.violations[0].message


def test_stranded_gpus_are_those_no_waiting_job_could_use() -> None:
    """Free GPUs are stranded when every job that waits is shut out of their node, or altogether."""
    used = {f"n{i}": {"used": {"gpus": 2}} for i in range(4)}
    whole = [{"name": "w", "gpus": 8, "gpus_per_node": 4}]
    assert evaluate(instance(whole, **used), {}).metrics.gpus_stranded == 8
    anywhere = [*whole, {"name": "x", "gpus": 3, "within": "rack"}]
    assert evaluate(instance(anywhere, **used), {}).metrics.gpus_stranded == 0
    node = [*whole, {"name": "x", "gpus": 2, "within": "node"}]
    used["n3"] = {"used": {"gpus": 3}}
    assert evaluate(instance(node, **used), {}).metrics.gpus_stranded == 1
    assert evaluate(instance([], **used), {}).metrics.gpus_stranded == 0


def test_stranded_gpus_respect_bandwidth() -> None:
    """A job that fits only across an uplink without bandwidth left does not make GPUs usable."""
    jobs = [{"name": "x", "gpus": 8, "compute_s": 0.01, "message_mb": 1000}]
    switches = [
        {"name": "r1", "level": "rack", "uplink_gbps": 100},
        {"name": "r2", "level": "rack", "uplink_gbps": 100},
    ]
    cluster = instance(
        jobs, n1={"used": {"gpus": 4}}, n3={"used": {"gpus": 4}}, switches=switches, oversubscription=0.5
    )
    assert evaluate(cluster, {}).metrics.gpus_stranded == 8


def test_a_gpu_that_no_whole_placement_uses_is_stranded() -> None:
    """A node that could hold one of the workers is of no use where the other three then find no place."""
    job = {"name": "x", "gpus": 4, "compute_s": 1, "message_mb": 100, "pattern": "alltoall", "overlap": 1}
    nodes = [{"name": "whole", "gpus": 4, "uplink_gbps": 1}, {"name": "crumb", "gpus": 1, "uplink_gbps": 100}]
    # Three of four workers send 75 MB a second, 0.6 Gbit/s: more than half of the uplink of "whole".
    tight = instance([job], levels=["node"], switches=[], nodes=nodes, oversubscription=0.5)
    assert evaluate(tight, {}).metrics.gpus_stranded == 1
    assert evaluate(msgspec.structs.replace(tight, jobs=[]), {}).metrics.gpus_stranded == 0
    wide = instance([job], levels=["node"], switches=[], nodes=nodes, oversubscription=0.6)
    assert evaluate(wide, {}).metrics.gpus_stranded == 0


@pytest.mark.parametrize("seed", range(800, 830))
def test_stranded_gpus_are_those_of_nodes_in_no_placement(seed: int) -> None:
    """Enumerating all placements of every waiting job finds the same stranded GPUs."""
    tiny = random_instance(seed, max_nodes=6)
    world = World(tiny)
    placed = {job.name: dict(job.placement) for job in tiny.jobs if job.placement and not job.movable}
    waiting = [job for job in tiny.jobs if job.name not in placed]
    useful = {name for job in waiting for counts in enumerate_job(world, job) for name in counts}
    useless = [n.name for n in tiny.cluster.nodes if n.state == "up" and n.name not in useful] if waiting else []
    stranded = sum(round(world.free[name]["gpus"]) for name in useless)
    assert evaluate(tiny, placed).metrics.gpus_stranded == stranded


def test_the_evaluator_knows_no_solver_and_no_compiled_array() -> None:
    """The judge and all it imports stay apart from what it judges."""
    root = Path(__file__).parents[2] / "crop_cli"
    seen, queue = set(), ["model/evaluate.py"]
    while queue:
        path = queue.pop()
        if path in seen:
            continue
        seen.add(path)
        imports = (
            n.module or "" for n in ast.walk(ast.parse((root / path).read_text())) if isinstance(n, ast.ImportFrom)
        )
        queue += ["/".join(module.split(".")[1:]) + ".py" for module in imports if module.startswith("crop_cli.")]
    assert not [path for path in seen if path.startswith(("solvers/", "cli/"))]
    assert not seen & {"model/problem.py", "model/kinds.py", "model/tree.py"}
