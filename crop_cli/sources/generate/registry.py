"""The families by name, and the one function that makes an instance of one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass

from crop_cli._version import __version__
from crop_cli.errors import UsageError
from crop_cli.names import one
from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import Imported, dress
from crop_cli.sources.fabric import Fabric, load_fabric
from crop_cli.sources.generate import families, origins
from crop_cli.sources.generate.draw import Draw
from crop_cli.sources.generate.families import Made
from crop_cli.sources.generate.jobs import MOST_JOBS, Ask
from crop_cli.sources.generate.origins import Origin
from crop_cli.sources.profiles import ANY, Profiles, load_profiles

MOST_NODES, MOST_LOAD, MOST_SEED = 50_000, 10.0, 2**31 - 1

LOAD = 1.1
"""GPUs that the jobs ask for over the free ones, unless told otherwise: some have to wait."""


DRAWN = (
    "Models are drawn at random, all equally likely: any for one GPU, for gangs those that exchange something, from 64 "
    "GPUs on those with at least 1,000 MB; the time of one GPU holds for each worker."
)


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of instance.

    Attributes
    ----------
    name, summary
        For people.
    origins
        What it draws from.
    build
        Pure: from size and load, random choices and the models to cluster and jobs.
    fabric
        Bandwidths that the cluster's source does not state; None: unlimited.
    own_load
        Whether the family itself says how many jobs there are.
    """

    name: str
    summary: str
    origins: tuple[Origin, ...]
    build: Callable[[Ask, Draw, Profiles], Made]
    fabric: str | Fabric | None
    own_load: bool = False

    @property
    def source(self) -> str:
        """What it draws from, as text."""
        return "; ".join(origin.source for origin in self.origins)


CLOS = Fabric(
    name="clos-800",
    source="assumed, as the topology states none: 4 × 200 Gbit/s per host, half of that per host above a rack, a "
    "quarter above a pod; NVLink 3",
    gpu_link_gbps=2400,
    node_uplink_gbps=800,
    switch_uplink_gbps_per_node=[400, 200],
)

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "lingjun-like",
            "Clos pods and racks of 2 to 8 hosts with 8 A100, as in Alibaba's Lingjun",
            (origins.LINGJUN, origins.PHILLY),
            families.lingjun_like,
            CLOS,
        ),
        Family(
            "rail",
            "groups of 60, 49 and 24 servers with 8 A100 and 4 × 200 Gbit/s, as in Zhejiang Lab's cluster",
            (origins.ZHEJIANG, origins.PHILLY),
            families.rail,
            "a100-ib",
        ),
        Family(
            "dgx-superpod",
            "scalable units of up to 32 DGX H100 below spine switches",
            (origins.SUPERPOD, origins.PHILLY),
            families.dgx_superpod,
            "h100-ib",
        ),
        Family(
            "philly-mix",
            "Philly's job sizes by number of jobs: 93 % have one GPU",
            (origins.PHILLY,),
            families.philly_mix,
            "v100-eth",
        ),
        Family(
            "philly-gpu-time",
            "Philly's job sizes by GPU time: half of the GPUs go to jobs of 8",
            (origins.PHILLY,),
            families.philly_gpu_time,
            "v100-eth",
        ),
        Family(
            "llm-mix",
            "few jobs of 64 to 1,024 GPUs on whole nodes of a DGX SuperPOD",
            (origins.SUPERPOD, origins.ACME),
            families.llm_mix,
            "h100-ib",
        ),
        Family(
            "fragmented",
            "Lingjun's racks with 30 % of the GPUs taken at random, by running jobs and otherwise",
            (origins.LINGJUN, origins.PHILLY),
            families.fragmented,
            CLOS,
        ),
        Family(
            "heterogeneous",
            "racks of V100, P100 and K80 with the models' speed on each",
            (origins.GAVEL, origins.OPENB, origins.PHILLY),
            families.heterogeneous,
            "v100-eth",
        ),
        Family(
            "tight",
            "the pure greedy over nodes gets close to 1 − 1/e of a known optimum",
            (origins.FEIGE,),
            families.tight_coverage,
            None,
            own_load=True,
        ),
        Family(
            "tight-pieces",
            "as tight, in smaller jobs: the full greedy misses the optimum, too",
            (origins.FEIGE,),
            families.tight_pieces,
            None,
            own_load=True,
        ),
        Family(
            "failures",
            "lemon nodes, slow nodes, and jobs that lose work by failures",
            (origins.LINGJUN, origins.PHILLY, origins.HBD),
            families.failures,
            CLOS,
        ),
    )
}


