"""States of nodes and jobs."""

from __future__ import annotations

import pytest

from crop_cli.sources.slurm.states import HELD, job_kind, node_state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("IDLE", "up"),
        ("MIXED+PLANNED", "up"),
        ("mix-", "up"),
        ("alloc+", "up"),
        ("ALLOCATED+COMPLETING", "up"),
        ("IDLE+CLOUD+POWERED_DOWN", "up"),
        ("idle~", "up"),
        ("idle#", "up"),
        ("IDLE+DRAIN", "drained"),
        ("MIXED+DRAIN", "drained"),
        ("drng", "drained"),
        ("FAIL", "drained"),
        ("IDLE+MAINTENANCE+RESERVED+PLANNED", "drained"),
        ("resv", "drained"),
        ("alloc$", "drained"),
        ("idle!", "drained"),
        ("idle%", "drained"),
        ("IDLE+POWERING_DOWN", "drained"),
        ("DOWN", "down"),
        ("idle*", "down"),
        ("drained*", "down"),
        ("IDLE+DRAIN+NOT_RESPONDING", "down"),
        ("IDLE+REBOOT_ISSUED", "down"),
        ("reboot^", "down"),
        ("UNKNOWN", "down"),
        ("FUTURE", "down"),
        ("IDLE+INVALID_REG", "down"),
    ],
)
def test_node_states(text: str, state: str) -> None:
    """The worst of a node's states, flags and suffixes decides."""
    assert node_state(text)[0] == state


def test_unknown_node_state() -> None:
    """A word that Slurm does not have makes a node down, and is told."""
    assert node_state("IDLE+SLEEPY") == ("down", ["SLEEPY"])
    assert node_state("") == ("down", [])


@pytest.mark.parametrize(
    ("states", "kind"),
    [
        (("RUNNING",), "runs"),
        (("CONFIGURING",), "runs"),
        (("RUNNING", "CONFIGURING"), "runs"),
        (("RUNNING", "COMPLETING"), "holds"),
        (("SUSPENDED",), "holds"),
        (("PENDING",), "waits"),
        (("PENDING", "REQUEUED"), "waits"),
        (("PENDING", "REQUEUE_HOLD"), "held"),
        (("CANCELLED",), "ended"),
        (("OUT_OF_MEMORY",), "ended"),
    ],
)
def test_job_states(states: tuple[str, ...], kind: str) -> None:
    """The flag that changes most decides what a job's states mean."""
    found = job_kind(states)
    assert found is not None
    assert found.kind == kind


def test_unknown_job_state() -> None:
    """A state that Slurm does not have, or none at all, is told apart from every known one."""
    assert job_kind(("DREAMING",)) is None
    assert job_kind(()) is None


@pytest.mark.parametrize(
    "reason",
    ["JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "QOSMaxGRESPerUser"],
)
def test_reasons_that_no_room_ends(reason: str) -> None:
    """Holds, dependencies, begin times and limits are no want of room."""
    assert HELD.fullmatch(reason)


@pytest.mark.parametrize("reason", ["Resources", "Priority", "None", "Nodes_required_for_job_are_DOWN,_DRAINED"])
def test_reasons_that_room_ends(reason: str) -> None:
    """Want of room or a place further back in the queue is what placement is for."""
    assert not HELD.fullmatch(reason)
