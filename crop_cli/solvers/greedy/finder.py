"""The best place of one job in what is free: the oracle's answer, without asking the oracle where a bound settles it.

A job that fits into one node is looked up over all nodes at once; the oracle is asked only if a placement across nodes
could still be better (`Outlook.across`). Among places of about equal utility the one that leaves the least behind is
taken.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crop_cli.model.problem import Counts, FloatArray, IntArray, Problem, utility
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.outlook import TOLERANCE, Outlook
from crop_cli.solvers.oracle import Prices, best_placement


class Place(NamedTuple):
    """A placement of one job and its utility."""

    counts: Counts
    utility: float


class Finder:
    """Best places on boards of one problem.

    Parameters
    ----------
    problem, outlook
        The problem and the tables of its kinds.
    budget
        Who uses a finder ends when it is used up.
    thrift
        Price of a GPU of an empty node, as a share of the job's weight; less where a node, or a domain around it, is
        fuller. It makes jobs fill up what is in use before they break into what is empty. 0: utility alone decides.

    Attributes
    ----------
    unmoved
        The problem as if no job ran now: jobs of one kind share its oracle answers, moves are charged afterwards.
    bias
        (N) added to the price of a GPU, as a share of the job's weight; None for nothing. A search sets it to make
        jobs look elsewhere for once.
    work
        Measure of the work done by the oracle: about two microseconds each.
    """

    def __init__(self, problem: Problem, outlook: Outlook, budget: Budget, thrift: float = 0.0) -> None:
        self.problem, self.outlook, self.budget, self.thrift = problem, outlook, budget, thrift
        self.unmoved = replace(problem, current={})
        self.bias: FloatArray | None = None
        self.work = 0
        self._make = _makes(problem)
        self._gpus = [
            np.maximum(1.0, problem.tree.sum_below(problem.capacity[:, 0]).astype(np.float64)[_level(problem, d)])
            for d in range(problem.tree.max_depth + 1)
        ]
        # Oracle answers by kind and state of a subtree; nodes are counted from the subtree's first.
        self._found: dict[tuple[int, int, bool, bytes], Place | None] = {}

    def best(self, board: Board, job: int, below: int = 0, floor: float = -np.inf) -> Place | None:
        """Best place of a job that is not on the board, up to what `thrift` gives away.

        Parameters
        ----------
        board
            What is free.
        job
            Open job.
        below
            Vertex whose subtree must hold the whole job; 0 for anywhere.
        floor
            Only places of larger utility are of interest.

        Returns
        -------
        Place or None
            None exactly if nothing better than `floor` fits.
        """
        kind = int(self.problem.kind_of[job])
        margin = TOLERANCE * float(self.outlook.scale[kind])
        moved = float(self.problem.migration_cost[job]) if job in self.problem.current else 0.0
        home = self._home(board, job, below, floor)
        if self.bias is not None:
            place, _ = self._in_one_node(board, job, below, floor + margin, moved)
            other = None
            if self._ceiling(board, kind, below, floor + margin + moved) > -np.inf:
                other = self._ask(board, job, below, floor + margin)
            return max(filter(None, (home, place, other)), key=lambda p: self._worth(board, kind, p), default=None)
        reached = margin + (floor if home is None else home.utility)
        best, most = self._in_one_node(board, job, below, reached, moved)
        reached = max(reached, most + margin)
        ceiling = self._ceiling(board, kind, below, reached + moved) - moved
        if ceiling > -np.inf:
            place = self._in_tight_domain(board, job, below, ceiling - margin) or self._ask(board, job, below, reached)
            best = place or best
        return best or home

    def _ceiling(self, board: Board, kind: int, below: int, bar: float) -> float:
        """Upper bound of U across nodes below a vertex in what is free, moves aside; −inf if it is not above `bar`."""
        problem, outlook = self.problem, self.outlook
        depth = int(problem.tree.depth[below])
        if outlook.across[kind, depth:].max(initial=-np.inf) <= bar:
            return -np.inf
        nodes = slice(int(problem.tree.first_node[below]), int(problem.tree.end_node[below]))
        caps = worker_caps(board, outlook, problem, kind, nodes)
        # The fastest hardware that has room for all workers says how fast the slowest of them can be.
        room = np.bincount(problem.hardware_of[nodes], weights=caps, minlength=outlook.compute.shape[1])
        order = np.argsort(outlook.compute[kind], kind="stable")
        enough = int(np.searchsorted(np.cumsum(room[order]), outlook.k[kind]))
        if enough == len(order):
            return -np.inf
        ceiling = outlook.across_nodes(kind, depth, float(outlook.compute[kind, order[enough]]))
        return ceiling if ceiling > bar else -np.inf

    def _worth(self, board: Board, kind: int, place: Place) -> float:
        """Utility less price."""
        price = self._gpu_price(board)
        return place.utility - float(self.outlook.weight[kind] * sum(x * price[n] for n, x in place.counts.items()))

    def _home(self, board: Board, job: int, below: int, floor: float) -> Place | None:
        """Where a movable job runs now, if it may stay and that is better than `floor`."""
        counts, tree = self.problem.current.get(job), self.problem.tree
        if counts is None or not board.fits(job, counts):
            return None
        if min(counts) < tree.first_node[below] or max(counts) >= tree.end_node[below]:
            return None
        place = Place(counts, utility(self.problem, job, counts))
        return place if place.utility > floor else None

    def _in_one_node(
        self, board: Board, job: int, below: int, floor: float, moved: float
    ) -> tuple[Place | None, float]:
        """Thriftiest node for the whole job among those better than `floor`, and the largest utility of any."""
        kind, problem = int(self.problem.kind_of[job]), self.problem
        nodes = slice(int(problem.tree.first_node[below]), int(problem.tree.end_node[below]))
        room = board.state.free[nodes] + problem.node_slack[nodes]
        values = node_values(problem, self.outlook, kind, nodes) - moved
        values[(values <= floor) | (self.outlook.need[kind] > room).any(axis=1)] = -np.inf
        most = float(values.max(initial=-np.inf))
        if most == -np.inf:
            return None, most
        n = int(np.argmax(values - float(self.outlook.scale[kind]) * self._gpu_price(board)[nodes]))
        return Place({nodes.start + n: int(self.outlook.k[kind])}, float(values[n])), most

    def _in_tight_domain(self, board: Board, job: int, below: int, enough: float) -> Place | None:
        """A place inside one domain as good as any can be, if the fullest domain with enough whole nodes has one.

        Asking about a small subtree is quicker, and its answer is often known from a like one.
        """
        kind, tree = int(self.problem.kind_of[job]), self.problem.tree
        whole = None
        for depth in range(tree.max_depth - 1, int(tree.depth[below]), -1):
            if self.outlook.across[kind, depth] < enough:
                continue
            if whole is None:
                caps = worker_caps(board, self.outlook, self.problem, kind, slice(0, self.problem.n_nodes))
                largest = int(caps.max())
                if largest == 0:
                    return None
                whole = tree.sum_below((caps == largest).astype(np.int64)).astype(np.int64)
                needed = -(-int(self.outlook.k[kind]) // largest)
                free = tree.sum_below(board.state.free[:, 0])
            first, end = below, below + 1
            for _ in range(depth - int(tree.depth[below])):
                first, end = int(tree.first_child[first]), int(tree.end_child[end - 1])
            roomy = first + np.flatnonzero(whole[first:end] >= needed)
            if len(roomy):
                place = self._ask(board, job, int(roomy[np.argmin(free[roomy])]), enough)
                if place is not None:
                    return place
        return None

    def _ask(self, board: Board, job: int, vertex: int, floor: float) -> Place | None:
        """The oracle's best place inside a vertex, if better than `floor`."""
        priced = self.thrift > 0 or self.bias is not None
        place = self._answer(board, job, vertex, priced)
        if place is not None and place.utility <= floor and priced:
            place = self._answer(board, job, vertex, False)
        return None if place is None or place.utility <= floor else place

    def _answer(self, board: Board, job: int, vertex: int, priced: bool) -> Place | None:
        kind, state = int(self.problem.kind_of[job]), board.state
        first = int(self.problem.tree.first_node[vertex])
        shared = not (priced and self.bias is not None)
        key = (kind, int(self._make[vertex]), priced, self._digest(board, vertex))
        if shared and key in self._found:
            known = self._found[key]
            return known and self._moved(job, {first + n: x for n, x in known.counts.items()}, known.utility)
        self.work += 400 + int(self.problem.tree.end_node[vertex]) - first
        prices = self._prices(board, kind) if priced else None
        answer = best_placement(self.unmoved, job, state.free, state.uplink_free, prices, below=vertex)
        place = relative = None
        if answer is not None:
            place = self._moved(job, answer.counts, answer.utility)
            relative = Place({n - first: x for n, x in answer.counts.items()}, answer.utility)
        if shared:
            self._found[key] = relative
        return place

    def _moved(self, job: int, counts: Counts, value: float) -> Place:
        """A place whose utility is known but for a move."""
        current = self.problem.current.get(job)
        moves = current is not None and current != counts
        return Place(counts, value - float(self.problem.migration_cost[job]) if moves else value)

    def _digest(self, board: Board, vertex: int) -> bytes:
        """What is free below a vertex."""
        tree, state = self.problem.tree, board.state
        digest = hashlib.blake2b(digest_size=16)
        digest.update(state.free[tree.first_node[vertex] : tree.end_node[vertex]].tobytes())
        first, end = vertex, vertex + 1
        for _ in range(tree.max_depth - int(tree.depth[vertex])):
            first, end = int(tree.first_child[first]), int(tree.end_child[end - 1])
            digest.update(state.uplink_free[first:end].tobytes())
        return digest.digest()

    def _prices(self, board: Board, kind: int) -> Prices:
        node = np.zeros_like(board.state.free)
        node[:, 0] = self.outlook.weight[kind] * self._gpu_price(board)
        return Prices(node=node, uplink=np.zeros(self.problem.tree.n_vertices))

    def _gpu_price(self, board: Board) -> FloatArray:
        """(N) thrift times the emptiness of every node and, by a quarter per level, of the domains above; plus bias."""
        tree = self.problem.tree
        price = np.zeros(self.problem.n_nodes) if self.bias is None else self.bias
        if self.thrift <= 0:
            return price
        free = np.maximum(0.0, board.state.free[:, 0])
        emptiness: FloatArray = free / self._gpus[-1]
        prefix = np.concatenate([[0.0], np.cumsum(free)])
        for depth in range(tree.max_depth - 1, 0, -1):
            vertices = _level(self.problem, depth)
            first, end = tree.first_node[vertices], tree.end_node[vertices]
            share = (prefix[end] - prefix[first]) / self._gpus[depth]
            emptiness += np.repeat(share, end - first) / 4.0 ** (tree.max_depth - depth)
        return price + self.thrift * emptiness


