"""The registry of engines."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crop_cli.errors import UsageError
from crop_cli.solvers.registry import ENGINES, find


@pytest.mark.parametrize("name", ["auto", "greedy", "exact", "cp-sat", "highs", "scip", "cbc"])
def test_every_promised_engine_is_there_and_loads(name: str) -> None:
    """Each name of `--solver` has an engine whose target is a function."""
    engine = find(name)
    assert engine.name == name
    engine.require()
    assert callable(engine.load())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """A misspelt solver is a usage error that names the one meant, and all."""
    with pytest.raises(UsageError, match=r"did you mean 'greedy'.*cp-sat"):
        find("greedi")


def test_the_registry_imports_no_solver() -> None:
    """Listing engines with their versions loads neither numpy nor any solver library."""
    code = (
        "import sys; from crop_cli.solvers.registry import ENGINES;"
        "[(e.installed, e.back_end and e.back_end.version) for e in ENGINES.values()];"
        "print([m for m in ('numpy','scipy','ortools','highspy','pulp','networkx','msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_roles_are_told_apart() -> None:
    """The greedy is a heuristic, back ends are exact, and each exact engine names its library."""
    assert ENGINES["greedy"].role == "heuristic"
    for name, engine in ENGINES.items():
        if engine.role == "exact":
            assert engine.back_ends, name
