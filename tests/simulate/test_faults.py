"""Fault traces: both forms, every defect, and how their nodes come to be nodes of a cluster."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.simulate.faults import FaultTrace, load_faults, read_faults, replay

DAY = 86_400.0


def event(node: object, day: object, kind: object = "fault_start") -> dict[str, Any]:
    """An event as InfiniteHBD publishes them."""
    return {"node_id": node, "event_time": day, "event_type": kind, "fault_type": {"Level": "Hardware Failure"}}


def of_events(*events: object) -> FaultTrace:
    """The trace of these events."""
    return read_faults(json.dumps(events).encode(), "f.json")


def of_rows(*rows: str) -> FaultTrace:
    """The trace of these lines of CSV."""
    return read_faults("\n".join(["node,start_s,end_s", *rows]).encode(), "f.csv")


def defects(data: bytes) -> list[str]:
    """What is said to be wrong."""
    with pytest.raises(InputError) as caught:
        read_faults(data, "f")
    return [str(defect) for defect in caught.value.defects]


def test_events_become_faults_in_seconds() -> None:
    """Days are seconds, starts and ends of a node belong together, nodes are named in order of appearance."""
    trace = of_events(event("b", 1), event("a", 1.5), event("b", 2, "fault_end"), event("a", 3, "fault_end"))
    assert trace.nodes == ["b", "a"]
    assert trace.faults == [("b", DAY, 2 * DAY), ("a", 1.5 * DAY, 3 * DAY)]


def test_faults_of_a_node_may_overlap() -> None:
    """The first end closes the first start; of one moment the order of the file counts."""
    both = of_events(event(7, 1), event(7, 2), event(7, 3, "fault_end"), event(7, 3, "fault_end"))
    assert both.faults == [("7", DAY, 3 * DAY), ("7", 2 * DAY, 3 * DAY)]
    assert of_events(event(7, 1), event(7, 1, "fault_end")).faults == [("7", DAY, DAY)]


def test_a_fault_may_have_no_end() -> None:
    """What is not repaired in the file is never repaired."""
    assert of_events(event("a", 1)).faults == [("a", DAY, math.inf)]
    assert of_rows("a,1,").faults == [("a", 1.0, math.inf)]


def test_rows_in_any_order() -> None:
    """CSV faults are ordered by their start; columns of no interest are allowed."""
    trace = read_faults(b"kind,end_s,node,start_s\nx,9,b,5\ny,4,a,2.5\n", "f.csv")
    assert trace.faults == [("a", 2.5, 4.0), ("b", 5.0, 9.0)]
    assert trace.nodes == ["b", "a"]


def test_packed_and_empty_traces(tmp_path: Path) -> None:
    """gzip is recognised; a trace without faults is one."""
    (tmp_path / "f.csv.gz").write_bytes(gzip.compress(b"node,start_s,end_s\na,0,1\n"))
    assert load_faults(tmp_path / "f.csv.gz").faults == [("a", 0.0, 1.0)]
    assert of_events().faults == of_rows().faults == []
    assert replay(of_events(), ["n0"]).faults == []


def test_every_defect_of_events() -> None:
    """Each field that cannot be used is named with its place."""
    bad = [event("", 1), event("a", -1), event("a", 1, "fault"), 5, {}, event(True, True), event("a", math.nan)]
    assert defects(json.dumps(bad).encode()) == [
        '$[0].node_id: found ""; expected a name',
        "$[1].event_time: found -1; expected days, at least 0",
        '$[2].event_type: found "fault"; expected "fault_start" or "fault_end"',
        '$[3]: found 5; expected an object with "node_id", "event_time" and "event_type"',
        "$[4].node_id: found nothing; expected a name",
        "$[4].event_time: found nothing; expected days, at least 0",
        '$[4].event_type: found nothing; expected "fault_start" or "fault_end"',
        "$[5].node_id: found true; expected a name",
        "$[5].event_time: found true; expected days, at least 0",
        "$[6].event_time: found NaN; expected days, at least 0",
    ]


def test_an_end_without_a_start() -> None:
    """Also one that comes before its start."""
    events = [event("a", 2), event("a", 1, "fault_end"), event("b", 3, "fault_end")]
    assert defects(json.dumps(events).encode()) == [
        '$[1]: found fault_end of node "a"; expected a fault_start of the node before it',
        '$[2]: found fault_end of node "b"; expected a fault_start of the node before it',
    ]


def test_every_defect_of_rows() -> None:
    """Each cell that cannot be used is named with line and column."""
    assert defects(b"node,start_s,end_s\n,1,2\na,x,2\na,-1,2\na,5,4\na,1\n") == [
        "line 2, node: found nothing; expected printable text",
        'line 3, start_s: found "x"; expected a number of at least 0',
        'line 4, start_s: found "-1"; expected a number of at least 0',
        'line 5, end_s: found "4"; expected at least start_s, 5',
        "line 6: found 2 cells; expected 3: node, start_s, end_s",
    ]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "$: found an empty file"),
        (b"\xff\xfe\x00", "line 1: found the byte 0xff, which is not UTF-8"),
        (b'{"faults": []}', "$: found no list"),
        (b"[1", "line 1, column 3: found no JSON"),
        (b"[" * 100_000, "$: found lists or objects nested too deeply"),
        (b"node,start\na,1\n", 'line 1: found "node, start"; expected columns start_s, end_s too'),
    ],
    ids=["empty", "binary", "object", "syntax", "deep", "columns"],
)
def test_files_of_another_kind(data: bytes, found: str) -> None:
    """What is no fault trace at all is said to be none."""
    assert defects(data)[0].startswith(found)


def test_nodes_by_name() -> None:
    """A cluster that has all names of the trace gets each node's own faults."""
    trace = of_rows("n2,1,2", "n0,3,4")
    made = replay(trace, ["n0", "n1", "n2"])
    assert made.faults == trace.faults
    assert made.said == "2 faults, nodes by name"


