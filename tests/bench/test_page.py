"""The HTML page of a bench: complete, escaped, without network, within bounds."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import msgspec
import pytest

from crop_cli.bench.page import placements
from crop_cli.bench.page.figures import ratio, short, span
from crop_cli.bench.page.payload import embed
from crop_cli.bench.page.placements import drawings, encode_placement
from crop_cli.bench.page.render import render
from crop_cli.bench.page.solvers import styles
from crop_cli.bench.page.traces import MOST_POINTS, gap, traces
from crop_cli.bench.records import Point
from tests.bench.sample import HOSTILE, HOSTILE_JOB, sample

PLOTS = ["ratio", "quality", "performance", "gap", "time", "overhead"]


class Reader(HTMLParser):
    """Collects what an HTML parser sees: attributes of all elements, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def page() -> str:
    return render(*sample())


def test_every_plot_solver_and_instance_is_there(page: str) -> None:
    """Six plots, a table line per solver, a drill-down per instance, and the facts of the head."""
    summary, _, _ = sample()
    reader = Reader(page)
    ids = {attrs.get("id") for _, attrs in reader.elements}
    assert {f"plot-{name}" for name in PLOTS} <= ids
    lines = [attrs["data-solver"] for tag, attrs in reader.elements if tag == "th" and "data-solver" in attrs]
    assert lines == [style.name for style in styles(summary)] * 4
    named = [attrs["data-name"] for _, attrs in reader.elements if "data-name" in attrs]
    assert named == [one.instance for one in summary.references]
    for text in ("Incomplete.", "time limit 1 min", "Example 9000 <64 bit>", "ortools 9.15", "PAR-2", "shift 1 s"):
        assert text in reader.text


def test_hostile_names_stay_text(page: str) -> None:
    """Names that close the script element or open an image make no element and arrive unchanged in the data."""
    reader = Reader(page)
    assert not [tag for tag, _ in reader.elements if tag in ("img", "b")]
    assert not [key for _, attrs in reader.elements for key in attrs if key.startswith("on")]
    assert len(reader.scripts) == 2
    data = json.loads(reader.scripts[0])
    jobs = next(iter(data["clusters"].values()))["jobs"]
    assert HOSTILE in jobs and HOSTILE_JOB in jobs
    assert f"small/{HOSTILE}" in [one["name"] for one in data["instances"]]


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    """No element has a source, no style an address, and the text names no web address at all."""
    reader = Reader(page)
    links = [value for _, attrs in reader.elements for key, value in attrs.items() if key in ("src", "href", "srcset")]
    assert links and all(value and value.startswith("#") for value in links)
    assert "url(" not in page and "@import" not in page
    assert not re.search(r"https?://", page)


def test_pages_are_of_bounded_size() -> None:
    """200 instances with 27 solvers stay within 12 MB, and what has no room is named."""
    summary, runs, instances = sample(sets=5, per_set=40, extra_solvers=19, largest=96)
    big = render(summary, runs, instances)
    assert len(big.encode()) < 12e6
    few = drawings(runs, instances, budget=200_000)
    assert 0 < len(json.dumps([few.clusters, few.placements], separators=(",", ":"))) < 210_000
    assert "the page's room for placements was spent on smaller instances" in few.left_out.values()
    with_placement = {run.instance for run in runs if run.placement}
    assert few.clusters.keys() | few.left_out.keys() == with_placement
    assert not few.clusters.keys() & few.left_out.keys()


