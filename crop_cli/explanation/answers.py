"""What `crop explain` says, as plain structs: the JSON document, and what the tables are made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from crop_cli.model.solution import SolutionPrices, Status

ChangeKind = Literal["free", "relax", "bandwidth", "nodes"]


class Struct(msgspec.Struct, kw_only=True, frozen=True):
    """Base of every struct of the document."""


class Place(Struct, frozen=True):
    """A place for one job: workers per node, the lowest level that holds it, efficiency, and its part of F."""

    nodes: dict[str, int]
    level: str
    efficiency: float
    utility: float


class Change(Struct, frozen=True):
    """A change that admits a job while all other placed jobs stay where they are.

    It was made in a copy of the instance, the oracle found `place` there, and the evaluator accepted it: that is what
    `verified` says. `minimal`: the next smaller change of its kind was tried too, and admits no place.

    Attributes
    ----------
    kind, what
        Which kind of change, and what is changed: nodes, a field of the job, uplinks, a type of node.
    amount
        GPUs to free, the field's new value, Gbit/s to add, or nodes to add; None where a constraint is left out.
    on
        Where: GPUs to free per node, Gbit/s to add per uplink, nodes to add per domain; empty for a constraint.
    text
        The same as a sentence.
    """

    kind: ChangeKind
    what: str
    amount: float | str | None
    on: dict[str, float]
    text: str
    place: Place
    minimal: bool
    verified: bool


class Displaced(Struct, frozen=True):
    """The best placement found in which the job is where it is wanted, against the one that is explained.

    `objective_change` is its F less the F explained. `found_by` is "repair" (of the placement explained) or the name of
    a solver.
    """

    place: Place
    objective_change: float
    lost: list[str]
    gained: list[str]
    moved: list[str]
    found_by: str


class JobAnswer(Struct, frozen=True):
    """All about one job.

    Attributes
    ----------
    place
        Where the solution has it; None if it waits.
    best_empty, best_now
        Its best place in the empty cluster, and in what is free now and what it holds itself, the others unmoved; None
        where there is none.
    limit
        Why it waits, in numbers; None for a placed job.
    value_at_prices
        Its part of F at the place that is best at the bound's prices, less what it takes there is worth.
    excluded
        Proven: no placement with an F as high contains it.
    displaced
        What placing it (a placed job: at a better place) does to the others; None where it needs nothing of theirs or
        where no such placement was found: `displaced_note` then says why.
    changes
        The smallest changes that admit it, each kind alone.
    """

    job: str
    gpus: int
    weight: float
    place: Place | None
    best_empty: Place | None
    best_now: Place | None
    limit: str | None
    value_at_prices: float | None
    excluded: bool
    displaced: Displaced | None = None
    displaced_note: str = ""
    changes: list[Change] = []
    changes_note: str = ""


class UplinkUse(Struct, frozen=True):
    """An uplink that is nearly full or has a price: Gbit/s reserved and in all, price per Gbit/s."""

    level: str
    uplink: str
    reserved_gbps: float
    allowed_gbps: float
    price: float


class Explanation(Struct, frozen=True):
    """The answer.

    Attributes
    ----------
    detailed
        Jobs were asked for by name, so that displacement and changes were looked for.
    jobs, jobs_left
        These jobs, or else those that wait; and how many of them the time did not last for.
    uplinks
        Those that are nearly full or have a price.
    prices
        The solution's, or computed here where it has none.
    """

    format: Literal["crop-explanation/1"]
    instance: str
    crop_version: str
    solver: str
    status: Status
    objective: float | None
    bound: float | None
    detailed: bool
    jobs: list[JobAnswer]
    jobs_left: int
    uplinks: list[UplinkUse]
    prices: SolutionPrices | None
    total_s: float
