"""Slurm's states of nodes and jobs, and what each means for placement.

Names of `node_states` in slurm.h and of the man pages of sinfo and scontrol (21.08 to 25.05), the short forms of sinfo,
and its suffixes. A node may have several; the worst one decides.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from crop_cli.model.instance import NodeState

_UP: NodeState = "up"
_DRAINED: NodeState = "drained"
_DOWN: NodeState = "down"

_WORST: dict[NodeState, int] = {"up": 0, "drained": 1, "down": 2}

NODE_STATES: dict[str, NodeState] = {
    # Base states.
    "IDLE": _UP,
    "ALLOCATED": _UP,
    "ALLOC": _UP,
    "MIXED": _UP,
    "MIX": _UP,
    "DOWN": _DOWN,
    "ERROR": _DOWN,
    "UNKNOWN": _DOWN,
    "UNK": _DOWN,
    "FUTURE": _DOWN,
    "FUTR": _DOWN,
    # Flags that leave a node in service.
    "CLOUD": _UP,
    "COMPLETING": _UP,
    "COMP": _UP,
    "DYNAMIC_FUTURE": _UP,
    "DYNAMIC_NORM": _UP,
    "EXTERNAL": _UP,
    "PERFCTRS": _UP,
    "NPC": _UP,
    "PLANNED": _UP,
    "PLND": _UP,
    "RESUME": _UP,
    "UNDRAIN": _UP,
    "REBOOT_CANCELED": _UP,
    "REBOOT_REQUESTED": _UP,
    # Power saving: Slurm starts such a node when it gives it a job.
    "POWERED_DOWN": _UP,
    "POWERING_UP": _UP,
    "POW_UP": _UP,
    "POWER_UP": _UP,
    # Runs what it has, takes nothing new, or only from those for whom it is set aside.
    "DRAIN": _DRAINED,
    "DRAINED": _DRAINED,
    "DRAINING": _DRAINED,
    "DRNG": _DRAINED,
    "FAIL": _DRAINED,
    "FAILING": _DRAINED,
    "FAILG": _DRAINED,
    "BLOCKED": _DRAINED,
    "MAINT": _DRAINED,
    "MAINTENANCE": _DRAINED,
    "RESERVED": _DRAINED,
    "RESV": _DRAINED,
    "POWER_DOWN": _DRAINED,
    "POW_DN": _DRAINED,
    "POWER_DRAIN": _DRAINED,
    "POWERING_DOWN": _DRAINED,
    "REBOOT": _DRAINED,
    # Cannot run anything.
    "INVAL": _DOWN,
    "INVALID": _DOWN,
    "INVALID_REG": _DOWN,
    "NOT_RESPONDING": _DOWN,
    "NO_RESPOND": _DOWN,
    "REBOOT_ISSUED": _DOWN,
}
"""By state, flag or short form."""

SUFFIXES: dict[str, NodeState] = {
    "*": _DOWN,  # not responding
    "~": _UP,  # powered off to save power
    "#": _UP,  # being powered up or configured
    "!": _DRAINED,  # waits to be powered down
    "%": _DRAINED,  # being powered down
    "$": _DRAINED,  # in a maintenance reservation
    "@": _UP,  # waits to be rebooted
    "^": _DOWN,  # being rebooted
    "-": _UP,  # planned for a job of higher priority
    "+": _UP,  # some of its jobs are completing
    "&": _DRAINED,  # in a reservation
}
"""What sinfo puts behind a short form."""


class JobKind(NamedTuple):
    """What a job's state means: "waits", "runs", "holds" (has nodes but ends or stands still), "ended"; and why."""

    kind: str
    reason: str = ""


JOB_STATES: dict[str, JobKind] = {
    "PENDING": JobKind("waits"),
    "RUNNING": JobKind("runs"),
    "CONFIGURING": JobKind("runs"),
    "RESIZING": JobKind("runs"),
    "SIGNALING": JobKind("runs"),
    "COMPLETING": JobKind("holds", "is completing: keeps its GPUs until it has ended"),
    "STAGE_OUT": JobKind("holds", "is staging out: keeps its GPUs until it has ended"),
    "STOPPED": JobKind("holds", "is stopped: keeps its GPUs"),
    "SUSPENDED": JobKind("holds", "is suspended: keeps its GPUs"),
    "REQUEUE_FED": JobKind("ended", "has moved to another cluster"),
    "REVOKED": JobKind("ended", "has moved to another cluster"),
    "REQUEUE_HOLD": JobKind("held", "is held (REQUEUE_HOLD)"),
    "RESV_DEL_HOLD": JobKind("held", "is held (RESV_DEL_HOLD)"),
    "SPECIAL_EXIT": JobKind("held", "is held (SPECIAL_EXIT)"),
    **{
        state: JobKind("ended", "has ended")
        for state in (
            "BOOT_FAIL",
            "CANCELLED",
            "COMPLETED",
            "DEADLINE",
            "FAILED",
            "LAUNCH_FAILED",
            "NODE_FAIL",
            "OUT_OF_MEMORY",
            "PREEMPTED",
            "TIMEOUT",
        )
    },
}
"""By base state or by a flag that changes it; other flags say nothing about placement."""

FLAGS_ONLY = frozenset(
    {"REQUEUED", "RECONFIG_FAIL", "UPDATE_DB", "POWER_UP_NODE", "EXPEDITING", "STAGE_IN", "LAUNCH_FAILED"}
)
"""Flags of jobs that leave the base state as it is."""

_RANK = {"runs": 0, "waits": 0, "held": 1, "holds": 2, "ended": 3}

HELD = re.compile(
    r"JobHeld\w*|Dependency\w*|BeginTime|JobArrayTaskLimit|Reservation\w*|ReservationDeleted|Licenses|Partition\w+"
    r"|Assoc\w+|QOS\w+|Max\w+|Invalid\w+|AccountNotAllowed|JobHoldMaxRequeue|DeadLine|Cleaning|BurstBuffer\w*"
    r"|Prolog|FedJobLock|BadConstraints|AccountingPolicy|InactiveLimit|Requeue\w*|launch_failed_requeued_held"
)
"""Reasons for which a job waits whatever is free: it is held, depends on others, or meets a limit (squeue, JOB REASON
CODES)."""

STARTS_LATER = "waits for something other than room ({})"


def node_state(text: str) -> tuple[NodeState, list[str]]:
    """What a node's state means, and the words in it that are not known: with one of them it counts as down.

    Parameters
    ----------
    text
        "MIXED+DRAIN", "mix-", "IDLE+CLOUD+POWERED_DOWN", "drained*".
    """
    found: list[NodeState] = []
    unknown = []
    for word in re.split(r"[+\s]+", text.strip().upper()):
        plain = word.rstrip("".join(SUFFIXES))
        found += [SUFFIXES[suffix] for suffix in word[len(plain) :]]
        if plain in NODE_STATES:
            found.append(NODE_STATES[plain])
        elif plain:
            unknown.append(plain)
    if unknown or not found:
        found.append(_DOWN)
    return max(found, key=lambda state: _WORST[state]), unknown


def job_kind(states: tuple[str, ...]) -> JobKind | None:
    """What a job's states mean together; None if one of them is not known."""
    kinds = []
    for place, state in enumerate(states):
        if place and state in FLAGS_ONLY:
            continue
        kind = JOB_STATES.get(state)
        if kind is None:
            return None
        kinds.append(kind)
    return max(kinds, key=lambda kind: _RANK[kind.kind]) if kinds else None
