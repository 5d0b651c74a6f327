"""One run as a message: what a worker process, here or on another machine, needs to know."""

from __future__ import annotations

from collections.abc import Iterable

from crop_cli.bench.records import Run, Settings, Struct
from crop_cli.bench.suite import Member


class Task(Struct, frozen=True, kw_only=True):
    """One solver on one instance with one seed.

    Attributes
    ----------
    document
        The instance file's bytes.
    bound
        Whether a baseline's run computes a bound too: nobody else will.
    """

    instance: str
    document: bytes
    sha256: str
    solver: str
    seed: int
    settings: Settings
    bound: bool = False

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """Equal for runs that answer the same question."""
        return key_of(self.instance, self.sha256, self.solver, self.seed, self.settings)


def key_of(instance: str, sha256: str, solver: str, seed: int, settings: Settings) -> tuple[str, str, str, int, str]:
    """What a run answers: the instance, the solver, its seed and settings."""
    return instance, sha256, solver, seed, repr(settings)


def key_of_run(run: Run) -> tuple[str, str, str, int, str]:
    """As `Task.key`."""
    return key_of(run.instance, run.sha256, run.solver, run.seed, run.settings)


def tasks_of(
    suite: Iterable[Member], solvers: list[str], seeds: list[int], settings: Settings, bounded: set[str]
) -> list[Task]:
    """Every solver on every instance with every seed, instance by instance.

    Parameters
    ----------
    bounded
        Instances for which a bound is known or will come from another run.
    """
    return [
        Task(
            instance=member.name,
            document=member.data,
            sha256=member.sha256,
            solver=solver,
            seed=seed,
            settings=settings,
            bound=member.name not in bounded,
        )
        for member in suite
        for seed in seeds
        for solver in solvers
    ]
