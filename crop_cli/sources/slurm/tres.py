"""GRES and TRES as text: GPUs by type, shares of GPUs, CPUs, memory.

The forms that releases since 21.08 print for the same thing: `gpu:a100:4(S:0-1)` of a node's Gres,
`gpu:a100:4(IDX:0-3)` in use, `gres:gpu:4` and `gres/gpu:4` asked for, `gres/gpu:a100=4` of a TRES list.
"""

from __future__ import annotations

import math
import re

GPU = "gpu"
SHARES = ("mps", "shard")
"""GRES that stand for parts of GPUs."""

_NONE = ("", "(null)", "N/A", "None", "none")
_PER_DEVICE = re.compile(r"(\d+)/(\d+)")
_UNITS = {"": 1.0, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


def counts(text: str, name: str = GPU) -> dict[str, int]:
    """How many of a GRES there are, by type ("" where none is named), in any of the forms.

    A TRES list counts the same GPUs without type and, where the site counts them so, by type as well: then the types
    are what is returned.

    Raises
    ------
    ValueError
        If the count of that GRES is no number.
    """
    found: dict[str, int] = {}
    if name not in text:
        return found
    for entry in entries(text):
        kind, gres_type, amount = _parts(entry)
        if kind == name:
            found[gres_type] = found.get(gres_type, 0) + amount
    if len(found) > 1 and found.get("", 0) == sum(n for gres_type, n in found.items() if gres_type):
        del found[""]
    return {gres_type: amount for gres_type, amount in found.items() if amount}


def entries(text: str) -> list[str]:
    """Entries of a list at the commas that are outside of parentheses."""
    if text in _NONE:
        return []
    return [part.strip() for part in re.split(r",(?![^()]*\))", text) if part.strip()]


def asks_for_shares(text: str) -> bool:
    """Whether parts of GPUs are asked for."""
    return any(counts(text, name) for name in SHARES)


def shared_gpus(total: str, used: str, gpus: int) -> int:
    """GPUs of which a part is in use through MPS or shards.

    The list of used/total per device tells it exactly ("shard:2(1/4,1/4)"); without one as few GPUs as could hold what
    is in use.
    """
    found = 0
    for name in SHARES:
        amount = sum(counts(used, name).values())
        if not amount:
            continue
        devices = [pair for entry in entries(used) if _parts(entry)[0] == name for pair in _PER_DEVICE.findall(entry)]
        if devices:
            found += sum(part != "0" for part, _ in devices)
        else:
            each = sum(counts(total, name).values()) / max(1, gpus)
            found += math.ceil(amount / each) if each else gpus
    return min(found, gpus)


def amount(text: str, name: str) -> float | None:
    """A plain TRES such as "cpu" or "mem" (megabytes) of a TRES list; None if it is not there."""
    for entry in entries(text):
        key, equals, value = entry.partition("=")
        if equals and key == name:
            return megabytes(value) if name == "mem" else float(value)
    return None


def megabytes(text: str) -> float:
    """Memory as Slurm writes it, "64G", "4000M", "8192": megabytes of 2^20 bytes.

    Raises
    ------
    ValueError
        If it is no amount of memory.
    """
    match = re.fullmatch(r"([0-9.]+)([KMGTP]?)[nc]?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is no amount of memory such as 64G")
    return float(match[1]) * _UNITS[match[2].upper()]


def per_gpu(text: str) -> float:
    """What a job wants per GPU, "gres:gpu:4" or "gres/gpu:4"; 0 if nothing."""
    return float(sum(counts(text).values()))


def _parts(entry: str) -> tuple[str, str, int]:
    """GRES, type and count of one entry."""
    entry = re.sub(r"\([^)]*\)", "", entry).strip()
    head, equals, value = entry.partition("=")
    head = head.removeprefix("gres/").removeprefix("gres:")
    fields = head.split(":")
    if not equals:
        # "gpu" alone is one; the last field is the count unless it is a type without one.
        value = fields.pop() if len(fields) > 1 and re.fullmatch(r"\d+[KMGTP]?", fields[-1]) else "1"
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGTP]?)", value)
    if match is None:
        if fields[0] not in (GPU, *SHARES):
            return fields[0], "", 0
        raise ValueError(f"{entry!r} has no count")
    factor = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}[match[2]]
    return fields[0], ":".join(fields[1:]), int(float(match[1]) * factor)