def find(name: str) -> Family:
    """Family of a name.

    Raises
    ------
    UsageError
        If there is none; the message names the nearest and all.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    near = difflib.get_close_matches(name.lower(), FAMILIES, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"there is no family {name!r}{hint} (families: {', '.join(FAMILIES)})")


def generate(
    name: str,
    nodes: int = 64,
    load: float | None = None,
    jobs: int | None = None,
    seed: int = 0,
    *,
    instance_name: str | None = None,
    profiles: Profiles | None = None,
    fabric: Fabric | None = None,
) -> Imported:
    """An instance of a family: the same arguments and version give the same instance.

    Parameters
    ----------
    nodes
        Of the cluster, 1 to `MOST_NODES`.
    load, jobs
        GPUs that the waiting jobs ask for over free ones (default `LOAD`), or the number of waiting jobs.
    seed
        Of all random choices.
    profiles, fabric
        Models and bandwidths in place of the family's own.

    Raises
    ------
    UsageError
        If there is no such family or a value is out of its range.
    """
    family = find(name)
    ask = _checked(family, nodes, load, jobs, seed)
    table = profiles or load_profiles()
    made = family.build(ask, Draw(f"{name} {seed}"), table)
    own = load_fabric(family.fabric) if isinstance(family.fabric, str) else family.fabric
    title = instance_name if instance_name is not None else f"{name}-{nodes}-{seed}"
    demand = f"--jobs {jobs}" if jobs is not None else "" if family.own_load else f"--load {ask.load:g}"
    others = [f"--fabric {fabric.name}"] if fabric else []
    others += [f"--models {profiles.file}"] if profiles else []
    parts = (f"crop generate {name} --nodes {nodes}", demand, f"--seed {seed}", *others)
    drawn = any(draft.model for draft in made.jobs)
    models = "; models as the assumptions say" if drawn else ""
    draft = Draft(
        name=title,
        levels=made.cluster.levels,
        switches=made.cluster.switches,
        nodes=made.cluster.nodes,
        jobs=made.jobs,
        source=f"{' '.join(filter(None, parts))} (crop {__version__}); {family.source}{models}",
        licence=f"drawn anew from: {'; '.join(origin.licence for origin in family.origins)}",
        description=f"{family.summary[0].upper()}{family.summary[1:]}.",
        assumptions=[*made.assumptions, *([DRAWN] if drawn else [])],
        counts=_counts(made),
    )
    return dress(draft, _drawn(table, made), fabric or own or Fabric(name="unlimited", source="no bandwidth matters"))


def _checked(family: Family, nodes: int, load: float | None, jobs: int | None, seed: int) -> Ask:
    """The arguments, if they can be used."""
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(f"--nodes: {nodes} is not a whole number from 1 to {MOST_NODES}")
    if not 0 <= seed <= MOST_SEED:
        raise UsageError(f"--seed: {seed} is not a whole number from 0 to {MOST_SEED}")
    given = [option for option, value in (("--load", load), ("--jobs", jobs)) if value is not None]
    if family.own_load and given:
        raise UsageError(f"{one(given)}: family {family.name} has jobs for exactly its GPUs: leave it out")
    if len(given) > 1:
        raise UsageError("--load and --jobs both say how many jobs there are: give one")
    if load is not None and not (math.isfinite(load) and 0 < load <= MOST_LOAD):
        raise UsageError(f"--load: {load:g} is not a number above 0, at most {MOST_LOAD:g}")
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"--jobs: {jobs} is not a whole number from 1 to {MOST_JOBS}")
    return Ask(nodes, LOAD if load is None else load, jobs)


def _drawn(profiles: Profiles, made: Made) -> Profiles:
    """The part of the table that was drawn: every job's model is looked up among a few names, not among all."""
    names = {draft.model for draft in made.jobs}
    return Profiles({name: row for name, row in profiles.table.items() if name in names or name == ANY}, profiles.file)


def _counts(made: Made) -> dict[str, int]:
    """Totals for the report."""
    running = [draft.job for draft in made.jobs if draft.job.placement is not None]
    waiting = [draft.job for draft in made.jobs if draft.job.placement is None]
    return {
        "nodes": len(made.cluster.nodes),
        "GPUs": sum(node.gpus for node in made.cluster.nodes),
        "free GPUs": sum(made.cluster.free().values()) - sum(job.gpus for job in running),
        "jobs running": len(running),
        "jobs waiting": len(waiting),
        "GPUs asked for": sum(job.gpus for job in waiting),
    }
