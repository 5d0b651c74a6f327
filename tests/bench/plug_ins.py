"""A package with solvers that misbehave, found by its entry points, here and in every process started from here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crop_cli.solvers.registry import plug_ins

SOURCE = '''
import os, signal, subprocess, sys, time
from pathlib import Path

from crop_cli.model.solution import Guarantee
from crop_cli.solvers.contract import Answer

HERE = Path(__file__).parent


def first(problem, request, budget, listen):
    """The first job on the first nodes."""
    job = int(problem.open_jobs[0])
    return Answer({job: {0: problem.kind(job).k}}, "completed", bound=1.0, guarantee=Guarantee(a_priori=1.0))


def dies(problem, request, budget, listen):
    print("last words", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def exits(problem, request, budget, listen):
    os._exit(3)


def raises(problem, request, budget, listen):
    raise ZeroDivisionError("oh")


def garbage(problem, request, budget, listen):
    return "garbage"


def overfull(problem, request, budget, listen):
    return Answer({int(j): {0: problem.kind(int(j)).k} for j in problem.open_jobs}, "completed")


def prints(problem, request, budget, listen):
    print("x" * 200_000)
    print("y" * 200_000, file=sys.stderr)
    return first(problem, request, budget, listen)


def hangs(problem, request, budget, listen):
    """Never ends, nor does the child that it starts; both leave their numbers."""
    child = subprocess.Popen(["sleep", "600"])
    with (HERE / "pids").open("a") as file:
        file.write(f"{os.getpid()} {child.pid}\\n")
    time.sleep(600)


def slow(problem, request, budget, listen):
    """Takes half a second, and leaves its number."""
    with (HERE / "pids").open("a") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(0.5)
    return first(problem, request, budget, listen)
'''

NAMES = ["first", "dies", "exits", "raises", "garbage", "overfull", "prints", "hangs", "slow"]


def install(folder: Path) -> Path:
    """Put the package into a folder that is to be searched for modules."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "misbehaving.py").write_text(SOURCE)
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    lines = [f"x-{name} = misbehaving:{name}" for name in NAMES]
    (info / "entry_points.txt").write_text("\n".join(["[crop.solvers]", *lines, ""]))
    return folder


@contextmanager
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have the package in this process and in those started from it."""
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    plug_ins.cache_clear()
    yield folder
    monkeypatch.undo()
    plug_ins.cache_clear()


def pids(folder: Path) -> list[int]:
    """Numbers that solvers and their children left."""
    path = folder / "pids"
    return [int(pid) for pid in path.read_text().split()] if path.exists() else []


def alive(pid: int) -> bool:
    """Whether a process runs: zombies do not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
