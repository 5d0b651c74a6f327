"""CBC through PuLP, as the program that PuLP brings. Imported in a solver process only.

PuLP's own status is not used: it calls a run that hit its limit optimal, and values that satisfy nothing a solution.
How CBC ended, and its bound, is in what CBC prints; whether there is a solution, is in the first line of its solution
file.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import signal
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from crop_cli.errors import UsageError
from crop_cli.solvers.exact.protocol import Ending, Model, Outcome, Settings
from crop_cli.solvers.exact.worker import Channel

OTHERS = ("highspy", "gurobipy", "cplex", "xpress", "mosek", "coptpy", "pyscipopt", "cuopt", "sas", "saspy", "swat")
"""Libraries that PuLP imports with itself, if they are there: they clash with each other, or start by asking a licence
server. To Python they are not there."""

sys.modules.update(dict.fromkeys(OTHERS))  # type: ignore[arg-type]
pulp: Any = importlib.import_module("pulp")  # not typed

ENDINGS: tuple[tuple[str, Ending], ...] = (
    ("Optimal solution found", "optimal"),
    ("Problem proven infeasible", "infeasible"),
    ("Linear relaxation infeasible", "infeasible"),
    ("Stopped on time limit", "time_limit"),
    ("User ctrl-c", "interrupted"),
    ("Stopped on node limit", "other_limit"),
    ("Stopped on solution limit", "other_limit"),
    ("Linear relaxation unbounded", "error"),
    ("Difficulties during run", "error"),
)
"""Meaning of what follows "Result - " in CBC's log, by how it begins."""

INFEASIBLE_WITHOUT_RESULT = ("Problem is infeasible", "Pre-processing says infeasible or unbounded")
"""Lines that CBC prints instead of a result when it does not come to searching."""

_CUTS = frozenset({"off", "on", "root", "ifmove", "forceOn"})
_HEURISTIC = frozenset({"off", "on", "both", "before"})
_SWITCH = frozenset({"off", "on"})

OPTIONS: dict[str, frozenset[str] | None] = {
    "cuts": _CUTS,
    "gomory": _CUTS,
    "knapsack": _CUTS,
    "probing": _CUTS,
    "clique": _CUTS,
    "mixed": _CUTS,
    "flow": _CUTS,
    "two": _CUTS,
    "zero": _CUTS,
    "residual": _CUTS,
    "heur": _SWITCH,
    "local": _SWITCH,
    "presolve": _SWITCH,
    "preprocess": frozenset({"off", "on", "equal", "sos", "trysos", "equalall", "strategy", "aggregate"}),
    "feas": _HEURISTIC,
    "round": _HEURISTIC,
    "greedy": _HEURISTIC,
    "combine": _HEURISTIC,
    "DivingS": _HEURISTIC,
    "Rins": _HEURISTIC | {"often"},
    "Rens": _HEURISTIC,
    "proximity": _HEURISTIC,
    "node": frozenset({"hybrid", "fewest", "depth", "upfewest", "downfewest", "updepth", "downdepth"}),
    "strong": None,
    "trust": None,
    "passCuts": None,
    "passF": None,
    "depth": None,
    "maxN": None,
}
"""Raw options that are passed on, by CBC's names, with their words; None: a whole number. CBC ignores what it does not
know, so nothing else can be let through."""

MISSED = 1e-6
"""Share by which the cost of a point may exceed the optimum that CBC claims for it: a proof asks for no less."""

INCREMENT = 1e-8
"""CBC looks for points that are cheaper by at least this; its own default, 1e-5, is more than a proof allows."""

_NAME = "crop"
_LOG_DIGITS = 8  # significant digits of the bounds in CBC's log
_NUMBER = r"([-+]?\d\S*?)"


