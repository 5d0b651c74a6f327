"""Write instances/real/ from public traces.

Usage: python instances/scripts/make_real.py --traces FOLDER [-o FOLDER] [NAME ...]

FOLDER holds the data sets in the layout that instances/real/README.md lists. The same data gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import real_recipes_a100 as a100
import real_recipes_mixed as mixed
from draw import Draw
from instance_file import write_instance

RECIPE: tuple[Callable[[Path, Draw], dict[str, Any]], ...] = (
    a100.demo_lingjun_8,
    a100.lingjun_16_fragmented,
    mixed.t4_cloud_16,
    a100.dgx_32,
    a100.lingjun_64_running,
    mixed.openb_64,
    a100.lingjun_128,
    mixed.openb_128,
    a100.zhejiang_253,
    a100.lingjun_306,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True, help="folder of the public data sets")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parents[1] / "real")
    parser.add_argument("names", nargs="*", help="only these instances")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for make in RECIPE:
        name = make.__name__.replace("_", "-")
        if options.names and name not in options.names:
            continue
        made = make(options.traces, Draw(name))
        made["name"] = name
        write_instance(options.output / f"{name}.json", made)


if __name__ == "__main__":
    main()
