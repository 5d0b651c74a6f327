"""Records of `scontrol show` as text: key=value pairs, a paragraph or (with -o) a line per record.

Free text (a job's name, a comment, a reason) may contain blanks and equals signs. Only keys that Slurm prints count as
keys, in paragraphs free text reaches to the end of its line, and of two pairs with one key the first counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

_START = re.compile(r"^(NodeName|JobId|SwitchName|BlockName|ReservationName|PartitionName)=", re.MULTILINE)

_PAIR = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_/:.&\-]*)=")

_FREE = frozenset(
    {
        "JobName",
        "OS",
        "Comment",
        "AdminComment",
        "SystemComment",
        "Extra",
        "Command",
        "WorkDir",
        "StdErr",
        "StdIn",
        "StdOut",
        "Network",
    }
)
"""Keys whose value may contain blanks; in paragraphs each is the last one of its line."""

_DETAIL = re.compile(r"(?:^|(?<=\s))Nodes=(\S+) CPU_IDs=(\S*) Mem=(\d+) GRES=(\S*)")

_ONE_LINE_NAME = re.compile(r"(JobId=.*?)\bJobName=(.*?)(?= (?:HetJobIdSet|UserId)=)(.*)", re.DOTALL)

EMPTY = re.compile(r"No (nodes|jobs|reservations|partitions|topology)[^\n]* in the system\.?", re.IGNORECASE)
"""What Slurm prints where there is nothing."""


@dataclass(slots=True)
class Detail:
    """A line of `scontrol -d show job`: what the job has on each of some hosts."""

    nodes: str
    cpu_ids: str
    memory_mb: float
    gres: str


@dataclass(slots=True)
class Record:
    """One node, job, switch, ...; `line` is where it begins."""

    kind: str
    line: int
    pairs: dict[str, str]
    details: list[Detail] = field(default_factory=list)

    def get(self, key: str) -> str:
        """A value; "" where it is missing or Slurm prints one of its words for nothing."""
        value = self.pairs.get(key, "")
        return "" if value in ("(null)", "N/A", "None", "n/a") else value


def records(text: str) -> list[Record]:
    """All records of a text, in order; what stands before the first one is not looked at."""
    starts = [match.start() for match in _START.finditer(text)]
    found = []
    line = text.count("\n", 0, starts[0]) + 1 if starts else 1
    for start, end in pairwise([*starts, len(text)]):
        block = text[start:end]
        kind = block[: block.index("=")]
        found.append(_record(kind, line, block))
        line += block.count("\n")
    return found


def _record(kind: str, line: int, block: str) -> Record:
    details = []
    if "CPU_IDs=" in block:
        details = [Detail(m[1], m[2], float(m[3]), m[4]) for m in _DETAIL.finditer(block)]
        block = _DETAIL.sub("", block)
    rows = block.rstrip().split("\n")
    pairs: dict[str, str] = {}
    if len(rows) == 1:
        named = _ONE_LINE_NAME.match(rows[0]) if kind == "JobId" else None
        if named is not None:
            pairs["JobName"] = named[2].strip()
            rows = [named[1], named[3]]
        for row in rows:
            _pairs(row, pairs, free=frozenset())
        return Record(kind, line, pairs, details)
    free = _FREE | {"Reason"} if kind == "NodeName" else _FREE
    for row in rows:
        _pairs(row, pairs, free)
    return Record(kind, line, pairs, details)


def _pairs(row: str, pairs: dict[str, str], free: frozenset[str]) -> None:
    """Enter the pairs of a line; nothing that is known already is replaced."""
    found = list(_PAIR.finditer(row))
    for i, match in enumerate(found):
        key = match[1]
        if key in free:
            pairs.setdefault(key, row[match.end() :].strip())
            return
        end = found[i + 1].start() if i + 1 < len(found) else len(row)
        pairs.setdefault(key, row[match.end() : end].strip())
