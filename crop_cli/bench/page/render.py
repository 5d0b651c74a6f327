"""One HTML document from the records of a bench."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from crop_cli.bench.page import figures
from crop_cli.bench.page.header import DEFINITIONS, header
from crop_cli.bench.page.payload import embed, payload
from crop_cli.bench.page.placements import MOST_NODES, MOST_PAIRS, drawings
from crop_cli.bench.page.solvers import styles
from crop_cli.bench.page.tables import COLUMNS, tables
from crop_cli.bench.records import Reference, Run, Summary
from crop_cli.model.instance import Instance

SCRIPTS = (
    "core",
    "marks",
    "axes",
    "chart",
    "ratio",
    "profiles",
    "gap",
    "scatter",
    "tables",
    "cluster",
    "drill",
    "start",
)
"""Scripts of the page in the order in which they need each other."""

OPEN_TABLES = 40
"""Lines up to which the tables of the sets are open from the start."""


def render(summary: Summary, runs: list[Run], instances: Mapping[str, Instance]) -> str:
    """The page of a bench: one document without any outside resource.

    Parameters
    ----------
    summary
        The whole bench.
    runs
        Its runs: traces, loads and placements come from here. Runs may be missing.
    instances
        By `Run.instance`, for the drawings; an instance that is missing is not drawn.
    """
    environment = Environment(
        loader=PackageLoader("crop_cli.bench.page", "."),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=figures.number)
    drawn = drawings(runs, instances)
    solvers = styles(summary)
    made = tables(summary, solvers)
    return environment.get_template("page.html").render(
        summary=summary,
        head=header(summary),
        definitions=DEFINITIONS,
        solvers=solvers,
        columns=COLUMNS,
        tables=made,
        open_tables=sum(len(table.lines) for table in made[1:]) <= OPEN_TABLES,
        sets=_sets(summary),
        left_out=sorted(drawn.left_out.items()),
        most_nodes=MOST_NODES,
        most_pairs=MOST_PAIRS,
        css=_asset("page.css"),
        data=Markup(embed(payload(summary, runs, instances, solvers, drawn))),
        scripts=Markup("\n").join(_asset(f"{name}.js") for name in SCRIPTS),
    )


def _asset(name: str) -> Markup:
    """A file of the package, which is markup of ours: nothing in it comes from data."""
    return Markup(resources.files("crop_cli.bench.page").joinpath(name).read_text(encoding="utf-8"))


def _sets(summary: Summary) -> dict[str, list[tuple[int, Reference]]]:
    """References by set, each with its position."""
    sets: dict[str, list[tuple[int, Reference]]] = {}
    for k, one in enumerate(summary.references):
        sets.setdefault(one.instance.partition("/")[0], []).append((k, one))
    return sets
