"""What holds for every family: determinism, validity, limits, sources."""

from __future__ import annotations

import math

import pytest

from crop_cli import api
from crop_cli.errors import UsageError
from crop_cli.model.instance import Instance
from crop_cli.model.io import dump_instance, read_instance
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.generate.registry import FAMILIES, MOST_NODES, find, generate

NODES = 24


def _waiting(instance: Instance) -> list[int]:
    return [job.gpus for job in instance.jobs if job.placement is None]


def _free(instance: Instance) -> int:
    running = sum(job.gpus for job in instance.jobs if job.placement is not None)
    up = [node for node in instance.cluster.nodes if node.state == "up"]
    return sum(node.gpus - int(node.used.get("gpus", 0)) for node in up) - running


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(family: str) -> None:
    """An instance is a function of family, size, load and seed."""
    first, again, other = (generate(family, NODES, seed=seed).instance for seed in (7, 7, 8))
    assert dump_instance(first) == dump_instance(again)
    assert (first.cluster, first.jobs) != (other.cluster, other.jobs)


@pytest.mark.parametrize("nodes", [9, 40])
@pytest.mark.parametrize("family", FAMILIES)
def test_instances_are_valid_without_warnings(family: str, nodes: int) -> None:
    """The file can be read back, nothing in it deserves a warning, and it has as many nodes as were asked for."""
    made = generate(family, nodes, seed=3)
    loaded = read_instance(dump_instance(made.instance), "made.json")
    assert made.warnings == loaded.warnings == [] and not made.skipped
    assert len(loaded.instance.cluster.nodes) == nodes


@pytest.mark.parametrize("family", FAMILIES)
def test_source_licence_and_assumptions_are_stated(family: str) -> None:
    """Who gets the file alone can tell where it is from, how to make it again, and what was assumed."""
    made = generate(family, NODES, seed=5).instance
    assert made.source.startswith(f"crop generate {family} --nodes {NODES}") and "--seed 5" in made.source
    assert all(origin.source in made.source and origin.licence in made.licence for origin in FAMILIES[family].origins)
    assert made.description and made.assumptions and made.name == f"{family}-{NODES}-5"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_greedy_places_something(family: str) -> None:
    """A solution that the evaluator accepts uses most of the GPUs."""
    made = generate(family, NODES, seed=1).instance
    solution = api.solve(made, solver="greedy", time_limit=60)
    assert solution.status in ("optimal", "feasible")
    assert sum(sum(placed.nodes.values()) for placed in solution.placements) >= 0.6 * _free(made)


@pytest.mark.parametrize("load", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("family", [name for name, family in FAMILIES.items() if not family.own_load])
def test_jobs_ask_for_the_load(family: str, load: float) -> None:
    """Waiting jobs ask for `load` times the free GPUs, up to less than the smallest job."""
    made = generate(family, 60, load, seed=2).instance
    wanted, target = sum(_waiting(made)), round(load * _free(made))
    assert target - (63 if family == "llm-mix" else 0) <= wanted <= target


@pytest.mark.parametrize("family", [name for name, family in FAMILIES.items() if not family.own_load])
def test_a_number_of_jobs_replaces_the_load(family: str) -> None:
    """With `jobs` exactly so many wait."""
    assert len(_waiting(generate(family, NODES, jobs=17).instance)) == 17


@pytest.mark.parametrize("family", FAMILIES)
def test_the_smallest_cluster(family: str) -> None:
    """One node will do, but where a family's jobs need more: then the message says so."""
    if family in ("llm-mix", "tight", "tight-pieces"):
        with pytest.raises(UsageError, match="--nodes: "):
            generate(family, 1)
    else:
        assert len(generate(family, 1, 0.001).instance.jobs) >= 1


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ({"nodes": 0}, "--nodes: 0"),
        ({"nodes": -3}, "--nodes: -3"),
        ({"nodes": 100_000}, f"--nodes: 100000 is not a whole number from 1 to {MOST_NODES}"),
        ({"load": 0.0}, "--load: 0 "),
        ({"load": -1.0}, "--load: -1 "),
        ({"load": math.nan}, "--load: nan"),
        ({"load": math.inf}, "--load: inf"),
        ({"load": 1e9}, "--load: 1e"),
        ({"jobs": 0}, "--jobs: 0"),
        ({"jobs": 10**9}, "--jobs: 1000000000"),
        ({"load": 1.0, "jobs": 3}, "--load and --jobs"),
        ({"seed": -1}, "--seed: -1"),
        ({"seed": 2**31}, "--seed: 2147483648"),
    ],
    ids=str,
)
def test_values_out_of_range_are_refused(arguments: dict[str, float], option: str) -> None:
    """The message names the option and the value."""
    with pytest.raises(UsageError) as caught:
        generate("rail", **arguments)  # type: ignore[arg-type]
    assert str(caught.value).startswith(option)


@pytest.mark.parametrize(("family", "load"), [("philly-mix", 10.0), ("tight-pieces", None)])
def test_more_jobs_than_a_file_should_hold_are_refused(family: str, load: float | None) -> None:
    """Large clusters with a high load would have millions of jobs."""
    with pytest.raises(UsageError, match="500000 jobs"):
        generate(family, MOST_NODES, load)


def test_a_family_with_its_own_load_takes_none() -> None:
    """The tight family has jobs for exactly its GPUs."""
    for given in ({"load": 1.0}, {"jobs": 5}):
        with pytest.raises(UsageError, match="leave it out"):
            generate("tight", 4, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("lingjun", "lingjun-like"), ("Rail", "rail"), ("superpod", "dgx-superpod"), ("phily", "philly")],
)
def test_an_unknown_family_gets_a_suggestion(typed: str, meant: str) -> None:
    """The nearest name is named, and all are listed."""
    with pytest.raises(UsageError, match=f"did you mean '{meant}") as caught:
        find(typed)
    assert all(name in str(caught.value) for name in FAMILIES)


def test_a_name_without_likeness_gets_the_list_only() -> None:
    """No suggestion is better than a wrong one."""
    with pytest.raises(UsageError) as caught:
        find("xyzzy")
    assert "did you mean" not in str(caught.value) and "rail" in str(caught.value)


def test_another_fabric_is_used_and_said() -> None:
    """Bandwidths that the source does not state come from the fabric that is given."""
    made = generate("philly-mix", 4, fabric=load_fabric("pcie-eth")).instance
    assert {node.uplink_gbps for node in made.cluster.nodes} == {25}
    assert "--fabric pcie-eth" in made.source and any("fabric pcie-eth" in text for text in made.assumptions)
