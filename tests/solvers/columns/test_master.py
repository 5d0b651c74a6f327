"""The master LP against another solver, and its manners."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.columns import master as master_module
from crop_cli.solvers.columns.column import Column, Groups, group_jobs, make_column
from crop_cli.solvers.columns.master import Master, MasterError
from crop_cli.solvers.columns.rows import Rows, resolutions
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import best_placements
from tests.solvers.columns.samples import Looks, job, problem_of, racks
from tests.tiny import random_instance

UNIT = 4.0
PENALTY = 50.0


def some_columns(problem: Problem, groups: Groups, rows: Rows, seed: int, passes: int) -> list[Column]:
    """Best placements at random prices."""
    rng = np.random.default_rng(seed)
    columns = []
    for _ in range(passes):
        prices = rows.prices(rng.random(len(rows)) * rng.integers(0, 2, len(rows)))
        answers = best_placements(problem, groups.first, problem.free, problem.uplink_free, prices)
        for g, best in enumerate(answers):
            if best is not None:
                columns.append(make_column(problem, groups, g, best.utility, best.counts))
    return columns


def set_up(seed: int, passes: int = 5) -> tuple[Problem, Groups, Rows, np.ndarray, list[Column]]:
    problem = compile_problem(random_instance(seed, max_jobs=7))
    groups = group_jobs(problem)
    rows = resolutions(problem)[-1]
    demand = np.array([problem.kind(j).demand for j in groups.first.tolist()])
    return problem, groups, rows, demand, some_columns(problem, groups, rows, seed, passes) if len(groups) else []


def reference(master: Master, groups: Groups, rows: Rows, demand: np.ndarray) -> float:
    """The LP's value by scipy, from the master's columns."""
    n = len(master.columns)
    load = np.zeros((len(rows), n))
    belongs = np.zeros((len(groups), n))
    for i, column in enumerate(master.columns):
        at, amount = rows.usage(column, demand[column.group])
        load[at, i] = amount
        belongs[column.group, i] = 1.0
    missing = np.eye(len(groups))
    zeros = np.zeros((len(rows), len(groups)))
    found = linprog(
        np.concatenate([[-column.utility for column in master.columns], np.full(len(groups), PENALTY)]),
        A_ub=np.vstack([np.hstack([load, zeros]), np.hstack([belongs, missing]), -np.hstack([belongs, missing])]),
        b_ub=np.concatenate([rows.capacity, groups.size, -groups.must]),
        bounds=[(0, None)] * n + [(0, m) for m in groups.must],
        method="highs",
    )
    assert found.status == 0
    return -float(found.fun)


@pytest.mark.parametrize("block", range(4))
def test_value_and_duals_are_those_of_the_lp(block: int) -> None:
    """The value is scipy's; the duals are feasible for all columns and add up to the value."""
    solved = 0
    for seed in range(block * 30, block * 30 + 30):
        _, groups, rows, demand, columns = set_up(seed)
        if not columns:
            continue
        master = Master(groups, rows, demand, UNIT, PENALTY)
        master.add(columns)
        relaxed = master.solve(Budget())
        assert relaxed is not None and relaxed is master.relaxed
        value = reference(master, groups, rows, demand)
        assert np.isclose(relaxed.value, value, rtol=1e-7, atol=1e-7)
        assert (relaxed.y >= 0).all() and (relaxed.weights >= -1e-9).all()
        for column in master.columns:
            at, load = rows.usage(column, demand[column.group])
            assert column.utility - load @ relaxed.y[at] - relaxed.sigma[column.group] <= 1e-6 * UNIT
        of_groups = np.where(relaxed.sigma >= 0, relaxed.sigma * groups.size, relaxed.sigma * groups.must)
        # A job whose dual is the penalty is missing.
        dual = relaxed.y @ rows.capacity + of_groups.sum()
        assert dual <= value + 1e-6 * max(1.0, abs(value)) or relaxed.missing > 0
        assert dual >= value - 1e-6 * max(1.0, abs(value))
        solved += 1
    assert solved > 20


def test_growing_step_by_step_ends_where_all_at_once_does() -> None:
    """Columns may come in any portions; a column that is there already is not added again."""
    for seed in range(40):
        _, groups, rows, demand, columns = set_up(seed)
        if not columns:
            continue
        whole, grown = (Master(groups, rows, demand, UNIT, PENALTY) for _ in range(2))
        whole.add(columns)
        at_once = whole.solve(Budget())
        step = None
        for column in columns:
            grown.add([column])
            step = grown.solve(Budget())
        assert at_once is not None and step is not None
        assert np.isclose(step.value, at_once.value, rtol=1e-7, atol=1e-7)
        before = len(grown.columns)
        assert grown.add(columns) == 0
        assert len(grown.columns) == before == len(whole.columns)


