"""Commands that make Slurm start the placed jobs on exactly the chosen nodes with exactly the chosen numbers of GPUs.

What a real controller does with them (Slurm 22.05.8 and 24.11.5, select/cons_tres):

- `--nodelist` with `--nodes` and `--gpus-per-node` fixes an even split.
- An uneven one can only be had from a heterogeneous job, one component per number of GPUs. With `--gpus` Slurm splits
  in its own way, and `--distribution=arbitrary` with a node list that names nodes repeatedly does not keep the counts.
- A pending job takes `scontrol update` of `ReqNodeList`, `NumNodes` and `Gres`, however it asked for its GPUs; no
  update makes it heterogeneous.
- A running job that is requeued waits two minutes unless its `StartTime` is set.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.export.placed import Exported, Placement, one_line
from crop_cli.model.findings import quoted
from crop_cli.model.instance import Job
from crop_cli.names import folded

DEFAULT_SCRIPT = "./{job}.sh"
"""Batch script of a job that is not in the queue yet."""

_QUEUED = re.compile(r"(?P<id>[0-9]+(?:_[0-9]+|\+[0-9]+)?)(?:-(?P<name>.*))?", re.DOTALL)
"""How `crop import slurm` names a job of a live queue: its number as squeue prints it, a dash, its name there."""

_NO_TASK = "a task of an array cannot get different numbers of GPUs on its nodes"
"""A heterogeneous job is no array, and its script would miss the task's number."""

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Command:
    """What is done for one job.

    Attributes
    ----------
    placement
        The job.
    slurm_id
        Its number in the queue; None for one that is not there yet.
    argv
        The command and its arguments; `place`, `move`, `resubmit` and `alone` are functions of the script (slurm.sh).
    first
        What frees its GPUs; empty where nothing does.
    """

    placement: Placement
    slurm_id: str | None
    argv: list[str]
    first: list[str]


def commands(exported: Exported, script: str = DEFAULT_SCRIPT, *, queued: bool | None = None) -> list[Command]:
    """One command per job that starts or moves, in the order of the solution.

    Parameters
    ----------
    exported
        What is placed.
    script
        Path of the batch script of a job that is not in the queue; "{job}" stands for the job's name.
    queued
        Whether names that begin with a number are those of jobs in the queue. None: if all names do.

    Raises
    ------
    InputError
        If a node's name is none of Slurm's.
    UsageError
        If a running job that is none of Slurm's is to move, or one is to move onto different numbers of GPUs.
    """
    _check_nodes(exported)
    if queued is None:
        names = [*(p.name for p in exported.placements), *(row.job for row in exported.solution.unplaced)]
        queued = all(_QUEUED.fullmatch(name) for name in names)
    return [_command(p, script, queued=queued) for p in exported.placements if p.change != "stays"]


def slurm_script(exported: Exported, todo: list[Command]) -> str:
    """A bash script with the commands, a comment for each job, and the jobs that run on or wait."""
    return "\n".join(_lines(exported, todo)) + "\n"


def slurm_json(todo: list[Command]) -> str:
    """The same for programs: a list of jobs with node lists, GPUs and what is done."""
    return json.dumps([_row(command) for command in todo], indent=1, ensure_ascii=False) + "\n"


def _command(placement: Placement, script: str, *, queued: bool) -> Command:
    found = _QUEUED.fullmatch(placement.name) if queued else None
    if found is None:
        if placement.change == "moves":
            raise UsageError(f"job {quoted(placement.name)} is to move, but its name has no Slurm job number")
        file = script.replace("{job}", placement.name)
        argv = ["sbatch", f"--job-name={placement.name}", *_components(placement), file]
        return Command(placement, None, argv, [])
    number, name = found["id"], (found["name"] or "").strip()
    if placement.even:
        (count, nodes), *_ = placement.by_count()
        where = [str(len(nodes)), str(count), _node_list(nodes)]
        if placement.change == "moves":
            return Command(placement, number, ["move", number, name, *where], ["leave", number, name])
        return Command(placement, number, ["place", number, name, *where], [])
    if placement.change == "moves":
        raise UsageError(
            f"job {quoted(placement.name)} runs and is to move onto different numbers of GPUs per node; Slurm can "
            "requeue it with an even split only (say so in the instance with gpus_per_node)"
        )
    if "_" in number:
        return Command(placement, number, ["alone", number, name, _NO_TASK], [])
    return Command(placement, number, ["resubmit", number, name, *_components(placement)], [])


