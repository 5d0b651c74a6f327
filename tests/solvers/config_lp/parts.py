"""The pieces of a run of the configuration LP, and its truth by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

from crop_cli.model.instance import Instance
from crop_cli.model.problem import Problem, compile_problem
from crop_cli.solvers.config_lp.configuration import Classes, Groups, find_classes, widened
from crop_cli.solvers.config_lp.pricing import Pricer
from crop_cli.solvers.greedy.domains import find_domains
from tests.bruteforce import NameCounts, World
from tests.solvers.greedy.build import setting_of
from tests.solvers.greedy.truth import open_jobs, options


def parts(instance: Instance, depth: int) -> tuple[Problem, Classes, Groups, Pricer]:
    """Problem, classes and groups of a level, and the pricer with the greedy's oracle."""
    problem = compile_problem(instance)
    setting = setting_of(problem)
    classes = find_classes(widened(problem), setting.outlook, setting.likeness, depth)
    groups = Groups.of_problem(problem)
    oracle = setting.in_nodes if depth == problem.tree.max_depth else setting.inner
    return problem, classes, groups, Pricer(setting, classes, groups, oracle)


def classes_without_tolerance(instance: Instance, depth: int) -> int:
    """Number of domains that the greedy runs over."""
    setting = setting_of(compile_problem(instance))
    return find_domains(setting.problem, setting.outlook, setting.likeness, depth).count


def enumerated_lp(instance: Instance, level: str) -> float:
    """Optimum of the configuration LP with every arrangement of every domain of a level written out."""
    world = World(instance)
    jobs = list(open_jobs(instance))
    depth = instance.cluster.levels.index(level)
    domains = sorted({list(reversed(path))[depth] for path in world.paths.values()})
    rows: list[tuple[int, list[int]]] = []
    values: list[float] = []
    for d, domain in enumerate(domains):
        ways: list[list[tuple[float, NameCounts] | None]] = [
            [None, *(option for option in options(world, job, level, domain) if option[0] > 0)] for job in jobs
        ]
        for choice in product(*ways):
            taken = [(job, option) for job, option in zip(jobs, choice, strict=True) if option is not None]
            done = []
            for job, (_, counts) in taken:
                if not world.fits(job, counts):
                    break
                world.take(job, counts)
                done.append((job, counts))
            if len(done) == len(taken):
                rows.append((d, [j for j, option in enumerate(choice) if option is not None]))
                values.append(sum(option[0] for _, option in taken))
            for job, counts in done:
                world.take(job, counts, -1)
    table = np.zeros((len(domains) + len(jobs), len(rows)))
    for column, (d, placed) in enumerate(rows):
        table[d, column] = 1.0
        table[[len(domains) + j for j in placed], column] = 1.0
    return -float(linprog(-np.array(values), A_ub=table, b_ub=np.ones(len(table)), method="highs").fun)
