"""What is known about an instance: the optimum if anybody proves it, else the best value and the least bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli.bench.best_known import Known
from crop_cli.bench.reference import reference_of
from crop_cli.bench.suite import Member
from crop_cli.model.evaluate import evaluate
from tests.bench.build import failed, member, run

TWO = {"j0": {"a": 4}, "j1": {"b": 4}}


@pytest.fixture
def two(tmp_path: Path) -> Member:
    """Three jobs of which two fit: the optimum is 8."""
    return member(tmp_path / "i.json")


def known(of: Member, *, bound: float | None = None, jobs: int = 2) -> Known:
    """The table's word: a placement of so many jobs, and a bound."""
    placement = dict(list(TWO.items())[:jobs])
    return Known(bound, infeasible=False, by="table", evaluation=evaluate(of.loaded.instance, placement))


def test_a_proof_of_anybody_counts(two: Member) -> None:
    """The value of one run and the bound of another meet: the optimum is proven."""
    found = reference_of(two, None, [run(objective=8.0, solver="ff", bound=None), run(objective=4.0, bound=8.0)])
    assert (found.value, found.bound, found.optimal, found.by) == (8.0, 8.0, True, "ff")
    assert found.sources == ["runs"] and found.contradiction is None


def test_best_value_and_least_bound(two: Member) -> None:
    """Without a proof they come from whoever is best at each; overbooked, unverified and failed runs have no value."""
    runs = [
        run(objective=4.0, bound=9.0),
        run(objective=6.0, bound=12.0, solver="search"),
        run(objective=20.0, verdict="overbooked", loads={"r": 2.0}, bound=10.0),
        run(objective=30.0, verified=False),
        failed(bound=1.0),
    ]
    found = reference_of(two, None, runs)
    assert (found.value, found.bound, found.optimal, found.by) == (6.0, 9.0, False, "search")
    assert found.contradiction is None


def test_the_table_counts_too(two: Member) -> None:
    """Value and bound of the table are used where no run is better, and named as a source."""
    found = reference_of(two, known(two, bound=8.0), [run(objective=4.0, bound=9.0)])
    assert (found.value, found.bound, found.optimal, found.by) == (8.0, 8.0, True, "table")
    assert found.sources == ["best-known"]
    found = reference_of(two, known(two, bound=9.0, jobs=1), [run(objective=8.0)])
    assert (found.value, found.bound, found.by, found.sources) == (8.0, 9.0, "greedy", ["runs", "best-known"])


def test_a_bound_below_a_verified_value_is_a_contradiction(two: Member) -> None:
    """It is told and not used, whether a run or the table claims it."""
    found = reference_of(two, None, [run(objective=8.0, bound=9.0), run(objective=4.0, bound=7.0)])
    assert (found.bound, found.optimal) == (9.0, False)
    assert found.contradiction == "the bound 7 is below the verified value 8"
    assert reference_of(two, known(two, bound=7.0), []).contradiction == "the bound 7 is below the verified value 8"


def test_infeasible_instances(two: Member) -> None:
    """A proof that nothing exists is the reference; with a verified placement it is a contradiction."""
    proof = failed(verdict="infeasible", stop_reason="proved", solver="cp-sat")
    found = reference_of(two, None, [proof, failed(verdict="no_solution")])
    assert (found.infeasible, found.by, found.value, found.optimal) == (True, "cp-sat", None, False)
    found = reference_of(two, None, [proof, run()])
    assert not found.infeasible and "cp-sat says that no placement exists" in str(found.contradiction)
    table = Known(None, infeasible=True, by="x", evaluation=None)
    assert reference_of(two, table, []).infeasible
    assert "best-known.json says" in str(reference_of(two, table, [run()]).contradiction)


def test_nothing_known(two: Member) -> None:
    """Without any answer there is at most a bound."""
    found = reference_of(two, None, [failed(verdict="no_solution", bound=9.0)])
    assert (found.value, found.bound, found.optimal, found.infeasible) == (None, 9.0, False, False)
    assert reference_of(two, None, []).bound is None


def test_negative_values(two: Member) -> None:
    """Among negative values the largest is the best."""
    found = reference_of(two, None, [run(objective=-3.0), run(objective=-1.0, solver="search")])
    assert (found.value, found.by) == (-1.0, "search")
