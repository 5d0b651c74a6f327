"""Whole public traces against the totals that their sources and papers state, counted independently."""

from __future__ import annotations

import csv
import gzip
from collections import Counter

import pytest

from crop_cli.sources.traces import elasticflow, gavel, openb, philly, tiresias
from tests.sources.public import whole


def test_philly() -> None:
    """82,247 jobs on 15 virtual clusters over 109 days; GPU time as in the file's own column."""
    file = whole("philly/philly.csv.gz")
    reading = philly.read(file.read_bytes(), file.name)
    assert len(reading.records) == 82_247
    assert not reading.skipped
    assert len({record.group for record in reading.records}) == 15
    assert 108 < reading.records[-1].arrival_s / 86_400 < 110
    with gzip.open(file, "rt", newline="") as text:
        gpu_time = sum(float(row["gpu_time"]) for row in csv.DictReader(text))
    assert sum(r.gpus * (r.duration_s or 0) for r in reading.records) == pytest.approx(gpu_time)
    sizes = Counter(record.gpus for record in reading.records)
    assert sizes[1] / 82_247 == pytest.approx(0.932, abs=5e-4)
    assert sizes[8] / 82_247 == pytest.approx(0.020, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("103959", {1: 500, 2: 40, 4: 446}),
        ("2869ce", {1: 65, 2: 6, 4: 11, 8: 379, 16: 2, 32: 70}),
        ("ee9e8c", {1: 975, 2: 47, 4: 321, 7: 2, 8: 543, 16: 106, 20: 1, 32: 5}),
    ],
)
def test_gavel(name: str, sizes: dict[int, int]) -> None:
    """Jobs by GPUs of three virtual clusters."""
    file = whole(f"gavel/msr_seed0_{name}.trace")
    reading = gavel.read(file.read_bytes(), file.name)
    assert Counter(record.gpus for record in reading.records) == sizes
    assert not reading.skipped


def test_gavel_physical() -> None:
    """Fifteen lines, as many jobs."""
    file = whole("gavel/physical_artifact_evaluation.trace")
    assert len(gavel.read(file.read_bytes(), file.name).records) == len(file.read_text().splitlines())


@pytest.mark.parametrize(
    ("name", "pods", "sizes"),
    [
        ("default", 8_152, {1: 6_989, 2: 16, 4: 15, 8: 44}),
        ("gpuspec33", 8_152, {1: 6_989, 2: 16, 4: 15, 8: 44}),
        ("multigpu50", 9_061, {1: 6_989, 2: 222, 4: 206, 8: 556}),
    ],
)
def test_openb(name: str, pods: int, sizes: dict[int, int]) -> None:
    """Pods and GPU pods by GPUs; 3,911 of those with one GPU ask for a whole one."""
    file = whole(f"alibaba_openb/openb_pod_list_{name}.csv")
    reading = openb.read(file.read_bytes(), file.name)
    assert reading.counts["pods in the file"] == pods
    assert reading.counts["pods with GPUs"] == sum(sizes.values())
    assert reading.counts["GPUs of pods"] == sum(gpus * n for gpus, n in sizes.items())
    assert Counter(record.gpus for record in reading.records) == {**sizes, 1: 3_911}
    assert Counter(skip.reason for skip in reading.skipped) == {
        "asks for no GPU": pods - sum(sizes.values()),
        "asks for a part of a GPU": sizes[1] - 3_911,
    }


def test_elasticflow() -> None:
    """Models and GPUs of 876 jobs."""
    file = whole("philly/elasticflow_philly_103959.csv")
    records = elasticflow.read(file.read_bytes(), file.name).records
    models = {"resnet50": 214, "vgg16": 186, "gpt2": 126, "bert": 122, "deepspeech2": 118, "inception3": 110}
    assert Counter(record.model for record in records) == models
    assert Counter(record.gpus for record in records) == {1: 513, 2: 33, 4: 330}


def test_tiresias() -> None:
    """Ten models, six jobs each."""
    file = whole("tiresias/60_job.csv")
    assert set(Counter(r.model for r in tiresias.read(file.read_bytes(), file.name).records).values()) == {6}