def _components(placement: Placement) -> list[str]:
    """Options of the job, or of each component of a heterogeneous one, most GPUs first."""
    options: list[str] = []
    for count, nodes in placement.by_count():
        options += [":"] if options else []
        options += [f"--nodes={len(nodes)}", f"--nodelist={_node_list(nodes)}", f"--gpus-per-node={count}"]
        if placement.job is not None:
            options += _demands(placement.job)
    return options


def _demands(job: Job) -> list[str]:
    """Cores and memory of a GPU, by the names that `crop import slurm` gives to them; Slurm knows whole cores only."""
    cores, gib = job.resources_per_gpu.get("cpu", 0.0), job.resources_per_gpu.get("memory_gib", 0.0)
    options = [f"--cpus-per-gpu={round(cores)}"] if cores >= 1 and cores == round(cores) else []
    return [*options, f"--mem-per-gpu={int(gib * 1024)}M"] if gib * 1024 >= 1 else options


def _node_list(names: list[str]) -> str:
    return ",".join(folded(names))


def _check_nodes(exported: Exported) -> None:
    """A node's name must not say something else in a list of nodes."""
    wrong = {name for p in exported.placements for name in p.nodes if not _NODE.fullmatch(name)}
    if wrong:
        expected = "a name of letters, digits, dots, dashes and underscores, as Slurm's nodes have"
        raise InputError("solution", [Defect("$.placements[].nodes", quoted(name), expected) for name in sorted(wrong)])


def _lines(exported: Exported, todo: list[Command]) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield from (f"# {line}" for line in exported.head())
    if exported.instance is None:
        yield "# Jobs that run already cannot be told from those that start: they are left alone when this runs."
    yield "set -euo pipefail"
    if any(command.slurm_id is not None for command in todo):
        yield ""
        yield files("crop_cli.export").joinpath("slurm.sh").read_text(encoding="utf-8").rstrip()
    moves = [command for command in todo if command.first]
    rest = [command for command in todo if not command.first]
    if moves:
        yield from _checks(todo)
    # Those that wait are bound to their nodes before these are freed, lest they start elsewhere.
    yield from _told(rest)
    if moves:
        yield ""
        yield "# Jobs that move give up their GPUs first; they lose what they did since their last checkpoint."
        yield "unless_failed 'no running job is stopped'"
        yield from (shlex.join(command.first) for command in moves)
        yield from _told(moves)
    stay = [placement for placement in exported.placements if placement.change == "stays"]
    if stay:
        yield ""
        yield "# Run on as they are:"
        yield from (f"#   {placement.told()}" for placement in stay)
    if exported.solution.unplaced:
        yield ""
        yield "# Not placed:"
        yield from (f"#   {quoted(row.job)}: {one_line(row.reason)}" for row in exported.solution.unplaced)
    if any(command.slurm_id is not None for command in todo):
        yield ""
        yield 'exit "$failed"'


def _checks(todo: list[Command]) -> Iterator[str]:
    """What must still be so before anything is changed, since moves lose work."""
    yield ""
    yield "# Nothing is done if the queue has changed: jobs would be stopped in vain."
    for command in todo:
        if command.slurm_id is not None and command.argv[0] != "alone":
            yield shlex.join(["expect", "move" if command.first else "place", *command.argv[1:3]])
    yield "unless_failed 'nothing is done'"


def _told(todo: list[Command]) -> Iterator[str]:
    """Commands with a comment on each."""
    for command in todo:
        yield ""
        yield f"# {command.placement.told()}"
        # A colon separates the components of a heterogeneous job; it needs no quotes.
        yield shlex.join(command.argv)


def _row(command: Command) -> dict[str, Any]:
    placement = command.placement
    return {
        "job": placement.name,
        "slurm_job_id": command.slurm_id,
        "change": placement.change,
        "nodes": placement.nodes,
        "node_lists": [
            {"nodelist": _node_list(nodes), "nodes": len(nodes), "gpus_per_node": count}
            for count, nodes in placement.by_count()
        ],
        "expected_goodput": placement.row.goodput,
        "iteration_s": placement.row.iteration_s,
        "action": "submit" if command.slurm_id is None else command.argv[0],
        "command": command.argv if command.slurm_id is None else None,
    }
