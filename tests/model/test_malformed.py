"""Every kind of malformed instance names the place, the value found, and what was expected."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.model.samples import ABSENT, defects_of, edited, example

N, S, J = "cluster.nodes", "cluster.switches", "jobs"

WRONG_TYPES: list[tuple[str, Any, str, str, str]] = [
    ("format", "crop-instance/2", "$.format", '"crop-instance/2"', '"crop-instance/1"'),
    ("format", "crop-solution/1", "$.format", '"crop-solution/1"', '"crop-instance/1"'),
    ("format", ABSENT, "$.format", "nothing", '"crop-instance/1"'),
    ("format", 1, "$.format", "1", '"crop-instance/1"'),
    ("cluster", ABSENT, "$.cluster", "nothing", "an object with levels, nodes"),
    ("cluster", [], "$.cluster", "an empty list", "an object with levels, nodes"),
    ("jobs", ABSENT, "$.jobs", "nothing", "a list"),
    ("jobs", {"a": 1}, "$.jobs", "an object", "a list of which each element is an object with name, gpus"),
    ("jobs.0", "pinned", "$.jobs[0]", '"pinned"', "an object with name, gpus"),
    ("jobs.0", None, "$.jobs[0]", "null", "an object with name, gpus"),
    ("name", None, "$.name", "null", "text"),
    ("assumptions", "none", "$.assumptions", '"none"', "a list of which each element is text"),
    ("cluster.levels", "node", "$.cluster.levels", '"node"', "a list of which each element is text"),
    ("cluster.levels", ABSENT, "$.cluster.levels", "nothing", "a list"),
    ("cluster.levels.1", 3, "$.cluster.levels[1]", "3", "text"),
    (f"{N}.0.gpus", "8", "$.cluster.nodes[0].gpus", '"8" (node "n1")', "a whole number from 0 to 1024"),
    (f"{N}.0.gpus", 8.0, "$.cluster.nodes[0].gpus", "8.0", "a whole number"),
    (f"{N}.0.gpus", True, "$.cluster.nodes[0].gpus", "true", "a whole number"),
    (f"{N}.0.gpus", None, "$.cluster.nodes[0].gpus", "null", "a whole number"),
    (f"{N}.1.gpus", ABSENT, "$.cluster.nodes[1].gpus", 'nothing (node "n2")', "a whole number"),
    (f"{N}.1.name", ABSENT, "$.cluster.nodes[1].name", "nothing", "text"),
    (f"{N}.1.state", "idle", "$.cluster.nodes[1].state", '"idle"', '"drained" or "up"'),
    (f"{N}.1.slowdown", "slow", "$.cluster.nodes[1].slowdown", '"slow"', "a number from 1 to 1000000"),
    (f"{N}.1.slowdown", False, "$.cluster.nodes[1].slowdown", "false", "a number"),
    (
        f"{N}.1.resources",
        [96],
        "$.cluster.nodes[1].resources",
        "a list of 1",
        "an object whose values are each a number",
    ),
    (f"{N}.0.resources.cpu", "96", "$.cluster.nodes[0].resources.cpu", '"96"', "a number from 0"),
    (f"{N}.0.gpu", 8, "$.cluster.nodes[0].gpu", 'unknown field with 8 (node "n1")', "known field"),
    (f"{S}.2.uplink", 8, "$.cluster.switches[2].uplink", "unknown field", 'did you mean "uplink_gbps"?'),
    ("jobs.0.wieght", 2, "$.jobs[0].wieght", "unknown field with 2", "known field"),
    ("jobs.2.wieght", 2, "$.jobs[2].wieght", 'unknown field with 2 (job "plain")', 'did you mean "weight"?'),
    ("jobs.2.zzz", [1], "$.jobs[2].zzz", "unknown field with a list of 1", "a known field: name, gpus, weight"),
    ("clutser", {}, "$.clutser", "unknown field with an object", "a known field"),
    ("jobs.0.compute_s", "1", "$.jobs[0].compute_s", '"1"', "a number from 1e-9 to 1e9 or an object"),
    ("jobs.0.compute_s.A100", None, "$.jobs[0].compute_s.A100", "null", "a number from 1e-9 to 1e9"),
    ("jobs.0.required", "yes", "$.jobs[0].required", '"yes"', "true or false"),
    ("jobs.0.required", 1, "$.jobs[0].required", "1", "true or false"),
    ("jobs.0.segment", 4, "$.jobs[0].segment", "4", "an object with gpus, level"),
    ("jobs.0.segment.gpus", ABSENT, "$.jobs[0].segment.gpus", "nothing", "a whole number from 1 to 1000000"),
    ("jobs.0.spread", {"level": "node"}, "$.jobs[0].spread.max_gpus", "nothing", "a whole number"),
    (
        "jobs.0.placement",
        ["n1"],
        "$.jobs[0].placement",
        "a list of 1",
        "an object whose values are each a whole number",
    ),
    ("jobs.0.placement.n1", 4.5, "$.jobs[0].placement.n1", "4.5", "a whole number from 1 to 1000000"),
    ("jobs.0.within", 1, "$.jobs[0].within", "1", "text"),
    ("objective", None, "$.objective", "null", "an object"),
    ("objective.cut_penality", 0, "$.objective.cut_penality", "unknown field", "known field"),
]

WRONG_VALUES: list[tuple[str, Any, str, str, str]] = [
    ("name", "a\x1b[31m", "$.name", '"a\\u001b[31m"', "printable characters"),
    ("name", "a\nobjective 99", "$.name", r'"a\nobjective 99"', "printable characters"),
    ("jobs.0.gpus", 4.0, "$.jobs[0].gpus", "4.0", "written without a decimal point"),
    ("cluster.levels", [], "$.cluster.levels", "an empty list", "the names of the levels"),
    ("cluster.levels.0", "rack", "$.cluster.levels[1]", '"rack", the name of $.cluster.levels[0]', "no other one"),
    ("cluster.levels.0", "cluster", "$.cluster.levels[0]", '"cluster"', "another name"),
    ("cluster.levels.0", "", "$.cluster.levels[0]", '""', "not empty"),
    ("cluster.oversubscription", 0, "$.cluster.oversubscription", "0", "a number from 1e-6 to 1000000"),
    (f"{N}", [], "$.cluster.nodes", "an empty list", "at least one node"),
    (f"{N}.1.name", "n1", "$.cluster.nodes[1].name", '"n1", the name of $.cluster.nodes[0]', "no other one"),
    (f"{N}.1.name", "", "$.cluster.nodes[1].name", '""', "not empty"),
    (f"{N}.1.name", "a\nb", "$.cluster.nodes[1].name", '"a\\nb"', "printable"),
    (f"{N}.1.gpus", -8, "$.cluster.nodes[1].gpus", '-8 (node "n2")', "from 0 to 1024"),
    (f"{N}.1.gpus", 10**30, "$.cluster.nodes[1].gpus", "1" + "0" * 30, "from 0 to 1024"),
    (f"{N}.1.gpus", 10**200, "$.cluster.nodes[1].gpus", "10^200 or so", "from 0 to 1024"),
    (f"{N}.1.gpu_type", " ", "$.cluster.nodes[1].gpu_type", '" "', "not empty"),
    (f"{N}.1.uplink_gbps", 0, "$.cluster.nodes[1].uplink_gbps", "0", "from 1e-6 to 1e9"),
    (f"{N}.1.gpu_link_gbps", -1, "$.cluster.nodes[1].gpu_link_gbps", "-1", "from 1e-6 to 1e9"),
    (f"{N}.1.fabric_gbps", 1e300, "$.cluster.nodes[1].fabric_gbps", "1e+300", "from 1e-6 to 1e9"),
    (f"{N}.1.slowdown", 0.5, "$.cluster.nodes[1].slowdown", "0.5", "from 1 to 1000000"),
    (f"{N}.1.failures_per_day", -0.1, "$.cluster.nodes[1].failures_per_day", "-0.1", "from 0"),
    (f"{N}.0.resources.cpu", -96, "$.cluster.nodes[0].resources.cpu", "-96", "from 0"),
    (f"{N}.1.resources.gpus", 8, "$.cluster.nodes[1].resources.gpus", "8", 'GPUs are the field "gpus"'),
    (f"{N}.0.resources", {"": 1}, '$.cluster.nodes[0].resources[""]', 'the name ""', "not empty"),
    (f"{N}.0.used.gpus", 9, "$.cluster.nodes[0].used.gpus", '9 (node "n1")', "at most 8"),
    (f"{N}.0.used.gpus", 0.5, "$.cluster.nodes[0].used.gpus", "0.5", "a whole number"),
    (f"{N}.0.used.cpu", 97, "$.cluster.nodes[0].used.cpu", "97", "at most 96"),
    (f"{N}.0.used.cpus", 1, "$.cluster.nodes[0].used.cpus", "an unknown resource", 'did you mean "cpu"?'),
    (f"{N}.0.parent", ABSENT, "$.cluster.nodes[0].parent", 'nothing (node "n1")', 'a switch of level "rack"'),
    (f"{N}.0.parent", "rack-9", "$.cluster.nodes[0].parent", '"rack-9" (node "n1"), which is no switch', '"rack"'),
    (f"{N}.0.parent", "pod", "$.cluster.nodes[0].parent", 'a switch of level "pod"', 'a switch of level "rack"'),
    (f"{N}.0.parent", "n2", "$.cluster.nodes[0].parent", "which is a node", 'a switch of level "rack"'),
    (f"{S}.0.parent", "rack-1", "$.cluster.switches[0].parent", '"rack-1" (switch "pod")', "no parent"),
    (f"{S}.1.parent", ABSENT, "$.cluster.switches[1].parent", "nothing", 'a switch of level "pod"'),
    (f"{S}.1.parent", "pood", "$.cluster.switches[1].parent", '"pood"', 'a switch of level "pod"'),
    (f"{S}.1.parent", "rack-1", "$.cluster.switches[1].parent", "a cycle", 'a switch of level "pod"'),
    (f"{S}.1.level", "node", "$.cluster.switches[1].level", '"node"', "the last level is the nodes'"),
    (f"{S}.1.level", "rak", "$.cluster.switches[1].level", '"rak" (switch "rack-1")', 'did you mean "rack"?'),
    (f"{S}.1.level", "pod", "$.cluster.switches[1].parent", '"pod" (switch "rack-1")', "no parent"),
    (f"{S}.2.name", "rack-1", "$.cluster.switches[2].name", '"rack-1", the name of $.cluster.switches[1]', "no other"),
    (f"{S}.1.uplink_gbps", -400, "$.cluster.switches[1].uplink_gbps", '-400 (switch "rack-1")', "from 1e-6"),
    ("cluster.levels", ["node"], "$.cluster.nodes[0].parent", '"rack-1" (node "n1")', "no parent"),
    ("cluster.levels", ["node"], "$.cluster.switches[0].level", '"pod"', "no switch at all"),
    ("objective.horizon_minutes", 0, "$.objective.horizon_minutes", "0", "from 1e-6"),
    ("objective.cut_penalty", -1, "$.objective.cut_penalty", "-1", "from 0"),
    ("jobs.1.name", "plain", "$.jobs[2].name", '"plain", the name of $.jobs[1]', "no other one"),
    ("jobs.2.gpus", 0, "$.jobs[2].gpus", '0 (job "plain")', "from 1 to 1000000"),
    ("jobs.2.gpus", 1_000_001, "$.jobs[2].gpus", "1000001", "from 1 to 1000000"),
    ("jobs.2.weight", 0, "$.jobs[2].weight", "0", "from 1e-9 to 1e9"),
    ("jobs.2.compute_s", -0.5, "$.jobs[2].compute_s", "-0.5", "from 1e-9"),
    ("jobs.2.compute_s", {}, "$.jobs[2].compute_s", 'an empty object (job "plain")', "at least one GPU type"),
    ("jobs.0.compute_s.A100", 0, "$.jobs[0].compute_s.A100", "0", "from 1e-9"),
    ("jobs.2.message_mb", -1, "$.jobs[2].message_mb", "-1", "from 0"),
    ("jobs.2.overlap", 1.01, "$.jobs[2].overlap", "1.01", "a number from 0 to 1"),
    ("jobs.2.pattern", "allreduc", "$.jobs[2].pattern", '"allreduc"', 'did you mean "allreduce"?'),
    ("jobs.2.resources_per_gpu", {"cpu": -1}, "$.jobs[2].resources_per_gpu.cpu", "-1", "from 0"),
    ("jobs.2.resources_per_gpu", {"gpus": 1}, "$.jobs[2].resources_per_gpu.gpus", "1", "a worker takes one GPU"),
    ("jobs.2.restart_minutes", -1, "$.jobs[2].restart_minutes", "-1", "from 0"),
    ("jobs.2.checkpoint_minutes", 1e10, "$.jobs[2].checkpoint_minutes", "1e+10", "to 1e9"),
    ("jobs.2.within", "zone", "$.jobs[2].within", '"zone" (job "plain")', '"pod", "rack" or "node"'),
    ("jobs.0.segment.level", "racks", "$.jobs[0].segment.level", '"racks"', 'did you mean "rack"?'),
    ("jobs.0.segment.gpus", 0, "$.jobs[0].segment.gpus", "0", "from 1"),
    ("jobs.0.spread.level", "cluster", "$.jobs[0].spread.level", '"cluster"', "a level of the cluster"),
    ("jobs.0.spread.max_gpus", 0, "$.jobs[0].spread.max_gpus", "0", "from 1"),
    ("jobs.0.gpus_per_node", 0, "$.jobs[0].gpus_per_node", "0", "from 1"),
    ("jobs.1.migration_minutes", -10, "$.jobs[1].migration_minutes", "-10", "from 0"),
    ("jobs.1.placement", {}, "$.jobs[1].placement", "an empty object", "at least one node"),
    ("jobs.1.placement", {"n3": 3}, "$.jobs[1].placement", '3 GPUs in all (job "movable")', "4, the job's gpus"),
    ("jobs.1.placement", {"n3": 0, "n2": 4}, "$.jobs[1].placement.n3", "0", "from 1"),
    ("jobs.1.placement", {"n-9": 4}, '$.jobs[1].placement["n-9"]', 'unknown node "n-9"', "a node of the cluster"),
    ("jobs.1.placement", {"n4": 4}, "$.jobs[1].placement.n4", 'node "n4", which is drained', "a node that is up"),
    ("jobs.1.compute_s", {"H100": 1}, "$.jobs[1].placement.n3", 'of GPU type "V100"', 'a node of type "H100"'),
    ("jobs.1.gpus_per_node", 2, "$.jobs[1].placement.n3", '4 (job "movable")', "2, as gpus_per_node says"),
    (
        "jobs.1.segment",
        {"gpus": 3, "level": "rack"},
        "$.jobs[1].placement",
        '4 GPUs in rack "rack-2"',
        "a multiple of 3",
    ),
    ("jobs.1.spread", {"max_gpus": 3, "level": "pod"}, "$.jobs[1].placement", '4 GPUs in pod "pod"', "at most 3"),
    ("jobs.0.within", "node", "$.jobs[0].placement", '2 domains of level "node": "n1", "n2"', "all in one"),
    ("jobs.0.resources_per_gpu.cpu", 22, "$.jobs[0].placement.n1", '88 cpu on node "n1" (job "pinned")', "at most 86"),
    (f"{N}.0.used.gpus", 5, "$.jobs[0].placement.n1", '4 GPUs on node "n1"', "at most 3: the node has 8, 5 of it used"),
]


@pytest.mark.parametrize(("place", "value", "path", "found", "expected"), WRONG_TYPES + WRONG_VALUES)
def test_one_slip_is_one_defect(tmp_path: Path, place: str, value: Any, path: str, found: str, expected: str) -> None:
    """One changed value is reported at its path, with the value and what was expected."""
    defects = defects_of(tmp_path, edited(place, value))
    at_path = [d for d in defects if d.path == path]
    assert at_path, f"nothing at {path}: {[str(d) for d in defects]}"
    assert any(found in d.found and expected in d.expected for d in at_path), [str(d) for d in at_path]


def test_the_example_is_valid(tmp_path: Path) -> None:
    """What the cases start from has no defect, so each is due to the one change."""
    assert defects_of(tmp_path, example()) == []


@pytest.mark.parametrize(
    ("place", "value", "path"), [(place, value, path) for place, value, path, *_ in WRONG_TYPES if path.count(".") > 1]
)
def test_a_wrong_type_hides_nothing_and_brings_nothing_else(tmp_path: Path, place: str, value: Any, path: str) -> None:
    """What stands in for an unreadable value is not judged, and all that does not depend on it still is."""
    if path.startswith("$.cluster.levels"):
        place, value, path = "cluster.levels", 7, "$.cluster.levels"
    document = edited(place, value)
    document["jobs"].append({"name": "late", "gpus": 0, "overlap": 7})
    assert [d.path for d in defects_of(tmp_path, document)] == [path, "$.jobs[4].gpus", "$.jobs[4].overlap"]


@pytest.mark.parametrize(
    ("literal", "shown"),
    [
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
        ("1e999", "1e999"),
        ("-1e999", "-1e999"),
        ("9" * 5000, "9" * 59 + "…"),
    ],
)
@pytest.mark.parametrize("place", ["cluster.nodes.1.gpus", "jobs.2.compute_s", "jobs.0.placement.n1", "jobs.2.weight"])
def test_numbers_beyond_json_are_shown_as_written(tmp_path: Path, place: str, literal: str, shown: str) -> None:
    """NaN, infinities and numbers without end are reported at their path like any other wrong value."""
    text = json.dumps(edited(place, "MARK")).replace('"MARK"', literal)
    (defect,) = defects_of(tmp_path, text)
    assert defect.path == "$." + place.replace(".1.", "[1].").replace(".2.", "[2].").replace(".0.", "[0].")
    assert defect.found.startswith(shown)
    assert "number from" in defect.expected


@pytest.mark.parametrize(
    ("old", "new", "path", "found"),
    [
        ('{"n1": 4, "n2": 4}', '{"n1": 4, "n1": 4}', "$.jobs[0].placement.n1", '"n1" 2 times (job "pinned")'),
        ('"required": true', '"required": true, "gpus": 4, "gpus": 4', "$.jobs[3].gpus", '"gpus" 3 times'),
        ('"licence"', '"name"', "$.name", '"name" 2 times'),
        ('"A100": 0.45', '"V100": 0.45', "$.jobs[0].compute_s.V100", '"V100" 2 times'),
    ],
)
def test_a_name_twice_in_an_object_is_a_defect(tmp_path: Path, old: str, new: str, path: str, found: str) -> None:
    """Nothing is read as the last of two values that stand under one name."""
    text = json.dumps(example())
    assert old in text
    defects = defects_of(tmp_path, text.replace(old, new))
    assert [(d.path, found in d.found, d.expected) for d in defects] == [(path, True, "each name once in an object")]


@pytest.mark.parametrize("place", ["name", "jobs.2.name", "cluster.nodes.0.resources"])
def test_half_a_surrogate_pair_is_no_text(tmp_path: Path, place: str) -> None:
    """JSON can spell what no UTF-8 text holds; it is refused, not crashed on."""
    value = {"\ud800": 1} if place.endswith("resources") else "\ud800"
    defects = defects_of(tmp_path, json.dumps(edited(place, value)))
    assert any("surrogate" in d.expected and "\\ud800" in d.found for d in defects)


def test_all_defects_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Wrong types, wrong values and wrong references of one file are one list, each told once."""
    document = edited("cluster.nodes.1.gpus", "8")
    for place, value in [
        ("cluster.switches.2.level", "rak"),
        ("cluster.nodes.0.slowdown", 0),
        ("objective.horizon_minutes", -1),
        ("jobs.0.pattern", "ring"),
        ("jobs.0.overlap", 2),
        ("jobs.1.placement", {"n3": 3, "n9": 1}),
        ("jobs.2.gpu", 1),
        ("jobs.3.within", "zone"),
    ]:
        edited(place, value, document)
    assert [d.path for d in defects_of(tmp_path, document)] == [
        "$.cluster.switches[2].level",
        "$.cluster.nodes[0].slowdown",
        "$.cluster.nodes[1].gpus",
        "$.objective.horizon_minutes",
        "$.jobs[0].overlap",
        "$.jobs[0].pattern",
        "$.jobs[1].placement.n9",
        "$.jobs[2].gpu",
        "$.jobs[3].within",
    ]


