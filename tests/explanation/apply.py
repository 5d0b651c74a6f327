"""The changes of an explanation, made anew from their fields alone, and judged by the evaluator."""

from __future__ import annotations

import msgspec

from crop_cli.explanation.answers import Change
from crop_cli.model.evaluate import Evaluation, evaluate
from crop_cli.model.instance import Instance, Job, Segment, Spread


def judged(instance: Instance, held: dict[str, dict[str, int]], job: str, change: Change) -> Evaluation:
    """The evaluator's word on all placed jobs where they are and the job at the change's place, after the change."""
    cluster = instance.cluster
    wanted = next(each for each in instance.jobs if each.name == job)
    if change.kind == "relax":
        wanted = _relaxed(wanted, change)
    elif change.kind == "bandwidth":
        widen = lambda v: msgspec.structs.replace(v, uplink_gbps=v.uplink_gbps + change.on[v.name])  # noqa: E731
        cluster = msgspec.structs.replace(
            cluster,
            nodes=[widen(n) if n.name in change.on else n for n in cluster.nodes],
            switches=[widen(s) if s.name in change.on else s for s in cluster.switches],
        )
    elif change.kind == "free":
        more = [
            msgspec.structs.replace(
                node,
                gpus=node.gpus + int(change.on.get(node.name, 0)),
                resources={
                    r: amount + wanted.resources_per_gpu.get(r, 0.0) * change.on.get(node.name, 0)
                    for r, amount in node.resources.items()
                },
            )
            for node in cluster.nodes
        ]
        cluster = msgspec.structs.replace(cluster, nodes=more)
    else:
        (domain, count), new = next(iter(change.on.items())), "in a new " in change.text
        model = next(node for node in cluster.nodes if node.name == change.what)
        parent = None if len(cluster.levels) == 1 else "copy" if new else domain
        switches = list(cluster.switches)
        if new:
            switch = next(s for s in switches if s.name == domain)
            switches.append(msgspec.structs.replace(switch, name="copy"))
        added = [
            msgspec.structs.replace(model, name=f"new-node-{i + 1}", parent=parent, used={}, state="up")
            for i in range(int(count))
        ]
        cluster = msgspec.structs.replace(cluster, nodes=[*cluster.nodes, *added], switches=switches)
    others = [
        msgspec.structs.replace(each, placement=held[each.name], movable=False)
        for each in instance.jobs
        if each.name in held
    ]
    alone = msgspec.structs.replace(wanted, required=True)
    changed = msgspec.structs.replace(instance, cluster=cluster, jobs=[*others, alone])
    return evaluate(changed, {**held, job: change.place.nodes})


def _relaxed(job: Job, change: Change) -> Job:
    value = None if change.amount is None or isinstance(change.amount, str) else int(change.amount)
    if change.what == "within":
        return msgspec.structs.replace(job, within=change.amount)
    if change.what == "segment":
        segment = None if value is None else Segment(gpus=value, level=job.segment.level)
        return msgspec.structs.replace(job, segment=segment)
    if change.what == "spread":
        return msgspec.structs.replace(job, spread=Spread(level=job.spread.level, max_gpus=value))
    if change.what == "gpus_per_node":
        return msgspec.structs.replace(job, gpus_per_node=value)
    if change.what == "compute_s":
        times = {**job.compute_s, change.amount: max(job.compute_s.values())}
        return msgspec.structs.replace(job, compute_s=times)
    return msgspec.structs.replace(job, resources_per_gpu={**job.resources_per_gpu, change.what: change.amount})
