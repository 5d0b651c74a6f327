"""Reading from files, gzip and standard input; writing; and that nothing but InputError comes out of bad files."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crop_cli.errors import InputError, UsageError
from crop_cli.model import files
from crop_cli.model.instance import Cluster, Instance, Job, Node
from crop_cli.model.io import dump_instance, dump_solution, load_instance, load_solution, require_writable, write_atomic
from crop_cli.model.problem import compile_problem
from crop_cli.model.solution import Solution
from tests.model.samples import defects_of, edited, example, example_solution
from tests.tiny import instances


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """The example as a file."""
    file = tmp_path / "example.json"
    file.write_text(json.dumps(example()), encoding="utf-8")
    return file


def test_a_closed_standard_input_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was started without standard input is told so."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed standard input"):
        load_instance("-")


@pytest.mark.parametrize(("name", "words"), [("", '"": '), ("a\n\x1b[31mb", r'"a\\n\\u001b\[31mb": ')])
def test_file_names_in_messages_do_nothing_to_a_terminal(name: str, words: str) -> None:
    """An empty name, or one with control characters, is quoted."""
    with pytest.raises(InputError, match=f"^{words}"):
        load_instance(name)


def test_a_file_is_loaded_whole(plain: Path) -> None:
    """Instance, hash of the bytes, warnings, and the name as given."""
    loaded = load_instance(str(plain))
    assert loaded.instance == msgspec.convert(example(), Instance)
    assert loaded.sha256 == hashlib.sha256(plain.read_bytes()).hexdigest()
    assert (loaded.warnings, loaded.file) == ([], str(plain))


def test_gzip_is_told_by_content_not_by_name(plain: Path, tmp_path: Path) -> None:
    """A packed file loads to the same instance, in several members too; the hash is that of the packed bytes."""
    data = plain.read_bytes()
    packed = tmp_path / "packed.json"
    packed.write_bytes(gzip.compress(data[:100]) + gzip.compress(data[100:]))
    loaded = load_instance(packed)
    assert loaded.instance == load_instance(plain).instance
    assert loaded.sha256 == hashlib.sha256(packed.read_bytes()).hexdigest()


def test_a_dash_is_standard_input(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads the bytes of standard input, packed or not."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(gzip.compress(plain.read_bytes()))))
    loaded = load_instance("-")
    assert (loaded.instance, loaded.file) == (load_instance(plain).instance, "<stdin>")


def test_a_byte_order_mark_is_skipped(plain: Path) -> None:
    """Editors on Windows put one there."""
    plain.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes())
    assert load_instance(plain).instance.name == "example"


@pytest.mark.parametrize("packed", [False, True])
def test_too_large_a_file_is_refused(plain: Path, monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    """Neither a plain file nor one that unpacks to more than the limit is read to its end."""
    size = plain.stat().st_size
    if packed:
        plain.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(files, "LARGEST_FILE", size)
    load_instance(plain)
    monkeypatch.setattr(files, "LARGEST_FILE", size - 1)
    with pytest.raises(InputError, match="expected at most 0 MiB"):
        load_instance(plain)


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    """A missing file, a directory and an impossible name are input errors with a plain text."""
    for path, words in [
        (tmp_path / "none.json", "no such file"),
        (tmp_path, "a directory"),
        ("a\0b", "null"),
        (tmp_path / ("x" * 300), "name too long"),
    ]:
        with pytest.raises(InputError) as error:
            load_instance(path)
        assert words in error.value.defects[0].found.lower()
        with pytest.raises(InputError):
            load_solution(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(plain: Path) -> None:
    """A file that may not be read is an input error."""
    plain.chmod(0)
    with pytest.raises(InputError, match="may not be read"):
        load_instance(plain)


def test_an_instance_survives_dump_and_load(tmp_path: Path) -> None:
    """What is written is read back equal, and written the same again."""
    first = msgspec.convert(example(), Instance)
    file = tmp_path / "copy.json"
    write_atomic(file, dump_instance(first))
    loaded = load_instance(file).instance
    assert loaded == first
    assert dump_instance(loaded) == file.read_bytes()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(instance=instances())
def test_random_instances_survive_dump_and_load(tmp_path: Path, instance: Instance) -> None:
    """Floats, defaults and running jobs come back exactly."""
    file = tmp_path / "random.json"
    file.write_bytes(dump_instance(instance))
    assert load_instance(file).instance == instance


def test_a_dumped_instance_is_short() -> None:
    """Defaults are left out, a node and a job take one line each, whole numbers have no decimal point."""
    cluster = Cluster(levels=["node"], nodes=[Node(name="n1", gpus=8, gpu_link_gbps=2400.0), Node(name="n2", gpus=8)])
    job = Job(name="jöb", gpus=16, weight=0.1, pattern="".join(["all", "reduce"]), placement={"n1": 8, "n2": 8})
    lines = dump_instance(Instance(format="crop-instance/1", cluster=cluster, jobs=[job], name="short")).decode()
    assert lines.splitlines() == [
        "{",
        ' "format": "crop-instance/1",',
        ' "name": "short",',
        ' "cluster": {',
        '  "levels": ["node"],',
        '  "nodes": [',
        '   {"name": "n1", "gpus": 8, "gpu_link_gbps": 2400},',
        '   {"name": "n2", "gpus": 8}',
        "  ]",
        " },",
        ' "jobs": [',
        '  {"name": "jöb", "gpus": 16, "weight": 0.1, "placement": {"n1": 8, "n2": 8}}',
        " ]",
        "}",
    ]
    assert lines.endswith("}\n")


def test_long_objects_are_broken_up() -> None:
    """A job that is spread over many nodes does not make one endless line."""
    placement = {f"node-{i:04d}": 8 for i in range(200)}
    job = Job(name="wide", gpus=1600, placement=placement)
    cluster = Cluster(levels=["node"], nodes=[Node(name=name, gpus=8) for name in placement])
    data = dump_instance(Instance(format="crop-instance/1", cluster=cluster, jobs=[job]))
    assert max(map(len, data.decode().splitlines())) < 100
    assert msgspec.json.decode(data, type=Instance).jobs == [job]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_can_not_hold_is_not_written(value: float) -> None:
    """A number that is not finite is an error, not a null or a NaN in the file."""
    instance = msgspec.convert(example(), Instance)
    broken = msgspec.structs.replace(instance, jobs=[Job(name="j", gpus=1, weight=value)])
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_instance(broken)
    solution = msgspec.structs.replace(msgspec.convert(example_solution(), Solution), bound=value)
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_solution(solution)


def test_a_solution_survives_dump_and_load(tmp_path: Path) -> None:
    """What is written is read back equal, unknown values as null."""
    solution = msgspec.convert(example_solution(), Solution)
    file = tmp_path / "solution.json"
    write_atomic(file, dump_solution(solution))
    assert load_solution(file) == solution
    assert json.loads(file.read_bytes())["bound"] is None


@pytest.mark.parametrize(
    ("place", "value", "path", "found", "expected"),
    [
        ("status", "best", "$.status", '"best"', '"optimal"'),
        ("placements.0.nodes.n1", "4", "$.placements[0].nodes.n1", '"4" (job "pinned")', "a whole number"),
        ("placements.0.nodes.n1", 4.5, "$.placements[0].nodes.n1", "4.5", "a whole number"),
        ("placements.1.job", "pinned", "$.placements[1].job", '"pinned", the name of $.placements[0]', "no other one"),
        ("unplaced.0.job", "movable", "$.unplaced[0].job", '"movable", which is placed', "a job without a placement"),
        ("solver.options.x", [], "$.solver.options.x", "an empty list", "text or a whole number or true"),
        ("metrics.gpus_totl", 1, "$.metrics.gpus_totl", "unknown field", "known field"),
        ("format", "crop-instance/1", "$.format", '"crop-instance/1"', '"crop-solution/1"'),
    ],
)  # fmt: skip
def test_malformed_solutions(tmp_path: Path, place: str, value: Any, path: str, found: str, expected: str) -> None:
    """Defects of a solution file are told like those of an instance."""
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(edited(place, value, example_solution())))
    with pytest.raises(InputError) as error:
        load_solution(file)
    (defect,) = error.value.defects
    assert (defect.path, found in defect.found, expected in defect.expected) == (path, True, True), str(defect)


def test_an_instance_is_no_solution(plain: Path) -> None:
    """A file of the other format is told by that alone."""
    with pytest.raises(InputError) as error:
        load_solution(plain)
    assert [d.path for d in error.value.defects] == ["$.format"]


def test_writing_replaces_whole_files_and_keeps_permissions(tmp_path: Path) -> None:
    """New files get the usual permissions, old ones keep theirs, and no temporary file stays."""
    file = tmp_path / "out.json"
    mask = os.umask(0o027)
    try:
        write_atomic(file, b"one")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o604)
    write_atomic(str(file), b"two")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"two", 0o604)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    """Writing through a link changes the file that it leads to."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old content is still there, alone."""
    file = tmp_path / "out.json"
    file.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="cannot be written: No space left"):
        write_atomic(file, b"new")
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


