"""Filling a cluster of many nodes: jobs are spread over domains, and a job's place is sought in one domain at a time.

One search among all of ten thousand nodes takes milliseconds, and there are as many jobs. Here a job goes to the domain
with the most free GPUs: into one node, or packed into the fewest nodes of the tightest switch, and only where neither
is nearly as good as can be is the oracle asked, for this domain alone.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import Counts, IntArray, Problem, utility
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.finder import worker_caps
from crop_cli.solvers.greedy.placing import place_in_order
from crop_cli.solvers.greedy.setting import Setting
from crop_cli.solvers.oracle import fits

WIDE = 4_000
"""Nodes above which a cluster is filled domain by domain."""

AT_ONCE = 300
"""Most nodes of a domain."""

DOMAINS, SWITCHES = 3, 2
"""Domains that a job is tried in, and switches in each of them."""

NEARLY = 0.9
"""Share of the most that a job can be worth across nodes with which a packed place is taken."""

COMPLETE = 500_000
"""`Finder.work` for what is left, with the oracle: a second or two."""


def is_wide(problem: Problem) -> bool:
    """Whether a cluster is filled domain by domain."""
    return problem.n_nodes > WIDE


def fill_wide(setting: Setting, board: Board, order: list[int]) -> None:
    """Place jobs in order, each in one of the emptiest domains; then what is left, domain by domain."""
    problem, finder = setting.problem, setting.finder
    spread = _Spread.of(setting, board)
    refused: set[int] = set()
    for job in order:
        if setting.budget.should_stop:
            return
        kind = int(problem.kind_of[job])
        if job in board.placement or kind in refused:
            continue
        if not spread.place(job):
            refused.add(kind)
    waiting = [job for job in order if job not in board.placement]
    limit = finder.work + COMPLETE
    for _, v in sorted(spread.heap):
        if setting.budget.should_stop or finder.work > limit:
            return
        place_in_order(finder, board, waiting, below=v, floors=setting.floors)
        waiting = [job for job in waiting if job not in board.placement]


@dataclass(slots=True)
class _Spread:
    """Domains with their free GPUs, the emptiest first: (−free, vertex)."""

    setting: Setting
    board: Board
    heap: list[tuple[int, int]]

    @classmethod
    def of(cls, setting: Setting, board: Board) -> _Spread:
        """The domains as they are on a board."""
        tree = setting.problem.tree
        free = tree.sum_below(board.state.free[:, 0])
        heap = [(-round(float(free[v])), v) for v in _domains(setting.problem)]
        heapq.heapify(heap)
        return cls(setting, board, heap)

    def place(self, job: int) -> bool:
        """Place a job in one of the emptiest domains; false if it did not fit there."""
        k = int(self.setting.outlook.k[self.setting.problem.kind_of[job]])
        tried: list[tuple[int, int]] = []
        placed = False
        while self.heap and len(tried) < DOMAINS and not placed and -self.heap[0][0] >= k:
            free, v = heapq.heappop(self.heap)
            placed = self._place_in(job, v)
            tried.append((free + k, v) if placed else (free, v))
        for entry in tried:
            heapq.heappush(self.heap, entry)
        return placed

    def _place_in(self, job: int, domain: int) -> bool:
        """Place a job in a domain: packed if that is nearly as good as can be, else where the oracle says."""
        setting, board = self.setting, self.board
        problem, outlook, floor = setting.problem, setting.outlook, float(setting.floors[job])
        kind = int(problem.kind_of[job])
        across = float(outlook.across[kind, problem.tree.depth[domain] :].max(initial=-np.inf))
        if job not in problem.current and across > floor and not self._in_one_node(kind, domain):
            for counts in self._packed(job, domain):
                value = utility(problem, job, counts)
                if value > max(floor, NEARLY * across):
                    board.take(job, counts, value)
                    return True
        place = setting.finder.best(board, job, domain, floor)
        if place is None:
            return False
        board.take(job, place.counts, place.utility)
        return True

    def _in_one_node(self, kind: int, domain: int) -> bool:
        """Whether some node of a domain can hold the whole job."""
        problem, outlook = self.setting.problem, self.setting.outlook
        nodes = slice(int(problem.tree.first_node[domain]), int(problem.tree.end_node[domain]))
        room = self.board.state.free[nodes] + problem.node_slack[nodes]
        holds = (outlook.need[kind] <= room).all(axis=1) & (outlook.alone[kind, problem.hardware_of[nodes]] > 0)
        return bool(holds.any())

    def _packed(self, job: int, domain: int) -> list[Counts]:
        """Places in few nodes of the tightest switches that have room, and of the whole domain if none has."""
        problem, outlook, board = self.setting.problem, self.setting.outlook, self.board
        tree, kind = problem.tree, problem.kind(job)
        first, end = int(tree.first_node[domain]), int(tree.end_node[domain])
        caps = worker_caps(board, outlook, problem, int(problem.kind_of[job]), slice(first, end))
        vertices = tree.node_vertex + np.arange(first, end)
        rate = kind.link_rate[problem.link_of[vertices], np.minimum(caps, kind.k - 1)]
        caps[rate > board.state.uplink_free[vertices] + problem.uplink_slack[vertices]] = 0
        above = tree.parent[vertices]
        room = np.bincount(above - above[0], weights=caps)
        roomy = np.flatnonzero(room >= kind.k)
        tight = roomy[np.argsort(room[roomy], kind="stable")][:SWITCHES] + above[0]
        groups = [np.flatnonzero(above == v) for v in tight.tolist()]
        if not groups and caps.sum() >= kind.k:
            groups = [np.arange(end - first)]
        found = [_fewest(caps, members, first, kind.k) for members in groups]
        return [c for c in found if fits(problem, kind, c, board.state.free, board.state.uplink_free)]


def _fewest(caps: IntArray, members: IntArray, first: int, k: int) -> Counts:
    """k workers on the nodes that hold most; the last of them takes the rest."""
    order = members[np.argsort(-caps[members], kind="stable")]
    taken = np.diff(np.minimum(np.cumsum(caps[order]), k), prepend=0)
    return {first + int(n): int(x) for n, x in zip(order, taken, strict=True) if x > 0}


def _domains(problem: Problem) -> list[int]:
    """The largest vertices with at most `AT_ONCE` nodes; the nodes themselves where a vertex has too many."""
    tree = problem.tree
    chosen, stack = [], [0]
    while stack:
        v = stack.pop()
        if tree.end_node[v] - tree.first_node[v] <= AT_ONCE:
            chosen.append(v)
        else:
            stack.extend(range(int(tree.first_child[v]), int(tree.end_child[v])))
    return sorted(v for v in chosen if tree.end_node[v] > tree.first_node[v])
