"""Traces and instances made of readings."""

from __future__ import annotations

import msgspec
import pytest

from crop_cli.errors import UsageError
from crop_cli.model.dump import dump_instance
from crop_cli.model.instance import Cluster, Instance, Job, Node
from crop_cli.model.io import read_instance
from crop_cli.model.trace import trace_bytes
from crop_cli.model.trace_io import read_trace
from crop_cli.sources.draft import Skipped
from crop_cli.sources.profiles import load_profiles
from crop_cli.sources.traces import gavel, openb
from crop_cli.sources.traces.choice import Choice
from crop_cli.sources.traces.reading import Reading, Record
from crop_cli.sources.traces.registry import READERS
from crop_cli.sources.traces.to_instance import instance_of
from crop_cli.sources.traces.to_trace import trace_of
from tests.sources.public import excerpt, whole
from tests.sources.traces.test_readers import FILES

TABLE = load_profiles()


def cluster(nodes: int = 4, gpu_type: str = "A100", **fields: object) -> Instance:
    """Nodes of eight GPUs on a wide network."""
    made = [
        Node(name=f"n{i}", gpus=8, gpu_type=gpu_type, uplink_gbps=1600.0, **fields)  # type: ignore[arg-type]
        for i in range(nodes)
    ]
    return Instance(
        format="crop-instance/1",
        name="c",
        source="here",
        licence="CC0-1.0",
        assumptions=["The cluster was made up."],
        cluster=Cluster(levels=["host"], nodes=made),
        jobs=[Job(name="own", gpus=1)],
    )


def reading(*records: Record) -> Reading:
    """A trace of these records."""
    return Reading("t", "there", "MIT", records=list(records), skipped=[Skipped("job", "x", "was broken")]).sort()


def jobs(*sizes: int, seconds: float = 10.0) -> Reading:
    """A job a second of so many GPUs each."""
    return reading(*(Record(f"j{i}", k, float(i), duration_s=seconds, model="bert") for i, k in enumerate(sizes)))


@pytest.mark.parametrize(("name", "file"), FILES, ids=[file for _, file in FILES])
def test_every_excerpt_makes_a_valid_trace(name: str, file: str) -> None:
    """Written, read and counted; the list without run times makes none."""
    found = READERS[name](excerpt(file), file)
    if not any(record.timed for record in found.records):
        with pytest.raises(UsageError, match=r"states no run times: give --cluster and --window FROM\.\.TO"):
            trace_of(found, None, TABLE, Choice())
        return
    made = trace_of(found, None, TABLE, Choice())
    assert read_trace(trace_bytes(made.trace), file) == made.trace
    timed = [record for record in found.records if record.timed]
    assert [job.name for job in made.trace.jobs] == [record.name for record in timed]
    assert [job.arrival_s for job in made.trace.jobs] == [record.arrival_s for record in timed]
    assert made.counts["jobs in the trace"] == len(timed)
    assert (made.trace.source, made.trace.licence) == (found.source, found.licence)


@pytest.mark.parametrize(("name", "file"), FILES, ids=[file for _, file in FILES])
def test_every_excerpt_makes_a_valid_instance(name: str, file: str) -> None:
    """All jobs of a window wait, and the file reads again."""
    found = READERS[name](excerpt(file), file)
    place = cluster(nodes=40, resources={"cpu": 400.0, "memory_gib": 4000.0})
    made = instance_of(found, place, TABLE, Choice(window=(0.0, 1e12)))
    assert read_instance(dump_instance(made.instance), file).instance == made.instance
    assert not any(job.placement for job in made.instance.jobs)
    left = [record for record in found.records if record.gpu_types is None]
    assert {record.name for record in left} <= {job.name for job in made.instance.jobs}


def test_a_trace_for_no_cluster_has_seconds_of_an_a100() -> None:
    """One number for every type; the sentence says so."""
    made = trace_of(jobs(8), None, TABLE, Choice())
    assert made.trace.jobs[0].compute_s == 0.279726
    assert "Seconds of computation are those on one A100, the same on every GPU type." in made.trace.assumptions


def test_a_trace_for_a_cluster_has_seconds_of_its_types() -> None:
    """Here of V100, which BERT was not measured on."""
    made = trace_of(jobs(8), cluster(gpu_type="V100"), TABLE, Choice())
    assert made.trace.jobs[0].compute_s == pytest.approx(0.279726 * 312 / 125)


def test_work_becomes_time_on_the_fastest_type() -> None:
    """Gavel states steps: those of each worker times the seconds of its model."""
    found = gavel.read(excerpt("gavel.trace"), "f")
    made = trace_of(found, cluster(gpu_type="V100"), TABLE, Choice(limit=1))
    (job,) = made.trace.jobs
    assert job.duration_s == pytest.approx(5352613 / 4 * 0.183617)


def test_a_limit_takes_the_first_jobs() -> None:
    """And so it is said."""
    made = trace_of(jobs(1, 1, 1), None, TABLE, Choice(limit=2))
    assert [job.name for job in made.trace.jobs] == ["j0", "j1"]
    assert "Only the first 2 jobs of 3 in order of arrival." in made.trace.assumptions


