"""Instances on which the greedy over nodes is as weak as its guarantee allows: 1 − (1 − 1/m)^m of a known optimum.

The classical tight example of greedy maximum coverage (Nemhauser, Wolsey, Fisher 1978; Feige 1998) is a grid of
elements: the optimum takes its m columns, the greedy its m rows, each of which covers 1/m of what is left in every
column. Here elements are jobs, sets are what a node can hold, and resources of the node see to it that it holds a
column or a row, but nothing of more value. With v_t = (1 − 1/m)^(t−1)/m, a block of m nodes has

- m jobs of each row t = 1..m, worth v_t each, with 1 GPU, one unit of `slots` and one of `row<m+1−t>`;
- m wide jobs, worth (1 − 1/m)^m less one in a thousand each, with m GPUs and m units of every `row`.

A node has 2m GPUs, m `slots` and m + 1 units of every `row`. So it holds at most m jobs of rows; beside a wide job at
most one of each row, and no second wide job. A column (a wide job and one of each row) fills its GPUs, and m columns
run all jobs: the optimum, which no placement can exceed. When rows 1..t−1 are placed, row t gains
m·v_t = (1 − 1/m)^(t−1) and what is left of a column gains Σ_{r ≥ t} v_r + (1 − 1/m)^m, which is the same but for the
one in a thousand. The greedy takes the rows, m·Σ v_t = m·(1 − (1 − 1/m)^m) of about m, and then no node has room for a
wide job. Larger clusters are made of several equal blocks; a node beyond the blocks has one job that fills it.

Placing wide jobs first is optimal, and the greedy's other constructions do so. With each wide job cut into m pieces of
one GPU, which are worth less than any other job, they do not. A row then leaves room for one piece, so that the greedy
over nodes ends a little higher, at 1 − (1 − 1/m)^(m+1) if it arranges every node optimally; the optimum is the same.
"""

from __future__ import annotations

from crop_cli.errors import UsageError
from crop_cli.model.instance import Job, Node
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.generate.clusters import Cluster
from crop_cli.sources.generate.draw import Draw
from crop_cli.sources.generate.jobs import Ask, require_few

MOST_ROWS, MOST_ROWS_LARGE, LARGE = 16, 8, 1024
"""Nodes of a block at most, and of one in a cluster of more than 1,024 nodes, where there are fewer jobs to a node so.

1 − (1 − 1/16)^16 is 0.644, 1 − (1 − 1/8)^8 is 0.656, 1 − 1/e is 0.632.
"""

LESS = 1e-3
"""What the wide jobs are worth less than a tie, relatively: the greedy's choice is no accident."""

SCALE = 100.0
"""What a column is worth: values far above all tolerances."""


def block_size(nodes: int) -> int:
    """m: nodes of a block, such that the greedy is weakest.

    Raises
    ------
    UsageError
        If there are too few nodes for a block.
    """
    if nodes < 2:
        raise UsageError(
            f"--nodes: {nodes} is too few for this family, which needs 2 (on one node the greedy is exact)"
        )
    most = min(nodes, MOST_ROWS if nodes <= LARGE else MOST_ROWS_LARGE)
    return min(range(most, 1, -1), key=lambda m: _greedy_value(nodes, m) / _optimum(nodes, m))


def row_values(m: int) -> list[float]:
    """v_t for t = 1..m: what a job of row t is worth if a column is worth 1 (but for `LESS`)."""
    return [(1 - 1 / m) ** (t - 1) / m for t in range(1, m + 1)]


def wide_value(m: int) -> float:
    """What a wide job is worth on the same scale."""
    return (1 - LESS) * (1 - 1 / m) ** m


def filler_value(m: int) -> float:
    """What the job is worth that fills a node beyond the blocks: more than all pieces that fit, less than any row."""
    return (1 + 1 / m) * (1 - 1 / m) ** m


def optimum(nodes: int) -> float:
    """F of the optimum, in which every job runs: each node has a column or, beyond the blocks, a filler."""
    return SCALE * _optimum(nodes, block_size(nodes))


def greedy_value(nodes: int) -> float:
    """f of the greedy over nodes before fill and improvement: all rows and all fillers."""
    return SCALE * _greedy_value(nodes, block_size(nodes))


def _optimum(nodes: int, m: int) -> float:
    return _greedy_value(nodes, m) + nodes // m * m * wide_value(m)


def _greedy_value(nodes: int, m: int) -> float:
    return nodes // m * m * sum(row_values(m)) + nodes % m * filler_value(m)


def grid(ask: Ask, draw: Draw, *, pieces: bool = False) -> tuple[Cluster, list[DraftJob]]:
    """Blocks of m nodes and their jobs, in random order; with `pieces`, each wide job is m jobs of one GPU."""
    m = block_size(ask.nodes)
    blocks, over = divmod(ask.nodes, m)
    require_few(blocks * m * (2 * m if pieces else m + 1))
    # The search for a node's best jobs takes them in the order of their needs: row 1 comes first.
    rows = [f"row{m + 1 - t:02d}" for t in range(1, m + 1)]
    resources = {"slots": float(m), **dict.fromkeys(sorted(rows), float(m + 1))}
    cluster = Cluster(["node"])
    cluster.nodes += [Node(name=f"n{n}", gpus=2 * m, resources=resources) for n in range(1, ask.nodes + 1)]
    jobs: list[DraftJob] = []
    for row, value in zip(rows, row_values(m), strict=True):
        needs = {row: 1.0, "slots": 1.0}
        jobs += [_job(f"{row}-{n}", 1, value, needs) for n in range(1, blocks * m + 1)]
    # Per GPU, of which a wide job has m: one unit each.
    needs = dict.fromkeys(sorted(rows), 1.0)
    if pieces:
        jobs += [_job(f"piece-{n}", 1, wide_value(m) / m, needs) for n in range(1, blocks * m * m + 1)]
    else:
        jobs += [_job(f"wide-{n}", m, wide_value(m), needs) for n in range(1, blocks * m + 1)]
    jobs += [_job(f"filler-{n}", 2 * m, filler_value(m), {}) for n in range(1, over + 1)]
    return cluster, draw.shuffled(jobs)


def _job(name: str, gpus: int, value: float, needs: dict[str, float]) -> DraftJob:
    """A job without communication, inside one node, that is worth `value` of `SCALE`."""
    job = Job(name=name, gpus=gpus, weight=SCALE * value / gpus, resources_per_gpu=needs, within="node")
    return DraftJob(job, measured=True)
