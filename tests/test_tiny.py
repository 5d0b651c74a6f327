"""The tools of the tests themselves: tiny instances are valid and varied, enumeration agrees with the evaluator."""

from __future__ import annotations

import itertools
import math

import msgspec
import pytest
from hypothesis import given, settings

from crop_cli.model.evaluate import evaluate
from crop_cli.model.instance import FORMAT, Cluster, Instance, Job, Node
from crop_cli.model.validate import validate
from tests.bruteforce import World, enumerate_job, optimum
from tests.tiny import instances, random_instance


def test_a_seed_gives_the_same_instance_again() -> None:
    """Equal seeds and bounds give equal instances, other seeds others."""
    assert random_instance(5, max_nodes=3) == random_instance(5, max_nodes=3)
    assert random_instance(5) != random_instance(6)


def test_random_instances_are_valid() -> None:
    """The validator has nothing to object to, running jobs included."""
    for seed in range(300):
        assert validate(random_instance(seed, max_levels=4))[0] == [], seed


@given(instance=instances())
@settings(max_examples=50, deadline=None)
def test_drawn_instances_are_valid(instance: Instance) -> None:
    """The same of instances that hypothesis draws."""
    assert validate(instance)[0] == []


def test_every_feature_of_the_model_occurs() -> None:
    """Over some hundred seeds every optional field takes a value other than its default, alone and with others."""
    seen: set[str] = set()
    for seed in range(300):
        instance = random_instance(seed)
        structs = [instance.cluster, instance.objective, *instance.cluster.nodes, *instance.cluster.switches]
        for struct in [*structs, *instance.jobs]:
            written = msgspec.to_builtins(struct)
            seen |= {f"{type(struct).__name__}.{field}" for field in written}
        seen |= {f"levels {len(instance.cluster.levels)}"}
        seen |= {f"state {node.state}" for node in instance.cluster.nodes}
    optional = {
        f"{struct.__name__}.{field}"
        for struct in (Cluster, Node, Job)
        for field in struct.__struct_fields__
        if field not in ("name", "switches", "description")
    }
    assert optional <= seen
    assert {"levels 1", "levels 2", "levels 3", "state drained", "state down"} <= seen


def test_optimum_passes_the_evaluator() -> None:
    """The evaluator finds the optimal placement feasible and of the same F."""
    feasible = 0
    for seed in range(400):
        instance = random_instance(seed)
        value, placement = optimum(instance)
        if value is None:
            continue
        evaluation = evaluate(instance, placement)
        assert evaluation.feasible, (seed, evaluation.violations)
        assert math.isclose(evaluation.objective, value, rel_tol=1e-9, abs_tol=1e-12)
        feasible += 1
    assert feasible > 250


def test_optimum_beats_every_joint_placement_that_the_evaluator_allows() -> None:
    """Trying every combination of single placements, without pruning, gives nothing better."""
    tried = 0
    for seed in range(300):
        instance = random_instance(seed, max_jobs=3, max_nodes=3, max_workers=4)
        world = World(instance)
        fixed = {j.name: j.placement for j in instance.jobs if j.placement is not None and not j.movable}
        options = [[None, *enumerate_job(world, job)] for job in instance.jobs if job.name not in fixed]
        names = [job.name for job in instance.jobs if job.name not in fixed]
        if math.prod(len(o) for o in options) > 300:
            continue
        best = None
        for chosen in itertools.product(*options):
            placement = fixed | {name: counts for name, counts in zip(names, chosen, strict=True) if counts is not None}
            evaluation = evaluate(instance, placement)
            if evaluation.feasible and (best is None or evaluation.objective > best):
                best = evaluation.objective
            tried += 1
        assert optimum(instance)[0] == (None if best is None else pytest.approx(best, rel=1e-9, abs=1e-12))
    assert tried > 1000


def test_enumeration_lists_every_split_once() -> None:
    """Three workers on nodes of two and two GPUs: two ways; the counts of a spread of one: none."""
    cluster = Cluster(levels=["node"], nodes=[Node(name="a", gpus=2), Node(name="b", gpus=2)])
    job = Job(name="j", gpus=3)
    instance = Instance(format=FORMAT, cluster=cluster, jobs=[job])
    found = list(enumerate_job(World(instance), job))
    assert sorted(tuple(sorted(counts.items())) for counts in found) == [(("a", 1), ("b", 2)), (("a", 2), ("b", 1))]
    assert list(enumerate_job(World(instance), msgspec.structs.replace(job, within="node"))) == []
