"""Column generation for the configuration LP: prices from the LP, configurations from the arrangement oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray
from crop_cli.solvers.config_lp.configuration import Classes, Configuration, Groups
from crop_cli.solvers.config_lp.master import Master, Solved
from crop_cli.solvers.config_lp.pricing import Pricer
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.setting import Setting

NEAR = 1e-4
"""Relative gap between the LP and its bound at which it counts as solved."""

WORK = 1_000_000
"""`Pricer.work` after which column generation ends: a few seconds."""

ROUNDS = 1_000
"""Rounds of pricing at most."""

STALL = (15, 0.95)
"""It ends too when this many rounds leave this share of the gap or more."""

INWARD = 0.7
"""Share of the best prices so far in the prices that are asked about; the rest is the LP's (in-out smoothing)."""

PER_ROUND = 48
"""Configurations per round that a few large classes share."""

PRICES_OUT = 1e-7
"""Reduced cost, in units of the largest utility, from which a configuration counts."""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A feasible point of the configuration LP, and prices that bound it well.

    Attributes
    ----------
    configurations, weights
        Those that are taken, and how often: Σ over a class's is at most its domains, over a group's places its jobs.
    value
        Σ weight·value.
    prices
        (G) price of a job of every group.
    rounds
        Rounds of pricing.
    """

    configurations: tuple[Configuration, ...]
    weights: FloatArray
    value: float
    prices: FloatArray
    rounds: int


def relax(pricer: Pricer, known: list[Configuration], budget: Budget) -> Relaxed:
    """Solve the configuration LP as far as work and budget allow, from known configurations on.

    The prices asked about lie between the best so far and the LP's; if they bring nothing that prices out, they move to
    the LP's own, and if these bring nothing either, the oracle knows no better point.
    """
    classes, groups = pricer.classes, pricer.groups
    unit = pricer.unit
    master = Master(classes.size, groups.size, unit)
    for configuration in (*known, *_first(pricer, budget)):
        master.add(configuration)
    best, least = _density_prices(pricer.setting, classes, groups), np.inf
    solved = master.solve(budget)
    inward, rounds, gaps = 1.0, 0, [np.inf]
    while solved is not None and rounds < ROUNDS and pricer.work < WORK and not budget.should_stop:
        rounds += 1
        asked = inward * best + (1.0 - inward) * solved.of_group
        upper, found = _price(pricer, asked, budget)
        if upper < least:
            best, least = asked, upper
        gaps.append(least - solved.value)
        if gaps[-1] <= NEAR * max(unit, least) or gaps[-1] > STALL[1] * gaps[-1 - min(STALL[0], rounds)]:
            break
        new = [
            configuration
            for configuration in found
            if _reduced(configuration, solved) > PRICES_OUT * unit and master.add(configuration)
        ]
        if new:
            solved = master.solve(budget) or solved
            inward = INWARD
        elif inward == 0.0:
            break
        else:
            inward = 0.0 if inward < 0.3 else inward / 2
    return _feasible(master.configurations, solved, best, classes, groups, rounds)


def _first(pricer: Pricer, budget: Budget) -> list[Configuration]:
    """One configuration for each domain, as the greedy chooses them class by class."""
    found: list[Configuration] = []
    current = np.zeros(pricer.setting.problem.n_jobs)
    for c, members in enumerate(pricer.classes.members):
        if budget.should_stop:
            break
        found += pricer.best(c, current, len(members))[1]
    return found


def _price(pricer: Pricer, prices: FloatArray, budget: Budget) -> tuple[float, list[Configuration]]:
    """The bound that prices give (infinite when the budget ended) and configurations that are good at them."""
    upper = float(pricer.groups.size @ prices)
    found: list[Configuration] = []
    share = max(1, PER_ROUND // max(1, len(pricer.classes.members)))
    for c, members in enumerate(pricer.classes.members):
        if budget.should_stop:
            return np.inf, found
        bound, configurations = pricer.best(c, pricer.of_jobs(prices), min(share, len(members)))
        upper += len(members) * bound
        found += configurations
    return upper, found


def _reduced(configuration: Configuration, solved: Solved) -> float:
    """What a configuration is worth beyond the LP's prices."""
    paid = sum(float(solved.of_group[slot.group]) for slot in configuration.slots)
    return configuration.value - paid - float(solved.of_class[configuration.of_class])


def _density_prices(setting: Setting, classes: Classes, groups: Groups) -> FloatArray:
    """(G) what is left of a job's best utility after its GPUs are paid at the density where the cluster is full."""
    problem = setting.problem
    first = np.array([members[0] for members in groups.members], dtype=np.int64)
    best = np.maximum(0.0, setting.ceilings[first]) if len(first) else np.zeros(0)
    size = setting.outlook.k[problem.kind_of[first]] if len(first) else np.zeros(0, dtype=np.int64)
    density = best / np.maximum(1, size)
    order = np.argsort(-density, kind="stable")
    taken = np.cumsum((size * groups.size)[order])
    room = sum(int(problem.free_gpus[list(nodes)].sum()) for members in classes.nodes for nodes in members)
    full = int(np.searchsorted(taken, room, side="right"))
    margin = float(density[order[full]]) if full < len(order) else 0.0
    return np.maximum(0.0, best - margin * size)


def _feasible(
    configurations: list[Configuration],
    solved: Solved | None,
    prices: FloatArray,
    classes: Classes,
    groups: Groups,
    rounds: int,
) -> Relaxed:
    """The LP's point, scaled down by what rounding lets it exceed a row by."""
    if solved is None:
        return Relaxed((), np.zeros(0), 0.0, prices, rounds)
    weights = np.maximum(0.0, solved.weights)
    kept = np.flatnonzero(weights > 1e-12)
    taken, weights = tuple(configurations[i] for i in kept), weights[kept]
    by_class, by_group = np.zeros(len(classes.members)), np.zeros(len(groups))
    for configuration, weight in zip(taken, weights, strict=True):
        by_class[configuration.of_class] += weight
        for slot in configuration.slots:
            by_group[slot.group] += weight
    excess = max(
        1.0,
        float((by_class / classes.size).max(initial=0.0)),
        float((by_group / groups.size).max(initial=0.0)),
    )
    weights = weights / excess
    value = float(sum(weight * c.value for c, weight in zip(taken, weights, strict=True)))
    return Relaxed(taken, weights, value, prices, rounds)
