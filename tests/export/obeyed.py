"""A script for Slurm, obeyed by stand-ins of its commands that write down their arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from crop_cli.export.placed import Exported
from crop_cli.export.slurm import DEFAULT_SCRIPT, commands, slurm_script

STAND_IN = '''#!/usr/bin/env python3
import json, os, sys
SUBMITTED = """#!/bin/sh
#SBATCH -N2
#SBATCH --gpus=13
#SBATCH --mem=4G
#SBATCH -p x -c 2
#SBATCH --mem-bind=local
#SBATCH --comment=kept
train
"""
name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
with open(os.environ["SAID"], "a") as file:
    file.write(json.dumps([name, *arguments]) + "\\n")
job = next((a.partition("=")[2] for a in arguments if a.startswith("--jobs=")), "")
known = json.loads(os.environ["QUEUE"]).get(job, {})
for argument in arguments:
    if argument.startswith("--format=") and known:
        print(known.get(argument.partition("=")[2], "(null)"))
if arguments[:3] == ["--oneliner", "show", "job"]:
    print(json.loads(os.environ["QUEUE"])[arguments[3]]["show"])
if arguments[:2] == ["show", "job"]:
    print(json.loads(os.environ["QUEUE"])[arguments[2]]["lines"])
if arguments[:2] == ["write", "batch_script"]:
    open(arguments[3], "w").write(SUBMITTED)
if name == "sbatch" and os.path.isfile(arguments[-1]):
    print(99)
    with open(os.environ["SAID"], "a") as file:
        file.write(json.dumps(["script", open(arguments[-1]).read()]) + "\\n")
sys.exit(f" {os.environ['BROKEN']} " in f" {' '.join(arguments)} ")
'''


def obeyed(
    tmp_path: Path, script: str, queue: dict[str, dict[str, str]] | None = None, *, code: int = 0, broken: str = "never"
) -> tuple[list[list[str]], str]:
    """Commands that a script calls, by their names and arguments, and what it says on standard error.

    Calls with the arguments `broken` fail. The script is to end with the exit code.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sbatch", "scontrol", "squeue", "scancel"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    said = tmp_path / "said.jsonl"
    said.touch()
    path = f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"PATH": path, "SAID": str(said), "QUEUE": json.dumps(queue or {}), "BROKEN": broken}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in said.read_text().splitlines()], done.stderr


def script(exported: Exported, batch: str = DEFAULT_SCRIPT, *, queued: bool | None = None) -> str:
    """The script for a placement."""
    return slurm_script(exported, commands(exported, batch, queued=queued))


def queued(
    name: str, state: str = "PENDING", reason: str = "Priority", show: str = "", lines: str = "   Requeue=1 BatchFlag=1"
) -> dict[str, str]:
    """What the stand-ins know about a job of the queue."""
    known = {
        "%T": state,
        "%j": name,
        "%r": reason,
        "show": f"JobId=1 {show}",
        "lines": f"JobId=1 JobName={name}\n{lines}",
    }
    return {**known, "%U": "1234", "%G": "5678", "%P": "main", "%l": "1:00:00", "%Z": "/home/a b"}


def changes(said: list[list[str]]) -> list[list[str]]:
    """Calls of scontrol that change something, without its name."""
    return [call[1:] for call in said if call[0] == "scontrol" and call[1] not in ("--oneliner", "show", "write")]


def job(name: str, gpus: int, **fields: Any) -> dict[str, Any]:
    """A job of an instance."""
    return {"name": name, "gpus": gpus, **fields}
