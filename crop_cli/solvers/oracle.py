"""The oracle: best single placement of a job in what is free, at given prices (model.md, section 7).

max U_j(x) − Σ_n Σ_r π_nr·d_jr·x_n − Σ_v μ_v·r_jv(x_v) over all placements x of job j. Exact: the cheapest placement
that keeps performance level ℓ (efficiency e_ℓ) costs c_ℓ (`oracle_dp`), and the maximum is that of w·k·e_ℓ − c_ℓ. Not
every level is tried: a level that allows more costs no more, so each cost found bounds those of all tighter levels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.kinds import TIME_SLACK, Kind
from crop_cli.model.problem import Counts, Problem, reserved_gbps, times, utility
from crop_cli.solvers.oracle_dp import Query, cheapest, trace
from crop_cli.solvers.oracle_forest import Forest, plan

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

PASS_ELEMENTS = 1 << 19
"""Table elements of one pass over the tree, about: small tables take several kinds and levels in one pass."""

PASS_QUERIES = 32
"""Most kinds and levels of one pass."""

LEVELS_AT_ONCE = 4
"""Levels of one kind that are tried in one pass: more of them in vain, fewer passes (measured)."""

ROUNDING = 1e-12
"""Gains below this share of w·k are rounding."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of what a placement occupies.

    Attributes
    ----------
    node
        (N, R) ≥ 0 per unit of every resource of every node.
    uplink
        (V) ≥ 0 per Gbit/s reserved on every uplink.
    """

    node: FloatArray
    uplink: FloatArray


@dataclass(frozen=True, slots=True)
class Best:
    """A best placement: its part of F (a move included), what is left of it at the prices, and the counts."""

    utility: float
    value: float
    counts: Counts


def best_placement(
    problem: Problem,
    job: int,
    free: FloatArray,
    uplink_free: FloatArray,
    prices: Prices | None = None,
    *,
    below: int = 0,
) -> Best | None:
    """Exact best placement of one job.

    Parameters
    ----------
    problem, job
        The instance and the job's index.
    free, uplink_free
        (N, R) resources of nodes and (V) Gbit/s of uplinks that the job may take. A movable job that runs is not in
        them: what it holds now counts as free if it is to be allowed to stay.
    prices
        What it pays for them; None: nothing.
    below
        Vertex under which all workers have to be; 0: anywhere.

    Returns
    -------
    Best or None
        None if the job cannot be placed. The value may be negative.
    """
    kind = problem.kind(job)
    found = _best_of_kinds(problem, [kind], free, uplink_free, prices, below)[0]
    best = None if found is None else _priced(problem, job, found, prices)
    current = problem.current.get(job)
    if current is None or not fits(problem, kind, current, free, uplink_free, below):
        return best
    # Only staying escapes the cost of a move. If the kind's best placement is another one, all but staying pay it.
    stay = _priced(problem, job, current, prices)
    return stay if best is None or stay.value >= best.value else best


def best_placements(
    problem: Problem, jobs: IntArray, free: FloatArray, uplink_free: FloatArray, prices: Prices | None = None
) -> list[Best | None]:
    """`best_placement` of every job, each on its own in what is free; None where there is none.

    Jobs with the same data are looked at once.

    Parameters
    ----------
    jobs
        Job indices.
    free, uplink_free, prices
        As for `best_placement`.
    """
    answers: list[Best | None] = [None] * len(jobs)
    of_kind: dict[int, list[int]] = defaultdict(list)
    for i, job in enumerate(jobs.tolist()):
        if job in problem.current:
            answers[i] = best_placement(problem, job, free, uplink_free, prices)
        else:
            of_kind[int(problem.kind_of[job])].append(i)
    found = _best_of_kinds(problem, [problem.kinds[q] for q in of_kind], free, uplink_free, prices, 0)
    for rows, counts in zip(of_kind.values(), found, strict=True):
        if counts is not None:
            best = _priced(problem, int(jobs[rows[0]]), counts, prices)
            for i in rows:
                answers[i] = best
    return answers


def best_values(
    problem: Problem, jobs: IntArray, free: FloatArray, uplink_free: FloatArray, prices: Prices | None = None
) -> FloatArray:
    """Values of `best_placements`; −inf where there is none."""
    answers = best_placements(problem, jobs, free, uplink_free, prices)
    return np.array([-np.inf if best is None else best.value for best in answers], dtype=np.float64)


def best_values_below(problem: Problem, jobs: IntArray, kinds: list[Kind], prices: Prices, below: int) -> FloatArray:
    """Values of the jobs' best placements wholly under a vertex in all that is free; −inf where there is none.

    Parameters
    ----------
    jobs, kinds
        Job indices, and in the same order their kinds, perhaps with fewer allowed counts.
    prices, below
        As for `best_placement`.
    """
    found = _best_of_kinds(problem, kinds, problem.free, problem.uplink_free, prices, below)
    values = np.full(len(jobs), -np.inf)
    for i, (job, kind, counts) in enumerate(zip(jobs.tolist(), kinds, found, strict=True)):
        if counts is not None:
            values[i] = _priced(problem, job, counts, prices).value
        current = problem.current.get(job)
        if current is not None and fits(problem, kind, current, problem.free, problem.uplink_free, below):
            values[i] = max(values[i], _priced(problem, job, current, prices).value)
    return values


def _priced(problem: Problem, job: int, counts: Counts, prices: Prices | None) -> Best:
    """Utility and value of a placement, from the definitions."""
    gain = utility(problem, job, counts)
    if prices is None:
        return Best(gain, gain, counts)
    nodes = list(counts)
    workers = np.array([counts[n] for n in nodes], dtype=np.float64)
    vertices, rates = reserved_gbps(problem, job, counts)
    cost = float(workers @ prices.node[nodes] @ problem.kind(job).demand) + float(prices.uplink[vertices] @ rates)
    return Best(gain, gain - cost, counts)


def fits(
    problem: Problem, kind: Kind, counts: Counts, free: FloatArray, uplink_free: FloatArray, below: int = 0
) -> bool:
    """Whether a placement keeps its shape and fits into what is free, wholly under a vertex."""
    tree = problem.tree
    nodes = np.array(list(counts), dtype=np.int64)
    if nodes.min() < tree.first_node[below] or nodes.max() >= tree.end_node[below]:
        return False
    workers = np.zeros(problem.n_nodes, dtype=np.int64)
    workers[nodes] = list(counts.values())
    at = tree.sum_below(workers).astype(np.int64)
    return bool(
        np.isfinite(kind.compute_s[problem.hardware_of[nodes]]).all()
        and kind.allowed[tree.depth, at].all()
        and (workers[nodes, None] * kind.demand <= free[nodes] + problem.node_slack[nodes]).all()
        and (kind.link_rate[problem.link_of, at] <= np.maximum(uplink_free + problem.uplink_slack, 0.0)).all()
    )


def _best_of_kinds(
    problem: Problem, kinds: list[Kind], free: FloatArray, uplink_free: FloatArray, prices: Prices | None, below: int
) -> list[Counts | None]:
    """Best counts for every kind, moves left aside; None where there is no placement."""
    groups: dict[object, list[int]] = defaultdict(list)
    for i, kind in enumerate(kinds):
        groups[kind.k, kind.demand.tobytes(), np.isfinite(kind.compute_s).tobytes()].append(i)
    found: list[Counts | None] = [None] * len(kinds)
    for members in groups.values():
        group = [kinds[i] for i in members]
        forest = _forest(problem, group, free, uplink_free, prices, below)
        if forest is not None:
            for i, counts in zip(members, _search(problem, forest, group), strict=True):
                found[i] = counts
    return found


def _forest(
    problem: Problem, group: list[Kind], free: FloatArray, uplink_free: FloatArray, prices: Prices | None, below: int
) -> Forest | None:
    """Plan for kinds with the same k, demand and GPU types; None if there is no room for k workers."""
    kind, tree = group[0], problem.tree
    nodes = slice(int(tree.first_node[below]), int(tree.end_node[below]))
    needed = np.flatnonzero(kind.demand > 0)
    room = (free[nodes, needed] + problem.node_slack[nodes, needed]) / kind.demand[needed]
    usable = np.isfinite(kind.compute_s)[problem.hardware_of[nodes]]
    cap = np.where(usable, np.clip(np.floor(room.min(axis=1)), 0, kind.k), 0).astype(np.int64)
    if cap.sum() < kind.k:
        return None
    # More bandwidth than any of the jobs reserves is as good as exactly so much: more subtrees are alike.
    most = np.max([member.link_rate.max() for member in group])
    return plan(
        tree,
        below,
        problem.node_class,
        cap,
        None if prices is None else prices.node[nodes] @ kind.demand,
        problem.link_of,
        np.clip(uplink_free + problem.uplink_slack, 0.0, most),
        None if prices is None else prices.uplink,
    )


class _Levels:
    """What is known about the performance levels of one kind during the search.

    `ceiling` bounds what each level not tried yet can reach; it is −inf for those tried.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.gross = kind.weight * kind.k * kind.levels.efficiency
        self.ceiling = self.gross.copy()
        self.least = ROUNDING * kind.weight * kind.k
        self.value = -np.inf
        self.counts: Counts | None = None

    def wanted(self, most: int) -> list[int]:
        """Levels to try next, evenly spread over those that may still be better, the loosest included."""
        better = np.flatnonzero(self.ceiling > self.value + self.least)
        if len(better) <= most:
            return better.tolist()
        picks = np.linspace(0, len(better) - 1, most + 1)[1:]
        wanted: list[int] = better[np.ceil(picks).astype(np.int64)].tolist()
        return wanted

    def tried(self, level: int, cost: float) -> bool:
        """Note the least cost of a level: no tighter level costs less. Says whether its placement may be better."""
        levels = self.kind.levels
        tighter = (levels.compute_s <= levels.compute_s[level] * TIME_SLACK) & (
            levels.comm_s <= levels.comm_s[level] * TIME_SLACK
        )
        self.ceiling[tighter] = np.minimum(self.ceiling[tighter], self.gross[tighter] - cost)
        hope = float(self.ceiling[tighter].max())
        self.ceiling[level] = -np.inf
        return hope > self.value + self.least

    def offer(self, value: float, counts: Counts) -> None:
        """A placement was found."""
        if value > self.value:
            self.value, self.counts = value, counts


