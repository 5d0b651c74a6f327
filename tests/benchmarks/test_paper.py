"""The evaluation of the paper: loads, clusters, aggregation, data files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.paper import large_first, simulated, simulation_report, snapshots, snapshots_report, testbed
from benchmarks.paper import testbed_report as report
from benchmarks.paper.clusters import cluster_of
from benchmarks.paper.journal import read, work_off
from benchmarks.paper.loads import CHECKPOINT_MINUTES, DATA, at_load, prepared, sampled, trace_of
from benchmarks.paper.plots import ranges
from benchmarks.paper.tables import gain, percent, spread, table
from crop_cli.model.instance import Cluster, Instance, Node
from crop_cli.model.trace import Trace, TraceJob
from crop_cli.simulate.faults import load_faults
from crop_cli.simulate.run import simulate
from crop_cli.simulate.settings import Settings
from crop_cli.solvers import registry

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "paper"
TRACES = ("philly", "gavel", "elasticflow")


def job(name: str, gpus: int, arrival: float, duration: float, compute: float = 0.5) -> TraceJob:
    """A job of a trace."""
    return TraceJob(name=name, gpus=gpus, arrival_s=arrival, duration_s=duration, compute_s=compute)


def test_arrivals_are_stretched_to_the_load() -> None:
    """400 GPU-seconds on 4 GPUs at load 0.5 arrive within 200 s, from 0 on, gaps in proportion."""
    jobs = [job("a", 2, 10, 100), job("b", 1, 15, 0), job("c", 1, 20, 200)]
    assert [one.arrival_s for one in at_load(jobs, 4, 0.5)] == [0, 100, 200]
    assert [one.duration_s for one in at_load(jobs, 4, 0.5)] == [100, 0, 200]


def test_jobs_that_all_arrive_at_once_have_no_load() -> None:
    """No stretching makes a span of none."""
    with pytest.raises(ValueError, match="same time"):
        at_load([job("a", 1, 5, 10), job("b", 1, 5, 10)], 4, 1.0)


def test_samples_keep_the_order_and_the_seed_decides() -> None:
    """A sample is a part of the jobs in their order, the same for the same seed."""
    jobs = [job(f"j{i}", 1, i, 10) for i in range(50)]
    kept = sampled(jobs, 10, 3)
    assert [one.arrival_s for one in kept] == sorted({one.arrival_s for one in kept})
    assert len(kept) == 10
    assert kept == sampled(jobs, 10, 3)
    assert kept != sampled(jobs, 10, 4)
    assert sampled(jobs, 50, 3) == jobs


@pytest.mark.parametrize("load", [0.7, 1.3])
@pytest.mark.parametrize("name", TRACES)
def test_prepared_traces_have_the_load(name: str, load: float) -> None:
    """GPU time asked for over GPUs times the span of arrivals is the load; every job has checkpoints."""
    trace = prepared(name, 512, load, 200, 0)
    work = sum(one.gpus * one.duration_s for one in trace.jobs)
    assert work / (512 * trace.jobs[-1].arrival_s) == pytest.approx(load)
    assert {one.checkpoint_minutes for one in trace.jobs} == {CHECKPOINT_MINUTES}
    assert max(one.gpus for one in trace.jobs) <= 128


@pytest.mark.parametrize("name", TRACES)
def test_data_files_parse_and_carry_licences(name: str) -> None:
    """Each trace states source, licence and what was left out; the README names its file and the licence."""
    trace = trace_of(name)
    text = (DATA / "README.md").read_text()
    assert trace.source
    assert trace.licence
    assert " jobs: those of at most " in trace.assumptions[0]
    row = next(line for line in text.splitlines() if f"`{name}.json.gz`" in line)
    assert all(part.split(" (")[0] in row for part in trace.licence.split(", "))
    assert [one.arrival_s for one in trace.jobs] == sorted(one.arrival_s for one in trace.jobs)
    assert len({one.name for one in trace.jobs}) == len(trace.jobs)
    assert sum(one.gpus > 1 for one in trace.jobs) >= 0.4 * len(trace.jobs)


def test_fault_trace_and_size_of_the_data() -> None:
    """The fault trace has its 584 faults; all data together is below 1 MB."""
    assert len(load_faults(DATA / "faults.csv.gz").faults) == 584
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 1_000_000


def test_uplinks_of_the_clusters() -> None:
    """A Lingjun-like rack has half its nodes' bandwidth upwards, a rail-like group all of it; rates scale."""
    for topology, share in (("lingjun", 0.5), ("rail", 1.0)):
        cluster = cluster_of(topology, 64, 100).cluster
        assert len(cluster.nodes) == 64
        for switch in cluster.switches:
            below = sum(node.parent == switch.name for node in cluster.nodes)
            assert not below or switch.uplink_gbps == pytest.approx(100 * share * below)
    rates = [[node.failures_per_day for node in cluster_of("rail", 64, 100, by).cluster.nodes] for by in (1.0, 10.0)]
    assert rates[1] == pytest.approx([10 * rate for rate in rates[0]])


