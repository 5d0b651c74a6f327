"""Where the public traces are, if they are there at all."""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER = Path(os.environ.get("CROP_SHARED") or Path(__file__).resolve().parents[4] / "shared")

SHARED = str(_FOLDER) if (_FOLDER / "traces" / "alibaba_openb").is_dir() else None
