"""Which instances a bench runs: sets by name, folders, files and globs, each instance once and with a stable name."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crop_cli.errors import UsageError
from crop_cli.model.files import read_bytes
from crop_cli.model.io import Loaded, read_instance

ENDINGS = (".json.gz", ".json")

NOT_INSTANCES = (".expect.json", "best-known.json")
"""Files beside instances that say what their answer is."""

SETS_VARIABLE = "CROP_INSTANCES"
"""Environment variable: the folder that holds the sets."""


@dataclass(frozen=True, slots=True)
class Member:
    """One instance of a suite.

    Attributes
    ----------
    name
        "SET/NAME": the folder's name and the file's without its ending.
    path, data, loaded
        The file, its bytes, and what they say.
    """

    name: str
    path: Path
    data: bytes
    loaded: Loaded

    @property
    def sha256(self) -> str:
        """Hash of the file."""
        return self.loaded.sha256


def load_suite(arguments: Iterable[str]) -> list[Member]:
    """All instances that the arguments name, in their order, folders and globs sorted by name.

    Parameters
    ----------
    arguments
        Names of sets (folders below `$CROP_INSTANCES`, ./instances, or the one beside the package), folders (not deep),
        files or globs.

    Raises
    ------
    UsageError
        An argument that names no instance.
    InputError
        A file that is no valid instance.
    """
    paths: dict[Path, None] = {}
    for argument in arguments:
        for path in _files(argument):
            paths.setdefault(path, None)
    members: list[Member] = []
    names: dict[str, str] = {}
    for path in paths:
        data = read_bytes(path)
        loaded = read_instance(data, path)
        name = _name(path)
        if names.get(name, loaded.sha256) != loaded.sha256:
            # Two files of one name in folders of one name: the content tells them apart.
            name = f"{name}@{hashlib.sha256(data).hexdigest()[:8]}"
        if name not in names:
            names[name] = loaded.sha256
            members.append(Member(name, path, data, loaded))
    return members


def set_folders() -> list[Path]:
    """Folders in which a set is looked for by its name."""
    given = os.environ.get(SETS_VARIABLE)
    beside = Path(__file__).resolve().parents[2] / "instances"
    return [*([Path(given)] if given else []), Path("instances"), beside]


def _files(argument: str) -> list[Path]:
    path = Path(argument)
    if path.is_file():
        return [path]
    folders = [path, *(folder / argument for folder in set_folders() if _plain(argument))]
    for folder in folders:
        if folder.is_dir():
            found = sorted(p for p in folder.iterdir() if _is_instance(p))
            if not found:
                raise UsageError(f"{folder}: the folder holds no instance (*.json, *.json.gz)")
            return found
    matches = sorted(Path(p) for p in glob.glob(argument, recursive=True))  # noqa: PTH207 (absolute patterns too)
    found = [p for p in matches if _is_instance(p)]
    if not found:
        raise UsageError(f"{argument!r} is no file, folder, glob or set of instances with anything in it{_known()}")
    return found


def _plain(argument: str) -> bool:
    """Whether it can be the name of a set."""
    return bool(argument) and argument not in (".", "..") and "/" not in argument


def _known() -> str:
    for folder in set_folders():
        if folder.is_dir():
            sets = sorted(p.name for p in folder.iterdir() if p.is_dir() and any(map(_is_instance, p.iterdir())))
            return f" (sets: {', '.join(sets)})" if sets else ""
    return ""


def _is_instance(path: Path) -> bool:
    return path.is_file() and path.name.endswith(ENDINGS) and not path.name.endswith(NOT_INSTANCES)


def _name(path: Path) -> str:
    ending = next((e for e in ENDINGS if path.name.endswith(e)), "")
    name = f"{path.resolve().parent.name}/{path.name.removesuffix(ending)}"
    # Bytes of a file name that are no UTF-8 have no place in JSON either.
    return os.fsencode(name).decode(errors="replace")