@pytest.mark.parametrize("mix", range(testbed.MIXES))
def test_mixes_of_the_testbed(mix: int) -> None:
    """The first half asks for exactly 8 GPUs, the second for 12 to 19; the same jobs every time."""
    jobs = testbed.jobs_of(mix)
    asked = sum(one.gpus for one in jobs)
    assert asked == 8 if mix < testbed.MIXES // 2 else 12 <= asked <= 19
    assert jobs == testbed.jobs_of(mix)


def test_a_case_of_the_testbed() -> None:
    """On one instance no policy that overbooks nothing beats the proven optimum, and all policies have a row."""
    rows = testbed.run(testbed.Case("2 × 4", 25, "slow node", 4))
    best = rows[0]
    assert best["policy"] == testbed.OPTIMUM
    assert best["proven"]
    assert {row["policy"] for row in rows} == {testbed.OPTIMUM, *testbed.OWN, *registry.baselines()}
    assert all(row["objective"] <= best["objective"] + 1e-6 for row in rows if not row["overbooked"])


def test_spreads_and_gains_by_hand() -> None:
    """Mean, ends, sample deviation; a share above another figure; percentages."""
    found = spread([1.0, 2.0, 6.0])
    assert (found.mean, found.low, found.high, found.count) == (3.0, 1.0, 6.0, 3)
    assert found.deviation == pytest.approx(7**0.5)
    assert spread([4.0]).deviation == 0
    assert gain(3.0, 2.0) == 0.5
    assert gain(1.0, 0.0) == float("inf")
    assert gain(0.0, 0.0) == 0.0
    assert [percent(0.123), percent(0.05, sign=True), percent(-0.0001, sign=True)] == ["12.3 %", "+5.0 %", "0.0 %"]
    assert table(("a", "b"), [("x", "1")]) == ["| a | b |", "| --- | ---: |", "| x | 1 |"]
    with pytest.raises(ValueError, match="no figures"):
        spread([])


def test_figures_of_a_policy_by_hand() -> None:
    """Ratios are to the optimum of the same instance; an overbooking placement is never optimal."""

    def row(policy: str, value: float, overhead: float, overbooked: bool = False) -> dict[str, object]:
        keys = dict.fromkeys(("objective", "goodput", "throughput"), value)
        return {"policy": policy, **keys, "overhead": overhead, "overbooked": overbooked}

    cases = {
        "one": {"exact": row("exact", 8.0, 0.1), "rule": row("rule", 6.0, 0.3)},
        "two": {"exact": row("exact", 4.0, 0.0), "rule": row("rule", 4.0, 0.1, overbooked=True)},
    }
    found = report.figures_of("rule", cases)
    assert (found["objective"].mean, found["objective"].low) == (0.875, 0.75)
    assert found["overhead_more"].mean == pytest.approx(0.15)
    assert (found["optimal"], found["overbooked"]) == (0, 1)


