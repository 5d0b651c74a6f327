"""Rounding of the configuration LP by the method of conditional expectations.

Each domain of class c draws configuration A with probability x_A / size_c, each place of A a job of its group, no job
twice, and each job keeps its best place. A job of group g has a place of utility ≥ u in a domain with probability
n_A(u)/size_g if A is drawn there, n_A(u) the number of A's places for g that are as good. So the expected sum of
utilities is

    Φ = Σ_g size_g · ∫ (1 − Π_v (1 − p_vg(u))) du,     p_vg(u) = Σ_A P_v(A)·n_A(u)/size_g,

which is linear in the choice of each domain: giving every domain in turn the choice that makes Φ largest never lowers
it (docs/guarantees.md). The integral is a sum over the distinct utilities of each group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, IntArray
from crop_cli.solvers.config_lp.configuration import Classes, Configuration, Groups
from crop_cli.solvers.config_lp.relax import Relaxed


@dataclass(frozen=True)
class _Steps:
    """The integrand's steps: E pairs of a group and a utility, per group in descending order of utility.

    `first` (G+1) is where each group's begin; `height` (E) is size_g times the width of the step.
    """

    first: IntArray
    utility: FloatArray
    height: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, configurations: tuple[Configuration, ...], groups: Groups) -> _Steps:
        utilities: list[set[float]] = [set() for _ in range(len(groups))]
        for configuration in configurations:
            for slot in configuration.slots:
                utilities[slot.group].add(slot.utility)
        first, values, height, size = [0], [], [], []
        for found, jobs in zip(utilities, groups.size.tolist(), strict=True):
            ranked = sorted(found, reverse=True)
            values += ranked
            height += [jobs * (u - below) for u, below in zip(ranked, [*ranked[1:], 0.0], strict=False)]
            size += [float(jobs)] * len(ranked)
            first.append(len(values))
        return cls(np.array(first), np.array(values), np.array(height), np.array(size))

    def chances(self, configuration: Configuration) -> tuple[IntArray, FloatArray]:
        """Steps that a configuration reaches, and n_A(u)/size_g there."""
        reached: dict[int, float] = {}
        for slot in configuration.slots:
            first, end = int(self.first[slot.group]), int(self.first[slot.group + 1])
            start = first + int(np.searchsorted(-self.utility[first:end], -slot.utility))
            for e in range(start, end):
                reached[e] = reached.get(e, 0.0) + 1.0 / float(self.size[e])
        steps = np.array(sorted(reached), dtype=np.int64)
        return steps, np.minimum(1.0, np.array([reached[int(e)] for e in steps]))


class Misses:
    """(E) products of many factors 1 − p in [0, 1], from which factors can be taken out again."""

    def __init__(self, n: int) -> None:
        self._log, self._zeros = np.zeros(n), np.zeros(n, dtype=np.int64)

    def multiply(self, at: IntArray, chance: FloatArray, times: int = 1) -> None:
        """Put the factors 1 − chance in at some positions, so often; a negative number takes them out."""
        sure = chance >= 1.0
        self._zeros[at[sure]] += times
        self._log[at[~sure]] += times * np.log1p(-chance[~sure])

    def at(self, at: IntArray) -> FloatArray:
        """Products at some positions."""
        return np.where(self._zeros[at] > 0, 0.0, np.exp(np.minimum(0.0, self._log[at])))


@dataclass(frozen=True, slots=True)
class Rounded:
    """One configuration per domain at most, as (class, position of the member, configuration), and Φ at the start."""

    choices: tuple[tuple[int, int, Configuration], ...]
    expected: float


def derandomise(relaxed: Relaxed, classes: Classes, groups: Groups, rng: np.random.Generator | None = None) -> Rounded:
    """Choose a configuration for every domain so that Φ never falls.

    Parameters
    ----------
    rng
        Of the order in which domains have their turn; None for the order of the classes. Φ is kept in any order.
    """
    steps = _Steps.of(relaxed.configurations, groups)
    by_class: list[list[int]] = [[] for _ in classes.members]
    for i, configuration in enumerate(relaxed.configurations):
        by_class[configuration.of_class].append(i)
    chances = [steps.chances(configuration) for configuration in relaxed.configurations]
    means = []
    misses = Misses(len(steps.height))
    for mine, members in zip(by_class, classes.members, strict=True):
        mean = np.zeros(len(steps.height))
        for i in mine:
            at, chance = chances[i]
            mean[at] += relaxed.weights[i] / len(members) * chance
        at = np.flatnonzero(mean)
        means.append((at, np.minimum(1.0, mean[at])))
        misses.multiply(*means[-1], len(members))
    every = np.arange(len(steps.height))
    expected = float(steps.height @ (1.0 - misses.at(every)))
    domains = [(c, position) for c, members in enumerate(classes.members) for position in range(len(members))]
    if rng is not None:
        domains = [domains[i] for i in rng.permutation(len(domains)).tolist()]
    choices = []
    for c, position in domains:
        misses.multiply(*means[c], -1)
        worth = [float(steps.height[at] @ (misses.at(at) * chance)) for at, chance in (chances[i] for i in by_class[c])]
        if not worth or max(worth) <= 0:
            continue
        chosen = by_class[c][int(np.argmax(worth))]
        misses.multiply(*chances[chosen])
        choices.append((c, position, relaxed.configurations[chosen]))
    return Rounded(tuple(choices), expected)
