from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crop_cli.errors import BackendError, UsageError
from crop_cli.solvers.exact import backends
from crop_cli.solvers.exact.backends import BACKENDS, RECOMMENDED
from crop_cli.solvers.exact.process import run_backend
from crop_cli.solvers.exact.sparse_model import SparseModel
from tests.solvers.exact.programs import (
    INF,
    assignment,
    knapsacks,
    market_split,
    minimum,
    point_cost,
    program,
    random_program,
    rates,
)

NAMES = tuple(BACKENDS)
LIMIT = 60.0

PROGRAMS: dict[str, SparseModel] = {
    "one knapsack": knapsacks(6, 1, seed=1),
    "three knapsacks with a start": knapsacks(8, 3, seed=2, start=True),
    "bandwidths": rates(3),
    "assignment": assignment(3, seed=4),
    "no rows": program([-1.5, 2.0, 0.0], [3, 3, 3]),
    "empty rows and a column that nothing mentions": program(
        [-1, 0, 0.5], [2, 1, 2], [[0, 0, 0], [1, 0, 1]], [-1, 1], [0, 2]
    ),
    "empty row that cannot hold": program([1, 1], [1, 1], [[0, 0]], [1], [2]),
    "infeasible by bounds": program([1, 1], [2, 2], [[1, 1]], [5], [INF]),
    "infeasible by parity": program([1, 1], [5, 5], [[2, 4]], [3], [3]),
    "infeasible by search": program([0, 0, 0], [9, 9, 9], [[6, 10, 15], [1, 1, 1]], [29, 0], [29, 4]),
    "all fixed": program([-1, -2], [0, 0], [[1, 1]], [0], [0]),
    "costs of zero": program([0, 0], [1, 1], [[1, 1]], [1], [1]),
    "row with two sides": program([-2.25, 1.75, -0.5], [4, 4, 4], [[1, -1, 2]], [-1], [3]),
    "optimum in the positive": program([3.7, 2.9], [9, 9], [[2, 1]], [7], [INF]),
    "more than ten columns, in order": program(
        [-float(i % 5) - i / 7 for i in range(12)], [1] * 12, [[i % 4 + 1 for i in range(12)]], [-INF], [9]
    ),
}


@pytest.mark.parametrize("title", PROGRAMS)
@pytest.mark.parametrize("name", NAMES)
def test_small_programs_are_solved_as_by_enumeration(name: str, title: str) -> None:
    """Every back end proves the optimum, or that there is none, and its bound is valid."""
    model = PROGRAMS[title]
    best = minimum(model)
    result = run_backend(name, model, time_limit=LIMIT)
    assert result.stop_reason == "proved", (result.notes, result.log)
    assert result.infeasible == (best is None)
    if best is None:
        assert (result.x, result.cost, result.bound) == (None, None, None)
    else:
        assert result.x is not None and result.cost is not None and result.bound is not None
        assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9)
        assert result.cost == pytest.approx(point_cost(model, result.x), rel=1e-12)
        assert best - 1e-6 * max(1.0, abs(best)) <= result.bound <= best + 1e-9 * max(1.0, abs(best))
    assert result.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_solved_as_by_enumeration(seed: int) -> None:
    """All back ends agree with enumeration on random programs, feasible and not."""
    model = random_program(seed)
    best = minimum(model)
    for name in NAMES:
        result = run_backend(name, model, time_limit=LIMIT)
        assert (result.stop_reason, result.infeasible) == ("proved", best is None), (name, result.notes, result.log)
        if best is not None:
            assert result.cost == pytest.approx(best, rel=1e-6, abs=1e-9), name
            assert result.bound is not None
            assert result.bound <= best + 1e-9 * max(1.0, abs(best)), name


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("name", NAMES)
def test_the_size_of_costs_does_not_matter(name: str, scale: float) -> None:
    """Proofs are relative: tiny and huge costs are minimised as exactly as others."""
    model = knapsacks(8, 2, seed=5)
    best = minimum(model)
    assert best is not None
    result = run_backend(name, replace(model, cost=model.cost * scale), time_limit=LIMIT)
    assert result.stop_reason == "proved"
    assert result.cost == pytest.approx(best * scale, rel=1e-6)
    assert result.bound == pytest.approx(best * scale, rel=1e-5)


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_limit_is_kept_and_what_was_found_is_reported(name: str, start: bool) -> None:
    """On a hard program the run ends within 2 s of the limit with a verified point and a valid bound."""
    model = market_split(6, start=start)
    result = run_backend(name, model, time_limit=2.0)
    assert result.stop_reason in ("time_limit", "killed")
    assert result.seconds < 4.0
    assert result.x is not None and result.cost is not None
    assert result.cost == pytest.approx(point_cost(model, result.x))
    assert result.bound is not None
    assert -0.37 * 50 <= result.bound <= result.cost


