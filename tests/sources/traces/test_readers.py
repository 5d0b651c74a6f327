"""Readers of public traces, on excerpts of the real files and on broken ones."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.traces import elasticflow, gavel, openb, philly, tiresias
from crop_cli.sources.traces.reading import Record, merged
from crop_cli.sources.traces.registry import READERS
from tests.sources.public import excerpt

PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)
FILES = [
    ("philly", "philly.csv"),
    ("gavel", "gavel.trace"),
    ("gavel", "gavel_physical.trace"),
    ("openb", "openb_gpuspec.csv"),
    ("openb", "openb_untimed.csv"),
    ("elasticflow", "elasticflow.csv"),
    ("tiresias", "tiresias.csv"),
]


@pytest.mark.parametrize(("name", "file"), FILES, ids=[file for _, file in FILES])
def test_every_row_is_a_record_or_is_skipped(name: str, file: str) -> None:
    """Nothing is lost; records are in order of arrival, with names of their own."""
    data = excerpt(file)
    reading = READERS[name](data, file)
    lines = len(data.decode().splitlines()) - (not file.endswith(".trace"))
    assert len(reading.records) + len(reading.skipped) == lines
    assert [r.arrival_s for r in reading.records] == sorted(r.arrival_s for r in reading.records)
    assert len({r.name for r in reading.records}) == len(reading.records)
    assert reading.counts["jobs read"] == len(reading.records)
    assert reading.counts["GPUs they ask for"] == sum(r.gpus for r in reading.records)
    assert reading.source and reading.licence


def test_philly_counts_from_its_first_arrival() -> None:
    """Rows need no order; names are row numbers, groups virtual clusters."""
    reading = philly.read(excerpt("philly.csv"), "philly.csv")
    assert reading.start == datetime(2017, 9, 29, 7, 58, 32)
    assert reading.records[0] == Record("p2", 1, 0.0, duration_s=860662.0, group="6c71a0")
    assert Counter(record.gpus for record in reading.records) == {1: 12, 8: 8}


def test_philly_skips_what_does_not_run() -> None:
    """No GPU, or no time."""
    text = PHILLY + "2017-10-09 07:01:55,0.0,1,0,a\n2017-10-09 07:01:56,5,0,0,a\n2017-10-09 07:01:57,5,2,10,a\n"
    reading = philly.read(text.encode(), "f")
    assert [(s.name, s.reason) for s in reading.skipped] == [("p0", "ran for 0 seconds"), ("p1", "asks for no GPU")]
    assert reading.records == [Record("p2", 2, 2.0, duration_s=5.0, group="a")]


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ("yesterday,5,1,5,a", "line 2, timestamp"),
        ("2017-10-09T07:01:55+02:00,5,1,5,a", "line 2, timestamp"),
        ("2017-10-09 07:01:55,-5,1,5,a", "line 2, duration"),
        ("2017-10-09 07:01:55,5,1.5,5,a", "line 2, num_gpus"),
        ("2017-10-09 07:01:55,5,1,5,", "line 2, cluster"),
    ],
)
def test_philly_names_broken_cells(row: str, where: str) -> None:
    """Line and column."""
    with pytest.raises(InputError, match=where):
        philly.read((PHILLY + row + "\n").encode(), "f")


def test_gavel_shares_the_steps_of_a_job() -> None:
    """Model and batch from the type, iterations of each worker from the steps of all."""
    reading = gavel.read(excerpt("gavel.trace"), "f")
    assert reading.records[0] == Record("g0", 4, 0.0, iterations=5352613 / 4, model="Transformer", batch=128)


def test_gavel_of_the_later_form_has_its_columns_elsewhere() -> None:
    """Ten fields: GPUs before the weight, arrival last."""
    reading = gavel.read(excerpt("gavel_physical.trace"), "f")
    assert reading.records[1] == Record("g1", 2, 0.0, iterations=11005 / 2, model="Transformer", batch=16)
    assert reading.counts["jobs in the file"] == 15


def test_gavel_types_without_a_batch_size() -> None:
    """A3C and CycleGAN have none; a quote in a command is no quoting."""
    (record,) = gavel.read(b'A3C\tpython3 "main.py\t-n\t1\t100\t7.5\t1\n', "f").records
    assert (record.model, record.batch, record.iterations, record.arrival_s) == ("A3C", None, 100.0, 7.5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("A3C\tcmd\t-n\t1\t100\t0", "6 fields"),
        ("A3C\tcmd\t-n\t1\tmany\t0\t1", "line 1, steps"),
        ("A3C\tcmd\t-n\t1\t100\tsoon\t1", "line 1, arrival"),
        ("A3C\tcmd\t-n\t1\t100\t0\tone", "line 1, gpus"),
        ("\tcmd\t-n\t1\t100\t0\t1", "line 1, type"),
        ("A3C\tcmd\t-n\t1\t100\t0\t1\nA3C\tcmd", "line 2: found 2 cells"),
    ],
)
def test_gavel_names_broken_lines(line: str, words: str) -> None:
    """Line and field."""
    with pytest.raises(InputError) as caught:
        gavel.read(line.encode(), "f")
    assert words in str(caught.value)


def test_gavel_skips_jobs_without_steps_or_gpus() -> None:
    """Each with its reason."""
    reading = gavel.read(b"A3C\tc\t-n\t1\t0\t0\t1\nA3C\tc\t-n\t1\t5\t0\t0\n", "f")
    assert [skip.reason for skip in reading.skipped] == ["has no steps to do", "asks for no GPU"]


def test_openb_keeps_whole_gpus_only() -> None:
    """Pods without GPUs and with a part of one are skipped; those never bound have no run time."""
    reading = openb.read(excerpt("openb_gpuspec.csv"), "f")
    assert Counter(skip.reason for skip in reading.skipped) == {"asks for no GPU": 3, "asks for a part of a GPU": 3}
    assert [r.name for r in reading.records if not r.timed] == ["openb-pod-0061", "openb-pod-0084"]
    assert (reading.counts["pods in the file"], reading.counts["pods with GPUs"]) == (19, 16)


def test_openb_pods_are_on_one_node_with_their_share() -> None:
    """Cores and GiB per GPU, allowed types, seconds from binding to end."""
    record = next(r for r in openb.read(excerpt("openb_gpuspec.csv"), "f").records if r.name == "openb-pod-0017")
    assert (record.gpus, record.one_node, record.gpu_types) == (8, True, ("G2",))
    assert record.resources_per_gpu == {"cpu": 11.0, "memory_gib": 40.0}
    assert (record.arrival_s, record.duration_s) == (9437497, 10769854 - 9437497)


def test_openb_without_times_arrives_at_once() -> None:
    """The list of more multi-GPU pods has five columns only."""
    reading = openb.read(excerpt("openb_untimed.csv"), "f")
    assert {(r.arrival_s, r.timed) for r in reading.records} == {(0.0, False)}
    assert "The list states no times: every pod arrives at 0." in reading.assumptions


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("a,1,1,1,1000,,LS,Running,0,1,0\na,1,1,1,1000,,LS,Running,0,1,0\n", "line 3, name"),
        ("a,x,1,1,1000,,LS,Running,0,1,0\n", "line 2, cpu_milli"),
        ("a,1,1,1,1000,,LS,Running,,1,0\n", "line 2, creation_time"),
        ("a,1,1,1,1000,,LS,Running,0,x,0\n", "line 2, deletion_time"),
        ("a,1,1,-1,1000,,LS,Running,0,1,0\n", "line 2, num_gpu"),
    ],
)
def test_openb_names_broken_cells(rows: str, words: str) -> None:
    """Line and column."""
    with pytest.raises(InputError, match=words):
        openb.read((OPENB + rows).encode(), "f")


def test_openb_pods_that_end_when_they_begin_are_skipped() -> None:
    """They ran for 0 seconds."""
    reading = openb.read((OPENB + "a,1,1,1,1000,,LS,Running,0,5,5\n").encode(), "f")
    assert [skip.reason for skip in reading.skipped] == ["ran for 0 seconds"]


def test_elasticflow_shares_the_batch() -> None:
    """Its batch size is that of all workers."""
    reading = elasticflow.read(excerpt("elasticflow.csv"), "f")
    assert reading.records[1] == Record("e1", 4, 219316.0, duration_s=1792395.0, model="vgg16", batch=16.0)


def test_tiresias_names_become_those_of_the_table() -> None:
    """inception3 and inception4 are inception-v3 and inception-v4."""
    models = {record.model for record in tiresias.read(excerpt("tiresias.csv"), "f").records}
    assert {"inception-v3", "inception-v4", "alexnet", "vgg19"} <= models


@pytest.mark.parametrize(
    ("name", "file", "row", "column"),
    [
        ("elasticflow", "elasticflow.csv", "0,1,1,vgg16,1,64,1,5,5,1", "job_id"),
        ("elasticflow", "elasticflow.csv", "99,1,1,vgg16,1,64,1,x,5,1", "real_duration"),
        ("tiresias", "tiresias.csv", "0,1,0,1,vgg19,5,1", "job_id"),
        ("tiresias", "tiresias.csv", "99,x,0,1,vgg19,5,1", "num_gpu"),
    ],
)
def test_numbers_that_stand_twice_or_cannot_be_read_are_named(name: str, file: str, row: str, column: str) -> None:
    """Of the line added to a real file."""
    with pytest.raises(InputError, match=f"line 22, {column}"):
        READERS[name](excerpt(file) + row.encode() + b"\n", file)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x1f\x8b\x00", b"\xff\xfe\x00", b"a,b\n1,2\n", b"{}"], ids=range(6))
def test_another_file_is_an_input_error(name: str, data: bytes) -> None:
    """Every reader refuses it by name."""
    with pytest.raises(InputError, match="wrong"):
        READERS[name](data, "wrong")


def test_files_with_dates_are_merged_on_one_calendar() -> None:
    """The later file's clock starts later; names get the file's stem."""
    early = philly.read((PHILLY + "2017-10-09 00:00:00,5,1,5,a\n").encode(), "x/early.csv.gz")
    late = philly.read((PHILLY + "2017-10-09 00:01:00,5,1,5,a\n").encode(), "late.csv")
    reading = merged({"late.csv": late, "x/early.csv.gz": early})
    assert [(r.name, r.arrival_s) for r in reading.records] == [("early-p0", 0.0), ("late-p0", 60.0)]
    assert (reading.start, reading.counts["jobs read"]) == (datetime(2017, 10, 9), 2)


def test_files_without_dates_are_merged_on_one_clock() -> None:
    """And assumptions that are equal are said once."""
    parts = {name: gavel.read(excerpt("gavel.trace"), name) for name in ("a.trace", "b.trace")}
    reading = merged(parts)
    assert [r.name for r in reading.records[:2]] == ["a-g0", "b-g0"]
    assert len(reading.assumptions) == 2


def test_a_file_of_elasticflow_is_none_of_tiresias() -> None:
    """All but one of the columns are there, under a meaning of their own."""
    with pytest.raises(InputError, match="columns iterations too"):
        tiresias.read(excerpt("elasticflow.csv"), "f")


def test_files_of_one_name_get_names_of_their_own() -> None:
    """Jobs of a/t.csv and b/t.csv do not share names."""
    whole = merged({f: tiresias.read(excerpt("tiresias.csv"), f) for f in ("a/t.csv", "b/t.csv")})
    names = [record.name for record in whole.records]
    assert len(set(names)) == len(names)
    assert {name.split("-")[0] for name in names} == {"t", "t.2"}
