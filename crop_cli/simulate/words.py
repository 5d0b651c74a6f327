"""Settings of a simulation in words."""

from __future__ import annotations

from crop_cli.names import number, plural
from crop_cli.simulate.labels import time_scale
from crop_cli.simulate.settings import Order, Policy, Settings

_ORDERS: dict[Order, str] = {
    "fifo": "by arrival",
    "sjf": "shortest first",
    "las": "least attained service first",
    "weight": "heaviest first",
}


def policy_words(policy: Policy) -> str:
    """How jobs come to be placed."""
    words = [_ORDERS[policy.order]]
    words.append(f"backfill, window of {policy.window}" if policy.backfill else "no backfill")
    words.append(f"a round every {_time(policy.round_s)}" if policy.round_s > 0 else "rounds at every change")
    if policy.migrations:
        words.append(
            f"up to {plural(policy.migrations, 'move')} a round at {number(policy.migration_minutes)} min each"
        )
    return ", ".join(words)


def reaction_words(policy: Policy) -> str:
    """What is made of abnormal nodes."""
    if policy.reaction == "exclude":
        return f"exclude: no job on slow nodes, nor within {_time(3600 * policy.quarantine_hours)} of a failure"
    if policy.reaction == "aware":
        return "aware: the solver knows slow nodes, and failure rates estimated so far"
    return "ignorant: no job on failed nodes, nothing else is known"


def weather_words(settings: Settings) -> str:
    """What is drawn to happen to devices."""
    weather = settings.weather
    words = []
    if weather.rates:
        words.append("nodes fail at their failures_per_day")
    if weather.switch_failures_per_day:
        words.append(f"switches fail {number(weather.switch_failures_per_day)} times a day")
    if words:
        median = _time(3600 * weather.repair_median_h)
        words.append(f"repair lognormal, median {median}, sigma {number(weather.repair_sigma)}")
    if weather.slow_per_day:
        words.append(
            f"nodes become {number(weather.slow_factor)} times slower {number(weather.slow_per_day)} times a day for "
            f"{number(weather.slow_hours)} h in the mean"
        )
    words = words or ["nothing fails at random"]
    return ", ".join([*words, f"seed {settings.seed}"])


def _time(seconds: float) -> str:
    unit, scale = time_scale(seconds)
    return f"{number(seconds / scale)} {unit}"
