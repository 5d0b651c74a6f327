"""The tables that ship with crop: within the limits of instances, with sources, and equal to these sources."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from crop_cli.model.instance import Job
from crop_cli.model.limits import LIMITS
from crop_cli.model.patterns import PATTERNS
from crop_cli.sources.profiles import ANY, gpu_types, load_profiles, measured_type
from tests.sources.public import whole

TABLE = load_profiles()


def test_the_table_is_within_the_limits_of_instances() -> None:
    """Every profile makes a valid job, on a type whose speed is known."""
    limits = LIMITS[Job]
    assert len(TABLE.table) < 150
    for profile in TABLE.table.values():
        assert profile.pattern in PATTERNS
        assert profile.source
        assert 0 <= profile.overlap <= 0.1
        assert set(profile.compute_s) <= gpu_types().keys()
        assert all(limits["compute_s"].low <= s <= limits["compute_s"].high for s in profile.compute_s.values())


def test_every_name_of_the_table_finds_itself() -> None:
    """No model is hidden behind another one's name."""
    for name in TABLE.table:
        found = TABLE.match(name)
        assert found is None if name == ANY else found is not None and found.model == name


def test_speeds_have_sources_and_are_plausible() -> None:
    """Each is from a maker's document, and every name finds itself."""
    for name, kind in gpu_types().items():
        assert 1 < kind.tflops < 5000
        assert re.match(r"(NVIDIA|AMD|Intel) \S", kind.source), name
        assert measured_type(name, gpu_types()) == name
    for name in (
        "a100",
        "h100",
        "h200",
        "h800",
        "h20",
        "b200",
        "gb200",
        "a800",
        "a40",
        "a30",
        "a10",
        "a10g",
        "l4",
        "l40",
    ):
        assert name in gpu_types()
    for name in (
        "l40s",
        "v100",
        "t4",
        "p100",
        "p40",
        "k80",
        "rtx-3090",
        "rtx-4090",
        "a6000",
        "mi250x",
        "mi300x",
        "gaudi2",
    ):
        assert name in gpu_types()


def rows_from(source: str) -> list[dict[str, str]]:
    """Rows of the shipped table that name a source."""
    file = Path(__file__).parents[2] / "crop_cli" / "sources" / "data" / "models.csv"
    with file.open(newline="", encoding="utf-8") as text:
        return [row for row in csv.DictReader(text) if row["source"].startswith(source)]


def test_gavel_rows_are_gavels_single_gpu_speeds() -> None:
    """One over the steps per second of one GPU alone; all but two of its measurements are there."""
    raw = json.loads(whole("gavel/simulation_throughputs.json").read_text())
    expected = {}
    for gpu in ("v100", "p100", "k80"):
        for key, entry in raw[gpu].items():
            found = re.fullmatch(r"\('([^' ]+)(?: \(batch size (\d+)\))?', 1\)", key)
            if found:
                expected[found[1].lower(), gpu, found[2] or ""] = 1 / entry["null"]
    rows = {(row["model"], row["gpu_type"], row["batch"]): float(row["compute_s"]) for row in rows_from("Gavel")}
    assert expected.keys() - rows.keys() == {("resnet-18", "k80", "16"), ("resnet-18", "k80", "64")}
    assert rows == pytest.approx({key: expected[key] for key in rows}, rel=1e-5)


def test_elasticflow_rows_are_its_steps_on_one_gpu() -> None:
    """One over the steps per second in the column of one GPU."""
    for row in rows_from("ElasticFlow"):
        name = {"resnet-50": "resnet50"}.get(row["model"], row["model"])
        with whole(f"elasticflow/throughputs_A100/{name}.csv").open(newline="") as text:
            speeds = {line["global_batch_size"]: float(line["1"]) for line in csv.DictReader(text) if line["1"]}
        assert float(row["compute_s"]) == pytest.approx(1 / speeds[row["batch"]], rel=1e-5)


def test_pollux_rows_are_step_minus_wait() -> None:
    """Of the placement on one GPU."""
    assert rows_from("Pollux")
    for row in rows_from("Pollux"):
        with whole(f"pollux_t4/{row['model']}/placements.csv").open(newline="") as text:
            (line,) = (r for r in csv.DictReader(text) if (r["placement"], r["local_bsz"]) == ("1", row["batch"]))
        assert float(row["compute_s"]) == pytest.approx(float(line["step_time"]) - float(line["sync_time"]), rel=1e-5)


def test_timm_rows_are_its_steps_and_parameters() -> None:
    """Milliseconds of a step, four bytes a parameter."""
    with whole("timm/benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv").open(newline="") as text:
        lines = {line["model"]: line for line in csv.DictReader(text)}
    assert rows_from("timm")
    for row in rows_from("timm"):
        found = re.search(r"\((\w+)\)", row["source"])
        assert found is not None
        line = lines[found[1]]
        assert row["batch"] == line["train_batch_size"]
        assert float(row["compute_s"]) == pytest.approx(float(line["train_step_time"]) / 1000, rel=1e-5)
        assert float(row["message_mb"]) == pytest.approx(4 * float(line["param_count"]), rel=1e-4)
