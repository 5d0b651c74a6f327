"""Reasons of unplaced jobs: the right limit, with the right numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from crop_cli.model.instance import Instance
from crop_cli.model.problem import Placement, compile_problem
from crop_cli.reasons.unplaced import unplaced_reasons
from tests.bruteforce import World, enumerate_job, job_utility
from tests.tiny import random_instance

IN_USE = "; what is in use already and may not move leaves too little"


def _instance(nodes: list[dict[str, Any]], jobs: list[dict[str, Any]], **cluster: Any) -> Instance:
    data = {
        "format": "crop-instance/1",
        "cluster": {"levels": ["node"], "nodes": nodes, **cluster},
        "jobs": [{"name": f"j{i}", **job} for i, job in enumerate(jobs)],
    }
    return msgspec.convert(data, Instance)


def _racks(free: list[list[int]], jobs: list[dict[str, Any]], **node: Any) -> Instance:
    """Racks of nodes of 8 GPUs of which so many are free."""
    nodes = [
        {"name": f"r{r}-n{n}", "gpus": 8, "parent": f"r{r}", "used": {"gpus": 8 - x}, **node}
        for r, row in enumerate(free)
        for n, x in enumerate(row)
    ]
    switches = [{"name": f"r{r}", "level": "rack", "uplink_gbps": 100} for r in range(len(free))]
    return _instance(nodes, jobs, levels=["rack", "node"], switches=switches)


def _reason(instance: Instance, placement: Placement | None = None, job: int = 0, *, proved: bool = False) -> str:
    return unplaced_reasons(compile_problem(instance), placement or {}, proved=proved)[job]


def test_gpus_of_a_type() -> None:
    """Too few free GPUs of the type: how many are wanted and free, and how many others there are."""
    nodes = [
        {"name": "a", "gpus": 16, "gpu_type": "A100", "used": {"gpus": 4}},
        {"name": "v", "gpus": 8, "gpu_type": "V100"},
        {"name": "d", "gpus": 4, "gpu_type": "A100", "state": "drained"},
    ]
    text = _reason(_instance(nodes, [{"gpus": 16, "compute_s": {"A100": 1}}]))
    assert text == (
        "needs 16 GPUs of type A100; 12 free (besides 8 of other types and 4 on nodes that are drained or down)"
        + IN_USE
    )


def test_larger_than_the_cluster() -> None:
    """A job larger than the whole cluster is told that it can never be placed."""
    text = _reason(_instance([{"name": "a", "gpus": 4}], [{"gpus": 10**6}]))
    assert text == "can never be placed here: needs 1000000 GPUs; 4 free, even in an empty cluster"


def test_another_resource_runs_out() -> None:
    """Too little of another resource: which one, how much each GPU wants, and for how many it is enough."""
    nodes = [{"name": f"n{i}", "gpus": 8, "resources": {"cpu": 96}, "used": {"cpu": 80}} for i in range(2)]
    text = _reason(_instance(nodes, [{"gpus": 4, "resources_per_gpu": {"cpu": 12}}]))
    assert (
        text == "needs 4 GPUs with 12 cpu each; 16 GPUs free, but the cpu left on their nodes is enough for 2" + IN_USE
    )


def test_within_a_rack() -> None:
    """Enough GPUs, but in no one rack: what the best rack has, and that it would fit without the limit."""
    text = _reason(_racks([[8, 4], [8, 2]], [{"gpus": 16, "within": "rack"}]))
    assert text == (
        "needs 16 GPUs in one rack; the best rack (r0) has room for 12 "
        "(22 in the whole cluster; it would fit without 'within')" + IN_USE
    )


def test_whole_nodes_in_one_rack() -> None:
    """Whole nodes in one rack: how many nodes are wanted and how many the best rack has."""
    text = _reason(_racks([[8, 4], [4, 8]], [{"gpus": 16, "gpus_per_node": 8, "within": "rack"}]))
    assert text.startswith(
        "needs 2 nodes with 8 free GPUs each in one rack; the best rack (r0) has room for 1 such node"
    )


def test_no_node_is_free_enough() -> None:
    """No node has the GPUs that each node must hold: what the best one has."""
    text = _reason(_racks([[4, 6], [4, 4]], [{"gpus": 16, "gpus_per_node": 8}]))
    assert text.startswith("needs 2 nodes with 8 free GPUs each; no node has that: the best one (r0-n1) has room for 6")


def test_on_one_node() -> None:
    """All on one node: the room of the best node, other resources included."""
    text = _reason(
        _racks([[6, 4]], [{"gpus": 8, "within": "node", "resources_per_gpu": {"cpu": 8}}], resources={"cpu": 64})
    )
    assert text.startswith("needs 8 GPUs with 8 cpu each on one node; the best node (r0-n0) has room for 6")


def test_segments() -> None:
    """Groups per rack: how many are wanted, and for how many there is room."""
    text = _reason(_racks([[8, 6], [8, 4], [6, 4]], [{"gpus": 36, "segment": {"gpus": 12, "level": "rack"}}]))
    assert text.startswith("needs 3 groups of 12 GPUs, each group inside one rack; there is room for 2 such groups")


def test_spread() -> None:
    """At most so many per node: how much of the job fits so."""
    text = _reason(_racks([[8, 8], [8, 0]], [{"gpus": 8, "spread": {"level": "node", "max_gpus": 2}}]))
    assert text == (
        "needs 8 GPUs, at most 2 per node; there is room for 6 (24 in the whole cluster; it would fit without 'spread')"
        + IN_USE
    )


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"gpus": 10, "gpus_per_node": 4}, "its 10 GPUs are not a multiple of the 4 that each of its nodes must hold"),
        ({"gpus": 10, "segment": {"gpus": 4, "level": "rack"}}, "its 10 GPUs are not a multiple of its segments of 4"),
    ],
)
def test_counts_that_never_add_up(limits: dict[str, Any], text: str) -> None:
    """A size that its own constraint cannot add up to can never be placed."""
    assert _reason(_racks([[8, 8]], [limits])) == f"can never be placed here: {text}, even in an empty cluster"


def test_limits_that_exclude_each_other() -> None:
    """A rack could hold the job, but its spread forbids that: the reason does not claim a lack of room."""
    job = {"gpus": 8, "within": "rack", "spread": {"level": "rack", "max_gpus": 4}}
    assert "needs 8 GPUs in one rack, at most 4 per rack; the best rack (r0) has room for 4" in _reason(
        _racks([[8, 8], [8, 8]], [job])
    )


def test_an_uplink_is_short() -> None:
    """Too little bandwidth: the uplink, what the job would reserve, what is left of how much."""
    jobs = [
        {"gpus": 2, "message_mb": 5000, "spread": {"level": "rack", "max_gpus": 1}},
        {"gpus": 2, "message_mb": 7500, "spread": {"level": "rack", "max_gpus": 1}},
    ]
    instance = _racks([[8], [8]], jobs)
    # The ring carries 2·V·(k−1)/k = V megabytes: 60 Gbit in 1 + 0.6 seconds, and 40 Gbit in 1 + 0.4 seconds.
    text = _reason(instance, {1: {0: 1, 1: 1}}, job=0)
    assert text.startswith("fits now on r0-n0,r1-n0 with utility")
    crowded = msgspec.structs.replace(instance, jobs=[instance.jobs[0], *instance.jobs[1:] * 2])
    crowded = msgspec.convert(_renamed(msgspec.to_builtins(crowded)), Instance)
    text = _reason(crowded, {1: {0: 1, 1: 1}, 2: {0: 1, 1: 1}}, job=0)
    assert text == (
        "needs bandwidth: on r0-n0,r1-n0 it would reserve 28.57 Gbit/s of the uplink of r0, "
        "which has 25 of 100 Gbit/s left, and 1 other uplink would be overbooked too"
    )


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    """Jobs with names of their own."""
    for i, job in enumerate(data["jobs"]):
        job["name"] = f"j{i}"
    return data


def test_never_worth_anything() -> None:
    """A job whose failures cost more than it computes would lose everywhere, and the reason says what eats it."""
    nodes = [{"name": "a", "gpus": 8, "failures_per_day": 2.0}]
    text = _reason(_instance(nodes, [{"gpus": 4, "restart_minutes": 1440}]))
    assert text == (
        "would lose wherever it is placed: its best place (a) has utility -4, which is not above 0 "
        "(4 GPUs at efficiency 1, failures -8), even in an empty cluster"
    )


def test_worth_nothing_where_it_still_fits() -> None:
    """A job that fits only on a bad node now is told so, with what it could have elsewhere."""
    nodes = [{"name": "bad", "gpus": 4, "failures_per_day": 2.0}, {"name": "good", "gpus": 4}]
    text = _reason(_instance(nodes, [{"gpus": 4, "restart_minutes": 1440}, {"gpus": 4}]), {1: {1: 4}})
    assert text.startswith("would lose where it still fits: its best place (bad) has utility -4")
    assert text.endswith("with no other job in its way it could have 4")


def test_worth_nothing_beside_what_runs() -> None:
    """A job for which only a bad node is not in use already is told that this is so whatever else is placed."""
    nodes = [{"name": "bad", "gpus": 4, "failures_per_day": 2.0}, {"name": "good", "gpus": 4, "used": {"gpus": 4}}]
    text = _reason(_instance(nodes, [{"gpus": 4, "restart_minutes": 1440}]))
    assert text.startswith("would lose beside what is in use already and may not move: its best place (bad)")


def test_a_proof_says_what_room_would_cost() -> None:
    """Beside a proved optimum the reason adds that making room would cost others at least as much."""
    instance = _instance([{"name": "a", "gpus": 4}], [{"gpus": 4}, {"gpus": 4, "weight": 2}])
    text = _reason(instance, {1: {0: 4}}, job=0, proved=True)
    assert text == (
        "needs 4 GPUs; 0 free; wherever it took room, the others would lose at least what it adds, 4 at best (proved)"
    )


def test_what_room_would_cost_is_not_said_of_worse_places() -> None:
    """A cheap place where the job adds little is not claimed to cost what its best place would."""
    nodes = [{"name": "fast", "gpus": 1, "gpu_type": "A"}, {"name": "slow", "gpus": 1, "gpu_type": "B"}]
    jobs = [
        {"gpus": 1, "compute_s": {"A": 1, "B": 10}},
        {"gpus": 1, "compute_s": {"A": 1}, "weight": 10},
        {"gpus": 1, "compute_s": {"B": 1}, "weight": 0.15},  # the price of room on "slow", where the first adds 0.1
    ]
    text = _reason(_instance(nodes, jobs), {1: {0: 1}, 2: {1: 1}}, job=0, proved=True)
    assert text.endswith("the others would lose at least what it adds, 1 at best (proved)")


def test_required_jobs_in_each_others_way() -> None:
    """Without a placement each required job names the others, and the rest wait for them."""
    required = {"gpus": 4, "required": True}
    problem = compile_problem(_instance([{"name": "a", "gpus": 4}], [required, required, {"gpus": 1}]))
    reasons = unplaced_reasons(problem, None, proved=True)
    assert reasons[0] == "must run and fits by itself, but not together with the others that must run (j1)"
    assert reasons[1] == "must run and fits by itself, but not together with the others that must run (j0)"
    assert reasons[2] == "waits for the jobs that must run: they cannot all be placed (j[0-1])"


def test_a_required_job_that_never_fits() -> None:
    """A required job that nothing can hold says so."""
    problem = compile_problem(_instance([{"name": "a", "gpus": 4}], [{"gpus": 8, "required": True}]))
    assert unplaced_reasons(problem, None, proved=True)[0] == (
        "must run, but can never be placed here: needs 8 GPUs; 4 free, even in an empty cluster"
    )


@pytest.mark.parametrize("seed", range(120))
def test_the_kind_of_reason_is_that_of_enumeration(seed: int) -> None:
    """With nothing placed, a job is told that it fits, loses or lacks something exactly as enumeration says."""
    instance = random_instance(seed)
    world = World(instance)
    for j, text in unplaced_reasons(compile_problem(instance), {}).items():
        job = instance.jobs[j]
        if job.placement is not None:
            continue
        values = [job_utility(world, job, counts) for counts in enumerate_job(world, job)]
        if not values:
            assert text.startswith(("needs", "can never", "would lose wherever"))
        elif max(values) > 1e-6:
            assert text.startswith("fits now"), text
        elif max(values) < -1e-6:
            assert text.startswith("would lose"), text
