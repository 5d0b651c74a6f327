"""Jobs that run: pinned (or movable) where they are; what else is in use on every node."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import msgspec

from crop_cli.model.instance import Job
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.slurm import tres
from crop_cli.sources.slurm.eligible import Eligibility
from crop_cli.sources.slurm.machines import Machine
from crop_cli.sources.slurm.notes import Notes
from crop_cli.sources.slurm.records import SlurmJob
from crop_cli.sources.slurm.requests import MEBI_PER_GIBI, NO_GPU, LeftOutError, Request, request, shares_of
from crop_cli.sources.slurm.topology import Levels
from crop_cli.sources.slurm.waiting import job_name, job_text

CPU, MEMORY = "cpu", "memory_gib"


@dataclass(slots=True)
class Taken:
    """What is in use on one node: GPUs of jobs in the instance, of others, and other resources of others."""

    placed: int = 0
    others: int = 0
    load: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    other_load: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    exclusive: bool = False


@dataclass
class Running:
    """All running jobs of an import, one after the other.

    Attributes
    ----------
    taken
        By node.
    jobs
        Those that are in the instance.
    """

    machines: dict[str, Machine]
    eligibility: Eligibility
    notes: Notes
    resources: frozenset[str]
    movable: bool
    tree: Levels
    taken: dict[str, Taken] = field(default_factory=lambda: defaultdict(Taken))
    jobs: list[DraftJob] = field(default_factory=list)

    def add(self, job: SlurmJob, reason: str = "") -> None:
        """Enter a job that has nodes; with a reason its GPUs are in use and it is left out."""
        hosts = job.nodes
        try:
            shares = shares_of(job, hosts)
        except LeftOutError as error:
            self.notes.skip("job", job.key, str(error))
            self._unclear(hosts)
            return
        gpus = {host: sum(here.values()) for host, here in shares.items() if here}
        amounts = self._amounts(job, hosts, gpus)
        try:
            if reason:
                raise LeftOutError(reason)
            self._check(job, hosts, shares, gpus)
        except LeftOutError as error:
            self.notes.skip("job", job.key, str(error))
            self._others(shares, amounts)
            return
        rates = {
            name: min(per_host[host] / gpus[host] for host in gpus)
            for name, per_host in amounts.items()
            if all(host in per_host for host in gpus)
        }
        for host, count in gpus.items():
            taken = self.taken[host]
            taken.placed += count
            taken.exclusive |= job.exclusive
            for name, rate in rates.items():
                taken.load[name] += rate * count
        # What it has beyond its least share per GPU on a node stays in use whatever becomes of it.
        rest = {
            name: {host: amount - rates.get(name, 0.0) * gpus.get(host, 0) for host, amount in per_host.items()}
            for name, per_host in amounts.items()
        }
        self._others({}, rest)
        demand = {name: round(rate, 6) for name, rate in rates.items() if rate > 0}
        self.jobs.append(self._draft(job, gpus, demand))

    def _check(
        self, job: SlurmJob, hosts: tuple[str, ...], shares: dict[str, dict[str, int]], gpus: dict[str, int]
    ) -> None:
        """Refuse what an instance cannot have as a running job."""
        if job.component:
            raise LeftOutError("component of a heterogeneous job, which an instance cannot say: its GPUs are in use")
        if not gpus:
            raise LeftOutError(f"{NO_GPU}: its CPUs and memory are in use")
        if any(host not in self.machines for host in gpus):
            raise LeftOutError("runs on nodes that are not in the instance")
        for host, count in gpus.items():
            machine = self.machines[host]
            if machine.state != "up":
                raise LeftOutError(
                    f"runs on a node that is {machine.state} and takes nothing new: its GPUs are in use until it ends"
                )
            if any(gres_type not in ("", machine.gres_type) for gres_type in shares[host]):
                raise LeftOutError("runs on GPUs of a type that is not kept for their node")
            if self.taken[host].placed + count > machine.gpus:
                raise LeftOutError("runs on a node that has fewer GPUs than its jobs together")

    def _amounts(self, job: SlurmJob, hosts: tuple[str, ...], gpus: dict[str, int]) -> dict[str, dict[str, float]]:
        """CPUs and GiB of the job on each host; where only the sum is known, in proportion to GPUs, else evenly."""
        total = sum(gpus.values())
        part = {host: gpus.get(host, 0) / total if total else 1 / len(hosts) for host in hosts}
        cpus = tres.amount(job.tres_allocated, "cpu") or job.cpus
        memory = tres.amount(job.tres_allocated, "mem") or 0.0
        found: dict[str, dict[str, float]] = {CPU: {}, MEMORY: {}}
        for host in hosts:
            share = job.shares.get(host) if job.shares else None
            own_cpus = share.cpus if share else None
            own_memory = share.memory_mb if share else None
            found[CPU][host] = cpus * part[host] if own_cpus is None else own_cpus
            found[MEMORY][host] = (memory * part[host] if own_memory is None else own_memory) / MEBI_PER_GIBI
        return {name: per_host for name, per_host in found.items() if name in self.resources}

    def _unclear(self, hosts: tuple[str, ...]) -> None:
        """A job has some GPUs on these nodes: where Slurm does not count those in use, all of them may be."""
        for host in hosts:
            if host in self.machines and self.machines[host].node.gpus_used is None:
                self.taken[host].exclusive = True

    def _others(self, shares: dict[str, dict[str, int]], amounts: dict[str, dict[str, float]]) -> None:
        """What a job has counts as in use by others."""
        for host, here in shares.items():
            machine = self.machines.get(host)
            if machine is not None:
                self.taken[host].others += here.get(machine.gres_type, 0) + (
                    here.get("", 0) if machine.gres_type else 0
                )
        for name, per_host in amounts.items():
            for host, amount in per_host.items():
                if host in self.machines:
                    self.taken[host].other_load[name] += amount

    def _draft(self, job: SlurmJob, gpus: dict[str, int], demand: dict[str, float]) -> DraftJob:
        placed = Job(
            name=job_name(job.key, job.name),
            gpus=sum(gpus.values()),
            resources_per_gpu=demand,
            placement=gpus,
            movable=self.movable and job.requeues,
        )
        if self.movable and not job.requeues:
            self.notes.of_jobs["cannot be requeued (salloc, srun, --no-requeue), and so not be moved"] += 1
        asked = _asked(job)
        try:
            place = self.eligibility.place(job, asked.types, len(gpus) if job.required_nodes else 1)
        except LeftOutError:
            return DraftJob(placed, job_text(job))
        allowed = place.nodes.issuperset(gpus)
        if placed.movable:
            placed = self._confined(job, placed, asked)
            if allowed:
                demand = placed.resources_per_gpu | self.eligibility.demand(place)
                placed = msgspec.structs.replace(placed, resources_per_gpu=demand)
        return DraftJob(placed, job_text(job), place.gpu_types if allowed else None)

    def _confined(self, job: SlurmJob, placed: Job, asked: Request) -> Job:
        """A job that may be moved, with its own shape as far as it has that where it is."""
        gpus = placed.placement or {}
        if asked.per_node is not None and set(gpus.values()) == {asked.per_node}:
            placed = msgspec.structs.replace(placed, gpus_per_node=asked.per_node)
        if job.switches == 1 and len({self.tree.parent_of.get(host) for host in gpus} - {None}) == 1:
            placed = msgspec.structs.replace(placed, within=self.tree.levels[-2])
        return placed


def _asked(job: SlurmJob) -> Request:
    """What a running job asked for; nothing in particular where the source does not tell."""
    try:
        return request(job)
    except LeftOutError:
        return Request(0, None, (), 0.0, 0.0)
