from __future__ import annotations

import pytest

from crop_cli.solvers.exact.patience import GRACE_AFTER_LIMIT, GRACE_AFTER_STOP, Patience


class Clock:
    """A clock that the test sets, and the number of times that the child was asked to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.asked = 0
        monkeypatch.setattr("crop_cli.solvers.exact.patience.time.monotonic", lambda: self.now)

    def ask(self) -> None:
        self.asked += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock at 0."""
    return Clock(monkeypatch)


def test_the_child_is_asked_once_at_the_deadline(clock: Clock) -> None:
    """Before the deadline nothing happens; at it the child is asked, once; after the grace patience is over."""
    patience = Patience(10.0, lambda: False)
    for clock.now in (0.0, 9.9):
        assert not patience.exhausted(clock.ask)
    assert (clock.asked, patience.asked) == (0, None)
    for clock.now in (10.0, 10.1, 10.0 + GRACE_AFTER_LIMIT - 0.01):
        assert not patience.exhausted(clock.ask)
    assert (clock.asked, patience.asked) == (1, "time_limit")
    clock.now = 10.0 + GRACE_AFTER_LIMIT
    assert patience.exhausted(clock.ask)
    assert patience.over


def test_a_stop_has_its_own_grace(clock: Clock) -> None:
    """The caller's flag makes the child be asked, without any deadline."""
    patience = Patience(None, lambda: clock.now >= 5.0)
    assert not patience.exhausted(clock.ask)
    clock.now = 5.0
    assert not patience.exhausted(clock.ask)
    clock.now = 5.0 + GRACE_AFTER_STOP
    assert patience.exhausted(clock.ask)
    assert (clock.asked, patience.asked) == (1, "interrupted")


def test_a_stop_shortly_before_the_deadline_does_not_prolong_it(clock: Clock) -> None:
    """The grace of a stop ends no later than that of the deadline."""
    patience = Patience(10.0, lambda: True)
    clock.now = 9.9
    assert not patience.exhausted(clock.ask)
    clock.now = 10.0 + GRACE_AFTER_LIMIT
    assert patience.exhausted(clock.ask)
    assert patience.asked == "interrupted"