@pytest.mark.parametrize("name", NAMES)
def test_a_stop_is_obeyed(name: str) -> None:
    """`should_stop` ends a run early, without force, and the points found until then are there."""
    heard: list[float] = []
    asked = [0]

    def should_stop() -> bool:
        asked[0] += 1
        return asked[0] > 100  # about two seconds of polls

    result = run_backend(
        name,
        market_split(6, start=True),
        time_limit=LIMIT,
        should_stop=should_stop,
        on_incumbent=lambda _x, cost: heard.append(cost),
    )
    assert (result.stop_reason, result.forced) == ("interrupted", False)
    assert result.cost is not None
    assert heard == sorted(heard, reverse=True)
    assert result.cost == heard[-1]


@pytest.mark.parametrize("name", [name for name in NAMES if BACKENDS[name].streams_incumbents])
def test_points_and_bounds_are_streamed(name: str) -> None:
    """Where a back end says that it streams, improvements arrive before the end, and each is valid."""
    model = knapsacks(30, 3, seed=0)
    costs: list[float] = []
    bounds: list[float] = []
    result = run_backend(
        name,
        model,
        time_limit=LIMIT,
        on_incumbent=lambda x, cost: costs.append(cost if cost == pytest.approx(point_cost(model, x)) else INF),
        on_bound=bounds.append,
    )
    assert result.stop_reason == "proved"
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert costs[-1] == result.cost
    assert len(bounds) >= 2
    assert max(bounds) <= costs[-1] + 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_the_start_is_used(name: str) -> None:
    """The answer is never worse than the start, however little time there is."""
    model = knapsacks(30, 3, seed=0)
    best = run_backend("highs", model, time_limit=LIMIT)
    result = run_backend(name, replace(model, start=best.x), time_limit=0.3)
    assert result.cost == best.cost


@pytest.mark.parametrize("name", NAMES)
def test_a_gap_may_be_left(name: str) -> None:
    """With an allowed gap the run may end early, and then bound and cost are within it."""
    model = market_split(6, start=True)
    assert model.start is not None
    result = run_backend(name, model, time_limit=LIMIT, absolute_gap=1e5)
    assert result.stop_reason == "gap_limit", result.log
    assert result.cost is not None and result.bound is not None
    assert result.cost - result.bound <= 1e5
    assert result.notes == ()


