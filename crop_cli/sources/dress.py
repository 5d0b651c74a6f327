"""From a draft to an instance: bandwidths, messages and times that the source lacks are filled in, and listed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from crop_cli.errors import InputError
from crop_cli.model.instance import Cluster, Instance, Job
from crop_cli.model.validate import validate
from crop_cli.names import plural
from crop_cli.sources.draft import Draft, DraftJob
from crop_cli.sources.fabric import Fabric, with_bandwidths
from crop_cli.sources.overbooked import only_overbooked, with_room
from crop_cli.sources.profiles import Profiles, seconds_on


@dataclass(frozen=True, slots=True)
class Imported:
    """A valid instance with all that should be said about where it came from.

    Attributes
    ----------
    instance
        Its `assumptions` list what was filled in and what was left out.
    counts
        The source's totals.
    skipped
        Kind and reason of what was left out, with numbers and the first names.
    warnings
        What a user should look at, the validator's included.
    """

    instance: Instance
    counts: dict[str, int]
    skipped: list[str]
    warnings: list[str]


def dress(draft: Draft, profiles: Profiles, fabric: Fabric) -> Imported:
    """Fill in what the source does not state.

    Raises
    ------
    InputError
        If what comes out is no valid instance: the source contradicts itself in a way that the importer did not see.
    """
    switches, nodes, wired = with_bandwidths(draft.levels, draft.switches, draft.nodes, fabric)
    types = sorted({node.gpu_type for node in nodes})
    said: Counter[str] = Counter()
    jobs = [dressed_job(job, types, profiles, said) for job in draft.jobs]
    skipped = skipped_text(draft)
    assumptions = [*draft.assumptions, *wired, *(f"{plural(n, 'job')}: {text}." for text, n in said.items())]
    instance = Instance(
        format="crop-instance/1",
        name=draft.name,
        description=draft.description,
        source=draft.source,
        licence=draft.licence,
        assumptions=[*assumptions, *(f"Left out: {text}." for text in skipped)],
        cluster=Cluster(levels=draft.levels, switches=switches, nodes=nodes),
        jobs=jobs,
    )
    defects, warnings = validate(instance)
    if only_overbooked(defects):
        instance, text = with_room(instance)
        defects, warnings = validate(instance)
        warnings = [text, *warnings]
    if defects:
        raise InputError(draft.source or draft.name, defects)
    return Imported(instance, draft.counts, skipped, [*draft.warnings, *warnings])


def skipped_text(draft: Draft, most: int = 3) -> list[str]:
    """ "2 jobs (a, b): asks for no GPU": what was left out, counted by reason, with the first names."""
    groups: dict[tuple[str, str], list[str]] = {}
    for skip in draft.skipped:
        groups.setdefault((skip.kind, skip.reason), []).append(skip.name)
    lines = []
    for (kind, reason), names in groups.items():
        more = ", …" if len(names) > most else ""
        lines.append(f"{plural(len(names), kind)} ({', '.join(names[:most])}{more}): {reason}")
    return lines


def dressed_job(draft: DraftJob, types: list[str], profiles: Profiles, said: Counter[str]) -> Job:
    """The job with its model's computation on every GPU type that it may use."""
    allowed = [gpu for gpu in types if draft.gpu_types is None or gpu in draft.gpu_types]
    if draft.measured:
        return draft.job
    profile = profiles.match(draft.model)
    if profile is None:
        profile = profiles.stand_in
        said[f"model unknown, taken to be like {profile.source}"] += 1
    else:
        said[f"{profile.model} of {profiles.file} ({profile.source})"] += 1
    seconds = {}
    for gpu in allowed or list(draft.gpu_types or ()) or types:
        seconds[gpu], text = seconds_on(profile, gpu)
        if text is not None:
            said[text] += 1
    one_for_all = draft.gpu_types is None and len(set(seconds.values())) == 1
    return msgspec.structs.replace(
        draft.job,
        compute_s=next(iter(seconds.values())) if one_for_all else seconds,
        message_mb=profile.message_mb if draft.job.gpus > 1 else 0.0,
        pattern=profile.pattern,
        overlap=profile.overlap,
    )
