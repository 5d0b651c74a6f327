"""The HTML page of simulations: complete, escaped, without network, drawn by a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from crop_cli.simulate.labels import LABELS, lines, time_scale
from crop_cli.simulate.page.payload import MOST_POINTS, distribution, payload, styles, thinned
from crop_cli.simulate.page.render import render
from crop_cli.simulate.records import Figures, Sample
from tests.bench.sample import HOSTILE, HOSTILE_JOB
from tests.bench.test_page import Reader
from tests.bench.test_page_browser import BROWSER, browse
from tests.simulate.small import simulations

PLOTS = ["goodput", "utilisation", "waiting", "completion", "queueing"]


def test_all_figures_and_plots_are_there() -> None:
    """Five plots, every figure with its meaning, a column per policy, the facts of the head."""
    reader = Reader(render(simulations("greedy", "first-fit"), "2 faults, nodes by name"))
    ids = {attrs.get("id") for _, attrs in reader.elements}
    assert {f"plot-{name}" for name in PLOTS} <= ids
    for label in LABELS:
        assert label.title in reader.text and label.meaning in reader.text
    for text in ("13 jobs of dozen on four", "4 nodes", "16 GPUs", "greedy, first-fit", "2 faults, nodes by name"):
        assert text in reader.text
    assert "Interrupted." not in reader.text


def test_an_interrupted_simulation_is_marked() -> None:
    """The page says whose figures end early."""
    whole, part = simulations("greedy", "first-fit")
    page = render([whole, msgspec.structs.replace(part, interrupted=True)])
    assert "<strong>Interrupted.</strong> Figures of first-fit are those up to then." in page


def test_hostile_names_stay_text() -> None:
    """Names that close the script element or open an image make no element."""
    reader = Reader(render(simulations("greedy", name=HOSTILE, job=HOSTILE_JOB)))
    assert not [tag for tag, _ in reader.elements if tag in ("img", "b")]
    assert not [key for _, attrs in reader.elements for key in attrs if key.startswith("on")]
    assert len(reader.scripts) == 2
    assert json.loads(reader.scripts[0])["solvers"][0]["name"] == "greedy"
    assert HOSTILE in reader.text


def test_nothing_from_outside() -> None:
    """No element loads anything, and no address but that of SVG's namespace stands in the page."""
    page = render(simulations("greedy"))
    assert not [attrs for _, attrs in Reader(page).elements if {"src", "srcset", "action"} & set(attrs)]
    assert not re.findall(r"https?://(?!www\.w3\.org)", page)


def test_series_and_distributions() -> None:
    """Series start at 0 in the page's unit of time and end with nothing running; shares rise to 1."""
    both = simulations("greedy", "first-fit")
    data = payload(both, styles(both))
    assert data["time_unit"] == "min"
    for one, made in zip(both, data["series"], strict=True):
        assert made["time"][0] == 0 and made["time"][-1] == pytest.approx(one.figures.makespan_s / 60, rel=1e-5)
        assert made["goodput"][-1] == made["utilisation"][-1] == made["waiting"][-1] == 0
        assert max(made["utilisation"]) <= 1 and max(made["waiting"]) > 0
    for made in [*data["completion"], *data["queueing"]]:
        assert made["share"][-1] == 1 and made["x"] == sorted(set(made["x"]))


def test_what_is_thinned() -> None:
    """Long series and distributions keep their ends; equal values are one point with the share of the last."""
    samples = [
        Sample(time=t, running=0, waiting=0, gpus_held=0, gpus_free=0, gpus_up=0, goodput=0) for t in range(5000)
    ]
    kept = thinned(samples)
    assert len(kept) == MOST_POINTS and kept[0] is samples[0] and kept[-1] is samples[-1]
    made = distribution(float(t) for t in range(5000, 0, -1))
    assert len(made["x"]) == MOST_POINTS
    assert (made["x"][0], made["x"][-1], made["share"][-1]) == (1, 5000, 1)
    assert distribution([3.0, 1.0, 1.0, 3.0]) == {"x": [1, 3], "share": [0.5, 1]}
    assert distribution([]) == {"x": [], "share": []}


def test_every_figure_has_a_label() -> None:
    """Nothing of the record is left out, and keys are unique."""
    keys = [label.key for label in LABELS]
    assert len(set(keys)) == len(keys)
    for name in Figures.__struct_fields__:
        assert any(key == name or key.startswith(f"{name}_") for key in keys), name


def test_units_that_suit() -> None:
    """Times are written in the largest unit of which there are two; shares in percent; the best one is found."""
    assert [time_scale(t)[0] for t in (0, 119, 120, 7199, 7200, 172_799, 172_800)] == [
        "s", "s", "min", "min", "h", "h", "d",
    ]  # fmt: skip
    one, other = (made.figures for made in simulations("greedy", "first-fit"))
    better = msgspec.structs.replace(other, makespan_s=one.makespan_s * 2, efficiency=0.5, lost_gpu_s=7200.0)
    shown = {line.label.key: line for line in lines([one, better])}
    assert shown["makespan_s"].unit == "min" and shown["makespan_s"].best == {0}
    assert shown["efficiency"].unit == "%" and shown["efficiency"].texts[1] == "50.00"
    assert shown["lost_gpu_s"].unit == "GPU·h" and shown["lost_gpu_s"].texts == ["0", "2"]
    assert shown["rejected"].best == set()
    assert len({line.unit for key, line in shown.items() if key.startswith("completion")}) == 1
    nothing = msgspec.structs.replace(one, completion=None)
    assert {line.texts[0] for line in lines([nothing]) if line.label.key.startswith("completion")} == {"-"}


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found")
@pytest.mark.parametrize("what", ["several", "none"])
def test_a_browser_draws_it(what: str, tmp_path: Path) -> None:
    """At both widths: no error, no sideways scrolling, five legible plots; also when no job ever ran."""
    made = simulations("greedy", "first-fit", "spread")
    if what == "none":
        made = [msgspec.structs.replace(made[0], series=[], jobs=[])]
    found = browse(render(made), tmp_path)
    assert sorted(found) == [400, 1280]
    for width, one in found.items():
        assert one["problems"] == []
        assert one["closed"][0] <= width
        assert one["title"].startswith("crop simulate")
        assert set(one["plots"]) == {f"plot-{name}" for name in PLOTS}
        for name, plot in one["plots"].items():
            assert plot["width"] > 300 and plot["font"] >= 11, name
            assert what == "none" or plot["drawn"] == 2 * len(made), name
            assert plot["legend"] == [simulation.settings.policy.solver for simulation in made]
