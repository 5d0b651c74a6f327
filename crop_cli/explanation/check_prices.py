"""Whether prices in a solution file prove the bound that they claim to prove.

This is the one check for which an oracle is asked: the dual value holds whatever the prices are, and it is computed
here anew from nothing but instance and prices. How the prices were found does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from crop_cli.explanation.prices import areas, excludes, prices_of, proven, values_at
from crop_cli.model.certificate import TOLERANCE, proof_scale
from crop_cli.model.instance import Instance
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.model.rules import Violation
from crop_cli.model.solution import AreaPrice, Solution, SolutionPrices
from crop_cli.solvers.oracle import Prices


@dataclass(frozen=True, slots=True)
class PriceCheck:
    """What is wrong with prices, and the bound that they prove (None where they cannot be read)."""

    violations: list[Violation]
    certified_bound: float | None


def check_prices(instance: Instance, solution: Solution, objective: float | None) -> PriceCheck:
    """Hold the prices of a solution against its instance.

    Parameters
    ----------
    instance
        A valid instance.
    solution
        What is claimed.
    objective
        F of its placement as the evaluator says; None where it is not feasible or there is none.
    """
    report = solution.prices
    if report is None:
        return PriceCheck([], None)
    problem = compile_problem(instance)
    found = [*_values(report)]
    try:
        prices = prices_of(problem, report)
    except KeyError as error:
        found.append(
            Violation("wrong prices", f"prices are given for {error.args[0]!r}, which the instance does not have")
        )
        return PriceCheck(found, None)
    if found:
        return PriceCheck(found, None)
    values = values_at(problem, prices)
    assert values is not None  # there is no budget
    true, plain = proven(problem, prices, values)
    if not _at_most(true, report.certified_bound):
        message = f"prices.certified_bound is given as {report.certified_bound!r}, but the prices prove only {true!r}"
        found.append(Violation("wrong prices", message))
    if objective is not None and true < objective - TOLERANCE * max(proof_scale(instance), abs(objective)):
        found.append(
            Violation("wrong prices", f"the prices prove {true!r}, which is below the objective {objective!r}")
        )
    found += _areas(problem, report, prices)
    if objective is not None:
        by_job = {problem.job_names[j]: float(v) for j, v in zip(problem.open_jobs.tolist(), values, strict=True)}
        found += _priced_out(problem, solution, report, by_job, plain, objective)
    return PriceCheck(found, true if math.isfinite(true) else None)


def _at_most(value: float, limit: float) -> bool:
    return value <= limit + TOLERANCE * 1e-2 * max(1.0, abs(limit))


def _values(report: SolutionPrices) -> Iterator[Violation]:
    """Prices are numbers of at least 0, and nothing is priced twice."""
    for price in (*(row.price for row in report.nodes), *(row.price for row in report.uplinks)):
        if not 0 <= price < math.inf:
            yield Violation("wrong prices", f"the price {price!r} is not a number of at least 0")
    nodes = [(row.resource, name) for row in report.nodes for name in row.nodes]
    uplinks = [(row.level, name) for row in report.uplinks for name in row.uplinks]
    for listed in (nodes, uplinks):
        if len(set(listed)) < len(listed):
            twice = next(pair for i, pair in enumerate(listed) if pair in listed[:i])
            yield Violation("wrong prices", f"{twice[0]} of {twice[1]!r} has two prices")


def _areas(problem: Problem, report: SolutionPrices, prices: Prices) -> Iterator[Violation]:
    """The figures by domain and GPU type follow from the prices."""
    true = {(row.domain, row.gpu_type): row for row in areas(problem, prices)}
    mine = {(row.domain, row.gpu_type): row for row in report.areas}
    if set(true) != set(mine) or len(mine) < len(report.areas):
        yield Violation("wrong prices", "prices.areas does not list each domain and GPU type with free GPUs once")
        return
    for key, row in mine.items():
        if not _same_area(row, true[key]):
            yield Violation(
                "wrong prices", f"the prices of {key[1]} in {key[0]!r} are given as {row}, but are {true[key]}"
            )


def _same_area(mine: AreaPrice, true: AreaPrice) -> bool:
    numbers = ((mine.mean, true.mean), (mine.lowest, true.lowest), (mine.highest, true.highest))
    return mine.gpus_free == true.gpus_free and all(_close(a, b) for a, b in numbers)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE * max(1.0, abs(b))


def _priced_out(
    problem: Problem,
    solution: Solution,
    report: SolutionPrices,
    values: dict[str, float],
    plain: float,
    objective: float,
) -> Iterator[Violation]:
    """Each job that is called priced out waits, has that value, and is excluded only if that is proven."""
    waiting = {row.job for row in solution.unplaced}
    for row in report.priced_out:
        true = values.get(row.job)
        if true is None or row.job not in waiting:
            yield Violation("wrong prices", f"{row.job!r} is listed as priced out, but is no job that waits")
            continue
        shown = None if true == -math.inf else true
        if (row.value is None) != (shown is None) or (
            row.value is not None and shown is not None and (not _close(row.value, shown) or row.value > 0)
        ):
            message = f"the value of job {row.job!r} at the prices is given as {row.value!r}, but is {shown!r}"
            yield Violation("wrong prices", message)
        elif row.excluded and not excludes(problem, plain, true, objective):
            yield Violation("wrong prices", f"job {row.job!r} is called excluded, but the prices do not prove that")
