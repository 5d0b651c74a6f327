"""The tables of part (b): CROP against each baseline, in health and under abnormal devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.paper.journal import Row
from benchmarks.paper.plots import ranges
from benchmarks.paper.simulated import BASE, FAULTS_IN_SPAN, FULL, OWN
from benchmarks.paper.tables import Spread, gain, percent, spread, table

Run = tuple[str, str]
"""Policy and reaction."""

Cases = dict[str, dict[Run, Row]]

LABELS = {OWN[0]: "crop, as shipped", OWN[1]: "crop, large first", FULL: "crop, full greedy"}

CROPS = tuple(LABELS)

INTRODUCTION = (
    "Lingjun-like clusters (pods of racks of 2 to 8 nodes of 8 A100, uplinks of racks and pods 2 to 1) and rail-like "
    "ones (groups of up to 60 nodes, not oversubscribed), 100 or 400 Gbit/s per node. 1,000 jobs of each trace, drawn "
    "at random (ElasticFlow: all 874; on 2,048 GPUs all of any trace); arrivals are stretched so that the GPU time "
    "asked for over GPUs times the span of arrivals is the load. Checkpoints every 60 minutes, restarts of 10 minutes. "
    "First come first served with backfill in a window of 32 jobs, a round at every change. Goodput and throughput are "
    "means over the span of arrivals, efficiency is useful work over GPU time held in it; overhead is that of the "
    "whole run, and completion times are those of all jobs, to the last."
)

ORDERS = (
    "crop as shipped is `crop simulate`'s default, the quick greedy, which takes jobs by utility per GPU; crop large "
    "first is the same with another order: of jobs whose places are about equally good, the larger gang first "
    "(`--set order=large`)."
)

WEATHER = {
    "lemons": "nodes fail at rates drawn from Gamma (shape 0.94, mean 0.0042 a day), sped up so that "
    f"{FAULTS_IN_SPAN:g} failures are expected while jobs arrive; repair times and quarantine are sped up alike",
    "slow": "5 % of the nodes compute 1.5 times slower at a time, each for 6 hours in the mean",
    "replay": "the fault trace of InfiniteHBD, sped up alike, its 400 servers dealt to the nodes at random",
}

GAIN_HEADS = (
    "baseline", "throughput: mean", "best", "worst", "goodput: mean", "best", "worst", "efficiency: mean",
    "completion time: mean", "best", "worst",
)  # fmt: skip

GAIN_KEYS = {
    "throughput": "span_throughput",
    "goodput": "span_goodput",
    "efficiency": "span_efficiency",
    "completion": "completion_mean",
}

LIGHT = (
    "All that arrives is also done, so that throughput says little; what counts is how much of the GPU time held is "
    "useful work, and how long jobs take."
)

LIGHT_HEADS = ("efficiency", "completion, h", "95th percentile, h")

ABNORMAL_HEADS = (
    "policy", "reaction", "goodput", "lost against its own in health", "work done again, GPU·h", "interruptions",
    "completion, h",
)  # fmt: skip

ROUNDS = (
    "Where jobs are placed every ten minutes, many are placed at once, and there is time for the full greedy. Goodput, "
    "and overhead of the whole run; rows by mean goodput."
)

SEED_HEADS = ("goodput, mean ± s.d.", "least to most", "seeds ahead")


def report(rows: list[Row]) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Markdown, figures and pictures."""
    cases = by_case(rows)
    rounds = {name: case for name, case in cases.items() if _one(case).get("round_s")}
    cases = {name: case for name, case in cases.items() if name not in rounds}
    plain = {name: case for name, case in cases.items() if _one(case)["seed"] == 0}
    healthy = {name: case for name, case in plain.items() if _one(case)["weather"] == "healthy"}
    full = {name: case for name, case in healthy.items() if _one(case)["load"] >= 1}
    lines = ["# Simulated clusters", "", INTRODUCTION, "", ORDERS, ""]
    lines += ["## Every healthy configuration", "", *_configurations(healthy), ""]
    pictures, figures = {}, {"configurations": len(cases), "runs": len(rows), "gains": {}}
    for own in OWN:
        lines += [f"## {LABELS[own]}: over each baseline, load 1.0 and 1.3", ""]
        lines += [f"{len(full)} healthy configurations; more is better but for completion times.", ""]
        found = {name: _gains(own, name, full) for name in _baselines(full)}
        found = dict(sorted(found.items(), key=lambda item: item[1]["goodput"].mean))
        lines += [*table(GAIN_HEADS, [_gain_line(name, one) for name, one in found.items()]), ""]
        lines += [f"![{LABELS[own]}: goodput over each baseline](simulation-{own}.svg)", ""]
        pictures[f"simulation-{own}"] = ranges(
            f"{LABELS[own]}: more goodput than each baseline, load 1.0 and 1.3",
            "% (worst, mean and best configuration)",
            [(n, 100 * g["goodput"].low, 100 * g["goodput"].mean, 100 * g["goodput"].high) for n, g in found.items()],
        )
        figures["gains"][own] = {n: {key: _plain(value) for key, value in g.items()} for n, g in found.items()}
    light = {name: case for name, case in healthy.items() if _one(case)["load"] < 1}
    lines += ["## Load 0.7", "", LIGHT, "", *_light(light), ""]
    lines += ["## Abnormal devices, load 1.0", "", *_abnormal(plain), ""]
    lines += ["## Rounds of ten minutes", "", ROUNDS, "", *_rounds(rounds), ""]
    lines += ["## Seeds", "", *_seeds(cases), ""]
    lines += ["## Time of a decision", "", *_decisions(healthy), ""]
    return "\n".join(lines), figures, pictures