def test_pods_without_run_time_are_left_out_of_a_trace() -> None:
    """And counted, with what the reader skipped."""
    made = trace_of(openb.read(excerpt("openb_gpuspec.csv"), "f"), None, TABLE, Choice())
    assert "2 jobs (openb-pod-0061, openb-pod-0084): its run time is not known" in made.skipped
    assert all(f"Left out: {text}." in made.trace.assumptions for text in made.skipped)
    assert made.warnings


def test_what_runs_at_a_time_is_pinned_and_what_waits_is_open() -> None:
    """The running ones first, each in order of arrival."""
    made = instance_of(jobs(8, 8, 16, 8), cluster(), TABLE, Choice(at=3.5))
    assert [(job.name, job.placement) for job in made.instance.jobs] == [
        ("j0", {"n0": 8}),
        ("j1", {"n1": 8}),
        ("j2", {"n2": 8, "n3": 8}),
        ("j3", None),
    ]
    assert (made.counts["jobs running"], made.counts["jobs waiting"]) == (3, 1)
    assert not any(job.movable for job in made.instance.jobs)


def test_what_has_ended_is_gone() -> None:
    """After 10 s each."""
    made = instance_of(jobs(8, 8), cluster(), TABLE, Choice(at=10.5))
    assert [job.name for job in made.instance.jobs] == ["j1"]


def test_time_zero_is_a_time() -> None:
    """What arrives at 0 runs at 0."""
    assert [job.name for job in instance_of(jobs(8, 8), cluster(), TABLE, Choice(at=0.0)).instance.jobs] == ["j0"]


def test_a_window_takes_arrivals_from_its_first_to_before_its_last_time() -> None:
    """All wait at once."""
    made = instance_of(jobs(8, 8, 8, 8), cluster(), TABLE, Choice(window=(1.0, 3.0)))
    assert [(job.name, job.placement) for job in made.instance.jobs] == [("j1", None), ("j2", None)]


def test_the_limit_is_of_jobs_that_wait() -> None:
    """Those that run are facts."""
    made = instance_of(jobs(32, 1, 1, 1), cluster(), TABLE, Choice(at=5.0, limit=2))
    assert [job.name for job in made.instance.jobs] == ["j0", "j1", "j2"]
    made = instance_of(jobs(32, 1, 1, 1), cluster(), TABLE, Choice(window=(0, 9), limit=2))
    assert [job.name for job in made.instance.jobs] == ["j0", "j1"]


@pytest.mark.parametrize("choice", [Choice(at=9.0), Choice(window=(0.0, 9.0))], ids=["at", "window"])
def test_jobs_larger_than_the_cluster_are_left_out(choice: Choice) -> None:
    """And counted."""
    made = instance_of(jobs(33, 8), cluster(), TABLE, choice)
    assert [job.name for job in made.instance.jobs] == ["j1"]
    assert "1 job (j0): larger than the cluster: it would not fit even alone" in made.skipped


def test_the_cluster_keeps_all_but_its_jobs() -> None:
    """Origin, licence and assumptions are those of both."""
    place = cluster()
    made = instance_of(jobs(8), place, TABLE, Choice(at=0.0))
    assert made.instance.cluster == place.cluster
    assert (made.instance.name, made.instance.source, made.instance.licence) == ("c-t", "here; there", "CC0-1.0; MIT")
    assert made.instance.assumptions[:2] == [
        "1 job of the cluster's own file left out.",
        "The cluster's own file: The cluster was made up.",
    ]
    assert "Left out: 1 job (x): was broken." in made.instance.assumptions


def test_assumptions_count_only_jobs_of_the_instance() -> None:
    """Not those that have ended, or are beyond the limit."""
    made = instance_of(jobs(*[8] * 20), cluster(), TABLE, Choice(at=19.5, limit=1))
    count = len(made.instance.jobs)
    assert any(text.startswith(f"{count} jobs: bert of models.csv") for text in made.instance.assumptions)


def test_an_oversubscribed_cluster_keeps_its_factor() -> None:
    """Running jobs may use it."""
    place = cluster()
    place = msgspec.structs.replace(place, cluster=msgspec.structs.replace(place.cluster, oversubscription=3.0))
    assert instance_of(jobs(8), place, TABLE, Choice(at=0.0)).instance.cluster.oversubscription == 3.0


def test_a_month_of_philly_on_a_thin_network_is_valid() -> None:
    """The queue breaks no rule of the validator: GPUs, uplinks and all; jobs wait when the cluster is small."""
    file = whole("philly/philly.csv.gz")
    found = READERS["philly"](file.read_bytes(), file.name)
    place = cluster(nodes=24)
    nodes = [msgspec.structs.replace(node, uplink_gbps=10.0) for node in place.cluster.nodes]
    place = msgspec.structs.replace(place, cluster=msgspec.structs.replace(place.cluster, nodes=nodes))
    made = instance_of(found, place, TABLE, Choice(at=45 * 86_400.0))
    running = [job for job in made.instance.jobs if job.placement]
    assert sum(job.gpus for job in running) > 100
    assert made.counts["jobs waiting"] > 0