def test_large_clusters_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the cap of nodes an instance is left out, with its size as the reason, on the page too."""
    monkeypatch.setattr(placements, "MOST_NODES", 50)
    text = Reader(render(*sample())).text
    assert "real/mix-4: too large to draw (64 nodes, 77 jobs)" in text
    assert "small/mix-4: the instance file was not at hand" in text


def test_placements_decode_to_what_they_were() -> None:
    """Triples of first node, length and workers give back every job's workers per node."""
    _, runs, instances = sample()
    run = next(run for run in runs if len(run.placement) > 20)
    instance = instances[run.instance]
    names = [node.name for node in instance.cluster.nodes]
    decoded = {}
    for job, *runs_of_nodes in encode_placement(run.placement | {"unknown": {"r0-n0": 1}}, instance):
        triples = zip(*[iter(runs_of_nodes)] * 3, strict=True)
        decoded[instance.jobs[job].name] = {
            names[node]: count for first, length, count in triples for node in range(first, first + length)
        }
    assert decoded == run.placement


def test_the_best_of_several_seeds_is_drawn() -> None:
    """Of one solver's runs on an instance the one with the highest F gives the drawing."""
    _, runs, instances = sample(seeds=3)
    mine = [run for run in runs if run.instance == "real/mix-4" and run.solver == "greedy"]
    best = max(mine, key=lambda run: run.objective or 0)
    drawn = drawings(runs, instances).placements["real/mix-4"]["greedy"]
    assert drawn == encode_placement(best.placement, instances["real/mix-4"])


def test_traces_become_gaps() -> None:
    """Gaps of the own and of the least known bound; points without F are dropped, long traces thinned."""
    summary, runs, _ = sample()
    run = next(run for run in runs if run.trace)
    reference = next(one for one in summary.references if one.instance == run.instance)
    points = [
        Point(seconds=float(k), objective=None if k == 0 else 10.0 + k / 1000, bound=12.0 - k / 1000)
        for k in range(300)
    ]
    made = traces([msgspec.structs.replace(run, trace=points)], [reference], {run.instance: 0}, {run.solver: 2})
    ((solver, seed, kept),) = made["0"]
    assert (solver, seed, len(kept)) == (2, run.seed, MOST_POINTS)
    assert kept[0][0] == 1 and kept[-1][0] == 299
    assert kept[-1][1] == pytest.approx((12 - 0.299 - 10.299) / 10.299, rel=1e-3)


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [(10.0, 11.0, 0.1), (-10.0, -9.0, 0.1), (0.0, 0.0, 0.0), (0.0, 1.0, None), (None, 1.0, None), (1.0, None, None)],
)
def test_gaps_follow_the_model(objective: float | None, bound: float | None, expected: float | None) -> None:
    """(bound − F)/|F|; 0 where both are 0, unknown where only F is."""
    assert gap(objective, bound) == (None if expected is None else pytest.approx(expected))


def test_figures_do_not_flatter() -> None:
    """A ratio below 1 never prints as 1; digits of embedded values are limited, and not-finite ones dropped."""
    assert ratio(0.99999) == "0.9999" and ratio(1.0) == "1.0000" and ratio(0.9863) == "0.9863"
    assert short(1 / 3) == 0.333333 and short(float("inf")) is None and short(2.0) == 2
    assert span(59.2) == "59.2 s" and span(200) == "3 min 20 s" and span(7500) == "2 h 5 min"


def test_embedded_data_has_no_markup() -> None:
    """No character that an HTML parser acts on is left in embedded data, and it reads back the same."""
    data = {"a": HOSTILE + HOSTILE_JOB + "\u2028<!--"}
    text = embed(data)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == data


def test_crops_solvers_come_first_and_look_different() -> None:
    """Baselines follow; no two of either kind share colour, marker and dash."""
    summary, _, _ = sample(extra_solvers=25)
    made = styles(summary)
    assert [style.baseline for style in made] == sorted(style.baseline for style in made)
    assert len({(s.baseline, s.colour, s.marker, s.dash) for s in made}) == len(made) == 33


def test_a_bench_without_results_gives_a_page() -> None:
    """No rows, runs, profiles or instances: the page says so and does not fail."""
    summary, _, _ = sample()
    bare = msgspec.structs.replace(summary, rows=[], aggregates=[], profiles=[], references=[])
    assert "0 runs" in Reader(render(bare, [], {})).text