def _level(problem: Problem, depth: int) -> slice:
    """Vertices of a depth."""
    return slice(int(problem.tree.start[depth]), int(problem.tree.start[depth + 1]))


def _makes(problem: Problem) -> IntArray:
    """(V) number of every subtree's make: equal when all fixed data below, in the order of the nodes, agree."""
    tree, start = problem.tree, problem.tree.node_vertex
    rows = np.column_stack([problem.capacity, problem.hardware_of, problem.failures])
    seen: dict[tuple[int, bytes, bytes], int] = {}
    make = np.zeros(tree.n_vertices, dtype=np.int64)
    make[start:] = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    for v in range(start - 1, -1, -1):
        children = slice(int(tree.first_child[v]), int(tree.end_child[v]))
        key = (int(tree.depth[v]), make[children].tobytes(), problem.link_of[children].tobytes())
        make[v] = seen.setdefault(key, len(seen))
    return make


def node_values(problem: Problem, outlook: Outlook, kind: int, nodes: slice) -> FloatArray:
    """U of a whole job of a kind in each of some nodes, moves aside; −inf where types or shape forbid it."""
    values: FloatArray = (
        outlook.alone[kind, problem.hardware_of[nodes]] - outlook.failure_cost[kind] * problem.failures[nodes]
    )
    return values


def worker_caps(board: Board, outlook: Outlook, problem: Problem, kind: int, nodes: slice) -> IntArray:
    """Most workers of a job across nodes that each of some nodes can hold: resources, types, shape, less than k."""
    room = board.state.free[nodes] + problem.node_slack[nodes]
    demand = outlook.demand[kind]
    caps = room[:, 0]
    for r in range(1, len(demand)):
        if demand[r] > 0:
            caps = np.minimum(caps, room[:, r] / demand[r])
    caps = np.clip(np.floor(caps), 0, outlook.k[kind]).astype(np.int64)
    return np.where(outlook.usable[kind, problem.hardware_of[nodes]], outlook.step[kind][caps], 0)
