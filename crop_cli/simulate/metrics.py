"""Integrals over time, kept event by event; figures at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from crop_cli.simulate.cluster import SimCluster
from crop_cli.simulate.jobs import SimJob
from crop_cli.simulate.policy import Scheduler
from crop_cli.simulate.records import Distribution, Figures, Sample

MOST_SAMPLES = 1000
"""Samples of the series, but for the last; beyond, every second one is dropped and samples are taken half as often."""


@dataclass(slots=True)
class Meter:
    """Time-weighted sums since the first event.

    Attributes
    ----------
    busy, up, fragmented, down_nodes, in_system
        Integrals over time (s) of GPUs held, GPUs up, GPUs free while jobs wait, nodes down, and jobs.
    """

    start: float = 0.0
    at: float = 0.0
    busy: float = 0.0
    up: float = 0.0
    fragmented: float = 0.0
    down_nodes: float = 0.0
    in_system: float = 0.0
    series: list[Sample] = field(default_factory=list)
    every: int = 1
    seen: int = 0

    def advance(self, now: float, cluster: SimCluster, waiting: int) -> None:
        """Add what was so since the last event."""
        span = now - self.at
        if span > 0:
            held, free, up = gpus_of(cluster)
            self.busy += span * held
            self.up += span * up
            self.fragmented += span * free if waiting else 0.0
            self.down_nodes += span * float(np.count_nonzero(cluster.problem.up & ~cluster.up))
            self.in_system += span * (waiting + len(cluster.running))
        self.at = now

    def sample(self, now: float, cluster: SimCluster, waiting: int, *, last: bool = False) -> None:
        """Note the state after an event, as often as the series has room; the last one in any case."""
        self.seen += 1
        if self.seen % self.every and not last:
            return
        if last and self.series and self.series[-1].time == now:
            self.series.pop()
        held, free, up = gpus_of(cluster)
        goodput = sum(job.gpus * job.rate for job in cluster.running.values() if job.stalled_until <= now)
        self.series.append(
            Sample(
                time=now,
                running=len(cluster.running),
                waiting=waiting,
                gpus_held=held,
                gpus_free=free,
                gpus_up=up,
                goodput=goodput,
            )
        )
        if len(self.series) > MOST_SAMPLES and not last:
            self.series = self.series[1::2]
            self.every *= 2


def gpus_of(cluster: SimCluster) -> tuple[int, int, int]:
    """GPUs that jobs hold, free ones on nodes that are up, and all on nodes that are up."""
    held = sum(job.gpus for job in cluster.running.values())
    free = float(cluster.free[cluster.up, 0].sum())
    used_up = float(cluster.problem.free[cluster.up, 0].sum())
    return held, round(free), round(used_up)


def figures(jobs: Iterable[SimJob], meter: Meter, scheduler: Scheduler, gpus: float, nodes: int) -> Figures:
    """Figures at the end; `gpus` and `nodes` are the cluster's."""
    everyone = list(jobs)
    ended = [job for job in everyone if job.phase == "finished"]
    horizon = max(meter.at - meter.start, 1e-9)
    held = sum(job.service for job in everyone)
    useful = sum(job.gpus * job.done for job in everyone)
    active = sum(job.active for job in everyone)
    completion = [job.end - job.arrival for job in ended if job.end is not None]
    return Figures(
        finished=len(ended),
        running=sum(job.phase == "running" for job in everyone),
        waiting=sum(job.phase == "waiting" for job in everyone),
        coming=sum(job.phase == "waiting" and job.arrival > meter.at for job in everyone),
        rejected=sum(job.phase == "rejected" for job in everyone),
        makespan_s=meter.at - meter.start,
        goodput=useful / horizon,
        throughput=sum(job.gpus * job.done / job.best_s for job in everyone) / horizon,
        utilisation=held / meter.up if meter.up > 0 else 0.0,
        efficiency=useful / held if held > 0 else 0.0,
        communication_overhead=sum(job.waited for job in everyone) / active if active > 0 else 0.0,
        fragmentation=meter.fragmented / meter.up if meter.up > 0 else 0.0,
        lost_gpu_s=sum(job.gpus * job.lost for job in everyone),
        interruptions=sum(job.interruptions for job in everyone),
        completion=distribution(completion),
        queueing=distribution([job.first_start - job.arrival for job in everyone if job.first_start is not None]),
        finish_ratio=distribution([(job.end - job.arrival) / job.duration for job in ended if job.end is not None]),
        jobs_in_system=meter.in_system / horizon,
        node_down_share=meter.down_nodes / horizon / max(1, nodes),
        gpu_s_held=held,
        gpu_s_busy=meter.busy,
        decisions=scheduler.decisions,
        decision_s=scheduler.decision_s,
        longest_decision_s=scheduler.longest_s,
    )


def distribution(values: list[float]) -> Distribution | None:
    """Mean, median and upper percentiles; None of nothing."""
    if not values:
        return None
    array = np.array(values)
    median, p95, p99 = np.percentile(array, [50, 95, 99])
    return Distribution(
        mean=float(array.mean()), median=float(median), p95=float(p95), p99=float(p99), highest=float(array.max())
    )
