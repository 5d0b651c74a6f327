"""Windows of jobs on consecutive nodes, on examples computed by hand."""

from __future__ import annotations

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.instance import Instance, Segment
from crop_cli.model.problem import Counts, compile_problem
from crop_cli.solvers.baselines import contiguous
from crop_cli.solvers.contract import Budget, Request
from crop_cli.solvers.queueing.runs import hop_cost, runs
from crop_cli.solvers.queueing.view import View
from crop_cli.solvers.state import State
from tests.solvers.baselines.racks import instance, jobs, racks, run


def _runs(given: Instance) -> list[Counts]:
    problem = compile_problem(given)
    return list(runs(View(problem, State.empty(problem), {}, np.random.default_rng(0), {}), 0))


@pytest.mark.parametrize(
    ("nodes", "cost"), [([0], 0.0), ([0, 1], 2.0), ([1, 2], 4.0), ([0, 1, 2], 20 / 3), ([0, 1, 2, 3], 10.0)]
)
def test_hops_are_counted_for_every_ordered_pair(nodes: list[int], cost: float) -> None:
    """Two hops below one rack switch and four across, summed over ordered pairs and divided by the nodes."""
    tree = compile_problem(instance(racks([[1, 1], [1, 1]]), jobs(1))).tree
    assert hop_cost(tree, dict.fromkeys(nodes, 1)) == pytest.approx(cost)


def test_a_run_fills_nodes_from_its_start() -> None:
    """One run from each node with free GPUs after which enough follow; full nodes are passed over."""
    given = instance(racks([[2, 2], [2, 4]], changes={"n1": {"used": {"gpus": 2.0}}}), jobs(4))
    assert _runs(given) == [{0: 2, 2: 2}, {2: 2, 3: 2}, {3: 4}]


def test_runs_keep_the_constraints_of_the_job() -> None:
    """Within a rack only the first node starts a run; two per node leave a third GPU; segments round down."""
    cluster = racks([[3, 3], [3]])
    assert _runs(instance(cluster, jobs(5, within="rack"))) == [{0: 3, 1: 2}]
    assert _runs(instance(cluster, jobs(4, gpus_per_node=2))) == [{0: 2, 1: 2}, {1: 2, 2: 2}]
    assert _runs(instance(cluster, jobs(4, segment=Segment(gpus=2, level="node")))) == [{0: 2, 1: 2}, {1: 2, 2: 2}]


def test_a_run_that_breaks_a_constraint_is_none() -> None:
    """Racks hold multiples of four; from n1 on, the first rack would hold three."""
    given = instance(racks([[3, 3], [4]]), jobs(4, segment=Segment(gpus=4, level="rack")))
    assert _runs(given) == [{0: 3, 1: 1}, {2: 4}]


def test_a_window_is_placed_jointly() -> None:
    """First fit would put the pair on n0 and split the gang of four; together both cost no hop."""
    placed = run("contiguous", instance(racks([[4], [2, 2]]), jobs(2, 4)))
    assert placed["j1"] == {"n0": 4}
    assert placed["j0"] in ({"n1": 2}, {"n2": 2})


def test_as_many_jobs_as_possible_start() -> None:
    """Two pairs are more jobs than one gang of four."""
    assert sorted(run("contiguous", instance(racks([[4]]), jobs(4, 2, 2)))) == ["j1", "j2"]


def test_a_job_that_must_run_is_worth_all_others() -> None:
    """The gang of four starts when it is required, and the pairs wait."""
    gang, *pairs = jobs(4, 2, 2)
    given = instance(racks([[4]]), [msgspec.structs.replace(gang, required=True), *pairs])
    assert run("contiguous", given) == {"j0": {"n0": 4}}


def test_windows_follow_each_other() -> None:
    """With windows of one job the gang in front starts, and what is behind it gets what is left."""
    given = instance(racks([[4], [2]]), jobs(4, 2, 2))
    assert run("contiguous", given, window="1") == {"j0": {"n0": 4}, "j1": {"n1": 2}}


def test_equal_jobs_get_different_nodes() -> None:
    """Jobs with equal data share variables, and each gets a run of its own."""
    placed = run("contiguous", instance(racks([[2, 2], [2, 2]]), jobs(4, 4)))
    assert sorted(sorted(counts) for counts in placed.values()) == [["n0", "n1"], ["n2", "n3"]]


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", ""])
def test_a_window_is_a_number_of_jobs(text: str) -> None:
    """Anything but a whole number of at least 1 is refused."""
    with pytest.raises(UsageError, match="expected a whole number of at least 1"):
        run("contiguous", instance(racks([[4]]), jobs(1)), window=text)


@pytest.mark.parametrize(("status", "reason"), [(0, "completed"), (contiguous.OUT_OF_TIME, "time_limit")])
def test_a_window_that_ran_out_of_its_time_is_told(monkeypatch: pytest.MonkeyPatch, status: int, reason: str) -> None:
    """The run ended by its limit if one of its programs did, also when others had time to spare."""
    statuses = iter([status, 0])
    monkeypatch.setattr(contiguous, "milp", lambda *_, **__: SimpleNamespace(x=None, status=next(statuses)))
    problem = compile_problem(instance(racks([[2, 2]]), jobs(2, 2)))
    answer = contiguous.place(problem, Request(options={"window": "1"}), Budget(30.0), lambda _: None)
    assert answer.stop_reason == reason
