"""The engine: the configuration LP over the domains of one level, rounded, completed and improved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crop_cli.errors import BackendError
from crop_cli.model.problem import Placement, Problem
from crop_cli.solvers.config_lp.assign import assign, configurations_of, confined_part, rearrange
from crop_cli.solvers.config_lp.configuration import Classes, Groups, find_classes, widened
from crop_cli.solvers.config_lp.guarantee import Evidence, guarantee
from crop_cli.solvers.config_lp.master import MasterError
from crop_cli.solvers.config_lp.pricing import SAFETY, DomainBound, Pricer, knapsack_bound, upper_bound
from crop_cli.solvers.config_lp.relax import WORK, Relaxed, relax
from crop_cli.solvers.config_lp.rounding import derandomise
from crop_cli.solvers.contract import Answer, Budget, Event, Listener, Request
from crop_cli.solvers.greedy.arrangement import ArrangementOracle, NodeArranger
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.domains import choose_depth, deepest_fit
from crop_cli.solvers.greedy.finder import Finder
from crop_cli.solvers.greedy.guarantee import confined
from crop_cli.solvers.greedy.inner import InnerGreedy
from crop_cli.solvers.greedy.must import impossible, place_required
from crop_cli.solvers.greedy.setting import THRIFT, Setting
from crop_cli.solvers.greedy.solve import PREPARE, finish, improve, read_options, strongest

SHARE_LEVEL = 0.5
"""Most of the time left that one level may take; the next level and improvement have the rest."""

SHARE_START, SHARE_RELAX, SHARE_BOUND = 0.1, 0.5, 0.5
"""Most of a level's time left that the start, the LP and its proven bound may take, one after another."""

REARRANGE = WORK // 3
"""`Pricer.work` that arranging the domains anew may add, at the start and after rounding."""

