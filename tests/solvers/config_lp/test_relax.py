"""The LP: its value against enumeration, its bound at any prices."""

from __future__ import annotations

import numpy as np
import pytest

from crop_cli.solvers.config_lp.configuration import widened
from crop_cli.solvers.config_lp.master import Master
from crop_cli.solvers.config_lp.pricing import knapsack_bound, upper_bound
from crop_cli.solvers.config_lp.relax import relax
from crop_cli.solvers.contract import Budget
from crop_cli.solvers.greedy.arrangement import NodeArranger
from crop_cli.solvers.greedy.finder import Finder
from crop_cli.solvers.greedy.inner import InnerGreedy
from tests.solvers.config_lp.parts import enumerated_lp, parts
from tests.solvers.greedy.build import copied
from tests.solvers.greedy.truth import confined_optimum
from tests.tiny import random_instance


@pytest.mark.parametrize("times", [1, 2])
def test_over_nodes_the_lp_is_solved_to_optimality(times: int) -> None:
    """With exact arrangements column generation ends at the value of the LP with all arrangements written out, and the
    bound at its prices is there too."""
    solved = 0
    for seed in range(80):
        instance = copied(random_instance(seed, max_nodes=4 // times), times)
        depth = len(instance.cluster.levels)
        problem, classes, groups, pricer = parts(instance, depth)
        if not classes.count:
            continue
        truth = enumerated_lp(instance, instance.cluster.levels[-1])
        relaxed = relax(pricer, [], Budget())
        wide = NodeArranger(widened(problem), pricer.setting.outlook)
        upper = upper_bound(classes, groups, relaxed.prices, lambda v, s, a=wide: a(v, s).bound, Budget())
        assert relaxed.value <= truth + 1e-7
        assert relaxed.value == pytest.approx(truth, rel=1e-4)
        assert upper is not None
        assert upper >= truth - 1e-12 * max(1.0, truth)
        assert upper == pytest.approx(truth, rel=1e-3)
        solved += 1
    assert solved > 25


def test_the_bound_holds_at_any_prices() -> None:
    """Whatever the prices, no placement that keeps each job inside one domain is worth more than the bound."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        instance = random_instance(seed)
        for depth, level in enumerate(instance.cluster.levels, 1):
            problem, classes, groups, pricer = parts(instance, depth)
            setting, wide = pricer.setting, widened(problem)
            truth = confined_optimum(instance, level)
            arranger = NodeArranger(wide, setting.outlook)
            inner = InnerGreedy(
                wide, Finder(wide, setting.outlook, Budget()), arranger, np.arange(problem.tree.n_vertices)
            )
            bound_of = knapsack_bound(wide, inner)
            if depth == problem.tree.max_depth:
                bound_of = lambda v, s, a=arranger: a(v, s).bound  # noqa: E731
            prices = [np.zeros(len(groups)), relax(pricer, [], Budget()).prices]
            prices += [rng.exponential(1.0, len(groups)) for _ in range(3)]
            for sigma in prices:
                upper = upper_bound(classes, groups, sigma, bound_of, Budget())
                assert upper is not None
                assert upper >= truth - 1e-12 * max(1.0, truth)


def test_the_point_is_feasible() -> None:
    """No class is taken more often than it has domains, no group placed more often than it has jobs."""
    for seed in range(40):
        instance = copied(random_instance(seed, max_nodes=3), 2)
        for depth in range(1, len(instance.cluster.levels) + 1):
            _, classes, groups, pricer = parts(instance, depth)
            if not classes.count:
                continue
            relaxed = relax(pricer, [], Budget())
            by_class, by_group = np.zeros(len(classes.members)), np.zeros(len(groups))
            for configuration, weight in zip(relaxed.configurations, relaxed.weights, strict=True):
                by_class[configuration.of_class] += weight
                for slot in configuration.slots:
                    by_group[slot.group] += weight
            assert (by_class <= classes.size * (1 + 1e-12)).all()
            assert (by_group <= groups.size * (1 + 1e-12)).all()
            total = sum(w * c.value for c, w in zip(relaxed.configurations, relaxed.weights, strict=True))
            assert relaxed.value == pytest.approx(total)


def test_a_master_without_configurations_is_worth_nothing() -> None:
    """An LP without columns has the value 0 and no prices."""
    solved = Master(np.array([2]), np.array([1, 3]), 1.0).solve(Budget())
    assert solved is not None
    assert (solved.value, solved.weights.size) == (0.0, 0)
    assert not solved.of_class.any()
    assert not solved.of_group.any()


def test_nothing_is_solved_without_time() -> None:
    """A budget that is used up gives no LP value and no bound."""
    _, classes, groups, pricer = parts(random_instance(1), 1)
    budget = Budget()
    budget.interrupt()
    relaxed = relax(pricer, [], budget)
    assert relaxed.value == 0.0
    assert relaxed.configurations == ()
    assert upper_bound(classes, groups, relaxed.prices, lambda _v, _s: 0.0, budget) is None
    assert Master(classes.size, groups.size, 1.0).solve(budget) is None
