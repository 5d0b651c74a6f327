"""Files in every form that kubectl prints, and broken ones."""

from __future__ import annotations

import gzip
import json

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.kubernetes.documents import Input, Key, read_things
from crop_cli.sources.kubernetes.draft import read
from crop_cli.sources.kubernetes.fields import Defects

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "64"}},
}
YAML = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"


def names(*contents: bytes | str) -> list[str]:
    """Names of all objects in files of these contents."""
    inputs = [
        Input(f"file-{i}", content.encode() if isinstance(content, str) else content)
        for i, content in enumerate(contents)
    ]
    defects: Defects = {}
    found = [thing.name for thing in read_things(inputs, defects)]
    assert not any(defects.values())
    return found


def test_forms() -> None:
    """A single object, lists, lists in lists, typed lists without kinds, and documents one after the other are read."""
    one = json.dumps(NODE)
    assert names(one) == ["n1"]
    assert names(json.dumps({"kind": "List", "apiVersion": "v1", "items": [NODE, NODE]})) == ["n1", "n1"]
    assert names(json.dumps({"kind": "List", "items": [{"kind": "List", "items": [NODE]}]})) == ["n1"]
    bare = {key: value for key, value in NODE.items() if key not in ("kind", "apiVersion")}
    assert names(json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [bare]})) == ["n1"]
    assert names(f"{one}\n{one}\n") == ["n1", "n1"]
    assert names(YAML) == ["n1"]
    assert names(f"# comment\n---\n{YAML}---\n---\n{YAML}") == ["n1", "n1"]
    assert names("kind: List\nitems:\n- kind: Node\n  metadata:\n    name: n1\n") == ["n1"]
    assert names('{"kind": "PodList", "apiVersion": "v1", "items": []}') == []


