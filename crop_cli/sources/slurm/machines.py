"""The nodes that an instance has: those with GPUs, of the partitions asked for, with one GPU type each and a state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from crop_cli.errors import UsageError
from crop_cli.model.instance import NodeState
from crop_cli.names import compress, one, plural
from crop_cli.sources.profiles import gpu_types, measured_type
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.records import Reservation, SlurmNode
from crop_cli.sources.slurm.states import node_state

UNNAMED = "gpu"
"""GPU type where neither GRES nor features name one."""


@dataclass(slots=True)
class Machine:
    """A node of the instance; `gres_type` is what Slurm calls its GPUs, `gpu_type` what the instance does."""

    node: SlurmNode
    gpus: int
    gres_type: str
    gpu_type: str
    state: NodeState

    @property
    def name(self) -> str:
        """Slurm's name of the node."""
        return self.node.name


def machines(
    nodes: list[SlurmNode], partitions: Iterable[str], reservations: list[Reservation], notes: Notes
) -> dict[str, Machine]:
    """The nodes of the instance by name.

    Raises
    ------
    UsageError
        If a partition asked for has no node.
    """
    wanted = set(partitions)
    known = {partition for node in nodes for partition in node.partitions}
    if wanted - known:
        have = f"expected {one(sorted(known))}" if known else "the nodes' file names none"
        raise UsageError(f"--partition: no node is in partition {sorted(wanted - known)[0]!r} ({have})")
    reserved = _reserved(reservations, notes)
    found: dict[str, Machine] = {}
    unknown: Counter[str] = Counter()
    stateless: list[str] = []
    told: list[str] = []
    for node in nodes:
        if wanted and not wanted.intersection(node.partitions):
            notes.skip("node", node.name, "in none of the partitions asked for")
            continue
        if not node.gpus:
            notes.skip("node", node.name, "has no GPU")
            continue
        if node.state is None:
            stateless.append(node.name)
        state, words = node_state(node.state or "IDLE")
        unknown.update(words)
        if state == "up" and node.name in reserved:
            state = "drained"
        found[node.name] = _machine(node, state, told, notes)
    if told:
        notes.assumptions.append(f"GPU type of {plural(len(told), 'node')} whose GRES has none taken from a feature.")
    if stateless:
        notes.warnings.append(
            f"the source does not say the state of {plural(len(stateless), 'node')}, taken as up: {compress(stateless)}"
        )
    for word, n in unknown.items():
        notes.warnings.append(f"unknown node state {word!r} of {plural(n, 'node')}, taken as down")
    return found


def _machine(node: SlurmNode, state: NodeState, told: list[str], notes: Notes) -> Machine:
    """A node with the type that most of its GPUs have."""
    gres_type = max(node.gpus, key=lambda name: node.gpus[name])
    for other, gpus in node.gpus.items():
        if other != gres_type:
            reason = "a node has one GPU type in an instance: only the most numerous one is kept"
            notes.skip("group of GPUs", f"{node.name} {other or UNNAMED}:{gpus}", reason)
    gpu_type = gres_type
    if not gres_type:
        hints = {hint for hint in (measured_type(feature, gpu_types()) for feature in sorted(node.features)) if hint}
        gpu_type = hints.pop() if len(hints) == 1 else UNNAMED
        if gpu_type != UNNAMED:
            told.append(node.name)
    return Machine(node, node.gpus[gres_type], gres_type, gpu_type, state)


def _reserved(reservations: list[Reservation], notes: Notes) -> set[str]:
    """Nodes of reservations that are active: only jobs of the reservation may start there."""
    found: set[str] = set()
    for reservation in reservations:
        if reservation.active:
            found.update(reservation.nodes)
        else:
            notes.skip("reservation", reservation.name, "has not begun")
    return found
