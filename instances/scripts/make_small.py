"""Write instances/small/: five instances of each family, from fixed seeds.

Usage: python instances/scripts/make_small.py [-o FOLDER]

The recipe is this: family by family, the five rows of `RECIPE` give the number of nodes and the load (GPUs wanted over
GPUs free); everything else is drawn by the family's function from a stream seeded with the instance's name. The same
script writes the same bytes everywhere.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from draw import Draw
from instance_file import write_instance
from small_families import FAMILIES

RECIPE = ((2, 1.2), (3, 0.7), (4, 1.0), (6, 1.5), (8, 1.1))
"""Nodes and load of the five instances of a family."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parents[1] / "small")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for family, make in FAMILIES.items():
        for i, (nodes, load) in enumerate(RECIPE, start=1):
            name = f"{family}-{i}"
            write_instance(folder / f"{name}.json", make(Draw(name), name, nodes, load))


if __name__ == "__main__":
    main()
