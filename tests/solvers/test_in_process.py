"""HiGHS in a process that has used it otherwise before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

INSTANCE = Path(__file__).resolve().parents[2] / "instances" / "small" / "bandwidth-1.json"

CODE = """
import sys
import highspy
other = highspy._Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 2)
other.addCol(1.0, 0.0, 1.0, 0, [], [])
assert other.run() == highspy.HighsStatus.kOk
import crop_cli
for solver in ("greedy", "search", "columns", "config-lp"):
    found = crop_cli.solve(sys.argv[1], solver=solver, time_limit=20)
    print(solver, found.objective, found.bound)
"""


def test_other_threads_before_do_no_harm() -> None:
    """A Python process that ran HiGHS with two threads gets the same values and bounds as any other."""
    alone = CODE.replace('"threads", 2', '"threads", 1')
    answers = [
        subprocess.run([sys.executable, "-c", code, str(INSTANCE)], capture_output=True, text=True, check=True).stdout
        for code in (CODE, alone)
    ]
    assert answers[0] == answers[1] and answers[0].count("\n") == 4
