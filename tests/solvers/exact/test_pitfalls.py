"""Known faults of the solver libraries, and the guard against each."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from crop_cli.solvers.exact.backends import BACKENDS
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.sparse_model import SparseModel
from tests.solvers.exact.programs import INF, knapsacks, market_split, minimum, point_cost, program

NAMES = tuple(BACKENDS)
LIBRARIES = ("ortools", "highspy", "pulp", "scipy", "pandas", "networkx", "typer", "msgspec")


def in_child(code: str) -> object:
    """What a fresh interpreter prints as its last line, as JSON: no two libraries meet in one process."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("module", "table", "members"),
    [
        (
            "cp_sat",
            "ENDINGS",
            "from ortools.sat.python.cp_model_helper import CpSolverStatus as e; names = list(e.__members__)",
        ),
        ("highs", "ENDINGS", "from highspy import HighsModelStatus as e; names = list(e.__members__)"),
        (
            "scip",
            "ENDINGS",
            "from ortools.math_opt.python.result import TerminationReason as e; names = [x.name for x in e]",
        ),
        ("scip", "LIMITS", "from ortools.math_opt.python.result import Limit as e; names = [x.name for x in e]"),
    ],
)
def test_every_status_of_every_library_has_a_meaning(module: str, table: str, members: str) -> None:
    """No member of a status enumeration is missing from the table that maps it, and `optimal` is claimed by one."""
    code = (
        f"import json; from crop_cli.solvers.exact.backends import {module} as m; {members}; "
        f"print(json.dumps([names, m.{table}]))"
    )
    found = in_child(code)
    assert isinstance(found, list)
    names, meanings = found
    assert len(names) >= 5
    assert [name for name in names if name not in meanings] == []
    assert sum(meaning == "optimal" for meaning in meanings.values()) == (table == "ENDINGS")


@pytest.mark.parametrize("name", NAMES)
def test_a_solver_process_imports_one_library(name: str) -> None:
    """Libraries clash in one process, so a back end's module brings in its own only, and nothing slow of ours."""
    code = (
        f"import sys, json, importlib; importlib.import_module({BACKENDS[name].module!r}); "
        f"print(json.dumps([x for x in {LIBRARIES} if sys.modules.get(x)]))"
    )
    found = in_child(code)
    own = BACKENDS[name].imports.partition(".")[0]
    # OR-Tools brings pandas and scipy itself.
    brought = {"ortools": {"ortools", "pandas", "scipy"}}.get(own, {own})
    assert own in found  # type: ignore[operator]
    assert set(found) <= brought  # type: ignore[call-overload]


CBC_ENDINGS = {
    "optimal after search": (
        "Cbc0001I Search completed - best objective -43.503657387542, took 5 iterations and 0 nodes (0.00 seconds)\n"
        "Result - Optimal solution found\n\nObjective value:                -43.50365739\n",
        ("optimal", -43.503657387542),
    ),
    "optimal without search": (
        "Result - Optimal solution found\n\nObjective value:                -1106.25000000\nEnumerated nodes: 0\n",
        ("optimal", -1106.25),
    ),
    "optimum of 0": (
        "Result - Optimal solution found\n\nObjective value:                0.00000000\n",
        ("optimal", 0.0),
    ),
    "within the gap": (
        "Cbc0010I After 0 nodes, 1 on tree, 31.86 best solution, best possible -8.4441972 (0.13 seconds)\n"
        "Cbc0001I Search completed - best objective 3.229999999999999, took 9 iterations and 6 nodes (0.74 seconds)\n"
        "Result - Optimal solution found (within gap tolerance)\n\n"
        "Objective value:                3.23000000\nLower bound:                    -8.444\nGap: 1.38\n",
        ("optimal", -8.4441972),
    ),
    "within the gap before the search": (
        "Cbc0001I Search completed - best objective 31.86, took 0 iterations and 0 nodes (0.03 seconds)\n"
        "Result - Optimal solution found (within gap tolerance)\n\n"
        "Objective value:                31.86000000\nLower bound:                    -8.481\nGap: 4.76\n",
        ("optimal", -8.481),
    ),
    "time limit": (
        "Cbc0010I After 1000 nodes, 187 on tree, -3.77 best solution, best possible -8.4441972 (1.85 seconds)\n"
        "Cbc0005I Partial search - best objective -3.77 (best possible -8.4321), took 61 iterations (4 s)\n"
        "Result - Stopped on time limit\n\nObjective value:                -3.77000000\n"
        "Lower bound:                    -8.432\nGap:                            0.55\n",
        ("time_limit", -8.4321),
    ),
    "time limit without a solution": (
        "Cbc0005I Partial search - best objective 1e+50 (best possible 17.25), took 2 iterations and 9 nodes (1 s)\n"
        "Result - Stopped on time limit\n\nNo feasible solution found\nLower bound:                    17.250\n",
        ("time_limit", 17.25),
    ),
    "time limit before a bound": (
        "Cbc0005I Partial search - best objective 1e+50 (best possible -1e+50), took 0 iterations and 0 nodes (1 s)\n"
        "Result - Stopped on time limit\n\nNo feasible solution found\n",
        ("time_limit", None),
    ),
    "time limit before the search": ("Result - Stopped on time limit\n\nLower bound:   0.000\n", ("time_limit", None)),
    "asked to stop": (
        "Cbc0005I Partial search - best objective 66.75 (best possible -10.73733), took 4 iterations (1.10 seconds)\n"
        "Result - User ctrl-cuser ctrl-c\n",
        ("interrupted", -10.73733),
    ),
    "node limit": ("Result - Stopped on node limit\n", ("other_limit", None)),
    "infeasible after search": (
        "Cbc0001I Search completed - best objective 1e+50, took 1484024 iterations and 819044 nodes (6.39 seconds)\n"
        "Result - Problem proven infeasible\n\nNo feasible solution found\n",
        ("infeasible", None),
    ),
    "infeasible relaxation": ("Problem is infeasible - 0.00 seconds\nOption for …", ("infeasible", None)),
    "infeasible by preprocessing": (
        "Cgl0000I Cut generators found to be infeasible! (or unbounded)\nPre-processing says infeasible or unbounded\n",
        ("infeasible", None),
    ),
    "trouble": ("Result - Difficulties during run\n\nLower bound: 3.000\n", ("error", None)),
    "something new": ("Result - A result that nobody knows\n", ("error", None)),
    "nothing": ("", ("error", None)),
}