def test_figures_while_jobs_arrive_by_hand() -> None:
    """At the last arrival, 50 s in, one GPU has worked for 50 s at two iterations a second; the second job starts."""
    cluster = Instance(
        format="crop-instance/1", jobs=[], cluster=Cluster(levels=["node"], nodes=[Node(name="n", gpus=2)])
    )
    trace = Trace(format="crop-trace/1", jobs=[job("a", 1, 0, 100), job("b", 1, 50, 10)])
    span = simulated.Span(50.0)
    simulate(trace, cluster, Settings(), watch=span)
    expected = {"goodput": 1.0, "throughput": 2.0, "efficiency": 1.0, "held": 1.0, "waiting": 0}
    assert span.figures == pytest.approx({f"span_{key}": value for key, value in expected.items()})


def test_one_simulation_per_weather() -> None:
    """Small runs in every weather: rows with the figures that the tables are made of; faults interrupt jobs."""
    small = replace(simulated.BASE, jobs=60, nodes=16)
    rows = {}
    for weather in ("healthy", "lemons", "slow", "replay"):
        (rows[weather],) = simulated.run(simulated.Task(replace(small, weather=weather), large_first.NAME, "aware"))
        assert {"span_goodput", "completion_mean", "lost_gpu_s", "interruptions"} <= rows[weather].keys()
    assert rows["healthy"]["interruptions"] == rows["slow"]["interruptions"] == 0
    assert rows["lemons"]["interruptions"] > 0


def test_share_of_slow_nodes() -> None:
    """Rate times duration over one more than that is the share of nodes that are slow in the long run: 5 %."""
    task = simulated.Task(replace(simulated.BASE, weather="slow"), "greedy", "aware")
    weather = simulated.settings_of(task)[0].weather
    spells = weather.slow_per_day * weather.slow_hours / 24
    assert spells / (1 + spells) == pytest.approx(0.05)


def test_a_snapshot_is_an_instance_with_running_and_waiting_jobs() -> None:
    """At the moment that is kept, the window asks for more than is free, and the running jobs fit."""
    picture = snapshots.picture_of(snapshots.snapshots(quick=True)[0])
    waiting = [one for one in picture.jobs if one.placement is None]
    free = sum(node.gpus for node in picture.cluster.nodes) - sum(one.gpus for one in picture.jobs if one.placement)
    assert len(waiting) >= snapshots.LEAST_JOBS
    assert snapshots.LEAST_GPUS <= free < sum(one.gpus for one in waiting)


def test_an_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    """Rows that are in the file are not made again, a line that was cut off is left out, other tasks' rows too."""
    file = tmp_path / "rows.jsonl"
    file.write_text('{"task": "1", "x": 5}\n{"task": "other"}\n{"task": "2", "x')
    assert read(file) == [{"task": "1", "x": 5}, {"task": "other"}]
    assert work_off([1], str, lambda _: pytest.fail("made again"), file, 1) == [{"task": "1", "x": 5}]


def test_pictures_are_well_formed() -> None:
    """A picture is XML with a dot per policy."""
    root = ElementTree.fromstring(ranges("a & b", "x", [("p", 0.5, 0.7, 1.0), ("q", 1.0, 1.0, 1.0)], ["p"]))
    assert sum(element.tag.endswith("circle") for element in root.iter()) == 2


@pytest.mark.parametrize("part", ["testbed", "simulation", "snapshots"])
def test_tables_are_those_of_the_rows(part: str) -> None:
    """The published table is what its published rows give."""
    lines = gzip.decompress((RESULTS / f"{part}-rows.jsonl.gz").read_bytes()).decode().splitlines()
    makers = {"testbed": report, "simulation": simulation_report, "snapshots": snapshots_report}
    text, figures, _ = makers[part].report([json.loads(line) for line in lines])
    assert text == (RESULTS / f"{part}.md").read_text()
    assert json.loads(json.dumps(figures)) == json.loads((RESULTS / f"{part}.json").read_text())
