"""Optimal and certified placement of deep-learning training jobs on GPU clusters.

The Python API is seven functions, which the command line uses too: `load`, `solve`, `bound`, `check`, `explain`,
`repair`, `drill`. They are imported when they are first used, so that `import crop_cli` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crop_cli._version import __version__

if TYPE_CHECKING:
    from crop_cli.api import bound, check, drill, explain, load, repair, solve

__all__ = ["__version__", "bound", "check", "drill", "explain", "load", "repair", "solve"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from crop_cli import api  # noqa: PLC0415 (the point of this function)

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
