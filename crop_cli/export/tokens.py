"""Names of jobs, nodes and switches as they may stand in the files of solvers."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 40
"""Characters of a token. Names put three of them together and stay below 255, what LP and MPS readers take at least."""

_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def tokens(names: Iterable[str]) -> list[str]:
    """One token of letters, digits and underscores per name, all different: by themselves where that is possible.

    Dots are replaced too, since they separate the tokens of a name; so different tuples of tokens give different names.
    """
    taken: set[str] = set()
    made = []
    for name in names:
        plain = _OTHER.sub("_", name)[:LONGEST] or "_"
        token, times = plain, 1
        while token in taken:
            times += 1
            token = f"{plain[: LONGEST - len(str(times)) - 1]}_{times}"
        taken.add(token)
        made.append(token)
    return made
