"""On which nodes a job may run: its partitions, constraint, GPU type, and the nodes that it names or excludes.

An instance says it by GPU types where that is the same. Where it is not, the nodes in question get a resource of their
own, one unit per GPU, of which the job needs one unit per GPU: other nodes have none of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from crop_cli.names import compress
from crop_cli.sources.slurm.features import matching_or, satisfied
from crop_cli.sources.slurm.machines import Machine
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.records import SlurmJob
from crop_cli.sources.slurm.requests import LeftOutError

NOWHERE = "no node with GPUs satisfies its partition, constraint and GPU type"

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job may run: nodes, their GPU types (None: all types), and words for them if types do not tell them."""

    nodes: frozenset[str]
    gpu_types: tuple[str, ...] | None
    words: str | None


@dataclass
class Eligibility:
    """Answers for all jobs of an import; equal questions are answered once.

    Attributes
    ----------
    partitions
        Those that the import is confined to; empty: all.
    marked
        Nodes by the resource that marks them, for those that were needed.
    """

    machines: dict[str, Machine]
    partitions: frozenset[str]
    notes: Notes
    marked: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._resource_of: dict[frozenset[str], str] = {}
        self._answers: dict[tuple[object, ...], Place | LeftOutError] = {}
        self._members: dict[str, set[str]] = defaultdict(set)
        self._of_type: dict[str, set[str]] = defaultdict(set)
        for name, machine in self.machines.items():
            self._of_type[machine.gpu_type].add(name)
            for partition in machine.node.partitions:
                self._members[partition].add(name)

    def place(self, job: SlurmJob, types: tuple[str, ...], needed: int) -> Place:
        """Where a job may run.

        Parameters
        ----------
        types
            GRES types that it names.
        needed
            Nodes that it needs at least.

        Raises
        ------
        LeftOutError
            If it may run nowhere, or on nodes that an instance cannot describe.
        """
        key = (job.partition, job.features, job.required_nodes, job.excluded_nodes, types, needed)
        if key not in self._answers:
            try:
                self._answers[key] = self._find(job, types, needed)
            except LeftOutError as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, LeftOutError):
            raise answer
        if matching_or(job.features):
            self.notes.of_jobs["a matching OR of features is taken as an ordinary one"] += 1
        return answer

    def _find(self, job: SlurmJob, types: tuple[str, ...], needed: int) -> Place:
        found = set(self.machines)
        words = []
        named = [part for part in job.partition.split(",") if part]
        if self.partitions and named and not self.partitions.intersection(named):
            raise LeftOutError("in none of the partitions asked for")
        if self._members and named:
            found &= set().union(*(self._members.get(partition, set()) for partition in named))
            words.append(f"partition {job.partition}")
        if types:
            found = {name for name in found if self.machines[name].gres_type.lower() in map(str.lower, types)}
            words.append(f"type {','.join(types)}")
        if job.features:
            try:
                found = {name for name in found if satisfied(job.features, self.machines[name].node.features)}
            except ValueError:
                raise LeftOutError("has a constraint with counts, which an instance cannot say") from None
            words.append(f"feature {job.features}")
        if job.required_nodes:
            if len(job.required_nodes) < needed:
                raise LeftOutError("requires some nodes by name besides others, which an instance cannot say")
            found &= set(job.required_nodes)
            words.append(f"of {compress(job.required_nodes, 3)}")
        if job.excluded_nodes:
            if found.intersection(job.excluded_nodes):
                words.append(f"without {compress(job.excluded_nodes, 3)}")
            found.difference_update(job.excluded_nodes)
        if not found:
            raise LeftOutError(NOWHERE)
        allowed = {self.machines[name].gpu_type for name in found}
        everywhere = allowed == set(self._of_type)
        by_type = frozenset().union(*(self._of_type[gpu_type] for gpu_type in allowed))
        types_tell = by_type == found
        return Place(
            frozenset(found),
            None if everywhere else tuple(sorted(allowed)),
            None if types_tell else ", ".join(words),
        )

    def demand(self, place: Place) -> dict[str, float]:
        """What a job needs per GPU so that it runs there only; equal sets of nodes share a resource."""
        nodes, words = place.nodes, place.words
        if words is None:
            return {}
        if nodes not in self._resource_of:
            words = words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"
            name, number = words, 2
            while name in self.marked:
                name, number = f"{words} ({number})", number + 1
            self._resource_of[nodes] = name
            self.marked[name] = nodes
        return {self._resource_of[nodes]: 1.0}
