"""Every node and every switch fails in turn, and the jobs that it hits are placed anew with nobody else moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import msgspec

from crop_cli._version import __version__
from crop_cli.model.instance import Job
from crop_cli.model.problem import compile_problem
from crop_cli.model.topology import Vertex
from crop_cli.repair.judge import Judge
from crop_cli.repair.one_by_one import one_by_one
from crop_cli.repair.pinned import How, repair_pinned
from crop_cli.repair.results import Drill, FailureRow, NodeMean
from crop_cli.repair.scene import ByName, Failure, Running, share
from crop_cli.solvers.state import State

MINUTES_PER_DAY = 1440.0
HOURS_PER_DAY = 24.0

DEFAULT_OUTAGE_HOURS = 24.0
"""How long a node that failed stays down, unless told otherwise: until somebody comes the next day."""

SHARE = 0.2
"""Most of the time left that an engine gets for one failure."""

Repairer = Callable[[Failure, list[Job]], ByName]


def drill(running: Running, levels: list[str], how: How, outage_hours: float = DEFAULT_OUTAGE_HOURS) -> Drill:
    """Repair every failure of one vertex.

    Parameters
    ----------
    running
        Jobs where they run.
    levels
        Levels whose vertices fail.
    how
        The engine that repairs, None for the oracle, one job after the other; and the time for all.
    outage_hours
        How long a node that failed stays down, for the expected loss per day.

    Raises
    ------
    BackendError
        If the evaluator refuses a repair, or a solver failed.
    """
    judge = Judge(running)
    repaired = _oracle(running) if how.engine is None else _engine(running, how)
    below = _below(running)
    known: dict[object, FailureRow] = {}
    rows, harmless, left = [], dict.fromkeys(levels, 0), 0
    jobs_on = _jobs_on(running)
    alike = _alike(running, jobs_on)
    for vertex in (v for level in levels for v in running.topology.vertices(level)):
        nodes = below.get(vertex, [])
        hit = {job.name: job for node in nodes for job in jobs_on.get(node, ())}
        if not hit:
            harmless[vertex.level] += 1
            continue
        key = alike(vertex)
        if key not in known:
            if how.budget.should_stop:
                left += 1
                continue
            failure = Failure((vertex.name,), frozenset(nodes))
            placed = repaired(failure, _by_worth(running, list(hit.values())))
            known[key] = _row(running, judge, vertex, nodes, list(hit.values()), placed)
        rows.append(msgspec.structs.replace(known[key], name=vertex.name))
    # Rounding must not decide which of two equal failures comes first.
    rows.sort(key=lambda row: (round(row.goodput_after, 9), -round(row.goodput_lost, 9), row.level, row.name))
    bottom = running.topology.levels[-1]
    complete = bottom in levels and not left
    return Drill(
        format="crop-drill/1",
        instance=running.instance.name,
        crop_version=__version__,
        solver="oracle" if how.engine is None else how.engine.name,
        outage_hours=outage_hours,
        goodput_before=running.goodput,
        failures=rows,
        harmless=harmless,
        left=left,
        computed=len(known),
        worst_node=next((row.name for row in rows if row.level == bottom), None),
        worst_switch=next((row.name for row in rows if row.level != bottom), None),
        mean=_mean(running, [row for row in rows if row.level == bottom], outage_hours) if complete else None,
        total_s=how.budget.elapsed,
    )


def _below(running: Running) -> dict[Vertex, list[str]]:
    """Nodes that are up at or below every vertex."""
    found: dict[Vertex, list[str]] = defaultdict(list)
    for name, chain in running.topology.chain.items():
        if running.topology.nodes[name].state == "up":
            for vertex in chain:
                found[vertex].append(name)
    return found


def _jobs_on(running: Running) -> dict[str, list[Job]]:
    """Jobs with a worker on every node, in file order."""
    found: dict[str, list[Job]] = defaultdict(list)
    for job in running.instance.jobs:
        for node in running.held.get(job.name, ()):
            found[node].append(job)
    return found


def _by_worth(running: Running, jobs: list[Job]) -> list[Job]:
    """The most weighted goodput first, then file order."""
    order = {job.name: i for i, job in enumerate(running.instance.jobs)}
    outcomes = running.before.jobs
    return sorted(jobs, key=lambda job: (-job.weight * outcomes[job.name].goodput, order[job.name]))


def _alike(running: Running, jobs_on: dict[str, list[Job]]) -> Callable[[Vertex], object]:
    """A key that is equal for vertices whose failures are the same but for names.

    Two nodes of one parent with the same data can be exchanged, together with the jobs that are wholly inside them
    where those have the same data, if the jobs that reach beyond them are the same with as many workers: that maps the
    cluster and its jobs onto themselves. Switches are taken one by one.
    """
    bottom, problem = running.topology.levels[-1], compile_problem(running.fresh)
    kind = {job.name: int(problem.kind_of[j]) for j, job in enumerate(running.fresh.jobs)}

    def key(vertex: Vertex) -> object:
        if vertex.level != bottom:
            return vertex
        node = running.topology.nodes[vertex.name]
        loads = []
        for job in jobs_on[vertex.name]:
            x = running.held[job.name][vertex.name]
            loads.append((x, kind[job.name], "" if x == job.gpus else job.name))
        return msgspec.json.encode(msgspec.structs.replace(node, name=""), order="sorted"), tuple(sorted(loads))

    return key


def _oracle(running: Running) -> Repairer:
    """Repairs with the oracle, on arrays that are made once."""
    problem = compile_problem(running.fresh)
    index, node = {name: j for j, name in enumerate(problem.job_names)}, problem.node_index
    held = {index[name]: {node[n]: x for n, x in nodes.items()} for name, nodes in running.held.items()}
    whole = State.of(problem, held)

    def repaired(failure: Failure, jobs: list[Job]) -> ByName:
        state = State(problem, whole.free.copy(), whole.uplink_free.copy())
        for job in jobs:
            state.release(index[job.name], held[index[job.name]])
        state.free[[node[name] for name in failure.nodes]] = 0.0
        placed = one_by_one(problem, [index[job.name] for job in jobs], state)
        names = problem.node_names
        return {problem.job_names[j]: {names[n]: x for n, x in sorted(c.items())} for j, c in placed.items()}

    return repaired


def _engine(running: Running, how: How) -> Repairer:
    """Repairs with an engine, each an instance of its own."""

    def repaired(failure: Failure, jobs: list[Job]) -> ByName:
        placement = repair_pinned(running, failure, replace(how, budget=how.budget.part(SHARE))).placement
        return {job.name: placement[job.name] for job in jobs if job.name in placement}

    return repaired


def _row(
    running: Running, judge: Judge, vertex: Vertex, nodes: list[str], hit: list[Job], placed: ByName
) -> FailureRow:
    """The figures of one failure, from the evaluator's rules."""
    outcomes = judge.accept(nodes, [job.name for job in hit], placed)
    weight = {job.name: job.weight for job in hit}
    lost = sum(job.weight * running.before.jobs[job.name].goodput for job in hit)
    after = running.goodput - lost + sum(weight[name] * out.goodput for name, out in outcomes.items())
    minutes = sum(job.weight * job.gpus * (job.restart_minutes + job.checkpoint_minutes / 2) for job in hit)
    is_node = vertex.level == running.topology.levels[-1]
    return FailureRow(
        level=vertex.level,
        name=vertex.name,
        nodes_down=len(nodes),
        failures_per_day=running.topology.nodes[vertex.name].failures_per_day if is_node else None,
        jobs_hit=len(hit),
        jobs_waiting=len(hit) - len(outcomes),
        goodput_lost=lost,
        goodput_after=after,
        goodput_kept=share(after, running.goodput),
        restart_loss=minutes / MINUTES_PER_DAY,
    )


def _mean(running: Running, rows: list[FailureRow], outage_hours: float) -> NodeMean | None:
    """Node failures weighted by their rates."""
    total = sum(node.failures_per_day for node in running.instance.cluster.nodes if node.state == "up")
    if total <= 0:
        return None
    rated = [(row.failures_per_day or 0.0, row) for row in rows]
    lost = sum(rate * row.goodput_lost for rate, row in rated) / total
    gone = sum(rate * (running.goodput - row.goodput_after) for rate, row in rated)
    restart = sum(rate * row.restart_loss for rate, row in rated)
    outage = gone * outage_hours / HOURS_PER_DAY
    return NodeMean(
        failures_per_day=total,
        goodput_lost=lost,
        goodput_kept=share(running.goodput - gone / total, running.goodput),
        restart_loss_per_day=restart,
        outage_loss_per_day=outage,
        loss_per_day=restart + outage,
    )
