"""The numbers that an instance file may contain: one table for the validator and the JSON Schema.

The limits are generous. They keep out what can only be a slip (a negative time, 10^300 Gbit/s) and what would make
the formulas of model.md, section 4, lose their meaning in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from crop_cli.model.instance import Cluster, Job, Node, Objective, Segment, Spread, Switch
from crop_cli.model.trace import TraceJob


@dataclass(frozen=True, slots=True)
class Limit:
    """Both ends of a range, included, and whether only whole numbers are meant."""

    low: float
    high: float
    whole: bool = False

    @property
    def expected(self) -> str:
        """For people: "a whole number from 1 to 1024"."""
        return f"a {'whole ' if self.whole else ''}number from {_plain(self.low)} to {_plain(self.high)}"


def _plain(number: float) -> str:
    if number == int(number) and abs(number) < 1e7:
        return str(int(number))
    mantissa, exponent = f"{number:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


MOST_GPUS_OF_A_JOB = 1_000_000

_BANDWIDTH = Limit(1e-6, 1e9)
_AMOUNT = Limit(0, 1e15)
_MINUTES = Limit(0, 1e9)
_WORKERS = Limit(1, MOST_GPUS_OF_A_JOB, whole=True)

LIMITS: dict[type[msgspec.Struct], dict[str, Limit]] = {
    Cluster: {"oversubscription": Limit(1e-6, 1e6)},
    Switch: {"uplink_gbps": _BANDWIDTH},
    Node: {
        "gpus": Limit(0, 1024, whole=True),
        "gpu_link_gbps": _BANDWIDTH,
        "fabric_gbps": _BANDWIDTH,
        "uplink_gbps": _BANDWIDTH,
        "resources": _AMOUNT,
        "used": _AMOUNT,
        "slowdown": Limit(1, 1e6),
        "failures_per_day": Limit(0, 1e6),
    },
    Objective: {
        "failure_weight": Limit(0, 1e6),
        "cut_penalty": Limit(0, 1e6),
        "horizon_minutes": Limit(1e-6, 1e9),
    },
    Segment: {"gpus": _WORKERS},
    Spread: {"max_gpus": _WORKERS},
    Job: {
        "gpus": _WORKERS,
        "weight": Limit(1e-9, 1e9),
        "compute_s": Limit(1e-9, 1e9),
        "message_mb": Limit(0, 1e12),
        "overlap": Limit(0, 1),
        "resources_per_gpu": _AMOUNT,
        "restart_minutes": _MINUTES,
        "checkpoint_minutes": _MINUTES,
        "gpus_per_node": _WORKERS,
        "placement": _WORKERS,
        "migration_minutes": _MINUTES,
    },
}
"""By struct and field. Where the field is an object of numbers, the limit is for each of them."""

LIMITS[TraceJob] = {**LIMITS[Job], "arrival_s": Limit(0, 1e12), "duration_s": Limit(1e-9, 1e12)}
