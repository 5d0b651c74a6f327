"""Priorities of gangs, and the weights that stand for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from crop_cli.sources.draft import DraftJob
from crop_cli.sources.kubernetes.documents import Thing
from crop_cli.sources.kubernetes.grouping import Gang
from crop_cli.sources.kubernetes.notes import Notes

STEP = 2.0
"""Weight of a GPU of one priority over that of the next lower one."""

MOST_STEPS = 20


class Priorities:
    """Priority classes by name.

    Parameters
    ----------
    classes
        PriorityClass objects of Kubernetes, WorkloadPriorityClass objects of Kueue.
    """

    def __init__(self, classes: Iterable[Thing]) -> None:
        self.values: dict[str, int] = {}
        self.default = 0
        for thing in classes:
            value = thing.fields.whole("value", 0, least=-(2**31)) or 0
            self.values.setdefault(thing.name, value)
            if thing.fields.flag("globalDefault"):
                self.default = value

    def of(self, gang: Gang, name: str, notes: Notes) -> int:
        """A gang's: the number that it states, else that of its class."""
        said = gang.described
        shapes = [one.shape for one in gang.sets]
        stated = [said.priority, *(shape.priority for shape in shapes)]
        number = next((priority for priority in stated if priority is not None), None)
        if number is not None:
            return number
        classes = [said.priority_class, *(shape.priority_class for shape in shapes)]
        own = next((one for one in classes if one), "")
        if own and own not in self.values:
            notes.warn(f"priority class {own} is not in the files: priority {self.default}", "job", name)
        return self.values.get(own, self.default)


def weigh(jobs: list[tuple[Gang, DraftJob]], priorities: Priorities, notes: Notes) -> list[DraftJob]:
    """The jobs with weights by priority: each priority that occurs weighs twice the next lower one."""
    found = [priorities.of(gang, draft.job.name, notes) for gang, draft in jobs]
    ranked = {priority: min(rank, MOST_STEPS) for rank, priority in enumerate(sorted(set(found)))}
    if len(ranked) > 1:
        listed = ", ".join(f"{priority}: {STEP**rank:g}" for priority, rank in list(ranked.items())[: MOST_STEPS + 1])
        notes.assume(f"Priorities as weights, each twice the next lower one ({listed})")
    return [
        replace(draft, job=msgspec.structs.replace(draft.job, weight=STEP ** ranked[priority]))
        for (_, draft), priority in zip(jobs, found, strict=True)
    ]
