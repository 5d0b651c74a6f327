"""What an importer found, before what the source does not say is filled in.

Importers put in a draft what their source says and nothing else: no bandwidth, message or time that they do not know.
`crop_cli.sources.dress` adds those from a profile and a fabric, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from crop_cli.model.instance import Job, Node, Switch


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something of the source that is not in the instance.

    Attributes
    ----------
    kind
        "job", "node", "pod", ...: for the counts.
    name
        As the source calls it.
    reason
        Why, in words that are equal for equal reasons, so that they can be counted.
    """

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class DraftJob:
    """A job as the source describes it.

    Attributes
    ----------
    job
        Name, GPUs, shape, resources, where it runs. Its `compute_s`, `message_mb`, `pattern` and `overlap` count only
        if `measured`.
    model
        Name of the trained model, or any text in which one may be found (a job's name, a comment); None if nothing is
        known.
    gpu_types
        Types it may run on, as in `Node.gpu_type`; None: any.
    measured
        Whether the source gives computation and messages itself.
    """

    job: Job
    model: str | None = None
    gpu_types: tuple[str, ...] | None = None
    measured: bool = False


@dataclass(slots=True)
class Draft:
    """A cluster and its jobs as a source describes them.

    Attributes
    ----------
    name, source, licence
        Of the instance.
    levels, switches, nodes
        The tree; bandwidths are None where the source does not state them.
    jobs
        All that runs or waits.
    assumptions
        What the importer itself had to assume, a sentence each.
    skipped
        All that was left out; never silently.
    warnings
        What a user should look at.
    counts
        Totals by the source's own words ("nodes", "GPUs", "jobs running", ...), in the order in which they are shown.
    """

    name: str
    levels: list[str]
    switches: list[Switch]
    nodes: list[Node]
    jobs: list[DraftJob]
    source: str = ""
    licence: str = ""
    description: str = ""
    assumptions: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
