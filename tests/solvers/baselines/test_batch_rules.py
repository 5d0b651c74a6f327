"""The rules of batch schedulers on tiny instances that use every feature of the model."""

from __future__ import annotations

import pytest

from crop_cli.model.sharing import evaluate_shared
from tests.solvers.baselines.batch import places
from tests.tiny import random_instance

RULES = ["slurm-tree", "slurm-block", "hived", "tiresias", "gavel"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("first", range(0, 200, 25))
def test_placements_are_feasible_but_for_uplinks(rule: str, first: int) -> None:
    """Nothing is violated but that required jobs may wait, and running jobs stay where they are."""
    for seed in range(first, first + 25):
        instance = random_instance(seed, max_nodes=9, max_jobs=6, max_workers=8)
        placement = places(rule, instance)
        violations = evaluate_shared(instance, placement).evaluation.violations
        assert [v.message for v in violations if v.kind != "required job missing"] == []
        for job in instance.jobs:
            if job.placement is not None:
                assert placement[job.name] == {node: x for node, x in job.placement.items() if x}