@pytest.mark.parametrize("name", NAMES)
def test_one_thread_and_one_seed_give_one_answer(name: str) -> None:
    """Equal input and seed give equal points, costs and bounds, point by point."""
    model = knapsacks(25, 3, seed=7)

    def trace() -> tuple[list[list[int]], list[int] | None, float | None]:
        points: list[list[int]] = []
        result = run_backend(
            name, model, time_limit=LIMIT, seed=11, on_incumbent=lambda x, _cost: points.append(x.tolist())
        )
        return points, None if result.x is None else result.x.tolist(), result.bound

    assert trace() == trace()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_printed_and_nothing_is_left(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither banner nor log reaches our streams, and no file stays, in a temporary directory with a space in it."""
    directory = tmp_path / "a b"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    result = run_backend(name, knapsacks(8, 2, seed=5, start=True), time_limit=LIMIT)
    assert result.stop_reason == "proved"
    assert len(result.log) > 100
    assert capfd.readouterr() == ("", "")
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("cp-sat", {"linearization_level": "2", "use_lns": "false"}, {"linearisation_level": "2"}),
        ("cp-sat", {"cp_model_presolve": "true"}, {"cp_model_presolve": "maybe"}),
        ("cp-sat", {"search_branching": "PORTFOLIO_SEARCH"}, {"search_branching": "x } num_workers: 8"}),
        ("cp-sat", {}, {"num_workers": "4"}),
        ("highs", {"presolve": "off", "mip_max_nodes": "1000"}, {"presolv": "off"}),
        ("highs", {"mip_heuristic_effort": "0.2"}, {"mip_heuristic_effort": "a lot"}),
        ("highs", {"mip_detect_symmetry": "false"}, {"mip_max_nodes": "-5"}),
        ("highs", {}, {"time_limit": "4"}),
        ("scip", {"separating/maxrounds": "0", "limits/gap": "0"}, {"separating/maxround": "0"}),
        ("scip", {"conflict/enable": "false", "branching/scorefunc": "s"}, {"conflict/enable": "7.5"}),
        ("scip", {}, {"limits/time": "4"}),
        ("cbc", {"cuts": "off", "strong": "3"}, {"cuts": "banana"}),
        ("cbc", {"heur": "off"}, {"strong": "3.5"}),
        ("cbc", {}, {"sec": "4"}),
    ],
)
def test_raw_options_are_passed_on_or_refused(name: str, good: dict[str, str], bad: dict[str, str]) -> None:
    """Known options with values of their type are accepted; unknown keys, bad values and reserved keys are errors."""
    model = knapsacks(6, 1, seed=1)
    best = minimum(model)
    assert best is not None
    assert run_backend(name, model, time_limit=LIMIT, options=good).cost == pytest.approx(best)
    with pytest.raises(UsageError, match=next(iter(bad))):
        run_backend(name, model, time_limit=LIMIT, options=bad)


def test_a_limit_among_the_raw_options_is_neither_proof_nor_error() -> None:
    """A node limit of the user's ends a run with `completed`."""
    result = run_backend("highs", market_split(5, start=True), time_limit=LIMIT, options={"mip_max_nodes": "3"})
    assert result.stop_reason == "completed"
    assert result.cost is not None


@pytest.mark.parametrize("name", NAMES)
def test_too_little_memory_is_an_error(name: str) -> None:
    """A library that may not have the memory it needs ends as an error or a proof, never as a wrong answer."""
    model = knapsacks(8, 2, seed=5)
    result = run_backend(name, model, time_limit=LIMIT, memory_mb=150)
    assert result.stop_reason in ("error", "proved")
    if result.stop_reason == "error":
        assert (result.bound, result.notes != ()) == (None, True)


def test_every_back_end_is_known_without_importing_it() -> None:
    """Names, versions and abilities are there although none of the libraries has been loaded."""
    code = (
        "import sys; from crop_cli.solvers.exact import backends as b; "
        "print([x.version for x in b.BACKENDS.values()]); "
        "print(sorted({'ortools', 'highspy', 'pulp', 'numpy'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert out[1] == "[]"
    assert "None" not in out[0]
    assert set(RECOMMENDED) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_version_is_reported(name: str) -> None:
    """The version of the run is that of the installed package."""
    version = run_backend(name, program([1], [1]), time_limit=LIMIT).version
    assert BACKENDS[name].version is not None
    assert version.startswith(str(BACKENDS[name].version))


def test_a_missing_library_is_a_back_end_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A back end whose package is not installed says which package that is."""
    gone = replace(BACKENDS["highs"], package="no-such-package", imports="no_such_package")
    monkeypatch.setitem(backends.BACKENDS, "highs", gone)
    assert not gone.installed
    with pytest.raises(BackendError, match="no-such-package"):
        run_backend("highs", program([1], [1]), time_limit=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_model_is_not_changed(name: str) -> None:
    """A run leaves the caller's arrays as they were, explicit zeros included."""
    model = program([-1, 0, 2], [2, 1, 2], [[1, 2, 3], [0, 1, 0]], [-INF, 0], [4, 1])
    model.matrix.data[0] = 0.0
    before = [model.cost.copy(), model.upper.copy(), model.matrix.data.copy(), model.row_upper.copy()]
    run_backend(name, model, time_limit=LIMIT)
    after = [model.cost, model.upper, model.matrix.data, model.row_upper]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))
