"""Warnings about jobs that can never be placed, whatever else runs (a necessary condition, from counts alone).

For every job an upper bound is carried up the tree: how many of its workers each node that is up could hold, by GPU
type and resources, then each domain, cut down by the job's shape constraints. A job with less than its `gpus` at the
root has no place. One with enough may still be impossible to place: only a solver can say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crop_cli.model.findings import named, one_of, quoted
from crop_cli.model.instance import Instance, Job, Node
from crop_cli.model.tree import Tree, build_tree
from crop_cli.model.validate_jobs import JOBS
from crop_cli.names import plural

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

ROUNDING = 1 + 1e-9
"""Factor on free / demand before it is rounded down: 0.3 / 0.1 holds three workers."""

MOST_KEPT = 256
"""Arrays over the nodes that are kept for further jobs; a bound on memory."""


def fit_warnings(instance: Instance) -> list[str]:
    """One line for each job that no placement can hold, and for each switch with nothing below it.

    Parameters
    ----------
    instance
        A valid instance.
    """
    tree, order = build_tree(instance.cluster)
    room = _Room(tree, [instance.cluster.nodes[i] for i in order])
    empty = np.flatnonzero(tree.first_node == tree.end_node)
    warnings = [
        f"$.cluster.switches: switch {quoted(tree.names[v])} (level {quoted(tree.level_name(int(tree.depth[v])))}) "
        "has no nodes below it"
        for v in empty
    ]
    for j, job in enumerate(instance.jobs):
        reason = None if job.placement is not None and not job.movable else room.why_not(job)
        if reason:
            end = "; it is required, so that no placement is feasible" if job.required else ""
            warnings.append(f"{JOBS}[{j}]: can never be placed{named('job', job.name)}: {reason}{end}")
    return warnings


class _Room:
    """How many workers of a job nodes and domains could hold if it were alone."""

    def __init__(self, tree: Tree, nodes: list[Node]) -> None:
        self.tree = tree
        self.nodes = nodes
        self.type_number = {name: i for i, name in enumerate(dict.fromkeys(node.gpu_type for node in nodes))}
        self.type_of = np.array([self.type_number[node.gpu_type] for node in nodes], dtype=np.int64)
        self.up = np.array([node.state == "up" for node in nodes], dtype=bool)
        self.gpus = self._free("gpus").astype(np.int64)
        self._resources: dict[str, FloatArray] = {}
        self._workers: dict[object, IntArray] = {}
        self._reasons: dict[object, str | None] = {}

    def why_not(self, job: Job) -> str | None:
        """Why the job has no place, or None if the counts do not rule it out."""
        key = (job.gpus, _needs(job), job.within, job.segment, job.spread, job.gpus_per_node)
        if key not in self._reasons:
            self._reasons[key] = self._reason(job)
        return self._reasons[key]

    def _reason(self, job: Job) -> str | None:
        k = job.gpus
        if isinstance(job.compute_s, dict) and self.type_number.keys().isdisjoint(job.compute_s):
            return f"no node has GPU type {one_of(job.compute_s)}"
        if job.segment is not None and k % job.segment.gpus:
            return f"{k} GPUs are no multiple of its segment of {job.segment.gpus}"
        if job.gpus_per_node is not None and k % job.gpus_per_node:
            return f"{k} GPUs are no multiple of {job.gpus_per_node} per node"
        workers = self._per_node(job)
        total = int(workers.sum())
        if total < k:
            return f"it needs {k} GPUs, the nodes that are up have room for {total} of its workers"
        return self._why_no_shape(job, workers)

    def _why_no_shape(self, job: Job, workers: IntArray) -> str | None:
        """The first level, bottom up, at which the shape constraints leave too little room."""
        k, tree = job.gpus, self.tree
        if job.gpus_per_node is not None:
            workers = np.where(workers >= job.gpus_per_node, job.gpus_per_node, 0)
            if workers.sum() < k:
                needs, each = plural(k // job.gpus_per_node, "node"), plural(job.gpus_per_node, "free GPU")
                return f"it needs {needs} with {each} each, there are {int((workers > 0).sum())}"
        for depth in range(tree.max_depth, 0, -1):
            level = tree.level_name(depth)
            if job.spread is not None and job.spread.level == level:
                workers = np.minimum(workers, job.spread.max_gpus)
                if workers.sum() < k:
                    most = job.spread.max_gpus
                    return f"with at most {most} GPUs per {level} there is room for {int(workers.sum())} of {k}"
            if job.segment is not None and job.segment.level == level:
                workers = workers - workers % job.segment.gpus
                if workers.sum() < k:
                    whole = job.segment.gpus
                    return f"in segments of {whole} GPUs per {level} there is room for {int(workers.sum())} of {k}"
            if job.gpus_per_node is not None and depth == tree.max_depth:
                workers = np.where(workers == job.gpus_per_node, workers, 0)
            if job.within == level:
                most = int(workers.max())
                workers = np.where(workers >= k, workers, 0)
                if most < k:
                    return f"it needs {k} GPUs within one {level}, the largest has room for {most}"
            vertices = np.arange(tree.start[depth], tree.start[depth + 1])
            above = np.arange(tree.start[depth - 1], tree.start[depth])
            sums = np.concatenate([[0], np.cumsum(workers)])
            workers = sums[tree.end_child[above] - vertices[0]] - sums[tree.first_child[above] - vertices[0]]
        if int(workers[0]) < k:
            return f"its constraints together leave room for {int(workers[0])} of {k} GPUs"
        return None

    def _per_node(self, job: Job) -> IntArray:
        """(N) workers that every node could hold by type and resources."""
        key = types, demand = _needs(job)
        if key in self._workers:
            return self._workers[key]
        workers = self.gpus
        if types is not None:
            allowed = [self.type_number[name] for name in types if name in self.type_number]
            workers = np.where(np.isin(self.type_of, allowed), workers, 0)
        for name, amount in demand:
            if name not in self._resources:
                self._resources[name] = self._free(name)
            by_resource = np.floor(self._resources[name] / amount * ROUNDING)
            workers = np.minimum(workers, by_resource).astype(np.int64)
        if len(self._workers) >= MOST_KEPT:
            self._workers.clear()
        self._workers[key] = workers
        return workers

    def _free(self, resource: str) -> FloatArray:
        """(N) what a node that is up has beyond what is used."""
        has = [node.gpus if resource == "gpus" else node.resources.get(resource, 0.0) for node in self.nodes]
        used = [node.used.get(resource, 0.0) for node in self.nodes]
        return np.where(self.up, np.maximum(0.0, np.array(has, dtype=np.float64) - np.array(used)), 0.0)


def _needs(job: Job) -> tuple[tuple[str, ...] | None, tuple[tuple[str, float], ...]]:
    """What decides how many workers a node holds: the allowed GPU types (None: all), and the demand per worker."""
    types = tuple(sorted(job.compute_s)) if isinstance(job.compute_s, dict) else None
    return types, tuple(sorted((name, amount) for name, amount in job.resources_per_gpu.items() if amount > 0))
