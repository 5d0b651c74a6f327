"""What an import has to say besides its result, collected while it is made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from crop_cli.names import plural
from crop_cli.sources.draft import Skipped


@dataclass(slots=True)
class Notes:
    """Assumptions, warnings and what is left out.

    Attributes
    ----------
    of_jobs
        What had to be assumed of jobs, by sentence, with the number of jobs.
    """

    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    of_jobs: Counter[str] = field(default_factory=Counter)

    def skip(self, kind: str, name: str, reason: str) -> None:
        """Note what is left out."""
        self.skipped.append(Skipped(kind, name, reason))

    def all_assumptions(self) -> list[str]:
        """Those of jobs after the others."""
        return [*self.assumptions, *(f"{plural(n, 'job')}: {text}." for text, n in self.of_jobs.items())]