def test_some_names_are_a_mistake() -> None:
    """Every name that the cluster lacks is named."""
    with pytest.raises(InputError) as caught:
        replay(of_rows("n0,1,2", "x,1,2", "y,1,2"), ["n0", "n1"])
    assert [str(defect) for defect in caught.value.defects] == [
        'node: found "x"; expected a node of the cluster, as 1 other node of the file',
        'node: found "y"; expected a node of the cluster, as 1 other node of the file',
    ]


def test_more_nodes_than_the_cluster() -> None:
    """In order of first appearance in the file; the rest is left out, and that is said."""
    made = replay(of_rows("c,9,10", "a,1,2", "b,3,4"), ["n0", "n1"])
    assert made.faults == [("n1", 1.0, 2.0), ("n0", 9.0, 10.0)]
    assert made.said == "2 faults, 3 nodes of the trace in order of first appearance on 2 nodes, 1 left out"


def test_fewer_nodes_than_the_cluster() -> None:
    """The trace is repeated, and that is said."""
    made = replay(of_rows("a,1,2", "b,3,4"), ["n0", "n1", "n2", "n3", "n4"])
    assert [fault[:2] for fault in made.faults] == [("n0", 1), ("n2", 1), ("n4", 1), ("n1", 3), ("n3", 3)]
    assert made.said.endswith("on 5 nodes, repeated and the last of 3 rounds cut")
    assert replay(of_rows("a,1,2"), ["n0", "n1"]).said.endswith("on 2 nodes, repeated")


def test_nodes_without_a_fault() -> None:
    """They are dealt at random together with the others: each cluster node gets a whole history, or none."""
    trace, cluster = of_rows("a,1,2", "a,3,4", "b,5,6"), [f"n{i}" for i in range(6)]
    made = replay(trace, cluster, nodes=6)
    assert [fault[1:] for fault in made.faults] == [(1, 2), (3, 4), (5, 6)]
    assert made.faults[0][0] == made.faults[1][0] != made.faults[2][0]
    assert made.said == "3 faults, 6 nodes of the trace (4 without a fault) at random (seed 0) on 6 nodes"
    assert replay(trace, cluster, nodes=6) == made
    assert len({replay(trace, cluster, nodes=6, seed=seed).faults[0][0] for seed in range(20)}) > 3
    twice = replay(trace, [f"n{i}" for i in range(12)], nodes=6)
    assert len(twice.faults) == 6 and twice.said.endswith("on 12 nodes, repeated")
    assert len(replay(trace, cluster[:1], nodes=400, seed=1).faults) == 0


def test_too_few_nodes_watched() -> None:
    """A trace cannot have watched fewer nodes than it names."""
    with pytest.raises(UsageError, match=r"--fault-nodes: 1 is less than the 2 nodes of f\.csv"):
        replay(of_rows("a,1,2", "b,3,4"), ["n0"], nodes=1)
