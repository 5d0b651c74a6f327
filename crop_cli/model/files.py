"""Bytes in and out: files, standard input and output, gzip, atomic replacement."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import secrets
import stat
import sys
import zlib
from pathlib import Path

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.model.findings import quoted

LARGEST_FILE = 512 * 2**20
"""Bytes of a file, unpacked, that are still read: a million jobs fit, a decompression bomb does not."""

STANDARD_STREAM = "-"

_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: str | Path) -> bytes:
    """All bytes of a file as they are stored, or of standard input for "-".

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, or it is larger than `LARGEST_FILE`.
    """
    try:
        if str(path) == STANDARD_STREAM:
            if sys.stdin is None:  # closed before the start
                raise unusable(path, "a closed standard input", "one that can be read")
            data = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise unusable(path, "no such file", "a file that exists") from None
    except IsADirectoryError:
        raise unusable(path, "a directory", "a file") from None
    except PermissionError:
        raise unusable(path, "a file that may not be read", "read permission") from None
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise unusable(path, found[:1].lower() + found[1:], "a file that can be read") from None
    if len(data) > LARGEST_FILE:
        raise unusable(path, "a larger file", f"at most {LARGEST_FILE // 2**20} MiB")
    return data


def unpack(path: str | Path, data: bytes) -> bytes:
    """The content of gzip data, told by its first bytes; other data as it is.

    Raises
    ------
    InputError
        If the data is damaged or unpacks to more than `LARGEST_FILE`.
    """
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(LARGEST_FILE + 1)
    except EOFError:
        raise unusable(path, "gzip data that ends too early (a truncated file?)", "a whole gzip file") from None
    except (OSError, zlib.error) as error:
        raise unusable(path, f"damaged gzip data ({error})", "a whole gzip file") from None
    if len(content) > LARGEST_FILE:
        raise unusable(path, "gzip data that unpacks to more", f"at most {LARGEST_FILE // 2**20} MiB unpacked")
    return content


def unusable(path: str | Path, found: str, expected: str, where: str = "$") -> InputError:
    """The error for a file in which nothing can be read."""
    return InputError(shown(path), [Defect(where, found, expected)])


def shown(path: str | Path) -> str:
    """Name of a file in messages: in quotes where it is empty or would act on a terminal."""
    name = str(path)
    if name == STANDARD_STREAM:
        return "<stdin>"
    return name if name and name.isprintable() else quoted(name)


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment either the old or the whole new content is there.

    The bytes go to a new file in the same folder, to the disk, and then take the place of the old file, whose
    permissions they keep; a symbolic link stays one. "-" is standard output; a device or pipe is written to directly.

    Raises
    ------
    UsageError
        If the file cannot be written. The old one is untouched and nothing is left beside it.
    OSError
        If standard output cannot be written.
    """
    if str(path) == STANDARD_STREAM:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        _replace(_target(path), data)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def write_packed(path: str | Path, data: bytes) -> None:
    """`write_atomic`, packed with gzip where the name ends in .gz; equal data give equal files.

    Raises
    ------
    UsageError, OSError
        As `write_atomic`.
    """
    write_atomic(path, gzip.compress(data, compresslevel=6, mtime=0) if str(path).endswith(".gz") else data)


def require_writable(path: str | Path) -> None:
    """Refuse early, before work is done for it, what `write_atomic` could not write for lack of a folder or permission.

    Raises
    ------
    UsageError
        If the path is a directory, or its folder does not exist or may not be written to.
    """
    if str(path) == STANDARD_STREAM:
        return
    try:
        target = _target(path)
        mode = _mode(target)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is None or stat.S_ISREG(mode):
            if not stat.S_ISDIR(target.parent.stat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(target.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str | Path, error: OSError | ValueError) -> UsageError:
    return UsageError(f"{shown(path)} cannot be written: {getattr(error, 'strerror', None) or error}")


def _target(path: str | Path) -> Path:
    """The file that a path stands for, behind symbolic links; devices and pipes by the name that was given.

    The link /dev/stdout of a shell's pipe, or /dev/fd/63 of its process substitution, leads to no name.
    """
    if not str(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    mode = _mode(Path(path))
    return Path(os.path.realpath(path) if mode is None or stat.S_ISREG(mode) else path)


def _replace(target: Path, data: bytes) -> None:
    """Put a new file in the place of an old one, or write to what is no regular file."""
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as file:
            file.write(data)
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # The system's own permissions for new files; those of an old file are set below.
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _mode(path: Path) -> int | None:
    """Type and permissions of a file; None if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Make the new name last too, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
