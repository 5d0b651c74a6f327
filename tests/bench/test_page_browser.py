"""The HTML page of a bench in a browser: drawn at both widths without errors or sideways scrolling."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crop_cli.bench.page.render import render
from tests.bench.sample import HOSTILE, sample
from tests.bench.test_page import PLOTS, Reader

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)

WATCH = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(String(event.message)));
console.error = (...words) => problems.push(words.join(" "));
</script>"""
"""Put before everything else of the page: collects errors."""

PROBE = """<script>
const sizes = () => [document.documentElement.scrollWidth, innerWidth];
const mean = [...document.querySelectorAll("thead button")].find((one) => one.textContent === "mean ratio");
const closed = sizes();
mean?.click();
for (const one of document.querySelectorAll("details")) one.open = true;
setTimeout(() => {
  const plots = {};
  for (const figure of document.querySelectorAll("figure.plot")) {
    const svg = figure.querySelector(".canvas svg");
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const fonts = [...svg.querySelectorAll("text")].map((one) => scale * parseFloat(getComputedStyle(one).fontSize));
    plots[figure.id] = { width: box.width, height: box.height, font: Math.min(99, ...fonts),
      drawn: [...svg.querySelectorAll(".series path")].filter((one) => one.getAttribute("d")).length,
      legend: [...figure.querySelectorAll(".chip")].map((one) => one.textContent) };
  }
  const drawings = {};
  for (const one of document.querySelectorAll("details.instance")) drawings[one.dataset.name] = {
    squares: [...one.querySelectorAll(".cluster .gpu.job")].filter((gpu) => gpu.getBoundingClientRect().width).length,
    bars: one.querySelectorAll(".cluster .bar.job").length,
    held: one.querySelectorAll(".cluster .held").length, out: one.querySelectorAll(".cluster .out").length,
    overbooked: one.querySelectorAll(".cluster .overbooked").length,
    runs: one.querySelectorAll(".body .sortable tbody tr").length,
  };
  const chip = document.querySelector(".chip");
  chip?.click();
  const picked = document.querySelectorAll(".series.on").length;
  const choice = [...document.querySelectorAll(".choose-placement")].at(-1);
  if (choice) {
    choice.selectedIndex = choice.options.length - 1;
    choice.dispatchEvent(new Event("change"));
  }
  const order = mean ? [...mean.closest("table").tBodies[0].rows].map((row) => row.cells[0].textContent) : [];
  parent.postMessage(JSON.stringify({ problems, closed, open: sizes(), plots, drawings, picked, order,
    title: document.title, images: document.images.length }), "*");
}, 500);
</script>"""
"""Put at the end of the page: opens everything, clicks, and tells the frame around it what there is."""

FRAMES = """<!doctype html><body>
<iframe src="probed.html" width="1280" height="900"></iframe>
<iframe src="probed.html" width="400" height="900"></iframe>
<script>
addEventListener("message", (event) => {
  const found = document.createElement("pre");
  found.textContent = event.data;
  document.body.append(found);
});
</script></body>"""


def browse(page: str, folder: Path) -> dict[int, dict[str, Any]]:
    """What the probe finds in the page at a width of 1,280 and of 400 pixels."""
    probed = page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", f"{PROBE}</body>")
    (folder / "probed.html").write_text(probed, encoding="utf-8")
    (folder / "frames.html").write_text(FRAMES, encoding="utf-8")
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}", "--window-size=1800,1000", "--virtual-time-budget=8000", "--dump-dom",
        "--enable-logging=stderr", (folder / "frames.html").as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    # Broken attributes of drawings are no script errors, but the browser logs them.
    assert not [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    reader = Reader(done.stdout)
    found = [json.loads(line) for line in reader.text.splitlines() for line in _objects(line)]
    return {one["closed"][1]: one for one in found}


def _objects(line: str) -> Iterator[str]:
    """The JSON objects of a line: two findings may follow each other without a break."""
    decoder = json.JSONDecoder()
    at = line.find("{")
    while at >= 0:
        _, end = decoder.raw_decode(line, at)
        yield line[at:end]
        at = line.find("{", end)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found")
def test_a_browser_draws_everything(tmp_path: Path) -> None:
    """At both widths: no error, no sideways scrolling, six legible plots, all drill-downs with their drawings."""
    summary, runs, instances = sample(largest=300)
    found = browse(render(summary, runs, instances), tmp_path)
    assert sorted(found) == [400, 1280]
    for width, one in found.items():
        assert one["problems"] == []
        assert one["closed"][0] <= width and one["open"][0] <= width
        assert one["title"].startswith("crop bench") and one["images"] == 0
        assert set(one["plots"]) == {f"plot-{name}" for name in PLOTS}
        for name, plot in one["plots"].items():
            assert plot["width"] > 300 and plot["height"] > 100 and plot["font"] >= 11, name
            assert plot["drawn"] >= 4, name
        assert set(one["plots"]["plot-time"]["legend"]) == set(summary.solvers)
        drawn = one["drawings"]
        assert set(drawn) == {ref.instance for ref in summary.references}
        assert all(drawing["runs"] == 8 for drawing in drawn.values())
        assert drawn[f"small/{HOSTILE}"]["squares"] > 8
        assert drawn["real/mix-4"]["bars"] > 200 and drawn["real/mix-4"]["squares"] == 0
        assert drawn["real/mix-3"]["held"] and drawn["real/mix-3"]["out"]
        assert drawn["small/mix-4"]["squares"] == 0
        assert one["picked"] > 1
        means = {line.solver: line.mean_ratio for line in summary.aggregates if line.instances == "*"}
        assert one["order"] == sorted(one["order"], key=lambda name: -(means[name] or 0))


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome found")
@pytest.mark.parametrize("what", ["many", "bare"])
def test_a_browser_copes_with_much_and_with_nothing(what: str, tmp_path: Path) -> None:
    """27 solvers leave no width for scrolling either, and a bench without results causes no error."""
    summary, runs, instances = sample(per_set=2, extra_solvers=19)
    if what == "bare":
        summary = msgspec.structs.replace(summary, rows=[], aggregates=[], profiles=[], references=[])
        runs, instances = [], {}
    found = browse(render(summary, runs, instances), tmp_path)
    assert sorted(found) == [400, 1280]
    for width, one in found.items():
        assert one["problems"] == []
        assert one["closed"][0] <= width and one["open"][0] <= width
        assert len(one["plots"]) == 6
