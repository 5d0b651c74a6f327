"""Jobs that wait, as jobs of an instance."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from crop_cli.model.instance import Job, Segment
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.slurm.eligible import Eligibility, Place
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.records import SlurmJob
from crop_cli.sources.slurm.requests import MEBI_PER_GIBI, LeftOutError, Request, request
from crop_cli.sources.slurm.states import HELD, STARTS_LATER


@dataclass(frozen=True, slots=True)
class Waiting:
    """How waiting jobs are read.

    Attributes
    ----------
    levels
        Of the cluster, top down.
    resources
        Resources that all nodes state: "cpu", "memory_gib".
    include_held
        Whether jobs that wait for something other than room are in the instance too.
    array_tasks
        Most tasks of one array.
    running_tasks
        Tasks of each array that run, by its job id.
    memory_managed
        Whether Slurm gives out memory (SelectTypeParameters with Memory). Then a job that asks for none gets all of its
        nodes (22.05.8: such a job waits for a node of which no memory is in use).
    """

    eligibility: Eligibility
    notes: Notes
    levels: list[str]
    resources: frozenset[str]
    include_held: bool
    array_tasks: int
    running_tasks: Counter[str]
    memory_managed: bool

    def jobs(self, job: SlurmJob) -> Iterator[DraftJob]:
        """The job, or those tasks of an array that could start; why not, if it is left out."""
        try:
            self._may_start(job)
            asked = request(job)
            place = self.eligibility.place(job, asked.types, job.node_count if job.required_nodes else 1)
            if job.exclusive:
                asked = self._whole_nodes(job, asked, place)
            if self.memory_managed and not asked.memory_gib:
                asked = self._all_memory(job, asked, place)
        except LeftOutError as error:
            self.notes.skip("job" if job.waiting_tasks is None else "array", job.key, str(error))
            return
        demand = demands(asked, self.resources) | self.eligibility.demand(place)
        for key in self._keys(job):
            yield DraftJob(
                Job(
                    name=job_name(key, job.name),
                    gpus=asked.gpus,
                    resources_per_gpu=dict(demand),
                    within=self._within(job),
                    segment=self._segment(job, asked),
                    gpus_per_node=asked.per_node,
                ),
                model=job_text(job),
                gpu_types=place.gpu_types,
            )

    def _may_start(self, job: SlurmJob) -> None:
        """Refuse what waits for something that placement cannot give."""
        if job.component:
            raise LeftOutError("component of a heterogeneous job, which an instance cannot say")
        if job.reservation:
            raise LeftOutError("waits for its reservation")
        reason = job.reason.replace(" ", "_").split("(")[0]
        if not self.include_held and (job.held or HELD.fullmatch(reason)):
            raise LeftOutError(STARTS_LATER.format(job.reason or "held"))

    def _whole_nodes(self, job: SlurmJob, asked: Request, place: Place) -> Request:
        """An exclusive job gets all GPUs and CPUs of its nodes (sbatch, --exclusive)."""
        machines = [self.eligibility.machines[name] for name in place.nodes]
        each = {machine.gpus for machine in machines}
        if len(each) > 1:
            raise LeftOutError("asks for whole nodes, and the nodes in question differ in their GPUs")
        (gpus,) = each
        nodes = max(1, job.node_count, -(-asked.gpus // gpus))
        cpus = min((machine.node.cpus or 0.0) for machine in machines)
        memory = asked.memory_gib * asked.gpus / (nodes * gpus)
        self.notes.of_jobs["asks for whole nodes: all of their GPUs and CPUs"] += 1
        return Request(nodes * gpus, gpus, asked.types, cpus / gpus, memory)

    def _all_memory(self, job: SlurmJob, asked: Request, place: Place) -> Request:
        """The memory of whole nodes, of the smallest ones in question, for a job that asks for none."""
        each = asked.per_node or -(-asked.gpus // max(1, job.node_count))
        least = min((self.eligibility.machines[name].node.memory_mb or 0.0) for name in place.nodes)
        self.notes.of_jobs["asks for no memory, and so gets all that its nodes have"] += 1
        # Rounded down: all GPUs of a node together must not need more than it has.
        gib = math.floor(least / MEBI_PER_GIBI / each * 1e6) / 1e6
        return dataclasses.replace(asked, memory_gib=gib)

    def _keys(self, job: SlurmJob) -> Iterator[str]:
        """squeue's name of the job, or of each task of an array that may run now."""
        if job.waiting_tasks is None:
            yield job.key
            return
        skip, array = self.notes.skip, job.array or job.job_id
        if job.more_tasks:
            skip("array", array, "has more tasks than Slurm prints")
        slots = max(0, job.limit - self.running_tasks[array]) if job.limit else len(job.waiting_tasks)
        for i, task in enumerate(job.waiting_tasks):
            key = f"{array}_{task}"
            if i >= slots:
                skip("array task", key, "beyond the array's limit of tasks at a time")
            elif i >= self.array_tasks:
                skip("array task", key, f"beyond the first {self.array_tasks} tasks of an array (--array-tasks)")
            else:
                yield key

    def _within(self, job: SlurmJob) -> str | None:
        if job.switches is None and len(self.levels) > 1:
            self.notes.of_jobs[
                "may want few leaf switches, which this JSON does not tell (scontrol show job does)"
            ] += 1
        if not job.switches:
            return None
        if job.switches > 1:
            self.notes.of_jobs[f"wants at most {job.switches} leaf switches, which is not kept"] += 1
            return None
        if len(self.levels) < 2:
            self.notes.of_jobs["wants one leaf switch, which is not kept: no topology is given"] += 1
            return None
        self.notes.of_jobs["wants one leaf switch, and waits for it without end"] += 1
        return self.levels[-2]

    def _segment(self, job: SlurmJob, asked: Request) -> Segment | None:
        if not job.segment:
            return None
        if len(self.levels) < 2 or asked.per_node is None:
            self.notes.of_jobs["wants segments, which is not kept: no topology, or no fixed GPUs per node"] += 1
            return None
        return Segment(gpus=job.segment * asked.per_node, level=self.levels[-2])


def demands(asked: Request, resources: frozenset[str]) -> dict[str, float]:
    """CPUs and memory per GPU, of what the nodes state."""
    amounts = {"cpu": asked.cpu, "memory_gib": asked.memory_gib}
    return {name: round(amount, 6) for name, amount in amounts.items() if name in resources and amount > 0}


def job_text(job: SlurmJob) -> str:
    """Text in which the name of the trained model may be found."""
    return f"{job.name} {job.comment}"


def job_name(key: str, name: str) -> str:
    """Name of a job in the instance: squeue's id, and the job's own name where it has one."""
    plain = "".join(char if char.isprintable() else "?" for char in name).strip()
    return f"{key}-{plain}" if plain else key
