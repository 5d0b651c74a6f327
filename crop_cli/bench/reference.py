"""What is known about an instance, from the runs of the bench and from `best-known.json`."""

from __future__ import annotations

from crop_cli.bench.attempt import size_of
from crop_cli.bench.best_known import Known
from crop_cli.bench.records import Reference, Run
from crop_cli.bench.suite import Member
from crop_cli.model.certificate import certify, proof_scale
from crop_cli.model.solution import Metrics


def reference_of(member: Member, known: Known | None, runs: list[Run]) -> Reference:
    """The proven optimum if anybody proves it, else the best verified value and the least valid bound.

    Parameters
    ----------
    known
        What the table of best-known values says.
    runs
        Of this instance; records of other instances, or of another version of the file, must not be among them.
    """
    best = max(
        (run for run in runs if run.verified and not run.loads and run.objective is not None),
        key=lambda run: run.objective or 0.0,
        default=None,
    )
    value, by, metrics, sources = _value(known, best)
    claims = [run.bound for run in runs if run.verdict != "failed"]
    infeasible = [run.solver for run in runs if run.verdict == "infeasible"]
    if known is not None and known.infeasible:
        infeasible.append("best-known.json")
    size = size_of(member.loaded.instance)
    if value is None:
        known_bounds = [bound for bound in [*claims, known.bound if known else None] if bound is not None]
        return Reference(
            instance=member.name,
            sha256=member.sha256,
            size=size,
            value=None,
            bound=min(known_bounds, default=None),
            optimal=False,
            infeasible=bool(infeasible),
            by=infeasible[0] if infeasible else None,
        )
    certificate = certify(value, [*claims, known.bound if known else None], proof_scale(member.loaded.instance))
    wrong = [f"the bound {bound:.12g} is below the verified value {value:.12g}" for bound in certificate.refused]
    wrong += [f"{who} says that no placement exists, but one of value {value:.12g} is verified" for who in infeasible]
    if known is not None and known.bound is not None:
        sources = list(dict.fromkeys([*sources, "best-known"]))
    return Reference(
        instance=member.name,
        sha256=member.sha256,
        size=size,
        value=value,
        bound=certificate.bound,
        optimal=certificate.status == "optimal",
        by=by,
        overhead=metrics.communication_overhead if metrics else None,
        throughput=metrics.throughput if metrics else None,
        sources=sources,
        contradiction="; ".join(wrong) or None,
    )


def _value(known: Known | None, best: Run | None) -> tuple[float | None, str | None, Metrics | None, list[str]]:
    """The better of the table's placement and the runs' best: value, by whom, its metrics, from where."""
    evaluation = known.evaluation if known else None
    if best is None and evaluation is None:
        return None, None, None, []
    if evaluation is not None and (best is None or best.objective is None or evaluation.objective >= best.objective):
        return evaluation.objective, known.by if known else None, evaluation.metrics, ["best-known"]
    assert best is not None
    return best.objective, best.solver, best.metrics, ["runs"]
