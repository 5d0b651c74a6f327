"""The greedy engine: constructions, guarantee, fill and improvement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crop_cli.errors import UsageError
from crop_cli.model.problem import Placement, Problem
from crop_cli.model.solution import Guarantee
from crop_cli.model.tree import ROOT_NAME
from crop_cli.solvers.contract import Answer, Budget, Listener, Request
from crop_cli.solvers.greedy.arrangement import ArrangementOracle
from crop_cli.solvers.greedy.board import Board
from crop_cli.solvers.greedy.domains import choose_depth, deepest_fit, find_domains
from crop_cli.solvers.greedy.guarantee import guarantee
from crop_cli.solvers.greedy.improve import displace, fill, ruin, upgrade
from crop_cli.solvers.greedy.lazy import PATIENCE, PureRun, run_greedy
from crop_cli.solvers.greedy.must import impossible, make_room, place_required
from crop_cli.solvers.greedy.quick import solve_quickly
from crop_cli.solvers.greedy.setting import Setting
from crop_cli.solvers.greedy.wide import WIDE, fill_wide, is_wide

WHO = "the greedy"

OPTIONS = ("level", "oracle")
"""Keys of `--set`: a level's name (or "cluster"), and "greedy" or "exact". The greedy alone knows effort and order."""

CONSTRUCT = 300_000
"""`Finder.work` after which no construction begins that the guarantee does not need: a second or two."""

IMPROVE = (100_000, 100, 500_000)
"""`Finder.work` that improvement may add: so much, and so much per node, but no more; a second or so."""

PREPARE = 0.15
"""Most of the time left that finding the level may take."""

FEW = 20
"""Up to so many kinds of domains, each step of the greedy looks at several of them, in several ways."""

ROUNDS = 5
"""Rounds of improvement at most."""

RUINS = (40, 100, 800)
"""Ruins per round: the third over the number of nodes, within the first two; at most `RUINS_PER_JOB` per job."""

RUINS_PER_JOB = 10
"""Fewer jobs have fewer ways to be arranged."""

NEAR = 1e-4
"""Relative gap at which ruins, which gain little by then, are left out."""

TRIES = (8, 40, 8000)
"""Jobs per round for which others are displaced, likewise."""


RESPECT = (1.0, 0.3)
"""Shares of their utility at which jobs in the way are valued."""


def solve(problem: Problem, request: Request, budget: Budget, listen: Listener) -> Answer:
    """Place jobs by the submodular greedy of model.md section 9.

    The greedy runs over the domains of one level (and over the nodes, if those are not that level); plain constructions
    in three orders join in. Each result is filled with what is left; the best is improved. The guarantee of a pure run
    holds for the final placement, which is at least as good as each of them.

    Raises
    ------
    UsageError
        An option that it does not know.
    """
    quick, larger_first, request = _effort(request)
    forced, exact = read_options(problem, request)
    proof = impossible(problem)
    if proof is None and quick:
        return solve_quickly(problem, budget, larger_first=larger_first)
    if proof is not None:
        return Answer(None, "proved", infeasible=True, seconds={"solve": budget.elapsed}, notes=(proof,))
    started = budget.elapsed
    setting = Setting.of(problem, request.gap, budget, listen)
    # Arranging thousands of domains takes long: on so many nodes only who asks for a level gets it, and a guarantee.
    wide = is_wide(problem) and forced is None and not exact
    fitting = None if wide else deepest_fit(problem, setting.finder, setting.likeness, budget.part(PREPARE))
    if forced is not None:
        depth = forced
    else:
        depth = problem.tree.max_depth if fitting is None else choose_depth(problem, fitting)
    built = budget.elapsed
    base = place_required(setting)
    runs = _construct(setting, base, depth, exact, request, wide=wide)
    if setting.best is not None:
        improve(setting, np.random.default_rng(request.seed))
    seconds = {"build": built - started, "solve": budget.elapsed - built}
    reason = budget.stop_reason() if budget.should_stop else "completed"
    if setting.best is None:
        missing = (
            "the greedy found no placement of all jobs that must run; that proves nothing, an exact solver decides"
        )
        return Answer(None, reason, seconds=seconds, notes=(missing,))
    claims = [guarantee(problem, setting.outlook, run, fitting, setting.best_value) for run in runs]
    if wide:
        claims = [Guarantee(why=f"on more than {WIDE} nodes no level is arranged unless --level names one")]
    return Answer(setting.best, reason, guarantee=strongest(claims), seconds=seconds)


def read_options(problem: Problem, request: Request, who: str = WHO) -> tuple[int | None, bool]:
    """Depth of the level asked for (None: the solver's choice), and whether arrangements are to be exact.

    Raises
    ------
    UsageError
        A key or value that is not known.
    """
    unknown = sorted(set(request.options) - set(OPTIONS))
    if unknown:
        known = ", ".join((*OPTIONS, "effort", "order") if who == WHO else OPTIONS)
        raise UsageError(f"{who} has no option {unknown[0]!r}; it knows {known}")
    level = request.options.get("level")
    depths = {ROOT_NAME: 0, **{name: depth for depth, name in enumerate(problem.tree.levels, 1)}}
    if level is not None and level not in depths:
        raise UsageError(f"level {level!r} is none of this cluster's: {', '.join(depths)}")
    oracle = request.options.get("oracle", "greedy")
    if oracle not in ("greedy", "exact"):
        raise UsageError(f"oracle {oracle!r} is neither 'greedy' nor 'exact'")
    return None if level is None else depths[level], oracle == "exact"


