"""What an import has to say besides the instance: what was left out, assumed, and should be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from crop_cli.names import plural
from crop_cli.sources.draft import Skipped

MOST_NAMES = 3


@dataclass(slots=True)
class Notes:
    """Sentences and counts that grow during an import; equal sentences about several things become one."""

    skipped: list[Skipped] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    _warned: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _assumed: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def skip(self, kind: str, name: str, reason: str) -> None:
        """Something is not in the instance."""
        self.skipped.append(Skipped(kind, _plain(name), _plain(reason)))

    def warn(self, text: str, kind: str = "", name: str = "") -> None:
        """Something that should be looked at; with a kind and a name, these are counted before the text."""
        self._warned.setdefault((kind, _plain(text)), []).append(_plain(name))

    def assume(self, text: str, kind: str = "", name: str = "") -> None:
        """Something that the source does not say; with a kind and a name, these are counted before the text."""
        self._assumed.setdefault((kind, _plain(text)), []).append(_plain(name))

    @property
    def warnings(self) -> list[str]:
        """A line for each text."""
        return _lines(self._warned)

    @property
    def assumptions(self) -> list[str]:
        """A sentence for each text."""
        return [f"{line}." for line in _lines(self._assumed)]


def _plain(text: str) -> str:
    """Text from a file on one line, with nothing in it that a terminal would act on."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _lines(noted: dict[tuple[str, str], list[str]]) -> list[str]:
    return [f"{_who(kind, names)}: {text}" if kind else text for (kind, text), names in noted.items()]


def _who(kind: str, names: list[str]) -> str:
    """ "2 jobs (a, b)", with the first names only."""
    distinct = list(dict.fromkeys(names))
    more = ", …" if len(distinct) > MOST_NAMES else ""
    return f"{plural(len(distinct), kind)} ({', '.join(distinct[:MOST_NAMES])}{more})"
