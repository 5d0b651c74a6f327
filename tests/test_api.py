"""The Python API: what it takes, what it gives, what it refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

import crop_cli
from crop_cli.errors import InputError, UsageError
from crop_cli.model.instance import Instance
from crop_cli.model.solution import Solution
from crop_cli.solvers.contract import Budget, Event
from tests.bruteforce import optimum
from tests.cli import instances
from tests.tiny import random_instance


@pytest.fixture(scope="module")
def instance() -> Instance:
    """Eight nodes and eleven jobs."""
    return msgspec.convert(instances.two_racks(), Instance)


@pytest.fixture(scope="module")
def solution(instance: Instance) -> Solution:
    """What the greedy makes of it."""
    return crop_cli.solve(instance, solver="greedy")


def test_importing_the_package_imports_nothing_else() -> None:
    """`import crop_cli` loads neither numpy nor msgspec, and its functions are there all the same."""
    code = (
        "import sys, crop_cli; print([m for m in ('numpy', 'msgspec', 'typer') if m in sys.modules]);"
        "print(sorted(set(dir(crop_cli)) & {'load', 'solve', 'bound', 'check'}), callable(crop_cli.solve))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['bound', 'check', 'load', 'solve'] True"]


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    """The lazy functions do not hide typing errors."""
    with pytest.raises(AttributeError, match="solv"):
        _ = crop_cli.solv


def test_a_path_a_loaded_file_and_structs_give_the_same(tmp_path: Path, solution: Solution) -> None:
    """An instance may come as a path, loaded, or as structs; only the file has a sha256."""
    path = instances.write(tmp_path / "i.json", instances.two_racks())
    of_path = crop_cli.solve(path, solver="greedy")
    of_loaded = crop_cli.solve(crop_cli.load(path), solver="greedy")
    assert of_path.placements == of_loaded.placements == solution.placements
    assert of_path.instance.sha256 == of_loaded.instance.sha256 != solution.instance.sha256
    assert solution.instance.sha256 is None


def test_every_job_is_accounted_for(instance: Instance, solution: Solution) -> None:
    """Each job is either placed or has a reason, in the order of the file."""
    names = [job.name for job in instance.jobs]
    placed, unplaced = [row.job for row in solution.placements], [row.job for row in solution.unplaced]
    assert sorted(placed + unplaced) == sorted(names)
    assert placed == [name for name in names if name in placed]
    assert unplaced == [name for name in names if name in unplaced]
    assert all(row.reason for row in solution.unplaced)


def test_check_accepts_what_solve_gives(instance: Instance, solution: Solution) -> None:
    """A solution as it came passes, one with a better objective than it has does not."""
    assert crop_cli.check(instance, solution).ok
    better = msgspec.structs.replace(solution, objective=(solution.objective or 0) + 1)
    assert not crop_cli.check(instance, better).ok


def test_check_sees_jobs_listed_twice(instance: Instance, solution: Solution) -> None:
    """Structs with two rows of one job, which no file can have, are caught."""
    twice = msgspec.structs.replace(solution, placements=[*solution.placements, solution.placements[0]])
    assert any("2 rows in placements" in violation.message for violation in crop_cli.check(instance, twice).violations)


def test_the_bound_holds(instance: Instance, solution: Solution) -> None:
    """The bound alone is above the greedy's objective."""
    bound = crop_cli.bound(instance)
    assert bound is not None and solution.objective is not None
    assert bound >= solution.objective


def test_the_bound_of_an_infeasible_instance_is_none() -> None:
    """Required jobs that exceed the cluster have no bound."""
    data = {
        "format": "crop-instance/1",
        "cluster": {"levels": ["node"], "nodes": [{"name": "a", "gpus": 4}]},
        "jobs": [{"name": "j", "gpus": 8, "required": True}],
    }
    assert crop_cli.bound(msgspec.convert(data, Instance)) is None


def test_structs_are_validated() -> None:
    """An invalid instance made in Python is refused with the path of the defect."""
    data = instances.two_racks(jobs=[{"name": "a", "gpus": 1, "within": "nowhere"}])
    with pytest.raises(InputError, match="nowhere"):
        crop_cli.solve(msgspec.convert(data, Instance))


@pytest.mark.parametrize(
    "options",
    [
        {"time_limit": 0.0},
        {"time_limit": -1.0},
        {"time_limit": float("nan")},
        {"gap": -0.1},
        {"gap": float("nan")},
        {"seed": -1},
        {"seed": 1.5},
        {"threads": 0},
        {"threads": 1025},
        {"solver": "none"},
    ],
)
def test_options_that_nobody_can_honour_are_refused(instance: Instance, options: dict[str, Any]) -> None:
    """Zero and negative limits, negative gaps, unknown solvers and the like are usage errors."""
    with pytest.raises(UsageError):
        crop_cli.solve(instance, **options)


def test_the_api_leaves_signals_alone(instance: Instance) -> None:
    """No handler is installed, and the API works outside the main thread."""
    before = signal.getsignal(signal.SIGINT)
    found: list[Solution] = []
    thread = threading.Thread(target=lambda: found.append(crop_cli.solve(instance, solver="greedy")))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert found[0].status in ("optimal", "feasible")


def test_listeners_hear_phases_incumbents_and_bounds(instance: Instance) -> None:
    """A listener gets the events in the order of time."""
    heard: list[Event] = []
    crop_cli.solve(instance, solver="greedy", listen=heard.append)
    assert {"phase", "incumbent", "bound"} <= {event.kind for event in heard}
    assert [event.seconds for event in heard] == sorted(event.seconds for event in heard)


def test_a_budget_that_is_interrupted_ends_the_run(instance: Instance) -> None:
    """Another thread may end a run through its budget; what was found by then is returned."""
    budget = Budget(None)
    budget.interrupt()
    solution = crop_cli.solve(instance, solver="greedy", budget=budget)
    assert solution.stop_reason in ("interrupted", "proved")


def test_runtime_adds_up(solution: Solution) -> None:
    """Phases are not negative and do not exceed the total."""
    times = solution.runtime_s
    phases = [times.load, times.build, times.solve, times.bound]
    assert min(phases) >= 0
    assert sum(phases) <= times.total + 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_greedy_and_its_bound_hold_the_optimum_between_them(seed: int) -> None:
    """On tiny instances F ≤ optimum ≤ bound, infeasible means infeasible, and the check agrees."""
    instance = random_instance(seed, max_nodes=4, max_jobs=3)
    best, _ = optimum(instance)
    found = crop_cli.solve(instance, solver="greedy")
    assert crop_cli.check(instance, found).ok
    if best is None:
        assert found.status in ("infeasible", "no_solution")
        return
    assert found.status != "infeasible"
    slack = 1e-6 * max(1.0, abs(best))
    if found.bound is not None:
        assert found.bound >= best - slack
    if found.objective is not None:
        assert found.objective <= best + slack
        if found.status == "optimal":
            assert found.objective >= best - slack
