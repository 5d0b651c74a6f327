"""Solve the instances of this folder tree and keep what is best: value, bound, by whom, and the placement.

Usage: python instances/scripts/update_best_known.py [--solver NAME] [--time-limit S] [--open] [PATH ...]

PATH is an instance or a folder of instances (default: cases, small, real). A placement enters only if the evaluator
finds it feasible and of the value it claims, and only if it is not worse than the known one; a bound only if it is not
below the known value. `--open` skips what is proven already. Placements are kept in instances/solutions/.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crop_cli.api import load, solve
from crop_cli.model.evaluate import evaluate
from crop_cli.model.io import Loaded, dump_solution
from crop_cli.model.solution import Solution

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "best-known.json"
TOLERANCE = 1e-6
"""Relative difference up to which a bound and a value prove optimality."""

Entry = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--open", action="store_true", help="only instances without a proof")
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / name for name in ("cases", "small", "real")])
    options = parser.parse_args()
    table: dict[str, Entry] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for path in _instances(options.paths):
        name = path.resolve().relative_to(ROOT).as_posix()
        known = table.get(name)
        if options.open and known is not None and (known["optimal"] or known.get("infeasible")):
            continue
        loaded = load(path)
        found = solve(loaded, solver=options.solver, time_limit=options.time_limit, gap=0.0)
        table[name] = entry = merged(known, loaded, found, name)
        TABLE.write_text(_text(table))
        print(f"{name}: {entry['value']} of at most {entry['bound']}, by {entry['by']}", flush=True)


def merged(known: Entry | None, loaded: Loaded, found: Solution, name: str) -> Entry:
    """The better of what is known and what was found; writes the placement if it is new."""
    if found.status == "infeasible":
        infeasible = {"value": None, "bound": None, "by": _by(found), "optimal": False, "infeasible": True}
        return {**infeasible, "sha256": loaded.sha256}
    if known is not None and known["sha256"] != loaded.sha256:
        known = None
    value, by = (known["value"], known["by"]) if known else (None, None)
    if found.objective is not None and (value is None or found.objective > value):
        value, by = _verified(loaded, found), _by(found)
        target = ROOT / "solutions" / name.removesuffix(".gz")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(dump_solution(found))
    bounds = [b for b in (known["bound"] if known else None, found.bound) if b is not None]
    if value is not None and bounds and min(bounds) < value - TOLERANCE * max(1.0, abs(value)):
        raise ValueError(f"{name}: bound {min(bounds)} is below the verified value {value}")
    bound = max(min(bounds), value) if bounds and value is not None else min(bounds, default=None)
    optimal = value is not None and bound is not None and bound - value <= TOLERANCE * max(1.0, abs(value))
    return {"value": value, "bound": bound, "by": by, "optimal": optimal, "sha256": loaded.sha256}


def _verified(loaded: Loaded, found: Solution) -> float:
    """F of the placement by the evaluator alone."""
    judged = evaluate(loaded.instance, {placed.job: placed.nodes for placed in found.placements})
    claimed = found.objective
    if not judged.feasible or claimed is None or abs(judged.objective - claimed) > 1e-9 * max(1.0, abs(claimed)):
        raise ValueError(f"{loaded.file}: the evaluator refuses the placement: {judged.violations}")
    return judged.objective


def _by(found: Solution) -> str:
    """Solver and back end."""
    back_end = found.solver.back_end
    return found.solver.name if back_end in (None, found.solver.name) else f"{found.solver.name} ({back_end})"


def _instances(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (p for p in sorted(path.iterdir()) if _is_instance(p))
        else:
            yield path


def _is_instance(path: Path) -> bool:
    return path.name.endswith((".json", ".json.gz")) and not path.name.endswith(".expect.json")


def _text(table: dict[str, Entry]) -> str:
    """One line per instance, by name."""
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table))
    return "{\n" + rows + "\n}\n"


if __name__ == "__main__":
    main()
