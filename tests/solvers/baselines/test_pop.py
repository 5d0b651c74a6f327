"""POP: random parts, each solved exactly."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Cluster, Node, Switch
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.baselines import pop
from crop_cli.solvers.contract import Answer, Budget, Request
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.registry import baselines
from crop_cli.solvers.state import State
from tests.solvers.baselines.racks import instance, jobs, racks, run
from tests.tiny import random_instance


def test_each_part_gets_its_racks_and_its_share_of_the_jobs() -> None:
    """Two racks and two jobs in two parts: one job on each rack, whatever the seed."""
    placed = run("pop", instance(racks([[2, 2], [2, 2]]), jobs(4, 4)), parts="2")
    assert sorted(sorted(counts) for counts in placed.values()) == [["n0", "n1"], ["n2", "n3"]]


def test_nodes_are_dealt_out_where_racks_are_too_few() -> None:
    """One rack of two nodes: each part has a node, and its job fills it."""
    placed = run("pop", instance(racks([[4, 4]]), jobs(4, 4)), parts="2")
    assert sorted(placed.values(), key=str) == [{"n0": 4}, {"n1": 4}]


def test_a_job_larger_than_its_part_waits() -> None:
    """Six GPUs are in no rack of four; undivided, the cluster holds them."""
    given = instance(racks([[4], [4]]), jobs(6))
    assert run("pop", given, parts="2") == {}
    assert sum(run("pop", given, parts="1")["j0"].values()) == 6


def test_a_required_job_that_does_not_fit_does_not_empty_its_part() -> None:
    """The part with the impossible job is solved as if it were optional, and the jobs beside it run."""
    gang, *others = jobs(6, 1, 1, 1)
    given = instance(racks([[4], [4]]), [msgspec.structs.replace(gang, required=True), *others])
    assert sorted(run("pop", given, parts="2")) == ["j1", "j2", "j3"]


def test_a_shared_uplink_is_divided_by_free_gpus() -> None:
    """A pod's 120 Gbit/s over racks of 2 and 1 GPUs: 80 and 40 in the parts, and a rack's own uplink stays whole."""
    cluster = Cluster(
        levels=["pod", "rack", "node"],
        switches=[
            Switch(name="p", level="pod", uplink_gbps=120.0),
            Switch(name="a", level="rack", parent="p", uplink_gbps=50.0),
            Switch(name="b", level="rack", parent="p", uplink_gbps=50.0),
        ],
        nodes=[Node(name="n0", gpus=2, parent="a"), Node(name="n1", gpus=1, parent="b")],
    )
    problem = compile_problem(instance(cluster, jobs(1, 1)))
    view = View(problem, State.empty(problem), {}, np.random.default_rng(0), {})
    parts = {int(part.free[:, 0].sum()): part for part in pop.sub_problems([0, 1], view, 2)}
    assert sorted(parts) == [1, 2]
    assert parts[2].uplink_free[1:4].tolist() == pytest.approx([80.0, 50.0, 0.0], abs=1e-4)
    assert parts[1].uplink_free[1:4].tolist() == pytest.approx([40.0, 0.0, 50.0], abs=1e-4)
    assert np.isinf(parts[1].uplink_free[4:]).all()


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_parts_never_overbook_uplinks_together(seed: int) -> None:
    """The evaluator accepts what the parts add up to."""
    given = random_instance(seed, max_nodes=8, max_jobs=8, running=False)
    problem = compile_problem(given)
    answer = baselines()["pop"].load()(problem, Request(options={"parts": "3"}), Budget(30.0), lambda _: None)
    assert answer.placement is not None
    violations = evaluate(given, named(problem, answer.placement)).violations
    assert [v.message for v in violations if v.kind != "required job missing"] == []


def test_a_part_that_ran_out_of_its_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ended by its limit even if the last part ended early: more time could have changed the answer."""
    answers = iter([Answer({}, "time_limit"), Answer({}, "proved")])
    exact = SimpleNamespace(require=lambda: None, load=lambda: lambda *_: next(answers))
    monkeypatch.setattr(pop, "find", lambda _: exact)
    problem = compile_problem(instance(racks([[2], [2]]), jobs(1, 1)))
    answer = pop.place(problem, Request(options={"parts": "2"}), Budget(30.0), lambda _: None)
    assert answer.stop_reason == "time_limit"


def test_parts_are_counted() -> None:
    """Equal seeds give equal parts; no parts at all are refused."""
    given = instance(racks([[2, 2], [3]]), jobs(2, 3, 1))
    assert run("pop", given, seed=4) == run("pop", given, seed=4)
    with pytest.raises(UsageError, match="parts=0: expected a whole number of at least 1"):
        run("pop", given, parts="0")
