"""Solvers of other packages: the one of docs/add-a-solver.md, word for word, and one that cannot be imported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli import instances

PAGE = Path(__file__).parents[2] / "docs" / "add-a-solver.md"
LONGEST = 30
"""Lines of a complete rule, at most."""


def _block(language: str) -> str:
    """The page's only code block of a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return found


def _install(site: Path, code: str | None) -> None:
    """What `pip install` of the page's package leaves in a folder; without code, its module is missing."""
    project = tomllib.loads(_block("toml"))["project"]
    (points,) = project["entry-points"].items()
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    heading = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(heading, encoding="utf-8")
    lines = [f"[{points[0]}]", *(f"{name} = {target}" for name, target in points[1].items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if code is not None:
        (site / "emptiest_first.py").write_text(code, encoding="utf-8")


def _crop(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "crop_cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.fixture
def racks(tmp_path: Path) -> str:
    """A file with eight nodes and eleven jobs."""
    return instances.write(tmp_path / "racks.json", instances.two_racks())


def test_the_page_shows_a_short_rule() -> None:
    """The complete file has at most thirty lines, and no entry of the package's metadata is missing."""
    assert len(_block("python").splitlines()) <= LONGEST
    project = tomllib.loads(_block("toml"))["project"]
    assert project["entry-points"] == {"crop.solvers": {"emptiest-first": "emptiest_first:place"}}


def test_the_rule_of_the_page_solves(tmp_path: Path, racks: str) -> None:
    """Installed beside crop, it places jobs, is verified, gets a bound, and takes its option."""
    _install(tmp_path / "site", _block("python"))
    results = []
    for option in ("no", "yes"):
        choice = ("--solver", "emptiest-first", "--set", f"reverse={option}")
        done = _crop(tmp_path / "site", "solve", racks, *choice, "--format", "json")
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    for result in results:
        assert result["metrics"]["jobs_placed"] > 0
        assert result["objective"] <= result["bound"]
    assert results[0]["placements"] != results[1]["placements"]


def test_an_option_that_the_rule_does_not_know_is_refused(tmp_path: Path, racks: str) -> None:
    """Exit code 2, and the known ones are named."""
    _install(tmp_path / "site", _block("python"))
    done = _crop(tmp_path / "site", "solve", racks, "--solver", "emptiest-first", "--set", "revers=yes")
    assert done.returncode == 2
    assert "no option 'revers' (it knows order, reverse)" in done.stderr


def test_the_rule_of_the_page_is_listed(tmp_path: Path) -> None:
    """`crop solvers` names it, its role and its package."""
    _install(tmp_path / "site", _block("python"))
    done = _crop(tmp_path / "site", "solvers", "--format", "json")
    assert done.returncode == 0, done.stderr
    (row,) = (row for row in json.loads(done.stdout) if row["name"] == "emptiest-first")
    assert (row["role"], row["installed"], row["summary"]) == ("baseline", True, "of package emptiest-first")


@pytest.mark.parametrize("code", [None, "import no_such_module\n", "place_ = None\n"])
def test_a_plug_in_that_cannot_be_loaded_is_named(tmp_path: Path, racks: str, code: str | None) -> None:
    """No module, a module that fails to import, or one without the function: exit code 6 and what is wrong."""
    _install(tmp_path / "site", code)
    assert _crop(tmp_path / "site", "solvers").returncode == 0
    done = _crop(tmp_path / "site", "solve", racks, "--solver", "emptiest-first")
    assert done.returncode == 6
    assert "solver 'emptiest-first' (emptiest_first:place) cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr
