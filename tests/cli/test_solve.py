"""`crop solve`: streams, forms, files and exit codes."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from crop_cli.model.solution import Solution
from crop_cli.solvers.registry import ENGINES
from tests.cli import instances
from tests.cli.conftest import Process, Run
from tests.solvers import fakes


def test_the_summary_says_everything(crop: Run, racks: str) -> None:
    """The table names status, objective, bound, gap, ratio, guarantee, use, overhead, throughput, risk and time."""
    done = crop("solve", racks, "--solver", "greedy")
    assert done.exit_code == 0, done.stderr
    names = [line.split("  ")[0] for line in done.stdout.splitlines()]
    for name in (
        "instance", "solver", "status", "objective", "bound", "gap", "ratio", "guarantee", "GPUs", "jobs", "goodput",
        "communication", "throughput", "failures", "blast radius", "time", "Placement", "Not placed",
    ):  # fmt: skip
        assert name in names, name
    assert "needs 4 GPUs of type H100" in done.stdout


def test_json_is_one_document_and_nothing_else(crop_process: Process, racks: str) -> None:
    """With --format json standard output is exactly the solution document, progress or not."""
    done = crop_process("solve", racks, "--solver", "greedy", "--format", "json", "-v")
    assert done.returncode == 0
    solution = msgspec.json.decode(done.stdout.encode(), type=Solution)
    assert solution.format == "crop-solution/1"
    assert "incumbent" in done.stderr


def test_the_output_file_is_the_json_document(crop: Run, racks: str, tmp_path: Path) -> None:
    """-o writes the solution, standard output still gets the form asked for, and nothing else is left in the folder."""
    out = tmp_path / "out"
    out.mkdir()
    done = crop("solve", racks, "--solver", "greedy", "-o", str(out / "s.json"), "--format", "csv")
    assert done.exit_code == 0
    assert done.stdout.startswith("job,gpus,nodes,")
    assert msgspec.json.decode((out / "s.json").read_bytes(), type=Solution).solver.name == "greedy"
    assert [path.name for path in out.iterdir()] == ["s.json"]


def test_dash_is_standard_input_and_output(crop_process: Process, racks: str) -> None:
    """An instance from a pipe gives its solution to a pipe, which check accepts from a pipe."""
    done = crop_process("solve", "-", "--solver", "greedy", "-o", "-", stdin=Path(racks).read_text())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["instance"]["name"] == "two-racks"
    checked = crop_process("check", racks, "-", stdin=done.stdout)
    assert checked.returncode == 0, checked.stdout


def test_a_compressed_instance_is_read(crop: Run, tmp_path: Path) -> None:
    """A gzip file needs no option."""
    path = tmp_path / "i.json.gz"
    path.write_bytes(gzip.compress(json.dumps(instances.two_racks()).encode()))
    assert crop("solve", str(path), "--solver", "greedy", "-q").exit_code == 0


def test_csv_is_the_placement(crop: Run, racks: str) -> None:
    """CSV has a row per placed job with its nodes and full numbers."""
    rows = list(csv.DictReader(io.StringIO(crop("solve", racks, "--solver", "greedy", "--format", "csv").stdout)))
    document = json.loads(crop("solve", racks, "--solver", "greedy", "--format", "json").stdout)
    assert [row["job"] for row in rows] == [row["job"] for row in document["placements"]]
    for row, placed in zip(rows, document["placements"], strict=True):
        nodes = {name: int(x) for name, _, x in (pair.partition(":") for pair in row["nodes"].split())}
        assert nodes == placed["nodes"]
        assert float(row["goodput"]) == placed["goodput"]


def test_markdown_is_tables(crop: Run, racks: str) -> None:
    """Markdown has a table of facts, one of placements and one of what waits."""
    text = crop("solve", racks, "--solver", "greedy", "--format", "markdown").stdout
    assert "| status |" in text
    assert "### Placement" in text
    assert "### Not placed" in text


def test_the_stream_is_typed_json_lines(crop_process: Process, racks: str) -> None:
    """--json-stream begins with start, ends with the solution, and each line between has its type and time."""
    done = crop_process("solve", racks, "--solver", "greedy", "--json-stream")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [lines[0]["type"], lines[-1]["type"]] == ["start", "result"]
    assert {"phase", "incumbent", "bound"} <= {line["type"] for line in lines}
    assert all("seconds" in line for line in lines[1:-1])
    assert lines[-1]["solution"]["format"] == "crop-solution/1"
    assert [line["objective"] for line in lines if line["type"] == "incumbent"][-1] == pytest.approx(
        lines[-1]["solution"]["objective"]
    )


def test_quiet_leaves_standard_error_empty(crop_process: Process, tmp_path: Path) -> None:
    """-q shows no warning and no note, and results as ever."""
    path = instances.write(tmp_path / "i.json", instances.two_racks())
    loud, quiet = (crop_process("solve", path, "--solver", "greedy", *flags) for flags in ((), ("-q",)))
    assert "warning" in loud.stderr
    assert quiet.stderr == ""
    assert "Placement" in quiet.stdout


def test_pipes_get_plain_uncut_text(crop_process: Process, racks: str) -> None:
    """Not a terminal: no escape codes and no line broken at 80 columns, whatever COLUMNS says."""
    done = crop_process("solve", racks, "--solver", "greedy", COLUMNS="40", FORCE_COLOR="1")
    assert "\x1b" not in done.stdout + done.stderr
    assert "…" not in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) > 80


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_tables_and_colour_only_if_wanted(racks: str, no_color: str) -> None:
    """On a terminal the status is coloured, and with NO_COLOR nothing is; nothing is cut off either way."""
    text = _on_terminal(["solve", racks, "--solver", "greedy"], {"NO_COLOR": no_color, "COLUMNS": "60"})
    coloured = any(f"\x1b[{code}m" in text for code in (31, 32, 33))
    assert coloured == (no_color == "")
    assert "…" not in text
    assert "H100" in text


def _on_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """Standard output of a command that writes to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [sys.executable, "-m", "crop_cli", *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    child.wait(timeout=60)
    os.close(ours)
    return b"".join(parts).decode()


def test_a_reader_that_leaves_is_no_error(racks: str) -> None:
    """When the reader of standard output closes it early, the command ends silently with its own exit code."""
    child = subprocess.Popen(
        [sys.executable, "-m", "crop_cli", "solve", racks, "--solver", "greedy", "--json-stream"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    errors = child.stderr.read().decode()
    child.stderr.close()
    assert child.wait(timeout=60) == 0
    assert "Broken" not in errors and "Traceback" not in errors


def test_names_outside_the_terminals_encoding_do_not_stop_it(crop_process: Process, tmp_path: Path) -> None:
    """A job name that the encoding of standard output lacks is escaped in tables and exact in JSON."""
    data = instances.two_racks()
    data["jobs"][0]["name"] = "größe-训练"
    path = instances.write(tmp_path / "i.json", data)
    table = crop_process("solve", path, "--solver", "greedy", PYTHONIOENCODING="ascii")
    assert table.returncode == 0, table.stderr
    document = crop_process("solve", path, "--solver", "greedy", "--format", "json", PYTHONIOENCODING="ascii")
    assert "größe-训练" in document.stdout


def test_malformed_input_writes_nothing(crop: Run, tmp_path: Path) -> None:
    """Bad input ends with 3, leaves standard output empty, and makes no output file."""
    bad = instances.write(tmp_path / "bad.json", instances.two_racks(jobs=[{"name": "a", "gpus": -1}, {"gpus": 1}]))
    done = crop("solve", bad, "-o", str(tmp_path / "s.json"))
    assert (done.exit_code, done.stdout) == (3, "")
    assert "$.jobs[0].gpus" in done.stderr and "$.jobs[1]" in done.stderr
    assert not (tmp_path / "s.json").exists()


def test_a_missing_file_is_bad_input(crop: Run, tmp_path: Path) -> None:
    """A file that is not there is named."""
    done = crop("solve", str(tmp_path / "nowhere.json"))
    assert done.exit_code == 3
    assert "nowhere.json" in done.stderr


def test_proven_infeasible_is_exit_code_four(crop: Run, tmp_path: Path) -> None:
    """Required jobs that cannot all be placed end with 4, a solution that says so, and a reason for each."""
    path = instances.write(tmp_path / "i.json", instances.infeasible())
    done = crop("solve", path, "-o", str(tmp_path / "s.json"))
    assert done.exit_code == 4, done.stderr
    solution = msgspec.json.decode((tmp_path / "s.json").read_bytes(), type=Solution)
    assert (solution.status, solution.stop_reason, solution.objective) == ("infeasible", "proved", None)
    assert all("must run" in row.reason for row in solution.unplaced)
    assert crop("check", path, str(tmp_path / "s.json")).exit_code == 0


def _replace_greedy(monkeypatch: pytest.MonkeyPatch, reply: fakes.Reply) -> None:
    monkeypatch.setitem(ENGINES, "greedy", fakes.engine("greedy", "heuristic", reply))


def test_no_solution_is_exit_code_five(crop: Run, racks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that finds no placement ends with 5, and its document has no objective."""
    _replace_greedy(monkeypatch, fakes.nothing)
    done = crop("solve", racks, "--solver", "greedy", "--format", "json")
    assert done.exit_code == 5
    assert json.loads(done.stdout)["objective"] is None


def test_a_refused_placement_is_exit_code_six(crop: Run, racks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver whose placement the evaluator refuses ends with 6 and writes no solution."""
    _replace_greedy(monkeypatch, fakes.overfull)
    done = crop("solve", racks, "--solver", "greedy", "--format", "json")
    assert (done.exit_code, done.stdout) == (6, "")
    assert "evaluator refused" in done.stderr


def test_a_library_that_is_not_installed_is_exit_code_six(
    crop: Run, racks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A back end whose package is missing ends with 6 and the package's name."""
    engine = ENGINES["highs"]
    gone = replace(engine, back_ends=tuple(replace(b, imports="no_such_module") for b in engine.back_ends))
    monkeypatch.setitem(ENGINES, "highs", gone)
    done = crop("solve", racks, "--solver", "highs")
    assert done.exit_code == 6
    assert "highspy" in done.stderr


def test_the_same_run_twice_is_the_same(crop: Run, racks: str) -> None:
    """Equal input, options and seed give an equal document but for the clock."""
    first, second = (json.loads(crop("solve", racks, "--solver", "greedy", "-o", "-").stdout) for _ in range(2))
    for document in (first, second):
        del document["runtime_s"]
    assert first == second


def test_greedy_imports_little(racks: str) -> None:
    """The greedy and its bound load HiGHS, which is quick, but neither scipy nor another library nor networkx."""
    code = (
        "import sys\n"
        "from crop_cli.cli.main import app\n"
        "try:\n"
        f"    app(['solve', {racks!r}, '--solver', 'greedy', '-q'])\n"
        "finally:\n"
        "    heavy = ('scipy', 'ortools', 'pulp', 'networkx', 'pandas', 'rich')\n"
        "    print([m for m in heavy if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


@pytest.mark.parametrize("solver", ["auto", "exact", "cp-sat", "highs", "scip", "cbc"])
def test_exact_engines_prove_and_check(crop_process: Process, tmp_path: Path, solver: str) -> None:
    """Every exact engine proves a small instance optimal, agrees on F, and its file passes the check."""
    data = instances.two_racks()
    data["jobs"] = data["jobs"][:6]
    path = instances.write(tmp_path / "i.json", data)
    out = str(tmp_path / "s.json")
    done = crop_process("solve", path, "--solver", solver, "-o", out)
    assert done.returncode == 0, done.stderr
    solution = msgspec.json.decode(Path(out).read_bytes(), type=Solution)
    assert (solution.status, solution.stop_reason) == ("optimal", "proved")
    assert solution.gap is not None and solution.gap <= 1e-6
    if solver in ("cp-sat", "highs", "scip", "cbc"):
        assert solution.solver.back_end is not None and solution.solver.back_end_version
    assert crop_process("check", path, out).returncode == 0


@pytest.mark.parametrize("out", ["no/such/folder/s.json", "."])
def test_an_output_that_cannot_be_written_is_refused_first(crop: Run, racks: str, tmp_path: Path, out: str) -> None:
    """A folder that does not exist, or a folder in place of a file, is a usage error before any work is done."""
    done = crop("solve", racks, "--solver", "greedy", "-v", "-o", str(tmp_path / out))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "incumbent" not in done.stderr


def test_the_instance_is_not_overwritten(crop: Run, racks: str) -> None:
    """The solution cannot take the place of its own instance."""
    before = Path(racks).read_bytes()
    assert crop("solve", racks, "--solver", "greedy", "-o", racks).exit_code == 2
    assert Path(racks).read_bytes() == before


def test_the_instance_is_not_overwritten_when_it_is_standard_input(racks: str) -> None:
    """The solution cannot take the place of a file that standard input reads either."""
    before = Path(racks).read_bytes()
    with Path(racks).open("rb") as source:
        command = [sys.executable, "-m", "crop_cli", "solve", "-", "--solver", "greedy", "-o", racks]
        done = subprocess.run(command, stdin=source, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "that is an input file" in done.stderr
    assert Path(racks).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_without_a_traceback(racks: str) -> None:
    """Standard output that cannot take the result is said in one line."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crop_cli", "solve", racks, "--solver", "greedy", "-q"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "crop: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", ["1", "2"])
def test_closed_streams_do_not_stop_it(racks: str, tmp_path: Path, closed: str) -> None:
    """With standard output or error closed the file is written and the exit code is 0."""
    out = tmp_path / "s.json"
    line = f'exec "{sys.executable}" -m crop_cli solve "{racks}" --solver greedy -o "{out}" {closed}>&-'
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert done.returncode == 0
    assert json.loads(out.read_bytes())["format"] == "crop-solution/1"
