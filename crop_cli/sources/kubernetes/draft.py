"""From what `kubectl` prints to a draft: nodes, levels, what is used, running and waiting gangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from crop_cli.errors import Defect, InputError
from crop_cli.sources.draft import Draft
from crop_cli.sources.kubernetes.cluster import Cluster
from crop_cli.sources.kubernetes.documents import EXPECTED, Input, Key, Thing, read_things
from crop_cli.sources.kubernetes.fields import Defects, raise_defects
from crop_cli.sources.kubernetes.gangs import KUEUE_GROUP, TRAINER, is_gang
from crop_cli.sources.kubernetes.grouping import form_gangs
from crop_cli.sources.kubernetes.hypernodes import mark_tiers
from crop_cli.sources.kubernetes.jobs import Gangs
from crop_cli.sources.kubernetes.nodes import count_nodes, read_nodes
from crop_cli.sources.kubernetes.notes import Notes
from crop_cli.sources.kubernetes.pods import Pod, read_pod
from crop_cli.sources.kubernetes.priorities import Priorities, weigh
from crop_cli.sources.kubernetes.tolerations import Toleration, tolerations
from crop_cli.sources.kubernetes.topology import Level, build_tree, choose_levels
from crop_cli.sources.kubernetes.usage import Usage

_HELPERS = {
    ("Topology", KUEUE_GROUP),
    ("ResourceFlavor", KUEUE_GROUP),
    ("WorkloadPriorityClass", KUEUE_GROUP),
    ("PriorityClass", "scheduling.k8s.io"),
    ("HyperNode", "topology.volcano.sh"),
    ("TrainingRuntime", TRAINER),
    ("ClusterTrainingRuntime", TRAINER),
}
"""Objects that are read for what they say about nodes and gangs."""

_FRACTIONS = ("gpu-fraction", "gpu-memory")
"""Annotations of pods that share a GPU (KAI: "GPU Sharing"). Once they run, another pod reserves the GPU for them."""


def read(inputs: Iterable[Input], levels: Sequence[Level] = (), movable: bool = False, name: str = "") -> Draft:
    """Read the objects of a Kubernetes cluster.

    Parameters
    ----------
    inputs
        Files.
    levels
        Levels of switches by node label, top down; without them those that the objects and labels say.
    movable
        Whether running gangs may be moved.
    name
        Of the instance.

    Raises
    ------
    InputError
        If a file cannot be used, with every defect found in it, or no node has GPUs.
    UsageError
        If no node has the label of a level.
    """
    files = list(inputs)
    defects: Defects = {}
    notes = Notes()
    by_kind, gang_things = _sorted(read_things(files, defects), notes)
    if not by_kind.get(("Node", "")):
        raise_defects(defects)
        shown = files[0].file if files else "no file"
        raise InputError(shown, [Defect("$", "no node", f"at least one object of kind Node: {EXPECTED}")])
    nodes = read_nodes(by_kind[("Node", "")], notes)
    tiers = mark_tiers(by_kind.get(("HyperNode", "topology.volcano.sh"), []), nodes)
    count_nodes(nodes, len(by_kind[("Node", "")]), notes)
    pods = _pods(by_kind.get(("Pod", ""), []), gang_things, notes)
    runtimes = {thing.key: thing for key in _HELPERS if key[1] == TRAINER for thing in by_kind.get(key, [])}
    if not by_kind.get(("Pod", "")):
        notes.warn("no pods in the files: nothing counts as used")
    gangs = form_gangs(gang_things, [pod for pod in pods if pod.gpus and not pod.going], runtimes)
    classes = [thing for kind in _HELPERS if kind[0].endswith("PriorityClass") for thing in by_kind.get(kind, [])]
    priorities = Priorities(classes)
    flavors = by_kind.get(("ResourceFlavor", KUEUE_GROUP), [])
    extra = frozenset[Toleration]().union(*(tolerations(flavor.spec) for flavor in flavors))
    raise_defects(defects)
    if not nodes:
        raise InputError(files[0].file, [Defect("$", "no node with GPUs", "nodes whose status.allocatable names GPUs")])
    chosen = choose_levels(list(levels), by_kind.get(("Topology", KUEUE_GROUP), []), tiers, nodes, notes)
    raise_defects(defects)
    cluster = Cluster(nodes, chosen, tiers, build_tree(chosen, nodes, notes))
    usage = Usage(cluster)
    jobs = Gangs(cluster, usage, extra, notes).jobs(gangs, pods, movable=movable)
    drafts = weigh(jobs, priorities, notes)
    return Draft(
        name=name or "kubernetes",
        levels=cluster.level_names,
        switches=cluster.tree.switches,
        nodes=[
            usage.node(kube, part, cluster.tree.parents.get(kube.name), notes)
            for kube in nodes.values()
            for part in kube.parts
        ],
        jobs=drafts,
        source=f"Kubernetes objects: {', '.join(given.file for given in files)}",
        assumptions=notes.assumptions,
        skipped=notes.skipped,
        warnings=notes.warnings,
        counts=notes.counts,
    )


def _sorted(things: list[Thing], notes: Notes) -> tuple[dict[tuple[str, str], list[Thing]], list[Thing]]:
    """Nodes, pods and helpers by kind and group; objects of gangs; the rest is noted."""
    by_kind: dict[tuple[str, str], list[Thing]] = {}
    gangs: list[Thing] = []
    seen: set[Key] = set()
    ignored: Counter[str] = Counter()
    for thing in things:
        if thing.key in seen:
            notes.skip(thing.kind, thing.name, "is in the files more than once; the first one counts")
            continue
        seen.add(thing.key)
        kind = (thing.kind, thing.group)
        if kind in (("Node", ""), ("Pod", "")) or kind in _HELPERS:
            by_kind.setdefault(kind, []).append(thing)
        elif is_gang(thing.key):
            gangs.append(thing)
        else:
            ignored[thing.kind] += 1
            notes.skip(thing.kind, thing.name, "a kind that is not read")
    if ignored:
        notes.counts["objects of other kinds"] = ignored.total()
    return by_kind, gangs


def _pods(things: list[Thing], gang_things: list[Thing], notes: Notes) -> list[Pod]:
    """The pods that have not ended."""
    servers = frozenset(
        thing.key for thing in gang_things if thing.kind == "PodGroup" and (thing.spec.whole("minMember", 1) or 0) <= 1
    )
    found = []
    ended: Counter[str] = Counter()
    for thing in things:
        pod = read_pod(thing, servers)
        if pod is not None and pod.going and not pod.node:
            notes.skip("pod", thing.name, "is being deleted")
        elif pod is None:
            ended[thing.status.text("phase").lower()] += 1
        else:
            found.append(pod)
            if not pod.node and any(thing.annotations.get(name) for name in _FRACTIONS):
                notes.skip("pod", thing.name, "asks for a share of a GPU by annotation")
    notes.counts["pods"] = len(things)
    notes.counts["pods bound"] = sum(bool(pod.node) for pod in found)
    notes.counts["pods waiting"] = sum(not pod.node for pod in found)
    for phase, count in sorted(ended.items()):
        notes.counts[f"pods {phase}"] = count
    return found