def solve(model: Model, settings: Settings, channel: Channel) -> Outcome:
    """Minimise the model; see `crop_cli.solvers.exact.worker.Backend`."""
    version = metadata.version("pulp")
    options = _options(settings)
    problem, variables = _problem(model)
    remaining = settings.remaining()
    if remaining is not None and remaining <= 0:
        return Outcome("time_limit", version=version)
    if model.start is not None:
        for variable, value in zip(variables, model.start.tolist(), strict=True):
            variable.setInitialValue(value)
    # CBC stops at the signal and still writes its solution; this process does not mind it.
    channel.on_stop(lambda: os.killpg(0, signal.SIGINT))
    run = _run(problem, variables, model, settings, channel, options)
    remaining = settings.remaining()
    more = not channel.stopping.is_set() and (remaining is None or remaining > 0)
    if run.missed and more and "preprocess" not in settings.options:
        # Seen with preprocessing: an optimum that its own point, in whole numbers, does not reach.
        run = _run(problem, variables, model, settings, channel, [*options, "preprocess off"])
    ending = "interrupted" if run.ending == "error" and channel.stopping.is_set() else run.ending
    version = f"{version} (CBC {run.version})" if run.version else version
    return Outcome(ending, bound=run.bound, message=f"CBC: {run.failure or 'no result in its log'}", version=version)


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run of CBC ended with; `missed`: it claims a cost that its point does not have."""

    ending: Ending
    bound: float | None
    missed: bool
    failure: str
    version: str | None


def _run(
    problem: Any, variables: list[Any], model: Model, settings: Settings, channel: Channel, options: list[str]
) -> _Run:
    """Run CBC once. The point that it ends with is handed on, and the next run starts from it."""
    # The working directory is private, and with `keepFiles` PuLP uses plain names there: no path with a space in it
    # reaches the command line, which PuLP splits at spaces.
    solver = pulp.PULP_CBC_CMD(
        msg=False,
        timeLimit=settings.remaining(),
        timeMode="elapsed",
        gapRel=0.0,
        gapAbs=settings.absolute_gap,
        threads=None,
        warmStart=model.start is not None,
        keepFiles=True,
        logPath="cbc.txt",
        options=options,
    )
    failure = ""
    try:
        problem.solve(solver)
    except pulp.PulpSolverError as error:
        failure = str(error)
    log = Path("cbc.txt").read_text(encoding="utf-8", errors="replace")
    print(log)
    ending, bound = read_log(log)
    missed = False
    if not failure and has_solution(Path(f"{_NAME}-pulp.sol")):
        point = np.array([variable.value() for variable in variables], dtype=np.float64)
        channel.incumbent(point)
        cost = float(model.cost @ np.rint(point))
        missed = ending == "optimal" and bound is not None and cost - bound > MISSED * max(1.0, abs(cost))
    found = re.search(r"^Version:\s*(\S+)", log, re.MULTILINE)
    return _Run(ending, bound, missed, failure, found[1] if found else None)


def read_log(log: str) -> tuple[Ending, float | None]:
    """How CBC ended, and the lower bound that it proved, from its whole log.

    The bound is that of the last line about the search; what its rounding may have added is taken off.
    """
    result = re.search(r"^Result - (.*)$", log, re.MULTILINE)
    ending: Ending = "error"
    if result is not None:
        ending = next((ending for words, ending in ENDINGS if result[1].startswith(words)), "error")
    elif any(line in log for line in INFEASIBLE_WITHOUT_RESULT):
        ending = "infeasible"
    if ending in ("infeasible", "error"):
        return ending, None
    within_gap = result is not None and "within gap tolerance" in result[1]
    completed = re.search(rf"Search completed - best objective {_NUMBER},", log)
    if ending == "optimal" and completed is not None and not within_gap:
        return ending, _number(completed[1], digits=12, less=INCREMENT)
    if ending == "optimal" and not within_gap:
        # Solved without a search: by preprocessing or by the linear relaxation.
        value = re.search(rf"^Objective value:\s+{_NUMBER}$", log, re.MULTILINE)
        return ending, None if value is None else _number(value[1], digits=12, less=INCREMENT + 1e-8)
    partial = re.findall(rf"best possible {_NUMBER}[,)\s]", log)
    if partial:
        return ending, _number(partial[-1], digits=_LOG_DIGITS)
    rounded = re.search(rf"^Lower bound:\s+{_NUMBER}$", log, re.MULTILINE)
    return ending, None if rounded is None or not within_gap else _number(rounded[1], digits=12, less=1e-3)


def has_solution(file: Path) -> bool:
    """Whether CBC's solution file holds a solution, not the values of a relaxation or of something infeasible."""
    head = file.read_text(encoding="utf-8").partition("\n")[0] if file.exists() else ""
    return head.startswith(("Optimal", "Stopped")) and "no integer solution" not in head


def _problem(model: Model) -> tuple[Any, list[Any]]:
    problem = pulp.LpProblem(_NAME, pulp.LpMinimize)
    variables = [
        problem.add_variable(f"x{i}", 0, upper, pulp.LpInteger) for i, upper in enumerate(model.upper.tolist())
    ]
    # Zero costs too: a variable that is mentioned nowhere would be missing from the file that CBC reads.
    problem.setObjective(pulp.LpAffineExpression(list(zip(variables, model.cost.tolist(), strict=True))))
    indices, values, starts = model.indices.tolist(), model.data.tolist(), model.indptr.tolist()
    for i, (lower, upper) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)):
        entries = range(starts[i], starts[i + 1])
        terms = [(variables[indices[entry]], values[entry]) for entry in entries]
        for sense, rhs in _sides(lower, upper):
            problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense=sense, rhs=rhs))
    return problem, variables


def _sides(lower: float, upper: float) -> list[tuple[int, float]]:
    """A row as constraints with one right-hand side each."""
    if lower == upper:
        return [(pulp.LpConstraintEQ, lower)]
    sides = [(pulp.LpConstraintGE, lower), (pulp.LpConstraintLE, upper)]
    return [(sense, rhs) for sense, rhs in sides if math.isfinite(rhs)]


def _options(settings: Settings) -> list[str]:
    """CBC's raw options: ours, then the user's."""
    options = [f"randomCbcSeed {settings.seed % 2**31}", f"increment {INCREMENT}"]
    for key, text in settings.options.items():
        if key not in OPTIONS:
            raise UsageError(f"option {key} of cbc is not passed on; these are: {', '.join(sorted(OPTIONS))}")
        words = OPTIONS[key]
        if text not in words if words is not None else not re.fullmatch(r"-?\d{1,9}", text):
            raise UsageError(f"option {key} of cbc takes {'a whole number' if words is None else sorted(words)}")
        options.append(f"{key} {text}")
    return options


def _number(text: str, digits: int, less: float = 0.0) -> float | None:
    """A number that was printed with some significant digits, rounded down instead; None for CBC's infinity."""
    value = float(text)
    return value - abs(value) * 10.0 ** (1 - digits) - less if math.isfinite(value) and abs(value) < 1e40 else None