def _effort(request: Request) -> tuple[bool, bool, Request]:
    """Whether one construction is asked for, whether with larger gangs first, and the request without these options."""
    effort, order = request.options.get("effort", "full"), request.options.get("order", "dense")
    if effort not in ("full", "quick"):
        raise UsageError(f"effort {effort!r} is neither 'full' nor 'quick'")
    if order not in ("dense", "large"):
        raise UsageError(f"order {order!r} is neither 'dense' nor 'large'")
    if "order" in request.options and effort != "quick":
        raise UsageError("order belongs to effort=quick; the full greedy tries several")
    options = {key: value for key, value in request.options.items() if key not in ("effort", "order")}
    return effort == "quick", order == "large", replace(request, options=options)


def _pure_runs(setting: Setting, depth: int, exact: bool, seed: int) -> list[PureRun]:
    """The greedy over the domains of a level, and over the nodes too if that is not asking too much."""
    problem, deepest = setting.problem, setting.problem.tree.max_depth
    runs: list[PureRun] = []
    for d in dict.fromkeys((depth, deepest)):
        if runs and setting.finder.work >= CONSTRUCT:
            break
        oracle: ArrangementOracle = setting.in_nodes if d == deepest else setting.inner
        domains = find_domains(problem, setting.outlook, setting.likeness, d)
        if exact:
            from crop_cli.solvers.greedy.exact_arrangement import ExactArranger  # noqa: PLC0415 (loads scipy)

            oracle = ExactArranger(problem, oracle, setting.inner.ceiling, domains.count, setting.budget, seed)
        few = len(domains.classes) <= FEW
        setting.inner.thorough = few
        runs.append(run_greedy(problem, domains, oracle, setting.budget, PATIENCE if few or d == deepest else 1))
    return runs


def _construct(
    setting: Setting, base: Placement | None, depth: int, exact: bool, request: Request, *, wide: bool
) -> list[PureRun]:
    """Placements from a given start, from plain orders and from the pure runs, which are returned; the best is kept.

    `base` holds the jobs that must run and no others; None if they were not all placed. With `wide`, there is but one
    construction.
    """
    orders, board = setting.orders(), Board.empty(setting.problem)
    if base is not None:
        board.load(base)
        setting.offer(board)
    if request.start is not None:
        finish(setting, board, base, request.start, orders["dense"])
    # The quickest of the good ones comes first: it is what a short time limit leaves.
    finish(setting, board, base, base or {}, orders["dense"])
    if wide:
        return []
    runs = _pure_runs(setting, depth, exact, request.seed)
    for run in runs:
        finish(setting, board, base, run.placement, orders["dense"])
    setting.work_limit = CONSTRUCT
    for name in ("large", "valuable"):
        if not setting.settled:
            finish(setting, board, base, base or {}, orders[name])
    return runs


def finish(setting: Setting, board: Board, base: Placement | None, placement: Placement, order: list[int]) -> None:
    """Complete a placement: jobs that must run, then what still fits, in order. Offers the result."""
    board.load(placement)
    if not make_room(setting, board):
        if base is None:
            return
        board.load(base)
    if is_wide(setting.problem):
        fill_wide(setting, board, order)
    else:
        fill(setting, board, order)
    setting.offer(board)


def improve(setting: Setting, rng: np.random.Generator) -> None:
    """Upgrades, insertions and ruins from the best placement on, until a round gains nothing."""
    orders = setting.orders()
    board = Board.empty(setting.problem)
    setting.work_limit = setting.finder.work + min(IMPROVE[0] + IMPROVE[1] * setting.problem.n_nodes, IMPROVE[2])
    ruins, tries = _share(setting, RUINS), _share(setting, TRIES)
    ruins = min(ruins, RUINS_PER_JOB * len(setting.problem.open_jobs))
    for _ in range(ROUNDS):
        board.load(setting.best or {})
        rose = upgrade(setting, board)
        for respect in RESPECT:
            rose |= displace(setting, board, orders["valuable"], tries, respect)
        setting.offer(board)
        for _ in range(ruins):
            if setting.settled or setting.within(NEAR):
                return
            if ruin(setting, board, orders["dense"], rng):
                rose = True
        if not rose:
            return


def _share(setting: Setting, limits: tuple[int, int, int]) -> int:
    least, most, work = limits
    return max(least, min(most, work // max(1, setting.problem.n_nodes)))


def strongest(claims: list[Guarantee]) -> Guarantee:
    """A factor of the optimum before one of confined placements, and that of the larger domains before the other."""
    proved = [claim for claim in claims if claim.a_priori is not None]
    of_optimum = [claim for claim in proved if claim.relative_to == "optimum"]
    return max(of_optimum, key=lambda claim: claim.a_priori or 0.0) if of_optimum else (proved or claims)[0]