def test_what_can_not_be_written_is_refused_early(tmp_path: Path) -> None:
    """No folder, a file as folder, a directory as file, an impossible name: an error of use, before and on writing."""
    (tmp_path / "file").write_bytes(b"")
    for path, words in [
        (tmp_path / "none" / "out.json", "No such file or directory"),
        (tmp_path / "file" / "out.json", "Not a directory"),
        (tmp_path, "Is a directory"),
        ("a\0b", "null"),
        ("", "No such file or directory"),
    ]:
        with pytest.raises(UsageError, match=f"cannot be written: .*{words}"):
            write_atomic(path, b"x")
        with pytest.raises(UsageError, match=f"cannot be written: .*{words}"):
            require_writable(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["new", "file", "link", "pipe", "-"])
def test_what_can_be_written_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """New and old files, links, pipes and standard output pass, and nothing is created or changed."""
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    require_writable(name)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "link", "pipe"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_pipes_and_devices_are_written_to(tmp_path: Path) -> None:
    """What is no regular file is not replaced by one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_without_a_name_is_written_to() -> None:
    """The path that a shell gives for `>(command)`, or /dev/stdout in a pipe, leads to no file name."""
    reader, writer = os.pipe()
    try:
        require_writable(f"/dev/fd/{writer}")
        write_atomic(f"/dev/fd/{writer}", b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_dash_is_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`-` writes the bytes to standard output."""
    write_atomic("-", b"bytes\n")
    assert capfdbinary.readouterr().out == b"bytes\n"


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["node", "rack", "pod", "cluster", "n1", "rack-1", "pinned", "A100", "up", "alltoall"]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["gpus", "cpu", "n1", "n3", "level", "x"]), st.integers(-1, 9), max_size=2),
)


