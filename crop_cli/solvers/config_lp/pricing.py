"""Prices of jobs, the best configurations at them, and the bound that they prove.

At a price σ_g ≥ 0 per job of a group, a domain is worth at most B_c(σ) = max_A Σ_j max(0, U_j(A) − σ_j), which is the
question that the greedy's arrangement oracles answer. By weak duality Σ_g size_g·σ_g + Σ_c size_c·B_c(σ) bounds the
configuration LP, and with it every placement that keeps each job inside one domain (docs/guarantees.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, Problem
from crop_cli.solvers.config_lp.configuration import Classes, Configuration, Groups, configuration_of
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.arrangement import Arrangement, ArrangementOracle
from crop_cli.solvers.greedy.inner import InnerGreedy, fractional_knapsack
from crop_cli.solvers.greedy.setting import Setting

SAFETY = 1e-9
"""Share of the sum of all terms' sizes that is added to a bound: well above what rounding can take off."""

CALL = 20
"""Work of a call of the oracle beside what `Finder.work` counts; to it comes what looking through the jobs costs."""

DomainBound = Callable[[int, FloatArray], float]
"""From a domain's vertex and every job's price to a number that no arrangement's gain there exceeds."""


@dataclass(slots=True)
class Pricer:
    """The arrangement oracle over the classes of one level.

    Attributes
    ----------
    work
        Measure of what the oracle did, in units of `Finder.work`: about two microseconds each.
    """

    setting: Setting
    classes: Classes
    groups: Groups
    oracle: ArrangementOracle
    work: int = 0

    @property
    def unit(self) -> float:
        """About the largest utility of a job, by which tolerances are measured."""
        return max(1e-9, float(np.max(self.setting.ceilings, initial=0.0)))

    def of_jobs(self, prices: FloatArray) -> FloatArray:
        """(J) price of every job from (G) prices of groups; 0 for jobs that are not open."""
        return np.append(prices, 0.0)[self.groups.of]

    def ask(self, vertex: int, current: FloatArray) -> Arrangement:
        """The oracle's answer for one domain, its work counted."""
        before = self.setting.finder.work
        arrangement = self.oracle(vertex, current)
        jobs, at_nodes = len(self.setting.problem.open_jobs), self.classes.depth == self.setting.problem.tree.max_depth
        self.work += self.setting.finder.work - before + (CALL + jobs // 32 if at_nodes else CALL + 3 * jobs)
        return arrangement

    def best(self, of_class: int, current: FloatArray, most: int) -> tuple[float, list[Configuration]]:
        """Good configurations of a class at prices, and a bound of the gain of any.

        Parameters
        ----------
        current
            (J) price of every job. What each configuration places is charged with its utility before the next one is
            asked for, so that they place different jobs; on return the prices of all placed jobs are raised so.
        most
            Configurations wanted.
        """
        vertex, nodes = self.classes.members[of_class][0], self.classes.nodes[of_class][0]
        bound, found = 0.0, []
        for i in range(most):
            arrangement = self.ask(vertex, current)
            if i == 0:
                bound = arrangement.bound
            if arrangement.gain <= 0:
                break
            found.append(configuration_of(arrangement.places, self.groups, of_class, nodes))
            for job, place in arrangement.places.items():
                current[job] = max(current[job], place.utility)
        return bound, found


def upper_bound(
    classes: Classes, groups: Groups, prices: FloatArray, bound_of: DomainBound, budget: Budget
) -> float | None:
    """Σ_g size_g·σ_g + Σ_c size_c·B_c(σ), rounding included; None when the budget ends first.

    Parameters
    ----------
    prices
        (G) σ ≥ 0.
    bound_of
        B_c.
    """
    current = np.append(prices, 0.0)[groups.of]
    total = float(groups.size @ prices)
    for members in classes.members:
        if budget.should_stop:
            return None
        total += len(members) * max(0.0, bound_of(members[0], current))
    return total * (1.0 + SAFETY)


def knapsack_bound(problem: Problem, inner: InnerGreedy) -> DomainBound:
    """Gains inside a domain above the nodes, bounded by a fractional knapsack over its GPUs."""

    def bound_of(vertex: int, current: FloatArray) -> float:
        tree = problem.tree
        gains = inner.ceiling(vertex) - current[inner.jobs]
        hopeful = np.flatnonzero(gains > 0)
        order = hopeful[np.argsort(-gains[hopeful] / inner.sizes[hopeful], kind="stable")]
        gpus = int(problem.free_gpus[tree.first_node[vertex] : tree.end_node[vertex]].sum())
        return fractional_knapsack(gains[order], inner.sizes[order], gpus)

    return bound_of
