"""The engines that `--solver` can name. Nothing here imports a solver: targets are loaded when they are used."""

from __future__ import annotations

import ast
import difflib
import importlib
import pkgutil
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from crop_cli.errors import BackendError, UsageError
from crop_cli.solvers.exact.backends import BACKENDS, RECOMMENDED, Backend

if TYPE_CHECKING:
    from crop_cli.solvers.contract import Solver

Role = Literal["auto", "heuristic", "refining", "exact", "baseline"]

PLUG_INS = "crop.solvers"
"""Entry-point group of other packages' solvers."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to solve an instance.

    Attributes
    ----------
    name
        What the user writes after `--solver`.
    role
        "heuristic" runs alone; "refining" starts from the greedy's placement and the bound; "exact" too, and can prove
        optimality; "auto" is all of them, as time allows. "baseline" is somebody else's rule: it runs alone, may
        overbook uplinks, and its word on bounds and guarantees does not count.
    summary
        One line for people.
    target
        "module:function" of a `crop_cli.solvers.contract.Solver`.
    arguments
        Keyword arguments that the target gets besides those of a solver.
    abilities
        Words for people: what it can do.
    default_gap
        Gap at which it ends unless told otherwise.
    back_ends
        Of these libraries one has to be installed, the first that is does the work; empty where crop's own code does.
    """

    name: str
    role: Role
    summary: str
    target: str
    arguments: dict[str, str] = field(default_factory=dict)
    abilities: tuple[str, ...] = ()
    default_gap: float = 0.0
    back_ends: tuple[Backend, ...] = ()

    @property
    def back_end(self) -> Backend | None:
        """The library that would do the work here."""
        return next((back_end for back_end in self.back_ends if back_end.installed), None)

    @property
    def installed(self) -> bool:
        """Whether it can run here."""
        return not self.back_ends or self.back_end is not None

    def require(self) -> None:
        """Nothing, if it can run here.

        Raises
        ------
        BackendError
            If no library for it is installed.
        """
        if not self.installed:
            packages = " or ".join(dict.fromkeys(back_end.package for back_end in self.back_ends))
            raise BackendError(f"solver {self.name!r} needs {packages}, which is not installed")

    def load(self) -> Solver:
        """Import the solver.

        Raises
        ------
        BackendError
            If another package's solver cannot be imported.
        """
        module, _, function = self.target.partition(":")
        try:
            solver = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise BackendError(f"solver {self.name!r} ({self.target}) cannot be loaded: {error}") from error
        return cast("Solver", partial(solver, **self.arguments) if self.arguments else solver)


_EXACT = "crop_cli.solvers.exact.solve:solve"
_BEST = tuple(BACKENDS[name] for name in RECOMMENDED if name in BACKENDS)


def _exact(back_end: Backend) -> Engine:
    """The engine of one library."""
    can = {
        "streams incumbents": back_end.streams_incumbents,
        "streams bounds": back_end.streams_bounds,
        "threads": back_end.multithreaded,
    }
    return Engine(
        name=back_end.name,
        role="exact",
        summary=f"{back_end.title}, from the greedy's placement",
        target=_EXACT,
        arguments={"back_end": back_end.name},
        abilities=("proves optimality and infeasibility", *(name for name, yes in can.items() if yes)),
        back_ends=(back_end,),
    )


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            name="auto",
            role="auto",
            summary="greedy, bound and search, then what proves most in the time left, until the gap is met",
            target="crop_cli.solvers.search.solve:solve",
            abilities=("gap of 1 % unless told otherwise", "any size"),
            default_gap=0.01,
        ),
        Engine(
            name="greedy",
            role="heuristic",
            summary="submodular greedy over the domains of a level, fill, improvement",
            target="crop_cli.solvers.greedy.solve:solve",
            abilities=("a-priori guarantee where its conditions hold", "any size"),
        ),
        Engine(
            name="config-lp",
            role="heuristic",
            summary="configuration LP over the domains of a level, rounded; fill, improvement",
            target="crop_cli.solvers.config_lp.solve:solve",
            abilities=("a-priori guarantee of 1 − 1/e where its conditions hold, also when domains differ",),
        ),
        Engine(
            name="search",
            role="refining",
            summary="local search from the greedy's placement, guided by the prices of the bound",
            target="crop_cli.solvers.search.solve:solve",
            abilities=("anytime", "any size"),
        ),
        Engine(
            name="columns",
            role="refining",
            summary="price and branch: an integer program over the columns of the bound and their neighbours",
            target="crop_cli.solvers.columns.branch:solve",
            abilities=("proves optimality only where its bound is tight", "some hundred nodes"),
        ),
        Engine(
            name="exact",
            role="exact",
            summary="the best installed exact back end, from the greedy's placement",
            target=_EXACT,
            arguments={"back_end": "exact"},
            abilities=("proves optimality and infeasibility",),
            back_ends=_BEST,
        ),
        *map(_exact, BACKENDS.values()),
    )
}


def engines() -> dict[str, Engine]:
    """Every engine that can be named: crop's own, baselines, and those of other packages."""
    return {**ENGINES, **baselines(), **plug_ins()}


@cache
def baselines() -> dict[str, Engine]:
    """One engine per module of `crop_cli.solvers.baselines`, by file name; none of them is imported."""
    folder = Path(__file__).parent / "baselines"
    found = {}
    for module in sorted(m.name for m in pkgutil.iter_modules([str(folder)])):
        text = ast.get_docstring(ast.parse((folder / f"{module}.py").read_bytes())) or ""
        name = module.replace("_", "-")
        found[name] = Engine(
            name=name,
            role="baseline",
            summary=text.partition("\n")[0].rstrip("."),
            target=f"crop_cli.solvers.baselines.{module}:place",
            abilities=("queue order", "ignores what its source ignores"),
        )
    return found


@cache
def plug_ins() -> dict[str, Engine]:
    """Solvers of other installed packages: entry points of the group `crop.solvers`. crop's own names are taken.

    An entry point names a function under `job_by_job` or `whole_queue`, or any solver (docs/add-a-solver.md).
    """
    found = {}
    for point in metadata.entry_points(group=PLUG_INS):
        if point.name not in ENGINES and point.name not in baselines():
            package = point.dist.name if point.dist else point.module
            found[point.name] = Engine(
                name=point.name,
                role="baseline",
                summary=f"of package {package}",
                target=point.value.replace(" ", ""),
                abilities=("plug-in",),
            )
    return found


def find(name: str) -> Engine:
    """Engine of a name.

    Raises
    ------
    UsageError
        If there is none; the message names the nearest and all.
    """
    if name in ENGINES:
        return ENGINES[name]
    known = engines()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no solver {name!r}{hint} (solvers: {', '.join(known)})")