def _search(problem: Problem, forest: Forest, group: list[Kind]) -> list[Counts | None]:
    """Best counts for kinds with the same k in one forest."""
    states = [_Levels(kind) for kind in group]
    elements = sum((min(group[0].k, layer.width) + 1) * len(layer.sample) for layer in forest.layers)
    most = int(np.clip(PASS_ELEMENTS // (2 * elements), 1, PASS_QUERIES))
    at_once = 1
    while True:
        wanted = [(state, level) for state in states for level in state.wanted(at_once)]
        if not wanted:
            return [state.counts for state in states]
        for start in range(0, len(wanted), most):
            _try(problem, forest, wanted[start : start + most])
        # The loosest level alone comes first: often it settles the matter. From two on the search is a bisection.
        searched = len({id(state) for state, _ in wanted})
        at_once = max(2, min(LEVELS_AT_ONCE, most // searched))


def _try(problem: Problem, forest: Forest, batch: list[tuple[_Levels, int]]) -> None:
    """One pass for several kinds and levels. What it finds is worth its own efficiency, maybe more than the level's."""
    tables = cheapest(problem, forest, [Query(state.kind, level) for state, level in batch])
    for q, (state, level) in enumerate(batch):
        cost, kind = float(tables.cost[q]), state.kind
        if state.tried(level, cost):
            counts = trace(tables, problem.tree.node_vertex, q)
            compute, comm, _ = times(problem, kind, counts)
            state.offer(kind.weight * kind.k * kind.efficiency(compute, comm) - cost, counts)
