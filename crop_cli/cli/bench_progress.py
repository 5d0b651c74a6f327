"""Progress of a bench on standard error: one line redrawn on a terminal, a line per finished run elsewhere."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field

from crop_cli.bench.process import Worker
from crop_cli.bench.records import Run
from crop_cli.bench.rows import seconds_of
from crop_cli.cli.environment import Environment
from crop_cli.names import percent, plural

REDRAW_S = 0.1


@dataclass(slots=True)
class BenchProgress:
    """Told by the runner; `quiet` says nothing."""

    environment: Environment
    quiet: bool
    total: int = 0
    ended: int = 0
    failed: int = 0
    started: float = field(default_factory=time.monotonic)
    drawn: float = -1.0
    fresh: int = 0

    @property
    def live(self) -> bool:
        """Whether a line is redrawn."""
        return not self.quiet and self.environment.live_progress

    def begin(self, total: int, kept: int) -> None:
        """So many runs in all, so many known from before."""
        self.total, self.ended = total, kept
        if kept and not self.quiet:
            self.environment.err(f"crop: {kept} of {total} runs are known from before")

    def done(self, run: Run) -> None:
        """A run ended."""
        self.ended += 1
        self.fresh += 1
        self.failed += run.verdict == "failed"
        if self.live:
            # On a cluster nothing else tells of progress.
            self.drawn = -1.0
            self.watch([])
        if self.live or self.quiet:
            return
        figures = "-" if run.objective is None else f"F {run.objective:.6g}"
        gap = "" if run.gap is None else f", gap {percent(run.gap)}"
        load = f", {plural(len(run.loads), 'uplink')} overbooked" if run.loads else ""
        seed = f" seed {run.seed}" if run.seed else ""
        error = f": {run.error}" if run.error else ""
        text = (
            f"[{self.ended:>{len(str(self.total))}}/{self.total}] {run.instance} {run.solver}{seed}: {run.verdict} "
            f"({run.stop_reason}), {figures}{gap}{load}, {seconds_of(run):.2f} s{error}"
        )
        self.environment.err(_one_line(text))

    def watch(self, running: list[Worker]) -> None:
        """What runs now."""
        if not self.live or time.monotonic() - self.drawn < REDRAW_S:
            return
        self.drawn = time.monotonic()
        elapsed = self.drawn - self.started
        left = f", about {elapsed / self.fresh * (self.total - self.ended):.0f} s left" if self.fresh else ""
        failed = f", {self.failed} failed" if self.failed else ""
        now = "; ".join(f"{worker.task.solver} on {worker.task.instance} {worker.seconds:.0f} s" for worker in running)
        line = _one_line(f"{self.ended}/{self.total} runs{failed}, {elapsed:.0f} s{left}  {now}")
        self.environment.stderr.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        self.environment.stderr.flush()

    def clear(self) -> None:
        """Take the live line away."""
        if self.live and self.drawn >= 0:
            self.environment.stderr.write("\r\x1b[K")
            self.environment.stderr.flush()


def _one_line(text: str) -> str:
    """Names and errors may hold line ends and control characters."""
    return "".join(character if character.isprintable() else " " for character in text)
