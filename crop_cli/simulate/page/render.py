"""One HTML document from simulations of one trace."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from crop_cli.bench.page.payload import embed
from crop_cli.names import plural
from crop_cli.simulate.labels import lines
from crop_cli.simulate.page.payload import payload, styles
from crop_cli.simulate.records import Simulation
from crop_cli.simulate.words import policy_words, reaction_words, weather_words

BENCH = "crop_cli.bench.page"
OWN = "crop_cli.simulate.page"

SCRIPTS = (
    (BENCH, "core"),
    (BENCH, "marks"),
    (BENCH, "axes"),
    (BENCH, "chart"),
    (BENCH, "profiles"),
    (BENCH, "tables"),
    (OWN, "simulation"),
)
"""Scripts of the page in the order in which they need each other."""


def render(simulations: Sequence[Simulation], replayed: str | None = None) -> str:
    """The page: one document without any outside resource.

    Parameters
    ----------
    simulations
        At least one, of the same trace, cluster and weather.
    replayed
        What is said of a fault trace.
    """
    environment = Environment(
        loader=PackageLoader(OWN, "."),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    first, drawn = simulations[0], styles(simulations)
    return environment.get_template("page.html").render(
        lead=(
            f"{plural(len(first.jobs), 'job')} of {first.trace or 'a trace without a name'} on "
            f"{first.cluster or 'a cluster without a name'}: {plural(first.nodes, 'node')}, "
            f"{plural(first.gpus, 'GPU')}."
        ),
        facts=[
            ("Policies", ", ".join(style.name for style in drawn)),
            ("Queue", policy_words(first.settings.policy)),
            ("Reaction", reaction_words(first.settings.policy)),
            ("Devices", weather_words(first.settings)),
            *([("Replayed", replayed)] if replayed else []),
            ("Overbooked uplinks", "times stretch by the load" if first.settings.sharing == "load" else "max-min fair"),
            ("crop", first.crop_version),
        ],
        interrupted=[one.settings.policy.solver for one in simulations if one.interrupted],
        policies=drawn,
        lines=lines([one.figures for one in simulations]),
        css=_asset(BENCH, "page.css"),
        data=Markup(embed(payload(simulations, drawn))),
        scripts=Markup("\n").join(_asset(package, f"{name}.js") for package, name in SCRIPTS),
    )


def _asset(package: str, name: str) -> Markup:
    """A file of a package, which is markup of ours: nothing in it comes from data."""
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
