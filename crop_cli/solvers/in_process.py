"""HiGHS in this process: its number of threads belongs to the process, not to the model."""

from __future__ import annotations

from typing import Any

import highspy


def run_highs(highs: Any) -> None:
    """Solve a model with one thread, also where the process has used HiGHS with more before.

    HiGHS then refuses to run, without an exception and without a status; its scheduler is reset, and it is asked again.
    """
    status = highs.run()
    if status == highspy.HighsStatus.kError and highs.getModelStatus() == highspy.HighsModelStatus.kNotset:
        highspy._Highs.resetGlobalScheduler(True)  # type: ignore[attr-defined]
        highs.run()