def _places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every member of a document."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, member in members for place in _places(member, (*way, key)))]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_instances_load_or_are_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever is changed, taken away or put in: an instance that compiles, or defects that can be printed."""
    document: Any = example()
    for _ in range(data.draw(st.integers(1, 4))):
        way = data.draw(st.sampled_from(_places(document)[1:]))
        at = document
        for step in way[:-1]:
            at = at[step]
        match data.draw(st.sampled_from(["set", "drop", "add"])):
            case "set":
                at[way[-1]] = data.draw(JUNK)
            case "drop":
                del at[way[-1]]
            case "add" if isinstance(at, dict):
                at[data.draw(st.text(max_size=4))] = data.draw(JUNK)
            case _:
                at.append(data.draw(JUNK))
        if not isinstance(document, dict) or len(_places(document)) < 2:
            break
    defects = defects_of(tmp_path, json.dumps(document))
    if not defects:
        compile_problem(load_instance(tmp_path / "instance.json").instance)
    for defect in defects:
        assert defect.path.startswith("$")
        assert defect.found
        assert defect.expected
        assert str(defect).isprintable()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_load_or_are_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Cut off, overwritten or doubled bytes never end in anything but an instance or an input error."""
    content = json.dumps(example()).encode()
    if data.draw(st.booleans()):
        content = gzip.compress(content, mtime=0)
    at = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(at, min(len(content), at + 20)))
    for defect in defects_of(tmp_path, content[:at] + data.draw(st.binary(max_size=10)) + content[end:]):
        assert str(defect).isprintable()
