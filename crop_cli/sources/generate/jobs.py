"""Jobs of the families: sizes drawn until they ask for enough GPUs, models drawn from the profiles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from crop_cli.errors import UsageError
from crop_cli.model.instance import Job
from crop_cli.sources.draft import DraftJob
from crop_cli.sources.generate.draw import Draw
from crop_cli.sources.profiles import ANY, Profile, Profiles, measured_type

LARGE, LARGE_MB = 64, 1000
"""From so many GPUs on a job trains a model that exchanges at least so many megabytes, if one is known."""

MOST_JOBS = 500_000
"""Jobs of an instance at most."""

_BATCH = re.compile(r"-b\d+$")


@dataclass(frozen=True, slots=True)
class Ask:
    """What the user wants.

    Attributes
    ----------
    nodes
        Of the cluster.
    load
        GPUs that the waiting jobs ask for over free GPUs; it counts unless `jobs` is given.
    jobs
        Number of waiting jobs.
    """

    nodes: int
    load: float
    jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Models:
    """Names of the models that jobs are drawn from: for one GPU, for gangs, for large gangs."""

    single: tuple[str, ...]
    gang: tuple[str, ...]
    large: tuple[str, ...]

    @classmethod
    def of(cls, profiles: Profiles, gpu_types: tuple[str, ...]) -> Models:
        """Models of a table that were measured on all the types, or on any of them, or all models.

        Where the table has a model with several batch sizes, its name without one stands for it.
        """
        named = {
            name: profile
            for name, profile in profiles.table.items()
            if name != ANY and not (_BATCH.search(name) and _BATCH.sub("", name) in profiles.table)
        }
        counts = {name: sum(_measured(profile, gpu) for gpu in gpu_types) for name, profile in named.items()}
        best = max(counts.values(), default=0)
        known = {name: named[name] for name in sorted(named) if counts[name] == best}
        gangs = tuple(name for name, profile in known.items() if profile.message_mb > 0)
        large = tuple(name for name in gangs if known[name].message_mb >= LARGE_MB)
        return cls(tuple(known), gangs or tuple(known), large or gangs or tuple(known))

    def pick(self, draw: Draw, gpus: int) -> str | None:
        """A model for a job of a size, all equally likely; None if none is known."""
        names = self.single if gpus == 1 else self.gang if gpus < LARGE else self.large
        return draw.pick(names) if names else None


def _measured(profile: Profile, gpu_type: str) -> bool:
    return measured_type(gpu_type, profile.compute_s) is not None


def draw_sizes(draw: Draw, shares: Mapping[int, float], free: int, ask: Ask, largest: int) -> list[int]:
    """GPUs of every waiting job.

    Parameters
    ----------
    shares
        Relative frequency of each size.
    free
        Free GPUs of the cluster.
    largest
        No job asks for more.

    Notes
    -----
    Sizes are drawn until they ask for `load` times the free GPUs. A size that would ask for more is replaced by the
    largest that does not; if there is none, the demand stays below by less than the smallest size. There is always a
    job.

    Raises
    ------
    UsageError
        If the smallest size is too large for the cluster, or if there are more than `MOST_JOBS`.
    """
    fitting = {size: share for size, share in shares.items() if size <= largest}
    if not fitting:
        raise UsageError(f"--nodes: {free} free GPUs hold no job of this family, whose smallest has {min(shares)} GPUs")
    if ask.jobs is not None:
        return [draw.weighted(fitting) for _ in range(ask.jobs)]
    rest = max(round(ask.load * free), min(fitting))
    sizes = []
    while rest >= min(fitting):
        size = draw.weighted(fitting)
        if size > rest:
            size = max(size for size in fitting if size <= rest)
        sizes.append(size)
        rest -= size
        require_few(len(sizes))
    return sizes


def require_few(jobs: int) -> None:
    """Refuse more than `MOST_JOBS`.

    Raises
    ------
    UsageError
        If there are more.
    """
    if jobs > MOST_JOBS:
        raise UsageError(f"that makes more than {MOST_JOBS} jobs: ask for fewer --nodes or a lower --load")


def draft_jobs(draw: Draw, sizes: list[int], models: Models) -> list[DraftJob]:
    """Jobs of the given sizes with a model each."""
    width = len(str(len(sizes)))
    drafts = []
    for number, gpus in enumerate(sizes, start=1):
        model = models.pick(draw, gpus)
        name = f"j{number:0{width}d}" + (f"-{model}" if model else "")
        drafts.append(DraftJob(Job(name=name, gpus=gpus), model=model))
    return drafts
