"""What was run, when, where and how: the head of the page."""

from __future__ import annotations

from dataclasses import dataclass

from crop_cli.bench.page import figures
from crop_cli.bench.records import Summary
from crop_cli.names import plural

DEFINITIONS = [
    (
        "Ratio",
        "F over the optimum where it is proven, else over the least valid bound that anybody found; 1 where both are "
        "0. 1 is as good as any placement can be. In means, a run without an answer counts 0 where the reference has "
        "a positive value.",
    ),
    (
        "Gap",
        "(bound − F)/|F| of the run's own bound: how far the run itself could tell that it may be from the optimum.",
    ),
    (
        "Time",
        "Seconds of the whole run without loading; of a baseline, without bound and check too. Over several runs: "
        "shifted geometric mean with shift 1 s, exp(mean(log(t + 1))) − 1, so that neither the shortest nor the "
        "longest runs decide; a failed run counts as the time limit.",
    ),
    (
        "PAR-2",
        "Mean seconds; runs that did not end by themselves with an answer count twice the time limit.",
    ),
    (
        "Wins",
        "Runs whose F is as high as anybody's in this bench (within 10⁻⁶ of it), by a feasible placement.",
    ),
    (
        "Overhead",
        "Share of the placed jobs' GPU time that is lost waiting for the network; its ratio is over that of the best "
        "known placement.",
    ),
    (
        "Overbooked",
        "A placement that is feasible but for uplinks, whose bandwidth it promises more than once: it is scored under "
        "fair sharing of these uplinks, is never a win, and may score above the optimum of feasible placements.",
    ),
    (
        "Failed",
        "No answer that passed the evaluator, which recomputes every placement from the definitions.",
    ),
]
"""How to read the figures; the words are those of `crop_cli.bench.records`."""


@dataclass(frozen=True, slots=True)
class Header:
    """The facts of the head.

    Attributes
    ----------
    lead
        One sentence: how much was run.
    facts
        Label and text of each line.
    findings
        What is known about the instances, in sentences.
    contradictions
        Claimed bounds that a verified placement refutes.
    """

    lead: str
    facts: list[tuple[str, str]]
    findings: list[str]
    contradictions: list[str]


def header(summary: Summary) -> Header:
    """Collect the facts."""
    sets = dict.fromkeys(one.instance.partition("/")[0] for one in summary.references)
    seeds = {row.seed for row in summary.rows}
    lead = (
        f"{plural(len(summary.rows), 'run')}: {plural(len(summary.solvers), 'solver')} on "
        f"{plural(len(summary.references), 'instance')} of {plural(len(sets), 'set')} ({', '.join(sets)}), "
        f"{plural(max(1, len(seeds)), 'seed')}."
    )
    return Header(
        lead,
        _facts(summary),
        _findings(summary),
        [f"{one.instance}: {one.contradiction}" for one in summary.references if one.contradiction],
    )


def _facts(summary: Summary) -> list[tuple[str, str]]:
    settings, machine = summary.settings, summary.machine
    given = [
        "no time limit" if settings.time_limit is None else f"time limit {figures.span(settings.time_limit)}",
        "each solver's own gap" if settings.gap is None else f"stop at a gap of {figures.percent(settings.gap)}",
        plural(settings.threads, "thread") + " per run",
        f"{plural(summary.parallel, 'run')} at a time",
        *(f"{key}={value}" for key, value in settings.options.items()),
    ]
    return [
        ("Started", summary.started),
        ("Took", figures.span(summary.seconds)),
        ("crop", summary.crop_version),
        ("Each run", "; ".join(given)),
        ("Machine", f"{machine.processor}, {plural(machine.cores, 'core')}; {machine.system}"),
        ("Python", machine.python),
        ("Libraries", ", ".join(f"{name} {version}" for name, version in machine.libraries.items()) or figures.ABSENT),
    ]


def _findings(summary: Summary) -> list[str]:
    total = len(summary.references)
    proven = sum(one.optimal for one in summary.references)
    empty = sum(one.infeasible for one in summary.references)
    open_gaps = [
        (one.bound - one.value) / abs(one.value)
        for one in summary.references
        if not one.optimal and one.bound is not None and one.value
    ]
    said = [f"The optimum is proven for {proven} of {plural(total, 'instance')}"]
    if open_gaps:
        said[0] += f"; of the others the best placement is at most {figures.percent(max(open_gaps))} below its bound"
    if empty:
        said.append(f"For {plural(empty, 'instance')} it is proven that no placement exists")
    failed = sum(row.verdict == "failed" for row in summary.rows)
    shared = sum(row.verdict == "overbooked" for row in summary.rows)
    said.append(f"{plural(failed, 'run')} failed, {shared} overbooked uplinks")
    return [f"{sentence}." for sentence in said]