ORDERS = 7
"""Orders of the domains in which the LP is rounded, besides that of the classes."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """Place jobs by the configuration LP of model.md section 9 and the rounding of Fleischer, Goemans, Mirrokni and
    Sviridenko (SODA 2006), derandomised.

    The level is chosen as the greedy does. What rounding leaves is completed and improved in the greedy's ways, which
    never lowers F. Where every job is kept inside one domain of the level, the LP's bound is one of the optimum.

    Raises
    ------
    UsageError
        An option that it does not know.
    BackendError
        The LP solver failed.
    """
    forced, exact = read_options(problem, request, "config-lp")
    proof = impossible(problem)
    if proof is not None:
        return Answer(None, "proved", infeasible=True, seconds={"solve": budget.elapsed}, notes=(proof,))
    started = budget.elapsed
    setting = Setting.of(problem, request.gap, budget, listen)
    fitting = deepest_fit(problem, setting.finder, setting.likeness, budget.part(PREPARE))
    depth = choose_depth(problem, fitting) if forced is None else forced
    built = budget.elapsed
    base, board, orders = place_required(setting), Board.empty(problem), setting.orders()
    if base is not None:
        board.load(base)
        setting.offer(board)
    if request.start is not None:
        finish(setting, board, base, request.start, orders["dense"])
    for name in ("dense", "valuable", "large"):
        finish(setting, board, base, base or {}, orders[name])
    listen(Event("phase", budget.elapsed, text="configuration LP"))
    runs: list[_Run] = []
    for d in dict.fromkeys((depth, problem.tree.max_depth)):
        try:
            runs.append(_run(setting, budget.part(SHARE_LEVEL), d, exact, request.seed))
        except MasterError as error:
            raise BackendError(f"HiGHS failed on the configuration LP: {error}") from error
        for placement in runs[-1].placements:
            finish(setting, board, base, placement, orders["dense"])
    if setting.best is not None:
        improve(setting, np.random.default_rng(request.seed))
    seconds = {"build": built - started, "solve": budget.elapsed - built}
    bound = min((run.bound for run in runs if run.bound is not None), default=None)
    reason = budget.stop_reason() if budget.should_stop else "completed"
    if setting.best is None:
        missing = "config-lp found no placement of all jobs that must run; that proves nothing, an exact solver decides"
        return Answer(None, reason, bound=bound, seconds=seconds, notes=(missing,))
    claims = [
        guarantee(
            problem,
            run.classes,
            run.evidence,
            confined(problem, setting.outlook, run.classes.depth, fitting),
            setting.best_value,
        )
        for run in runs
    ]
    notes = tuple(note for run in runs for note in run.notes)
    return Answer(setting.best, reason, bound=bound, guarantee=strongest(claims), seconds=seconds, notes=notes)


@dataclass(frozen=True, slots=True)
class _Run:
    """The rounded LP of one level.

    Attributes
    ----------
    placements
        Each of jobs inside one domain; the second and later ones are of the rounded LP.
    evidence
        The numbers behind the guarantee.
    bound
        Upper bound of F, where every job is kept inside one domain.
    notes
        What the user may want to know.
    """

    classes: Classes
    placements: list[Placement]
    evidence: Evidence
    bound: float | None
    notes: tuple[str, ...]


def _run(setting: Setting, budget: Budget, depth: int, exact: bool, seed: int) -> _Run:
    """Relax, bound, round, and look at every domain once more."""
    problem = setting.problem
    wide = widened(problem)
    classes, groups = find_classes(wide, setting.outlook, setting.likeness, depth), Groups.of_problem(problem)
    if not classes.count:
        return _Run(classes, [], Evidence(0.0, 0.0), _bound(setting, depth, 0.0), ())
    oracle, bound_of = _oracles(setting, wide, classes, exact, seed)
    pricer = Pricer(setting, classes, groups, oracle)
    start = confined_part(problem, classes, setting.best or {})
    known = configurations_of(start, classes, groups)
    rearrange(pricer, start, REARRANGE, budget.part(SHARE_START))
    known += configurations_of(start, classes, groups)
    relaxed = relax(pricer, known, budget.part(SHARE_RELAX))
    upper = upper_bound(classes, groups, relaxed.prices, bound_of, budget.part(SHARE_BOUND))
    evidence = Evidence(relaxed.value, upper)
    placements = [start.placement, *_rounded(pricer, relaxed, budget, seed)]
    level = problem.tree.level_name(depth)
    notes = [f"configuration LP over {classes.count} {level} domains: {relaxed.rounds} rounds of pricing"]
    if classes.count == 1:
        notes.append(f"one {level} domain is all there is: rounding has nothing to choose, as for the greedy")
    return _Run(classes, placements, evidence, _bound(setting, depth, upper), tuple(notes))


def _rounded(pricer: Pricer, relaxed: Relaxed, budget: Budget, seed: int) -> list[Placement]:
    """The LP rounded with the domains in several orders, one at least, each improved among the domains."""
    limit = pricer.work + REARRANGE
    found: list[Placement] = []
    for rng in (None, *np.random.default_rng(seed).spawn(ORDERS)):
        if found and (budget.should_stop or pricer.work >= limit):
            break
        kept = assign(derandomise(relaxed, pricer.classes, pricer.groups, rng).choices, pricer.classes, pricer.groups)
        rearrange(pricer, kept, limit, budget)
        found.append(kept.placement)
    return found


def _bound(setting: Setting, depth: int, upper: float | None) -> float | None:
    """Bound of F from one of the configuration LP, if every job is kept inside one domain of the level.

    Every open job counts, also one that fits nowhere: it might by the evaluator's tolerance.
    """
    problem = setting.problem
    jobs = dict.fromkeys(problem.open_jobs.tolist(), 0)
    if upper is None or not confined(problem, setting.outlook, depth, jobs):
        return None
    return problem.pinned_value + upper + SAFETY * abs(problem.pinned_value)


def _oracles(
    setting: Setting, wide: Problem, classes: Classes, exact: bool, seed: int
) -> tuple[ArrangementOracle, DomainBound]:
    """The arrangement oracle of the level, and the bound of its gains that holds for the evaluator's tolerance too."""
    problem, budget = setting.problem, setting.budget
    in_nodes = NodeArranger(wide, setting.outlook)
    inner = InnerGreedy(
        wide, Finder(wide, setting.outlook, budget, THRIFT), in_nodes, np.arange(problem.tree.n_vertices)
    )
    at_nodes = classes.depth == problem.tree.max_depth
    oracle: ArrangementOracle = setting.in_nodes if at_nodes else setting.inner
    if exact:
        from crop_cli.solvers.greedy.exact_arrangement import ExactArranger  # noqa: PLC0415 (loads scipy)

        # Column generation asks often: a call may take the share that it would have in about ten rounds.
        calls = 10 * len(classes.members)
        oracle = ExactArranger(problem, oracle, setting.inner.ceiling, calls, budget, seed)
        certain = ExactArranger(
            wide, in_nodes if at_nodes else inner, inner.ceiling, len(classes.members), budget, seed
        )
        return oracle, lambda vertex, current: certain(vertex, current).bound
    if at_nodes:
        return oracle, lambda vertex, current: in_nodes(vertex, current).bound
    return oracle, knapsack_bound(wide, inner)