@pytest.mark.parametrize(
    ("content", "path", "found", "expected"),
    [
        (b"", "$", "an empty file", "a JSON file in UTF-8"),
        (b" \n\t", "$", "an empty file", "a JSON file"),
        ('{"a": 1}'.encode("utf-16"), "$", "UTF-16", "UTF-8"),
        (b"\x00\x01\x02\x03", "$", "binary data", "UTF-8"),
        (b'{\n "name": "\xff"}', "line 2, byte 11", "the byte 0xff", "UTF-8"),
        (b"[" * 100_000, "$", "nested too deeply", ""),
        (b'{"x": ' + b"[" * 100_000, "$", "nested too deeply", ""),
        (b'{"format": "crop-inst', "line 1, column 12", "crop-inst", "a closing quote"),
        (b'{"format":\n', "line 2, column 1", "the end of the file (is it truncated?)", "a value"),
        (b'{"jobs": [1, 2', "line 1, column 15", "the end of the file", '","'),
        (b'{\n"a": 1,\n}', "line 3, column 1", '"}"', "a name in double quotes"),
        (b"{'a': 1}", "line 1, column 2", "'a'", "a name in double quotes"),
        (b'{"a" 1}', "line 1, column 6", '"1}"', 'a ":"'),
        (b'{"a": 1 "b": 2}', "line 1, column 9", "b", 'a ","'),
        (b'{"a": 1} {}', "line 1, column 10", '"{}"', "the end of the file"),
        (b'{"a": "x\ny"}', "line 1, column 9", "", "without raw line breaks"),
        (b"# comment", "line 1, column 1", '"# comment"', "a value"),
        (b'{"a": 01}', "line 1, column 8", '"1}"', '","'),
        (b"[1, 2]", "$", "a list of 2", "an object with format, cluster, jobs"),
        (b"null", "$", "null", "an object with format, cluster, jobs"),
        (b"\x1f\x8bjunk-and-more", "$", "damaged gzip data", "a whole gzip file"),
        (gzip.compress(b'{"a": 1}' * 100, mtime=0)[:-9], "$", "ends too early", "a whole gzip file"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-8] + b"12345678", "$", "damaged gzip data", "a whole gzip file"),
        (gzip.compress(b"", mtime=0), "$", "an empty file", "a JSON file"),
    ],
)
def test_files_that_are_no_json(tmp_path: Path, content: bytes, path: str, found: str, expected: str) -> None:
    """A file that cannot be parsed is one defect with line and column where there are any."""
    (defect,) = defects_of(tmp_path, content)
    assert defect.path == path
    assert found in defect.found
    assert expected in defect.expected
