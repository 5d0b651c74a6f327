"""How large the exact model of a problem would be, without building it."""

from __future__ import annotations

import numpy as np

from crop_cli.model.problem import Problem


def exact_size(problem: Problem) -> int:
    """About a tenth of the coefficients of the exact model, without building it.

    For every open job: vertices with a node that it could use, times the square of its classes of counts with equal
    traffic (model.md, section 6): 1 for all-reduce, k − 1 for all-to-all.
    """
    tree = problem.tree
    size = 0
    members = np.bincount(problem.kind_of[problem.open_jobs], minlength=len(problem.kinds))
    for kind, count in zip(problem.kinds, members, strict=True):
        if count:
            usable = np.isfinite(kind.compute_s[problem.hardware_of]) & (problem.free_gpus > 0)
            vertices = int(np.count_nonzero(tree.sum_below(usable.astype(np.int64))[1:]))
            classes = 1 + int(np.count_nonzero(np.diff(kind.link_time[0, 1:-1])))
            size += int(count) * vertices * classes**2
    return size
