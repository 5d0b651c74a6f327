"""From configurations back to jobs and nodes, and a second look at every domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.model.problem import FloatArray, Placement, Problem, utility
from crop_cli.solvers.config_lp.configuration import Classes, Configuration, Groups, Slot, configuration_of
from crop_cli.solvers.config_lp.pricing import Pricer
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.finder import Place

RISE = 1e-6
"""Least rise, in units of the largest utility, for which a domain is arranged anew."""


@dataclass(slots=True)
class Kept:
    """Jobs that have a place, each wholly inside one domain: its vertex, and the place."""

    places: dict[int, tuple[int, Place]]

    @property
    def value(self) -> float:
        """Sum of utilities."""
        return float(sum(place.utility for _, place in self.places.values()))

    @property
    def placement(self) -> Placement:
        """The places alone."""
        return {job: dict(place.counts) for job, (_, place) in self.places.items()}


def assign(choices: tuple[tuple[int, int, Configuration], ...], classes: Classes, groups: Groups) -> Kept:
    """Give each group's best places to its jobs, as many as it has; places of other domains stay empty.

    Parameters
    ----------
    choices
        (class, position of the member, configuration) for every domain, one at most.
    """
    offers: list[list[tuple[float, int, int, Slot]]] = [[] for _ in range(len(groups))]
    for c, position, configuration in choices:
        for slot in configuration.slots:
            offers[slot.group].append((-slot.utility, c, position, slot))
    places = {}
    for jobs, offered in zip(groups.members, offers, strict=True):
        ranked = sorted(offered, key=lambda offer: offer[:3])
        for job, (_, c, position, slot) in zip(jobs, ranked, strict=False):
            nodes = classes.nodes[c][position]
            counts = {nodes[at]: x for at, x in slot.workers}
            places[job] = (classes.members[c][position], Place(counts, slot.utility))
    return Kept(places)


def confined_part(problem: Problem, classes: Classes, placement: Placement) -> Kept:
    """The jobs of a placement that lie inside one of the domains and are worth something there."""
    places = {}
    domain = np.full(problem.n_nodes, -1, dtype=np.int64)
    for members, below in zip(classes.members, classes.nodes, strict=True):
        for vertex, nodes in zip(members, below, strict=True):
            domain[list(nodes)] = vertex
    for job, counts in placement.items():
        inside = set(domain[list(counts)].tolist())
        value = utility(problem, job, counts)
        if len(inside) == 1 and inside != {-1} and value > 0:
            places[job] = (inside.pop(), Place(dict(counts), value))
    return Kept(places)


def configurations_of(kept: Kept, classes: Classes, groups: Groups) -> list[Configuration]:
    """What is kept, domain by domain; domains without a job are left out."""
    inside: dict[int, dict[int, Place]] = {}
    for job, (vertex, place) in kept.places.items():
        inside.setdefault(vertex, {})[job] = place
    return [
        configuration_of(inside[vertex], groups, c, classes.nodes[c][position])
        for c, members in enumerate(classes.members)
        for position, vertex in enumerate(members)
        if vertex in inside
    ]


def rearrange(pricer: Pricer, kept: Kept, work: int, budget: Budget) -> None:
    """Give the domains in turn their best arrangement beside what the others have, until a round gains nothing.

    What a domain takes from another is free there; what it held before and does not hold now is given up. The value
    never falls.

    Parameters
    ----------
    work
        `Pricer.work` at which it ends.
    """
    current = np.zeros(pricer.setting.problem.n_jobs)
    inside: dict[int, set[int]] = {}
    for job, (vertex, place) in kept.places.items():
        current[job] = place.utility
        inside.setdefault(vertex, set()).add(job)
    vertices = [vertex for members in pricer.classes.members for vertex in members]
    rose = True
    while rose:
        rose = False
        for vertex in vertices:
            if budget.should_stop or pricer.work >= work:
                return
            rose |= _rearrange_one(pricer, kept, vertex, current, inside)


def _rearrange_one(pricer: Pricer, kept: Kept, vertex: int, current: FloatArray, inside: dict[int, set[int]]) -> bool:
    """Arrange one domain anew; true if the value rose. `current` and `inside` say the same as `kept` and follow it."""
    mine = sorted(inside.get(vertex, ()))
    before = current[mine]
    current[mine] = 0.0
    arrangement = pricer.ask(vertex, current)
    if arrangement.gain <= float(before.sum()) + RISE * pricer.unit:
        current[mine] = before
        return False
    for job in mine:
        del kept.places[job]
    for job, place in arrangement.places.items():
        if job in kept.places:
            inside[kept.places[job][0]].discard(job)
        kept.places[job] = (vertex, place)
        current[job] = place.utility
    inside[vertex] = set(arrangement.places)
    return True
