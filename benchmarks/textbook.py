"""The placement problem as a textbook writes it: one product variable per job and pair of nodes, through PuLP and CBC.

It is the model that one gets by translating model.md line by line, and it is correct: on instances that both solve it
has crop's optimum (`tests/benchmarks/test_textbook.py`). Per job j, with x[j][n] workers on node n:

- y[j] = 1 if the job is placed, use[j][n] = 1 if it has workers on n: Σ_n x = k·y, use ≤ x ≤ min(k, GPUs)·use.
- both[j][n, m] = use[j][n]·use[j][m] for every pair of nodes, by McCormick's rows: both ≤ use[n], both ≤ use[m],
  both ≥ use[n] + use[m] − 1.
- cut[j][v] = 1 if the uplink of node or switch v is cut: at least both[n, m] for every pair with one node below v and
  the other not.
- speed[j][l] = 1 for the performance level in force: Σ_l speed = y; a node, or a cut uplink, may be used only under the
  levels that allow it.

Then the GPUs of every node, the bandwidth of every uplink, and F as the objective. Only what the comparison needs is
there: GPUs as the one resource, all-reduce, no shape constraints, no running jobs (ValueError otherwise).
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pulp

from crop_cli.model.instance import Instance
from crop_cli.model.problem import Placement, Problem, compile_problem


@dataclass(frozen=True)
class TextbookRun:
    """What the textbook model came to: placement (None if CBC found none), proof, seconds to build and to solve."""

    placement: Placement | None
    proved: bool
    bound: float | None
    variables: int
    rows: int
    build_s: float
    solve_s: float


def solve_textbook(instance: Instance, time_limit: float) -> TextbookRun:
    """Build the model and run CBC on it, one thread, for at most about `time_limit` seconds."""
    began = time.monotonic()
    problem = compile_problem(instance)
    _check(problem)
    model, x = build(problem)
    built = time.monotonic()
    with TemporaryDirectory() as directory:
        log = Path(directory) / "cbc.log"
        solver = pulp.PULP_CBC_CMD(
            msg=False, timeLimit=time_limit, timeMode="elapsed", gapRel=1e-6, threads=1, logPath=str(log)
        )
        model.solve(solver)
        text = log.read_text(encoding="utf-8", errors="replace")
    # PuLP calls a run that ended at its limit optimal; CBC's own words do not.
    result = re.search(r"^Result - (.*)$", text, re.MULTILINE)
    proved = result is not None and result[1].startswith("Optimal solution found")
    # CBC prints a bound only where it differs from the value.
    bound = re.search(rf"^{'Objective value' if proved else 'Lower bound'}:\s*(\S+)", text, re.MULTILINE)
    found = model.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    return TextbookRun(
        placement=_placement(x) if found else None,
        proved=proved,
        bound=-float(bound[1]) if bound else None,
        variables=model.numVariables(),
        rows=model.numConstraints(),
        build_s=built - began,
        solve_s=time.monotonic() - built,
    )


def build(problem: Problem) -> tuple[Any, dict[int, list[Any]]]:
    """The PuLP model (minimise −F) and x[j][n]."""
    model = pulp.LpProblem("textbook", pulp.LpMinimize)
    x: dict[int, list[Any]] = {}
    cuts: dict[int, dict[int, Any]] = {}
    goals = []
    for j in map(int, problem.open_jobs):
        x[j], cuts[j], goal = _add_job(model, problem, j)
        goals.append(goal)
    for n in range(problem.n_nodes):
        model.addConstraint(pulp.lpSum(x[j][n] for j in x) <= int(problem.free_gpus[n]))
    for v in range(1, problem.tree.n_vertices):
        if np.isfinite(problem.uplink_free[v]):
            rates = {j: float(problem.kind(j).link_rate[problem.link_of[v], 1]) for j in x if problem.kind(j).k > 1}
            room = float(problem.uplink_free[v] + problem.uplink_slack[v])
            model.addConstraint(pulp.lpSum(rate * cuts[j][v] for j, rate in rates.items()) <= room)
    model.setObjective(pulp.lpSum(goals))
    return model, x


def _add_job(model: Any, problem: Problem, j: int) -> tuple[list[Any], dict[int, Any], Any]:
    kind, tree, objective = problem.kind(j), problem.tree, problem.instance.objective
    nodes, vertices, levels = range(problem.n_nodes), range(1, tree.n_vertices), range(len(kind.levels))
    y = pulp.LpVariable(f"y_{j}", cat=pulp.LpBinary)
    x = [pulp.LpVariable(f"x_{j}_{n}", 0, min(kind.k, int(problem.free_gpus[n])), pulp.LpInteger) for n in nodes]
    use = [pulp.LpVariable(f"use_{j}_{n}", cat=pulp.LpBinary) for n in nodes]
    cut = {v: pulp.LpVariable(f"cut_{j}_{v}", cat=pulp.LpBinary) for v in vertices}
    speed = [pulp.LpVariable(f"speed_{j}_{level}", cat=pulp.LpBinary) for level in levels]

    model.addConstraint(pulp.lpSum(x) == kind.k * y)
    model.addConstraint(pulp.lpSum(speed) == y)
    if problem.must_place[j]:
        model.addConstraint(y == 1)
    for n in nodes:
        model.addConstraint(x[n] <= min(kind.k, int(problem.free_gpus[n])) * use[n])
        model.addConstraint(x[n] >= use[n])
    for n, m in combinations(nodes, 2):
        both = pulp.LpVariable(f"both_{j}_{n}_{m}", cat=pulp.LpBinary)
        model.addConstraint(both <= use[n])
        model.addConstraint(both <= use[m])
        model.addConstraint(both >= use[n] + use[m] - 1)
        for v in vertices:
            if _holds(problem, v, n) != _holds(problem, v, m):
                model.addConstraint(cut[v] >= both)
    for v in vertices:
        fast_enough = [level for level in levels if kind.k > 1 and kind.link_allowed(level)[problem.link_of[v], 1]]
        model.addConstraint(cut[v] <= pulp.lpSum(speed[level] for level in fast_enough))
    caps = [kind.node_cap(level)[problem.hardware_of] for level in levels]
    for n in nodes:
        model.addConstraint(x[n] <= pulp.lpSum(int(caps[level][n]) * speed[level] for level in levels))

    loss = objective.failure_weight * kind.days_lost_per_failure
    gain = pulp.lpSum(float(kind.levels.efficiency[level]) * speed[level] for level in levels)
    failures = pulp.lpSum(loss * float(problem.failures[n]) * use[n] for n in nodes)
    penalty = objective.cut_penalty * pulp.lpSum(cut.values())
    return x, cut, kind.weight * (penalty - kind.k * (gain - failures))


def _holds(problem: Problem, vertex: int, node: int) -> bool:
    return bool(problem.tree.first_node[vertex] <= node < problem.tree.end_node[vertex])


def _check(problem: Problem) -> None:
    if problem.current or problem.pinned or len(problem.resources) > 1:
        raise ValueError("running jobs and resources other than GPUs are not in the textbook model")
    for j in range(problem.n_jobs):
        if problem.instance.jobs[j].pattern != "allreduce" or not problem.kind(j).allowed[1:].all():
            raise ValueError("patterns other than all-reduce and shape constraints are not in the textbook model")


def _placement(x: dict[int, list[Any]]) -> Placement:
    found = {j: {n: round(v.value() or 0.0) for n, v in enumerate(row)} for j, row in x.items()}
    return {j: {n: w for n, w in counts.items() if w > 0} for j, counts in found.items() if any(counts.values())}
