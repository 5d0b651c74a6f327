"""One run of one solver on one instance, in a process of its own: what the scale benchmark measures."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from crop_cli.api import load, solve
from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import Instance
from crop_cli.model.problem import compile_problem, named
from crop_cli.solvers.contract import Event

ROOT = Path(__file__).resolve().parents[1]
GAPS = (0.05, 0.01, 0.005, 0.001)
"""Gaps whose first moment is noted."""

WIDE, COPIES = 10_240, 10
"""Nodes of the widest cluster: so many copies of the largest instance of its family."""

Row = dict[str, Any]

change = msgspec.structs.replace


def instance_of(family: str, nodes: int) -> Path | Instance:
    """The project's instance of a family ("mix-taken", "racks-taken", ...) and size, or copies of the largest one."""
    kind, _, taken = family.partition("-")
    size = 1024 if nodes == WIDE else nodes
    name = f"{kind}-{size}" + (f"-{taken}" if taken else "")
    folder = ROOT / "instances" / ("medium" if size <= 64 else "large")
    path = next(folder.glob(f"{name}.json*"))
    return copies(load(path).instance, COPIES) if nodes == WIDE else path


def copies(instance: Instance, many: int) -> Instance:
    """A cluster of so many copies side by side, with as many copies of the jobs; names get a prefix."""
    cluster = instance.cluster
    switches, nodes, jobs = [], [], []
    for i in range(many):
        at = f"c{i}-"
        switches += [
            change(s, name=at + s.name, parent=None if s.parent is None else at + s.parent) for s in cluster.switches
        ]
        nodes += [
            change(n, name=at + n.name, parent=None if n.parent is None else at + n.parent) for n in cluster.nodes
        ]
        jobs += [change(j, name=at + j.name) for j in instance.jobs]
    wider = change(cluster, switches=switches, nodes=nodes)
    return change(instance, name=f"{instance.name}-x{many}", cluster=wider, jobs=jobs)


def run_apart(family: str, nodes: int, solver: str, limit: float) -> Row:
    """`run` in a new process, so that its peak memory is its own."""
    with tempfile.NamedTemporaryFile(suffix=".json") as answer:
        command = [sys.executable, "-m", "benchmarks.scale_runs", family, str(nodes), solver, str(limit), answer.name]
        subprocess.run(command, check=True, cwd=ROOT)
        row: Row = json.loads(Path(answer.name).read_text())
    return row


def run(family: str, nodes: int, solver: str, limit: float) -> Row:
    """Solve to a gap of 0 within a time limit: F, bound, seconds by phase, when gaps were reached, peak memory."""
    if solver == "textbook":
        return _textbook(family, nodes, limit)
    incumbent: float | None = None
    bound: float | None = None
    reached: dict[str, float] = {}

    def listen(event: Event) -> None:
        nonlocal incumbent, bound
        if event.value is None:
            return
        if event.kind == "incumbent":
            incumbent = event.value if incumbent is None else max(incumbent, event.value)
        elif event.kind == "bound":
            bound = event.value if bound is None else min(bound, event.value)
        if incumbent and bound is not None:
            for gap in GAPS:
                if (bound - incumbent) / abs(incumbent) <= gap:
                    reached.setdefault(str(gap), round(event.seconds, 2))

    solution = solve(instance_of(family, nodes), solver=solver, time_limit=limit, gap=0.0, listen=listen)
    times = solution.runtime_s
    return {
        "family": family,
        "nodes": nodes,
        "jobs": len(solution.placements) + len(solution.unplaced),
        "solver": solver,
        "status": solution.status,
        "objective": solution.objective,
        "bound": solution.bound,
        "gap": solution.gap,
        "seconds": {"build": times.build, "solve": times.solve, "bound": times.bound, "total": times.total},
        "reached": reached,
        "mib": _peak_mib(),
    }


def _textbook(family: str, nodes: int, limit: float) -> Row:
    """The model that a newcomer would write, by CBC."""
    from benchmarks.textbook import solve_textbook  # noqa: PLC0415 (loads PuLP)

    source = instance_of(family, nodes)
    instance = source if isinstance(source, Instance) else load(source).instance
    problem = compile_problem(instance)
    row: Row = {"family": family, "nodes": nodes, "jobs": len(problem.open_jobs), "solver": "textbook", "reached": {}}
    try:
        found = solve_textbook(instance, time_limit=limit)
    except ValueError:  # a pattern or a shape that the textbook model does not have
        seconds = dict.fromkeys(("build", "solve", "bound", "total"), 0.0)
        nothing = {"objective": None, "bound": None, "gap": None}
        return {**row, **nothing, "status": "not expressible", "seconds": seconds, "mib": _peak_mib()}
    value = None
    if found.placement is not None:
        value = evaluate(instance, named(problem, found.placement)).objective
    known = value is not None and found.bound is not None
    return {
        **row,
        "status": "optimal" if found.proved else "no_solution" if value is None else "feasible",
        "objective": value,
        "bound": found.bound,
        "gap": max(0.0, found.bound - value) / abs(value) if known and value else None,
        "seconds": {
            "build": found.build_s,
            "solve": found.solve_s,
            "bound": 0.0,
            "total": found.build_s + found.solve_s,
        },
        "mib": _peak_mib(),
    }


def _peak_mib() -> int:
    """Peak memory of this process and of the largest of its children."""
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(max(own, children) / 1024)


if __name__ == "__main__":
    _, family_, nodes_, solver_, limit_, output_ = sys.argv
    Path(output_).write_text(json.dumps(run(family_, int(nodes_), solver_, float(limit_))))
