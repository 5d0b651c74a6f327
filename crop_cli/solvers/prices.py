"""Heuristics that find prices of nodes and uplinks worth certifying (model.md, section 8).

Nothing here bounds anything: `crop_cli.solvers.bounds` turns prices into a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.problem import Counts, Problem, reserved_gbps
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.oracle import Prices, best_placement, best_values

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def type_prices(problem: Problem, jobs: IntArray, budget: Budget) -> Prices | None:
    """A price per GPU of each type; None when the free GPUs are of one type or time is up.

    As if every job kept to one type, the dual is λ·G + Σ_j max(0, max_t U_jt − λ_t·k_j) over few prices, cheap to
    evaluate; subgradient steps of decreasing length find its minimum closely enough.
    """
    types = list(dict.fromkeys(problem.hardware.gpu_type))
    type_of = np.array([types.index(t) for t in problem.hardware.gpu_type])[problem.hardware_of]
    supply = np.bincount(type_of, weights=problem.free_gpus, minlength=len(types)).astype(np.float64)
    present = np.flatnonzero(supply)
    if len(present) < 2:
        return None
    values = np.empty((len(jobs), len(present)))
    for column, t in enumerate(present):
        if budget.should_stop:
            return None
        free = np.where((type_of == t)[:, None], problem.free, 0.0)
        values[:, column] = best_values(problem, jobs, free, problem.uplink_free)
    sizes = np.array([problem.kind(j).k for j in jobs.tolist()], dtype=np.float64)
    price = np.zeros(len(types))
    price[present] = _least_type_dual(values, sizes, supply[present], problem.must_place[jobs])
    node = np.zeros_like(problem.free)
    node[:, 0] = price[type_of]
    return Prices(node=node, uplink=np.zeros(problem.tree.n_vertices))


def _least_type_dual(values: FloatArray, sizes: FloatArray, supply: FloatArray, must: NDArray[np.bool_]) -> FloatArray:
    """Prices λ (T) that nearly minimise λ·supply + Σ_j max(0, max_t values_jt − λ_t·sizes_j), by subgradients."""
    rows = np.flatnonzero(np.isfinite(values).any(axis=1))
    values, sizes, must = values[rows], sizes[rows], must[rows]
    price, best, best_value = np.zeros(len(supply)), np.zeros(len(supply)), np.inf
    if not len(rows):
        return best
    density = float((values.max(axis=1) / sizes).max())
    for step in range(1, 601):
        net = values - sizes[:, None] * price
        choice = net.argmax(axis=1)
        gain = net[np.arange(len(rows)), choice]
        taken = must | (gain > 0)
        value = float(price @ supply + gain[taken].sum())
        if value < best_value:
            best, best_value = price, value
        demand = np.bincount(choice[taken], weights=sizes[taken], minlength=len(supply))
        excess = np.where((price <= 0) & (demand < supply), 0.0, (demand - supply) / supply)
        norm = float(np.abs(excess).max())
        if norm <= 0:
            break
        price = np.maximum(0.0, price + 0.3 * density / step**0.6 * excess / norm)
    return best


@dataclass(frozen=True, slots=True)
class Demand:
    """Best values of jobs at some prices (same order as the jobs), and what their best placements take in total.

    `node` is (N, R), `uplink` is (V) Gbit/s; jobs whose best value is not positive take nothing unless they must run.
    """

    values: FloatArray
    node: FloatArray
    uplink: FloatArray


def ask(problem: Problem, jobs: IntArray, prices: Prices, budget: Budget) -> Demand | None:
    """Oracle answers of all jobs; jobs of one kind share one unless they run somewhere now. None when time is up."""
    values = np.empty(len(jobs))
    node = np.zeros_like(problem.free)
    uplink = np.zeros(problem.tree.n_vertices)
    shared: dict[int, tuple[float, Counts]] = {}
    for i, job in enumerate(jobs.tolist()):
        kind = int(problem.kind_of[job])
        if kind in shared and job not in problem.current:
            value, counts = shared[kind]
        else:
            if budget.should_stop:
                return None
            best = best_placement(problem, job, problem.free, problem.uplink_free, prices)
            value, counts = (-np.inf, {}) if best is None else (best.value, best.counts)
            if job not in problem.current:
                shared[kind] = (value, counts)
        values[i] = value
        if counts and (value > 0 or problem.must_place[job]):
            nodes = list(counts)
            node[nodes] += np.array(list(counts.values()))[:, None] * problem.kinds[kind].demand
            vertices, rates = reserved_gbps(problem, job, counts)
            uplink[vertices] += rates
    return Demand(values, node, uplink)


class PricePath:
    """Prices shared by all nodes (uplinks) of one class, moved by subgradient steps of Polyak length.

    Classes are nodes alike in all their data and in the bandwidths above them, and uplinks alike in depth and free
    bandwidth. Unlimited uplinks keep the price 0.
    """

    def __init__(self, problem: Problem, start: Prices) -> None:
        self._node_class, self._uplink_class = _classes(problem)
        self._n_node, self._n_uplink = int(self._node_class.max()) + 1, int(self._uplink_class.max()) + 1
        finite = np.isfinite(problem.uplink_free)
        self._limited = _sum_by(self._uplink_class, finite.astype(np.float64), self._n_uplink) > 0
        self._supply_node = _sum_by(self._node_class, problem.free, self._n_node)
        bandwidth = np.where(finite, problem.uplink_free, 0.0)
        self._supply_uplink = _sum_by(self._uplink_class, bandwidth, self._n_uplink)
        size = np.bincount(self._node_class, minlength=self._n_node).astype(np.float64)
        self._node = _sum_by(self._node_class, start.node, self._n_node) / size[:, None]
        self._uplink = np.zeros(self._n_uplink)
        self._pace, self._least, self._since_least = 1.0, np.inf, 0
        self.ended = False

    @property
    def prices(self) -> Prices:
        """Where the path stands."""
        return Prices(node=self._node[self._node_class], uplink=self._uplink[self._uplink_class])

    def step(self, demand: Demand, value: float, target: float) -> None:
        """Raise what is asked for beyond supply, lower the rest; slower once the dual value stops falling."""
        if value < self._least:
            self._least, self._since_least = value, 0
        else:
            self._since_least += 1
            if self._since_least >= 8:
                self._pace, self._since_least = self._pace / 2, 0
        over_node = _sum_by(self._node_class, demand.node, self._n_node) - self._supply_node
        over_uplink = _sum_by(self._uplink_class, demand.uplink, self._n_uplink) - self._supply_uplink
        # A price at 0 whose class is not asked for cannot fall further.
        over_node = np.where((self._node <= 0) & (over_node < 0), 0.0, over_node)
        over_uplink = np.where(~self._limited | ((self._uplink <= 0) & (over_uplink < 0)), 0.0, over_uplink)
        norm = float((over_node**2).sum() + (over_uplink**2).sum())
        self.ended = norm <= 0.0 or self._pace < 1e-3
        if not self.ended:
            length = self._pace * max(value - target, 1e-9 * abs(value)) / norm
            self._node = np.maximum(0.0, self._node + length * over_node)
            self._uplink = np.maximum(0.0, self._uplink + length * over_uplink)


def _classes(problem: Problem) -> tuple[IntArray, IntArray]:
    """Class of every node (N) and of every vertex's uplink (V)."""
    tree = problem.tree
    chain = [tree.node_vertex + np.arange(problem.n_nodes)]
    while tree.depth[chain[-1][0]] > 1:
        chain.append(tree.parent[chain[-1]])
    rows = np.column_stack(
        [problem.free, problem.hardware_of, problem.failures, *(problem.uplink_free[vertices] for vertices in chain)]
    )
    node_class = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    uplink_rows = np.column_stack([tree.depth, problem.uplink_free])
    uplink_class = np.unique(uplink_rows, axis=0, return_inverse=True)[1].ravel()
    return node_class.astype(np.int64), uplink_class.astype(np.int64)


def _sum_by(classes: IntArray, values: FloatArray, count: int) -> FloatArray:
    total = np.zeros((count, *values.shape[1:]))
    np.add.at(total, classes, values)
    return total