def test_endings_of_cbc_are_read_from_its_log() -> None:
    """PuLP calls a time limit optimal; what CBC prints says how it ended, and its bound, never rounded upwards."""
    logs = {title: log for title, (log, _) in CBC_ENDINGS.items()}
    code = (
        "import json, sys; from crop_cli.solvers.exact.backends.cbc import read_log; "
        f"print(json.dumps({{title: read_log(log) for title, log in {logs!r}.items()}}))"
    )
    found = in_child(code)
    assert isinstance(found, dict)
    for title, (_, (ending, bound)) in CBC_ENDINGS.items():
        assert found[title][0] == ending, title
        if bound is None:
            assert found[title][1] is None, title
        else:
            assert bound - 2e-3 <= found[title][1] <= bound, title
            assert found[title][1] < bound or bound == 0, title


def test_the_bound_in_a_table_of_scip_is_rounded_down() -> None:
    """Seven printed digits may have been rounded up, so one unit of the last is taken off; other lines have none."""
    lines = [
        "  0.1s|   200 |   201 |  1008 |   4.9 |    11M |  22 |  45 |   5 |-1.142554e+01 | 2.700000e+01 |    Inf | x",
        "  0.1s|   200 |   201 |  1008 |   4.9 |    11M |  22 |  45 |   5 | 9.999999e+03 | 2.700000e+05 |    Inf | x",
        "  0.1s|   200 |   201 |  1008 |   4.9 |    11M |  22 |  45 |   5 |      --      | 2.700000e+01 |    Inf | x",
        " time | node  | left  |LP iter|LP it/n|mem/heur|mdpt |  dualbound   | primalbound  |  gap   | c",
        "presolving:",
    ]
    code = (
        "import json; from crop_cli.solvers.exact.backends.scip import table_bound; "
        f"print(json.dumps([repr(table_bound(line)) for line in {lines!r}]))"
    )
    found = [float(text) for text in in_child(code)]  # type: ignore[attr-defined]
    assert found[0] == pytest.approx(-11.42555, abs=1e-9)
    assert found[1] == pytest.approx(9999.998, abs=1e-9)
    assert np.isnan(found[2:]).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_solution_is_not_zero(name: str) -> None:
    """A run that ends before a point was found has neither point nor cost, whatever the library's defaults are."""
    hard = market_split(6)
    n = 50
    model = SparseModel(
        cost=np.random.default_rng(3).uniform(1, 2, n),
        upper=np.ones(n, dtype=np.int64),
        matrix=csr_array(hard.matrix.toarray()[:, :n]),
        row_lower=hard.row_lower,
        row_upper=hard.row_upper,
        integral_row=hard.integral_row,
        start=None,
    )
    result = run_backend(name, model, time_limit=1.5)
    assert result.stop_reason in ("time_limit", "killed")
    assert (result.x, result.cost, result.infeasible) == (None, None, False)
    assert result.bound is None or 0 < result.bound < 2 * n


