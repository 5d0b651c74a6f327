"""Which instances a bench runs, and under which names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crop_cli.bench.suite import load_suite
from crop_cli.errors import InputError, UsageError
from tests.bench.build import document, write


def names(*arguments: str | Path) -> list[str]:
    """Names of the members that the arguments stand for."""
    return [member.name for member in load_suite(map(str, arguments))]


def test_a_folder_gives_its_instances_by_name(tmp_path: Path) -> None:
    """A folder is not deep, sorted, packed files count, and expectations and tables of best values do not."""
    for name in ("b.json", "a.json.gz", "deep/c.json", "b.expect.json", "best-known.json", "notes.txt"):
        write(tmp_path / "set" / name)
    assert names(tmp_path / "set") == ["set/a", "set/b"]


def test_packed_and_plain_say_the_same(tmp_path: Path) -> None:
    """A packed file is read as what is packed in it."""
    plain, packed = (load_suite([str(write(tmp_path / name))])[0] for name in ("a.json", "b.json.gz"))
    assert plain.loaded.instance == packed.loaded.instance


def test_globs_and_files_in_the_order_of_the_arguments(tmp_path: Path) -> None:
    """Arguments keep their order, a glob is sorted and passes over what is no instance."""
    for name in ("set/b.json", "set/a.json", "set/a.expect.json", "z/x.json"):
        write(tmp_path / name)
    assert names(tmp_path / "z" / "x.json", tmp_path / "set" / "*.json") == ["z/x", "set/a", "set/b"]
    assert names(tmp_path / "**" / "*.json") == ["set/a", "set/b", "z/x"]


def test_each_instance_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file counts once, however often and by whatever path it is named."""
    write(tmp_path / "set" / "a.json")
    write(tmp_path / "set" / "b.json")
    monkeypatch.chdir(tmp_path)
    assert names("set/a.json", "set", tmp_path / "set", "./set/b.json", "set/*.json") == ["set/a", "set/b"]


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Files of one name in folders of one name are two instances if their content differs, one if it does not."""
    one = write(tmp_path / "x" / "set" / "a.json", document(jobs=1))
    two = write(tmp_path / "y" / "set" / "a.json", document(jobs=2))
    same = write(tmp_path / "z" / "set" / "a.json", document(jobs=2))
    members = load_suite(map(str, [one, two, same]))
    assert [len(member.loaded.instance.jobs) for member in members] == [1, 2]
    assert members[0].name == "set/a"
    assert members[1].name.startswith("set/a@") and len(members[1].name) == len("set/a@") + 8


def test_a_set_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up in the folder of $CROP_INSTANCES, then in ./instances, then beside the package."""
    write(tmp_path / "given" / "mine" / "a.json")
    write(tmp_path / "instances" / "mine" / "b.json")
    monkeypatch.chdir(tmp_path)
    assert names("mine") == ["mine/b"]
    monkeypatch.setenv("CROP_INSTANCES", str(tmp_path / "given"))
    assert names("mine") == ["mine/a"]
    assert all(name.startswith("cases/") for name in names("cases"))


def test_what_names_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown name, an empty glob and an empty folder are usage errors; the first lists the sets."""
    write(tmp_path / "instances" / "mine" / "a.json")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("CROP_INSTANCES", str(tmp_path / "instances"))
    with pytest.raises(UsageError, match=r"'smal' is no file.*sets: mine"):
        names("smal")
    with pytest.raises(UsageError, match="is no file"):
        names(tmp_path / "*.json")
    with pytest.raises(UsageError, match="holds no instance"):
        names(tmp_path / "empty")


def test_a_bad_file_is_an_input_error(tmp_path: Path) -> None:
    """A file that is no instance is named with what is wrong with it."""
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match=r"bad\.json"):
        names(tmp_path / "bad.json")


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    """Bytes of a name that are no UTF-8 are replaced, since a record has to hold the name."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff.json"))
    try:
        write(path)
    except OSError:
        pytest.skip("the file system has no such names")
    (name,) = names(tmp_path)
    assert name.encode() == f"{tmp_path.name}/bad-\N{REPLACEMENT CHARACTER}".encode()
