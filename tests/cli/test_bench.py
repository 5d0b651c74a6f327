"""`crop bench`: what it prints and writes, resuming, best-known values."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from crop_cli.bench.journal import read_journal
from tests.cli.conftest import Run


def test_what_is_printed(bench: Run, folder: Path) -> None:
    """Tables on standard output, a line per run on standard error, the records in runs.jsonl."""
    done = bench("--solver", "greedy", "--solver", "first-fit", "--jobs", "1")
    assert done.exit_code == 0
    assert "instances  1, of 1 the optimum is proven" in done.stdout
    assert "greedy" in done.stdout and "first-fit" in done.stdout
    first, second = done.stderr.splitlines()
    assert first.startswith("[1/2] set/i greedy: optimal (proved), F 8, gap ") and first.endswith(" s")
    assert second.startswith("[2/2] set/i first-fit: feasible (completed), F 8, ") and second.endswith(" s")
    assert [made.solver for made in read_journal(folder / "runs.jsonl")] == ["greedy", "first-fit"]


def test_json_is_one_document(bench: Run, folder: Path) -> None:
    """Standard output is the summary and nothing else, equal to the file of -o."""
    done = bench("--format", "json", "-o", "s.json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["format"] == "crop-bench/1"
    assert done.stdout.encode() == (folder / "s.json").read_bytes()


def test_the_summary_on_standard_output(bench: Run) -> None:
    """-o - puts the summary there, and no tables beside it."""
    assert json.loads(bench("-o", "-").stdout)["solvers"] == ["greedy"]


def test_csv_has_every_run(bench: Run) -> None:
    """A line per run, under the names of the figures."""
    done = bench("--format", "csv", "--seeds", "0..2", "--quiet")
    assert done.stderr == ""
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(line["instance"], line["seed"], line["ratio"], line["nodes"]) for line in lines] == [
        ("set/i", seed, "1.0", "2") for seed in "012"
    ]


def test_markdown_and_the_github_summary(bench: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Markdown tables; --github-summary appends them to what other steps wrote, without the single runs."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "github.md"))
    (folder / "github.md").write_text("before\n")
    done = bench("--format", "markdown", "--github-summary", "--require", "greedy.ratio>=2")
    assert done.exit_code == 8
    assert "| solver | runs |" in done.stdout
    text = (folder / "github.md").read_text()
    assert text.startswith("before\n## crop bench\n\n") and "| greedy | 1 | 1 |" in text
    assert "ratio is 1, not" in text


def test_outside_github_there_is_no_summary_of_a_job(bench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--github-summary without GitHub's variable is refused before anything runs."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    done = bench("--github-summary")
    assert done.exit_code == 2 and "GITHUB_STEP_SUMMARY" in done.stderr


def test_a_page(bench: Run, folder: Path) -> None:
    """--html writes a page with the instance in it."""
    assert bench("--html", "page.html").exit_code == 0
    assert "set/i" in (folder / "page.html").read_text()


def test_best_known_is_updated_only_when_asked(bench: Run, folder: Path) -> None:
    """Without the option the table is read only; with it, better values enter and it says so."""
    (folder / "best-known.json").write_text("{}")
    assert bench("--quiet").exit_code == 0
    assert (folder / "best-known.json").read_text() == "{}"
    done = bench("--quiet", "--update-best-known")
    assert done.stderr.startswith("crop: best known: set/i.json: 8.0 of at most 8.0")
    entry = json.loads((folder / "best-known.json").read_text())["set/i.json"]
    assert (entry["value"], entry["by"], entry["optimal"]) == (8.0, "greedy", True)
    assert bench("--quiet", "--update-best-known").stderr == ""


def test_a_lie_in_the_journal_does_not_enter_the_table(bench: Run, folder: Path) -> None:
    """A record whose placement is not what it claims is not believed by --update-best-known --resume."""
    (folder / "best-known.json").write_text("{}")
    assert bench("--quiet").exit_code == 0
    text = (folder / "runs.jsonl").read_text()
    (folder / "runs.jsonl").write_text(text.replace('"j1":{"b":4}', '"j1":{"a":4}').replace('"b":4', '"a":4'))
    bench("--quiet", "--update-best-known", "--resume")
    assert (folder / "best-known.json").read_text() == "{}"


def test_resume(bench: Run, folder: Path) -> None:
    """Known runs count and are said to; a half-written last line runs again."""
    arguments = ["--solver", "greedy", "--solver", "first-fit", "--jobs", "1", "--format", "csv"]
    first = bench(*arguments)
    data = (folder / "runs.jsonl").read_bytes()
    (folder / "runs.jsonl").write_bytes(data[:-30])
    again = bench(*arguments, "--resume")
    assert again.exit_code == 0
    lines = again.stderr.splitlines()
    assert lines[0] == "crop: 1 of 2 runs are known from before" and lines[1].startswith("[2/2] set/i first-fit")
    drop = {"seconds", "peak_mib"}
    tables = [
        [{key: value for key, value in line.items() if key not in drop} for line in csv.DictReader(io.StringIO(text))]
        for text in (first.stdout, again.stdout)
    ]
    assert tables[0] == tables[1]
    assert len(read_journal(folder / "runs.jsonl")) == 2


def test_the_order_of_settings_does_not_matter(bench: Run) -> None:
    """A bench whose --set options come in another order asks the same question."""
    settings = ["--set", "first-fit.order=priority", "--set", "greedy.level=node"]
    solvers = ["--solver", "greedy", "--solver", "first-fit"]
    bench(*solvers, *settings)
    again = bench(*solvers, *settings[2:], *settings[:2], "--resume")
    assert again.stderr.splitlines() == ["crop: 2 of 2 runs are known from before"]


def test_resume_refuses_garbage(bench: Run, folder: Path) -> None:
    """A journal with garbage in the middle is bad input, and stays as it is."""
    bench("--quiet")
    data = (folder / "runs.jsonl").read_bytes()
    (folder / "runs.jsonl").write_bytes(data + b"garbage\n" + data)
    done = bench("--resume")
    assert done.exit_code == 3 and "line 2" in done.stderr
    assert (folder / "runs.jsonl").read_bytes() == data + b"garbage\n" + data


def test_an_earlier_journal_is_kept(bench: Run, folder: Path) -> None:
    """Without --resume, records of an earlier bench get another name, and it is said."""
    bench("--quiet")
    before = (folder / "runs.jsonl").read_bytes()
    done = bench()
    assert "runs.jsonl of an earlier bench is now runs.jsonl.1" in done.stderr
    assert (folder / "runs.jsonl.1").read_bytes() == before
