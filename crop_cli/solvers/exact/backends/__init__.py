"""The exact back ends: which there are, which are installed, and what each can do. Imports none of the libraries."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec

from crop_cli.errors import BackendError, UsageError


@dataclass(frozen=True, slots=True)
class Backend:
    """A back end and what it can do.

    Attributes
    ----------
    name
        As on the command line.
    title
        For people.
    module
        Dotted name of its module, which the solver process imports.
    package, imports
        Distribution on the package index, and the module that must be importable.
    streams_incumbents, streams_bounds
        Whether it reports points and bounds while it runs.
    multithreaded
        Whether `threads` above 1 has an effect.
    """

    name: str
    title: str
    module: str
    package: str
    imports: str
    streams_incumbents: bool
    streams_bounds: bool
    multithreaded: bool

    @property
    def version(self) -> str | None:
        """Version of the package; None when it is not installed."""
        if find_spec(self.imports.partition(".")[0]) is None:
            return None
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return None

    @property
    def installed(self) -> bool:
        """Whether it can be used."""
        return self.version is not None


BACKENDS = {
    backend.name: backend
    for backend in (
        Backend(
            name="cp-sat",
            title="OR-Tools CP-SAT",
            module="crop_cli.solvers.exact.backends.cp_sat",
            package="ortools",
            imports="ortools.sat.python.cp_model",
            streams_incumbents=True,
            streams_bounds=True,
            multithreaded=True,
        ),
        Backend(
            name="highs",
            title="HiGHS",
            module="crop_cli.solvers.exact.backends.highs",
            package="highspy",
            imports="highspy",
            streams_incumbents=True,
            streams_bounds=True,
            multithreaded=True,
        ),
        Backend(
            name="scip",
            title="SCIP (OR-Tools MathOpt)",
            module="crop_cli.solvers.exact.backends.scip",
            package="ortools",
            imports="ortools.math_opt.python.mathopt",
            streams_incumbents=True,
            streams_bounds=True,
            multithreaded=False,
        ),
        Backend(
            name="cbc",
            title="CBC (PuLP)",
            module="crop_cli.solvers.exact.backends.cbc",
            package="pulp",
            imports="pulp",
            streams_incumbents=False,
            streams_bounds=False,
            multithreaded=False,
        ),
    )
}

RECOMMENDED = ("highs", "scip", "cbc", "cp-sat")
"""Order in which `exact` looks for an installed back end: by time to a proof on instances/real, one thread."""


def module_of(name: str) -> str:
    """Dotted name of the module of a back end that can be used; a dotted name stands for itself.

    Raises
    ------
    UsageError
        If there is none of this name.
    BackendError
        If its library is not installed.
    """
    if "." in name:
        return name
    if name not in BACKENDS:
        raise UsageError(f"unknown back end {name!r}; there are {', '.join(BACKENDS)}")
    backend = BACKENDS[name]
    if not backend.installed:
        raise BackendError(f"back end {name} needs the package {backend.package}, which is not installed")
    return backend.module
