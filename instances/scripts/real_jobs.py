"""Jobs of the real instances: sizes from trace windows, models drawn or from the trace, places of what runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from draw import Draw
from instance_file import number
from real_models import Model, scalable
from real_traces import Arrival, Pod

Part = dict[str, Any]

RECOVERY = {"restart_minutes": 10, "checkpoint_minutes": 60}

SHARES = (
    (2, {"resnet50": 3, "inception3": 3, "vgg16": 2, "bert": 2}),
    (8, {"resnet50": 2, "inception3": 1, "vgg16": 2, "bert": 3, "gpt2": 3}),
    (1024, {"bert": 2, "gpt2": 3, "vgg16": 1, "llama2-7b": 3, "moe-7b": 1}),
)
"""Up to how many GPUs, and the shares of models among jobs of that size."""

A100Models = dict[str, list[Model]]


def window(arrivals: Iterable[Arrival], start_s: float, wanted: float, largest: int) -> list[Arrival]:
    """Arrivals from a moment on, in order, until together they want so many GPUs; larger ones are passed over."""
    taken: list[Arrival] = []
    total = 0
    for arrival in arrivals:
        if arrival.time_s >= start_s and arrival.gpus <= largest and total < wanted:
            taken.append(arrival)
            total += arrival.gpus
    if total < wanted:
        raise ValueError(f"the trace ends with {total} of {wanted:.0f} GPUs wanted")
    return taken


def started_before(arrivals: Iterable[Arrival], start_s: float, most: float, largest: int) -> list[Arrival]:
    """The latest arrivals before a moment, together at most so many GPUs, in order of arrival."""
    taken: list[Arrival] = []
    total = 0
    for arrival in reversed([a for a in arrivals if a.time_s < start_s and a.gpus <= largest]):
        if total + arrival.gpus <= most:
            taken.append(arrival)
            total += arrival.gpus
    return taken[::-1]


def a100_jobs(draw: Draw, prefix: str, arrivals: Iterable[Arrival], models: A100Models) -> list[Part]:
    """Jobs of the trace's sizes with models drawn by size."""
    jobs = []
    for arrival in arrivals:
        shares = next(shares for most, shares in SHARES if arrival.gpus <= most)
        model = draw.pick(models[draw.weighted(shares)])
        jobs.append(_job(f"{prefix}{arrival.index:05d}-{model.name}", arrival.gpus, model))
    return jobs


def model_jobs(draw: Draw, prefix: str, arrivals: Iterable[Arrival], models: Sequence[Model]) -> list[Part]:
    """Jobs of the trace's sizes with models drawn alike."""
    jobs = []
    for arrival in arrivals:
        model = draw.pick(models)
        jobs.append(_job(f"{prefix}{arrival.index:05d}-{model.name}", arrival.gpus, model))
    return jobs


def gavel_jobs(rows: Iterable[tuple[int, str, int]], models: dict[str, Model], wanted: float) -> list[Part]:
    """Gangs of a Gavel trace with the models it names, until they want so many GPUs; unmeasured pairs passed over."""
    jobs: list[Part] = []
    for row, kind, gpus in rows:
        if sum(job["gpus"] for job in jobs) >= wanted:
            break
        if kind in models and (gpus == 1 or scalable(kind)):
            jobs.append(_job(f"g{row:04d}-{models[kind].name}", gpus, models[kind]))
    return jobs


def pod_jobs(
    draw: Draw, pods: Iterable[Pod], models: Sequence[Model], largest: dict[str, int], wanted: float
) -> list[Part]:
    """Pods of openb, each on one node, with a model drawn among those that may run on one of its types.

    `largest` is the GPUs of the largest node of each type. Pods that fit no node or no model are passed over.
    """
    jobs: list[Part] = []
    total = 0
    for pod in pods:
        if total >= wanted:
            break
        allowed = {kind for kind, gpus in largest.items() if gpus >= pod.gpus and kind in (pod.types or largest)}
        fitting = [model for model in models if _restricted(model, allowed) is not None]
        if not fitting:
            continue
        model = draw.pick(fitting)
        job = _job(f"{pod.name}-{model.name}", pod.gpus, model)
        job["compute_s"] = _restricted(model, allowed)
        job["resources_per_gpu"] = {"cpu": number(pod.cpu_per_gpu), "memory_gib": number(pod.gib_per_gpu)}
        job["within"] = "node"
        jobs.append(job)
        total += pod.gpus
    return jobs


def occupy(draw: Draw, free: dict[str, int], gpus: int, scatter: bool) -> dict[str, int] | None:
    """Take GPUs for a job that runs: on one node if it fits there, else on nodes in turn, the fullest first.

    With `scatter`, nodes are tried in random order (what is left is fragmented), else the tightest fit is taken.
    """
    if sum(free.values()) < gpus:
        return None
    order = draw.shuffled(list(free)) if scatter else sorted(free, key=lambda name: free[name])
    whole = [name for name in order if free[name] >= gpus]
    held: dict[str, int] = {}
    for name in whole[:1] or sorted(order, key=lambda name: -free[name]):
        take = min(free[name], gpus - sum(held.values()))
        if take > 0:
            held[name] = take
            free[name] -= take
    return held


def each(jobs: list[Part], change: Callable[[Part], None]) -> list[Part]:
    """The jobs after a change of each."""
    for job in jobs:
        change(job)
    return jobs


def _restricted(model: Model, types: set[str]) -> dict[str, float] | None:
    """Seconds on those types the model was measured on; None if there is none."""
    if not isinstance(model.compute_s, dict):
        return None
    return {kind: seconds for kind, seconds in model.compute_s.items() if kind in types} or None


def _job(name: str, gpus: int, model: Model) -> Part:
    return {"name": name, "gpus": gpus, **model.fields(gpus), **RECOVERY}