def test_encodings() -> None:
    """UTF-8 with or without a byte order mark, UTF-16 as PowerShell writes it, and gzip are read."""
    text = json.dumps(NODE)
    for content in (b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16"), gzip.compress(text.encode())):
        assert names(content) == ["n1"]


def test_groups_of_typed_lists() -> None:
    """Members of a typed list are of its API group."""
    given = {"kind": "JobList", "apiVersion": "batch/v1", "items": [{"metadata": {"name": "a", "namespace": "x"}}]}
    things = read_things([Input("f", json.dumps(given).encode())], {})
    assert [thing.key for thing in things] == [Key("Job", "batch", "x", "a")]


@pytest.mark.parametrize(
    ("content", "where", "words"),
    [
        pytest.param(b"", "$", "an empty file", id="empty"),
        pytest.param(b" \n\n", "$", "an empty file", id="blank"),
        pytest.param(b'{"kind": "List", "items": [', "line 1", "truncated", id="truncated"),
        pytest.param(b'{\n "kind": "List",\n "items": [} ]}', "line 3, column 12", "valid JSON", id="syntax"),
        pytest.param(b'{"kind": "Node", "x": NaN}', "$", "NaN", id="nan"),
        pytest.param(b"[1, 2]", "$", "a list", id="list"),
        pytest.param(b"NAME  STATUS  ROLES\nn1  Ready  <none>\n", "document 1, $", "text", id="table"),
        pytest.param(b"kind: Node\nmetadata: {name: [}\n", "line 2", "valid YAML", id="yaml"),
        pytest.param(b"kind: Node\n\tname: x\n", "line 2", "valid YAML", id="tab"),
        pytest.param(b"a: !!python/object:os.system {}\n", "line 1", "valid YAML", id="tag"),
        pytest.param(b"kind: \xff\xfe\n", "line 1", "UTF-8", id="bytes"),
        pytest.param(b"a: 2024-13-45\n", "document 1", "valid YAML", id="date"),
        pytest.param(b"a: \x00\n", "$", "valid YAML", id="control"),
        pytest.param(b"42\n", "document 1, $", '"42"', id="number"),
        pytest.param(gzip.compress(b"kind: Node\n" * 100)[:40], "$", "gzip", id="gzip"),
        pytest.param(b'{"a":' * 100_000, "$", "nested too deeply", id="deep"),
    ],
)
def test_broken_files(content: bytes, where: str, words: str) -> None:
    """A file that cannot be read is an error with its name, the place, and what was expected."""
    with pytest.raises(InputError) as caught:
        read([Input("given.yaml", content)])
    assert caught.value.file == "given.yaml"
    assert caught.value.defects[0].path.startswith(where)
    assert words in str(caught.value)


def _gpus(amount: object) -> dict[str, object]:
    return {**NODE, "status": {"allocatable": {"nvidia.com/gpu": amount}}}


def _job(parallelism: object) -> dict[str, object]:
    metadata = {"name": "j"}
    return {"kind": "Job", "apiVersion": "batch/v1", "metadata": metadata, "spec": {"parallelism": parallelism}}


_REQUEST = {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}
_POD = {"kind": "Pod", "metadata": {"name": "p"}}
_WRONG: dict[str, tuple[dict[str, object], str]] = {
    "table": ({"kind": "Table", "rows": []}, "$.kind"),
    "status": ({"kind": "Status", "status": "Failure"}, "$.kind"),
    "no-kind": ({"metadata": {"name": "x"}}, "$.kind"),
    "kind-number": ({"kind": 3, "metadata": {"name": "x"}}, "$.kind"),
    "no-name": ({"kind": "Node", "metadata": {}}, "$.metadata.name"),
    "name-lines": ({"kind": "Node", "metadata": {"name": "a\nb"}}, "$.metadata.name"),
    "metadata-text": ({"kind": "Node", "metadata": "x"}, "$.metadata"),
    "items-object": ({"kind": "List", "items": {}}, "$.items"),
    "item-number": ({"kind": "List", "items": [7]}, "$.items[0]"),
    "gpus-word": (_gpus("many"), '$.status.allocatable["nvidia.com/gpu"]'),
    "gpus-negative": (_gpus("-8"), '$.status.allocatable["nvidia.com/gpu"]'),
    "gpus-part": (_gpus("2.5"), '$.status.allocatable["nvidia.com/gpu"]'),
    "gpus-too-many": (_gpus("9999"), '$.status.allocatable["nvidia.com/gpu"]'),
    "allocatable-list": ({**NODE, "status": {"allocatable": []}}, "$.status.allocatable"),
    "cordon-text": ({**NODE, "spec": {"unschedulable": "yes"}}, "$.spec.unschedulable"),
    "taints-text": ({**NODE, "spec": {"taints": "x"}}, "$.spec.taints"),
    "taint-key": ({**NODE, "spec": {"taints": [{"key": 1}]}}, "$.spec.taints[0].key"),
    "label-list": ({**NODE, "metadata": {"name": "n", "labels": {"a": []}}}, "$.metadata.labels.a"),
    "phase": ({**_POD, "status": {"phase": "Sleeping"}}, "$.status.phase"),
    "request": ({**_POD, "spec": _REQUEST}, "$.spec.containers[0].resources.requests.cpu"),
    "parallelism-word": (_job("two"), "$.spec.parallelism"),
    "parallelism-negative": (_job(-1), "$.spec.parallelism"),
    "parallelism-true": (_job(True), "$.spec.parallelism"),
}


@pytest.mark.parametrize(("given", "path"), _WRONG.values(), ids=_WRONG)
def test_wrong_fields(given: dict[str, object], path: str) -> None:
    """A field of the wrong type or range is a defect at its path; the file is refused."""
    good = {**NODE, "metadata": {"name": "good"}}
    with pytest.raises(InputError) as caught:
        read([Input("a.json", json.dumps(good).encode()), Input("given.json", json.dumps(given).encode())])
    assert caught.value.file == "given.json"
    assert [defect.path for defect in caught.value.defects] == [path]


def test_all_defects_at_once() -> None:
    """Every defect of a file is reported, under the path in its list or document."""
    bad = {**NODE, "metadata": {"name": "bad"}, "spec": {"unschedulable": 1}}
    given = json.dumps({"kind": "List", "items": [bad, NODE, {"kind": "Pod", "metadata": {}}]})
    with pytest.raises(InputError) as caught:
        read([Input("f.json", given.encode())])
    paths = [defect.path for defect in caught.value.defects]
    assert paths == ["$.items[2].metadata.name", "$.items[0].spec.unschedulable"]
    with pytest.raises(InputError) as caught:
        read([Input("f.yaml", f"{YAML}---\nkind: Pod\nmetadata: {{}}\n".encode())])
    assert caught.value.defects[0].path == "document 2, $.metadata.name"


@pytest.mark.parametrize(
    "content", ['{"kind": "List", "items": []}', json.dumps({"kind": "Pod", "metadata": {"name": "p"}})]
)
def test_no_nodes(content: str) -> None:
    """Files without a node, or with nodes without GPUs only, are refused; what is wrong in them is told first."""
    with pytest.raises(InputError, match="no node"):
        read([Input("f.json", content.encode())])
    with pytest.raises(InputError, match=r"\$\.kind"):
        read([Input("f.json", b'{"kind": "Status", "status": "Failure", "message": "forbidden"}')])
    plain = {**NODE, "status": {"allocatable": {"cpu": "4"}}}
    with pytest.raises(InputError, match="no node with GPUs"):
        read([Input("f.json", json.dumps(plain).encode())])