def test_add_counts_the_columns_that_price_out() -> None:
    """A column improves the LP only if it was counted."""
    counted = 0
    for seed in range(40):
        problem, groups, rows, demand, columns = set_up(seed, passes=1)
        if not columns:
            continue
        master = Master(groups, rows, demand, UNIT, PENALTY)
        assert master.add(columns) == len(master.columns)
        before = master.solve(Budget())
        pricing_out = master.add(some_columns(problem, groups, rows, seed + 1000, 6))
        after = master.solve(Budget())
        assert before is not None and after is not None
        if pricing_out == 0:
            assert np.isclose(after.value, before.value, rtol=1e-6, atol=1e-6)
        counted += pricing_out
    assert counted > 0


def test_dropping_keeps_the_optimum() -> None:
    """What is taken stays; the LP has the same value without the rest, and weights go with their columns."""
    dropped = 0
    for seed in range(40):
        _, groups, rows, demand, columns = set_up(seed, passes=12)
        master = Master(groups, rows, demand, UNIT, PENALTY)
        master.add(columns)
        if len(master.columns) < 6:
            continue
        before = master.solve(Budget())
        most = len(master.columns) // 2
        if before is None or np.count_nonzero(before.weights) > most:
            continue
        dropped += len(master.columns) - most
        master.drop(most)
        assert len(master.columns) == most
        after = master.solve(Budget())
        assert after is not None
        assert np.isclose(after.value, before.value, rtol=1e-7, atol=1e-7)
        assert len(after.weights) == most
        utility = sum(w * c.utility for w, c in zip(after.weights, master.columns, strict=True))
        assert np.isclose(utility - PENALTY * after.missing, after.value, rtol=1e-7, atol=1e-7)
        master.add(columns)
        again = master.solve(Budget())
        assert again is not None and np.isclose(again.value, before.value, rtol=1e-7, atol=1e-7)
    assert dropped > 0


def test_what_must_run_and_does_not_fit_is_missing_at_the_penalty() -> None:
    """Three jobs of 8 GPUs on two nodes: one is missing, and a higher penalty costs more."""
    problem = problem_of(racks([[8, 8]], [job(f"j{i}", 8, required=True) for i in range(3)]))
    groups, rows = group_jobs(problem), resolutions(problem)[-1]
    demand = np.array([problem.kind(j).demand for j in groups.first.tolist()])
    master = Master(groups, rows, demand, 8.0, 10.0)
    master.add(some_columns(problem, groups, rows, 0, 1))
    first = master.solve(Budget())
    assert first is not None
    assert np.isclose(first.missing, 1.0) and np.isclose(first.value, 16.0 - 10.0)
    master.punish(100.0)
    second = master.solve(Budget())
    assert second is not None and np.isclose(second.value, 16.0 - 100.0)


def two_jobs() -> tuple[Problem, Groups, Rows, np.ndarray, list[Column]]:
    """Two kinds of jobs that compete for one node."""
    problem = problem_of(racks([[8]], [job("a", 8), job("b", 4)]))
    groups, rows = group_jobs(problem), resolutions(problem)[-1]
    demand = np.array([problem.kind(j).demand for j in groups.first.tolist()])
    return problem, groups, rows, demand, some_columns(problem, groups, rows, 0, 1)


def test_a_budget_that_is_used_up_ends_the_lp() -> None:
    """There is no answer after the end, and the next look goes on from there."""
    _, groups, rows, demand, columns = two_jobs()
    master = Master(groups, rows, demand, UNIT, PENALTY)
    master.add(columns)
    assert master.solve(Looks(0)) is None
    relaxed = master.solve(Budget())
    assert relaxed is not None and np.isclose(relaxed.value, 8.0)


def test_slices_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solved one simplex iteration at a time, the LP has the same value."""
    values = []
    for at_once in (1_000, 1):
        monkeypatch.setitem(master_module.OPTIONS, "simplex_iteration_limit", at_once)
        of_size = []
        for seed in range(20):
            _, groups, rows, demand, columns = set_up(seed)
            if columns:
                master = Master(groups, rows, demand, UNIT, PENALTY)
                master.add(columns)
                relaxed = master.solve(Budget())
                assert relaxed is not None
                of_size.append(relaxed.value)
        values.append(of_size)
    assert len(values[0]) > 10
    assert np.allclose(values[0], values[1], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("option", [("time_limit", 0.0), ("no_such_option", 1)])
def test_a_failing_library_is_an_error(monkeypatch: pytest.MonkeyPatch, option: tuple[str, object]) -> None:
    """A status that is no optimum raises, and so does a call that HiGHS refuses; nothing is taken for an answer."""
    _, groups, rows, demand, columns = two_jobs()
    monkeypatch.setitem(master_module.OPTIONS, *option)
    with pytest.raises(MasterError):
        master = Master(groups, rows, demand, UNIT, PENALTY)
        master.add(columns)
        master.solve(Budget())


def test_nothing_is_printed() -> None:
    """HiGHS writes neither a banner nor a log to standard output or error, at the level of file descriptors."""
    code = (
        "from tests.solvers.columns.test_master import two_jobs, Master, Budget\n"
        "_, groups, rows, demand, columns = two_jobs()\n"
        "master = Master(groups, rows, demand, 4.0, 50.0)\n"
        "master.add(columns)\n"
        "assert master.solve(Budget()) is not None\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