@pytest.mark.parametrize("limit", [0.0, -3.0, 1e-3])
@pytest.mark.parametrize("name", NAMES)
def test_no_time_means_no_search(name: str, limit: float) -> None:
    """Libraries read a limit of 0 in different ways; here it ends the run at once, with the start as its answer."""
    result = run_backend(name, knapsacks(8, 2, seed=5, start=True), time_limit=limit)
    assert result.stop_reason in ("time_limit", "killed")
    assert (result.cost, result.bound, result.infeasible) == (0.0, None, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_program_too_large_for_the_limit_does_not_hold_us_up(name: str) -> None:
    """Libraries that look at the clock rarely are ended by force: the limit holds within 2 s on a million entries."""
    rows, columns, entries = 20_000, 4_000, 60
    random = np.random.default_rng(0)
    where = (np.repeat(np.arange(rows), entries), random.integers(0, columns, rows * entries))
    matrix = csr_array((random.integers(1, 20, rows * entries).astype(float), where), shape=(rows, columns))
    model = SparseModel(
        cost=-random.uniform(1, 9, columns),
        upper=np.full(columns, 3),
        matrix=matrix,
        row_lower=np.full(rows, -INF),
        row_upper=np.floor(matrix.sum(axis=1) * 0.4),
        integral_row=np.ones(rows, dtype=bool),
        start=np.zeros(columns, dtype=np.int64),
    )
    began = time.monotonic()
    result = run_backend(name, model, time_limit=4.0)
    assert time.monotonic() - began < 6.0
    assert result.stop_reason in ("time_limit", "killed")
    assert result.cost is not None and result.cost <= 0.0
    assert result.bound is None or result.bound < result.cost


@pytest.mark.parametrize("name", NAMES)
def test_a_start_that_presolve_changes_does_no_harm(name: str) -> None:
    """HiGHS 1.16 mistakes this start, given by its `setSolution`, for an optimum; the true optimum is proved here."""
    rows = [[0, -5, 0, 0, 3, -1, 5, -1], [1.7, 0, 7.9, 0, 0, 0, 0, 0]]
    cost = [2.658, 3.449, -4.459, 2.344, -0.089, -3.007, -3.388, -1.136]
    matrix = csr_array(np.array(rows))
    model = SparseModel(
        cost=np.array(cost),
        upper=np.array([2, 2, 2, 3, 2, 3, 2, 2]),
        matrix=matrix,
        row_lower=np.array([-7.0, -INF]),
        row_upper=np.array([-7.0, 3.4000017]),
        integral_row=np.array([True, False]),
        start=np.array([1, 1, 0, 1, 1, 3, 0, 2]),
    )
    result = run_backend(name, model, time_limit=60)
    assert result.stop_reason == "proved"
    assert result.cost == pytest.approx(-7.933) == minimum(model)


def test_numbers_beyond_cp_sat_are_an_error() -> None:
    """Where whole rows overflow CP-SAT's integers there is an error that says so, not an answer."""
    model = program([-1, -1], [1000, 1000], [[4e15, 4e15]], [-INF], [4e17])
    result = run_backend("cp-sat", model, time_limit=60)
    assert result.stop_reason == "error"
    assert "refuses the model" in result.notes[-1]
    assert (result.x, result.bound) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_large_coefficients_are_verified_exactly(name: str) -> None:
    """With coefficients near 10^9 a library's tolerance would let a row be missed by one; no such point is accepted."""
    big = 999_999_937
    model = program([-1.0, -1.5], [3, 3], [[big, big - 1]], [-INF], [3 * big - 2])
    result = run_backend(name, model, time_limit=60)
    if result.x is not None:
        activity = big * int(result.x[0]) + (big - 1) * int(result.x[1])
        assert activity <= 3 * big - 2
        assert result.cost == pytest.approx(point_cost(model, result.x))
    if result.stop_reason == "proved":
        assert result.cost == pytest.approx(minimum(model))


def test_values_that_are_nearly_whole_are_rounded() -> None:
    """0.9999991 is 1: what the child sends are whole numbers, and the cost is that of the whole point."""
    model = program([-3, -2], [2, 2], [[1, 1]], [-INF], [3])
    result = run_backend(
        "tests.solvers.exact.fake_backend",
        model,
        time_limit=60,
        options={"act": "end", "say": "optimal -8.0000007", "point": "1.9999991,1.0000004"},
    )
    assert result.x is not None and result.x.tolist() == [2, 1]
    assert (result.cost, result.bound, result.stop_reason) == (-8.0, -8.0, "proved")


def test_cbc_counts_wall_clock_time() -> None:
    """CBC counts processor time unless told otherwise."""
    result = run_backend("cbc", knapsacks(8, 2, seed=5), time_limit=60)
    assert "Option for timeMode changed from cpu to elapsed" in result.log


def test_highs_takes_another_number_of_threads_each_time() -> None:
    """The thread pool of HiGHS is a global of its process; runs with 2 and then 1 threads do not disturb each other."""
    model = knapsacks(20, 3, seed=7)
    results = [run_backend("highs", model, time_limit=60, threads=threads) for threads in (2, 1, 2)]
    assert [result.stop_reason for result in results] == ["proved"] * 3
    assert len({result.cost for result in results}) == 1
