"""Write instances/medium/ and instances/large/: clusters of 16 to 1,024 nodes with jobs of public traces.

Usage: python instances/scripts/make_scale.py --traces FOLDER [-o FOLDER] [NAME ...]

FOLDER holds the data sets in the layout that instances/real/README.md lists. The same data gives the same bytes. Names
are FAMILY-NODES[-taken][-SEED]; any such name is made when it is asked for, beyond those in the project.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import scale_recipes
from draw import Draw
from instance_file import write_instance

MEDIUM = (16, 32, 48, 64)
LARGE = (256, 512, 1024)
NAMES = (
    *(f"{family}-{n}{taken}" for family in ("mix", "racks") for n in MEDIUM + LARGE for taken in ("", "-taken")),
    *(f"mix-64-taken-{seed}" for seed in range(2, 6)),
)
NAME = re.compile(r"(?P<family>mix|racks)-(?P<nodes>\d+)(?P<taken>-taken)?(-(?P<seed>\d+))?")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("names", nargs="*", default=NAMES, help="only these instances")
    options = parser.parse_args()
    for name in options.names:
        asked = NAME.fullmatch(name)
        if asked is None:
            parser.error(f"{name!r} is not FAMILY-NODES[-taken][-SEED] with FAMILY mix or racks")
        nodes = int(asked["nodes"])
        recipe = getattr(scale_recipes, asked["family"])
        made = recipe(options.traces, Draw(name), nodes, asked["taken"] is not None)
        made["name"] = name
        folder = options.output / ("medium" if nodes <= max(MEDIUM) else "large")
        folder.mkdir(parents=True, exist_ok=True)
        write_instance(folder / f"{name}.json", made, always_packed=nodes > max(MEDIUM))


if __name__ == "__main__":
    main()