def by_case(rows: Iterable[Row]) -> Cases:
    """Rows by configuration, policy and reaction."""
    cases: Cases = defaultdict(dict)
    for row in rows:
        cases[row["configuration"]][row["policy"], row["reaction"]] = row
    return dict(cases)


def pairs_of(own: str, other: str, cases: Cases, key: str) -> list[tuple[float, float]]:
    """A figure of two policies on every configuration that has both; crop aware, the other one ignorant."""
    return [
        (case[own, "aware"][key], case[other, "ignorant"][key])
        for case in cases.values()
        if (own, "aware") in case and (other, "ignorant") in case
    ]


def _gains(own: str, other: str, cases: Cases) -> dict[str, Spread]:
    return {name: spread(gain(*pair) for pair in pairs_of(own, other, cases, key)) for name, key in GAIN_KEYS.items()}


def _gain_line(name: str, found: dict[str, Spread]) -> list[str]:
    cells = [name]
    for key in ("throughput", "goodput"):
        cells += [percent(value, sign=True) for value in (found[key].mean, found[key].high, found[key].low)]
    time = found["completion"]
    cells.append(percent(found["efficiency"].mean, sign=True))
    return [*cells, *(percent(value, sign=True) for value in (time.mean, time.low, time.high))]


def _configurations(cases: Cases) -> list[str]:
    heads = ["configuration", *(f"{LABELS[own]}: goodput" for own in OWN)]
    heads += ["best baseline", "its goodput", "median of baselines", "worst"]
    heads += [*(f"{LABELS[own]}: overhead" for own in OWN), "best baseline's", "waiting at the end"]
    lines = []
    for name, case in cases.items():
        own = [case[which, "aware"] for which in OWN if (which, "aware") in case]
        others = [row for (which, _), row in case.items() if which not in OWN]
        if len(own) < len(OWN) or not others:
            continue
        others.sort(key=lambda row: row["span_goodput"])
        cells = [name.removesuffix(", healthy"), *(f"{row['span_goodput']:.1f}" for row in own)]
        best, median = others[-1], others[len(others) // 2]
        cells += [best["policy"], *(f"{row['span_goodput']:.1f}" for row in (best, median, others[0]))]
        cells += [percent(row["communication_overhead"]) for row in (*own, best)]
        lines.append([*cells, str(own[0]["span_waiting"])])
    return table(heads, lines)


def _light(cases: Cases) -> list[str]:
    def efficiency(run: Run) -> float:
        return spread(case[run]["span_efficiency"] for case in cases.values() if run in case).mean

    runs = sorted({run for case in cases.values() for run in case}, key=lambda run: (-efficiency(run), run))
    heads = ["policy", *(f"{_one(case)['trace']}: {what}" for case in cases.values() for what in LIGHT_HEADS)]
    lines = []
    for run in runs:
        cells = [LABELS.get(run[0], run[0])]
        for case in cases.values():
            row = case.get(run)
            cells += ["-"] * len(LIGHT_HEADS) if row is None else _light_cells(row)
        lines.append(cells)
    return table(heads, lines)


def _light_cells(row: Row) -> list[str]:
    times = row["completion_mean"], row["completion_p95"]
    return [percent(row["span_efficiency"]), f"{times[0] / 3600:.2f}", f"{times[1] / 3600:.1f}"]


def _abnormal(cases: Cases) -> list[str]:
    lines: list[str] = []
    for weather, words in WEATHER.items():
        mine = [case for case in cases.values() if _one(case)["weather"] == weather]
        if not mine:
            continue
        traces = ", ".join(_one(case)["trace"] for case in mine)
        lines += [f"### {weather}", "", f"{words[0].upper()}{words[1:]}. Means over {traces}.", ""]
        found = []
        for run in dict.fromkeys(run for case in mine for run in case):
            rows = [case[run] for case in mine if run in case]
            if len(rows) == len(mine):
                found.append((spread(row["span_goodput"] for row in rows).mean, run, rows))
        found.sort(key=lambda one: -one[0])
        lines += table(ABNORMAL_HEADS, [_abnormal_line(*one, cases) for one in found], 2)
        lines.append("")
    return lines


def _abnormal_line(goodput: float, run: Run, rows: Sequence[Row], cases: Cases) -> list[str]:
    def mean(key: str) -> float:
        return spread(row[key] for row in rows).mean

    losses = [loss for row in rows if (loss := _lost(row, cases)) is not None]
    cells = [LABELS.get(run[0], run[0]), run[1], f"{goodput:.1f}", percent(spread(losses).mean) if losses else "-"]
    return [
        *cells,
        f"{mean('lost_gpu_s') / 3600:.0f}",
        f"{mean('interruptions'):.1f}",
        f"{mean('completion_mean') / 3600:.2f}",
    ]


def _lost(row: Row, cases: Cases) -> float | None:
    """Share of the goodput of the same policy on the same configuration in health."""
    name = row["configuration"].replace(f", {row['weather']}", ", healthy")
    reaction = "aware" if row["policy"] in CROPS else "ignorant"
    same = cases.get(name, {}).get((row["policy"], reaction))
    return None if same is None else 1.0 - row["span_goodput"] / same["span_goodput"]


def _rounds(cases: Cases) -> list[str]:
    def goodput(run: Run) -> float:
        return spread(case[run]["span_goodput"] for case in cases.values() if run in case).mean

    whole = [run for run in {run for case in cases.values() for run in case} if all(run in c for c in cases.values())]
    heads = ["policy", *(f"{_short(case)}: {what}" for case in cases.values() for what in ("goodput", "overhead"))]
    lines = []
    for run in sorted(whole, key=lambda run: (-goodput(run), run)):
        cells = [LABELS.get(run[0], run[0])]
        for case in cases.values():
            cells += [f"{case[run]['span_goodput']:.1f}", percent(case[run]["communication_overhead"])]
        lines.append(cells)
    return table(heads, lines)


def _short(case: dict[Run, Row]) -> str:
    row = _one(case)
    return f"{row['trace']}, load {row['load']:g}, {row['weather']}"


def _seeds(cases: Cases) -> list[str]:
    base = BASE.name
    mine = {name: case for name, case in cases.items() if name == base or name.startswith(f"{base}, seed")}
    heads = ["baseline", *(f"{LABELS[own]}: {what}" for own in OWN for what in SEED_HEADS)]
    lines = []
    for other in _baselines(mine):
        if len(pairs_of(OWN[0], other, mine, "span_goodput")) < len(mine):
            continue
        cells = [other]
        for own in OWN:
            gains = [gain(*pair) for pair in pairs_of(own, other, mine, "span_goodput")]
            one = spread(gains)
            cells.append(f"{percent(one.mean, sign=True)} ± {100 * one.deviation:.1f}")
            cells.append(f"{percent(one.low, sign=True)} to {percent(one.high, sign=True)}")
            cells.append(f"{sum(g > 0 for g in gains)} of {one.count}")
        lines.append(cells)
    text = f"{base}: other jobs of the trace and another arrangement of racks with each of {len(mine)} seeds."
    return [text, "", *table(heads, lines)]


def _decisions(cases: Cases) -> list[str]:
    def line(name: str) -> list[str]:
        rows = [row for case in cases.values() for (which, _), row in case.items() if which == name]
        times = spread(1000 * row["decision_s"] / max(1, row["decisions"]) for row in rows)
        return [LABELS.get(name, name), f"{times.mean:.1f}", f"{times.high:.1f}"]

    text = "Wall clock per round on a machine that did other work, too: the order of magnitude is what it says."
    policies = [*OWN, *_baselines(cases)]
    return [text, "", *table(("policy", "ms a round: mean", "most"), map(line, policies))]


def _baselines(cases: Cases) -> list[str]:
    return list(dict.fromkeys(name for case in cases.values() for name, _ in case if name not in OWN))


def _one(case: dict[Run, Row]) -> Row:
    return next(iter(case.values()))


def _plain(found: Spread) -> dict[str, float]:
    return {"mean": found.mean, "low": found.low, "high": found.high, "count": found.count}
