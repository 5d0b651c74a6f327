"""A whole bench: resumed ones end as uninterrupted ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from crop_cli._version import __version__
from crop_cli.bench.best_known import update
from crop_cli.bench.journal import read_journal
from crop_cli.bench.records import Run, Settings, Summary
from crop_cli.bench.runner import Plan, Result, run_bench
from crop_cli.bench.suite import load_suite
from crop_cli.bench.summary import dump_summary, load_summary
from tests.bench.build import SETTINGS, document, write
from tests.bench.plug_ins import alive, pids

SOLVERS = ["greedy", "first-fit", "cp-sat"]


def plan(folder: Path, solvers: list[str] | None = None, **fields: Any) -> Plan:
    """Two instances, one of them infeasible, under three solvers."""
    required = document()
    required["jobs"] = [{**job, "required": True} for job in required["jobs"]]
    write(folder / "set" / "a.json")
    write(folder / "set" / "none.json", required)
    given: dict[str, Any] = {"seeds": [0], "settings": SETTINGS, "parallel": 2, **fields}
    return Plan(suite=load_suite([str(folder / "set")]), solvers=solvers or SOLVERS, **given)


def bench(of: Plan, stop_after: int | None = None) -> tuple[Result, list[Run], list[tuple[int, int]]]:
    """Result, records in the order they came, and what `begin` was told; Ctrl-C comes after so many records."""
    came: list[Run] = []
    began: list[tuple[int, int]] = []

    def done(made: Run) -> None:
        came.append(made)
        if len(came) == stop_after:
            raise KeyboardInterrupt

    result = run_bench(of, lambda *numbers: began.append(numbers), done, lambda running: None)
    return result, came, began


def timeless(summary: Summary) -> dict[str, Any]:
    """A summary without times, memory and date, as plain data."""

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(one) for key, one in value.items() if key not in ("seconds", "peak_mib", "par2")}
        return [strip(one) for one in value] if isinstance(value, list) else value

    data = msgspec.to_builtins(summary)
    del data["started"]
    data["profiles"] = [profile for profile in data["profiles"] if profile["kind"] != "performance"]
    return strip(data)


def test_an_uninterrupted_bench(tmp_path: Path) -> None:
    """Every solver on every instance, references from all, rows in order; the summary is read as written."""
    result, came, began = bench(plan(tmp_path, journal=tmp_path / "runs.jsonl"))
    assert began == [(6, 0)] and len(came) == 6 and not result.interrupted
    made = result.summary
    assert made.complete and made.solvers == SOLVERS
    assert [(row.instance, row.solver) for row in made.rows] == [
        (f"set/{name}", solver) for name in ("a", "none") for solver in SOLVERS
    ]
    assert [(ref.value, ref.optimal, ref.infeasible) for ref in made.references] == [
        (8.0, True, False),
        (None, False, True),
    ]
    assert read_journal(tmp_path / "runs.jsonl") == came
    (tmp_path / "s.json").write_bytes(dump_summary(made))
    assert load_summary(tmp_path / "s.json") == made


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    """The summary of an uninterrupted bench."""
    return bench(plan(tmp_path_factory.mktemp("whole")))[0].summary


@pytest.mark.parametrize("stop_after", [1, 4])
def test_interrupted_and_resumed(tmp_path: Path, whole: Summary, stop_after: int) -> None:
    """Interrupted, its summary has what ended; resumed, it runs the rest only and gives the uninterrupted summary."""
    own = plan(tmp_path, journal=tmp_path / "runs.jsonl", resume=True)
    part, came, _ = bench(own, stop_after=stop_after)
    assert part.interrupted and not part.summary.complete
    assert len(part.runs) == len(part.summary.rows) == len(came) == stop_after
    resumed, rest, began = bench(own)
    assert began == [(6, stop_after)] and len(rest) == 6 - stop_after
    assert timeless(resumed.summary) == timeless(whole)
    again, rest, began = bench(own)
    assert began == [(6, 6)] and rest == []
    assert timeless(again.summary) == timeless(whole)


def test_a_half_written_record_runs_again(tmp_path: Path, whole: Summary) -> None:
    """A journal whose last line was cut off goes on with that run."""
    bench(plan(tmp_path, journal=tmp_path / "runs.jsonl"))
    data = (tmp_path / "runs.jsonl").read_bytes()
    (tmp_path / "runs.jsonl").write_bytes(data[:-40])
    resumed, rest, began = bench(plan(tmp_path, journal=tmp_path / "runs.jsonl", resume=True))
    assert began == [(6, 5)] and len(rest) == 1
    assert timeless(resumed.summary) == timeless(whole)
    assert len(read_journal(tmp_path / "runs.jsonl")) == 6


def test_resume_takes_only_what_answers_the_same_question(tmp_path: Path) -> None:
    """Records of other settings, seeds, solvers or contents of the file do not count, and stay in the journal."""
    path = tmp_path / "runs.jsonl"
    base = {"solvers": ["greedy"], "journal": path, "resume": True}
    bench(plan(tmp_path, **base))
    other = Settings(time_limit=11.0, gap=None, threads=1)
    assert bench(plan(tmp_path, **base, settings=other))[2] == [(2, 0)]
    assert bench(plan(tmp_path, **base, seeds=[0, 1]))[2] == [(4, 2)]
    assert bench(plan(tmp_path, **{**base, "solvers": ["greedy", "first-fit"]}))[2] == [(4, 2)]
    write(tmp_path / "set" / "a.json", document(jobs=2))
    fresh = Plan(
        suite=load_suite([str(tmp_path / "set")]),
        solvers=["greedy"],
        seeds=[0],
        settings=SETTINGS,
        journal=path,
        resume=True,
    )
    assert bench(fresh)[2] == [(2, 1)]
    assert len(read_journal(path)) == 2 + 2 + 2 + 2 + 1


def test_records_of_another_version_do_not_count(tmp_path: Path) -> None:
    """The summary names one version: what another one found is run again."""
    path = tmp_path / "runs.jsonl"
    base = {"solvers": ["greedy"], "journal": path, "resume": True}
    bench(plan(tmp_path, **base))
    text = path.read_text()
    path.write_text(text.replace(f'"crop_version":"{__version__}"', '"crop_version":"0.0.1"', 1))
    assert bench(plan(tmp_path, **base))[2] == [(2, 1)]


def test_a_baselines_bound_is_made_up_for(tmp_path: Path) -> None:
    """Records of baselines without a bound do not count where nobody else gives one."""
    path = tmp_path / "runs.jsonl"
    bench(plan(tmp_path, ["greedy", "first-fit"], journal=path))
    result, rest, _ = bench(plan(tmp_path, ["first-fit"], journal=path, resume=True))
    assert [made.instance for made in rest] == ["set/a"]
    assert result.summary.rows[0].ratio == 1.0


def test_baselines_alone_get_a_bound(tmp_path: Path) -> None:
    """Where no own solver runs, the reference has a bound all the same; a table's bound saves the work."""
    result, came, _ = bench(plan(tmp_path, ["first-fit"]))
    assert result.summary.references[0].bound == pytest.approx(8.0)
    assert came[0].seconds["bound"] > 0
    (tmp_path / "best-known.json").write_text("{}")
    own = plan(tmp_path, ["first-fit"])
    for of in own.suite:
        update(of, [made for made in result.runs if made.instance == of.name])
    result, came, _ = bench(own)
    by_name = {made.instance: made for made in came}
    assert by_name["set/a"].bound is None
    reference = result.summary.references[0]
    assert (reference.value, reference.optimal, reference.by) == (8.0, True, "first-fit")
    assert reference.sources == ["best-known"]


def test_failures_do_not_stop_a_bench(tmp_path: Path, misbehaving: Path) -> None:
    """Solvers that die or raise have failed rows, the others theirs."""
    result, _, _ = bench(plan(tmp_path, ["greedy", "x-dies", "x-raises"]))
    verdicts = {(row.instance, row.solver): row.verdict for row in result.summary.rows}
    assert verdicts["set/a", "x-dies"] == verdicts["set/a", "x-raises"] == "failed"
    assert verdicts["set/a", "greedy"] == "optimal"
    assert result.summary.complete


def test_an_interrupt_leaves_no_process(tmp_path: Path, misbehaving: Path) -> None:
    """What runs when Ctrl-C comes is ended and is not in the records."""
    own = plan(tmp_path, ["x-slow", "x-hangs"], journal=tmp_path / "runs.jsonl")
    result, _, _ = bench(own, stop_after=1)
    assert result.interrupted
    assert [made.solver for made in result.runs] == ["x-slow"]
    assert not any(map(alive, pids(misbehaving)))
    assert read_journal(tmp_path / "runs.jsonl") == result.runs
