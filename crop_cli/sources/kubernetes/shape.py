"""What a pod, or the template of pods, asks for: resources, nodes, neighbours, topology, priority."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.resources import Request, pod_request
from crop_cli.sources.kubernetes.selectors import Selection, selection
from crop_cli.sources.kubernetes.tolerations import Toleration, tolerations
from crop_cli.sources.kubernetes.topology import HOSTNAME

KUEUE = "kueue.x-k8s.io/"
LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Topology:
    """What a gang asks of the network.

    Attributes
    ----------
    required, preferred
        Node label of the level whose one domain must, or should, hold all pods.
    slice_pods, slice_label
        Groups of so many pods must each be in one domain of that label's level.
    tier, tier_name
        The highest tier of Volcano's HyperNodes that may hold all pods.
    """

    required: str = ""
    preferred: str = ""
    slice_pods: int = 0
    slice_label: str = ""
    tier: int | None = None
    tier_name: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """A pod as the scheduler sees it.

    Attributes
    ----------
    apart
        Labels of the levels of whose domains no two pods of the gang may share one (required anti-affinity).
    together
        Labels of the levels of which one domain must hold all pods of the gang (required affinity).
    unread
        What else restricts its place, in words.
    text
        Names in which one may find the model that it trains.
    """

    request: Request = field(default_factory=Request)
    selection: Selection = field(default_factory=Selection)
    tolerations: frozenset[Toleration] = frozenset()
    priority: int | None = None
    priority_class: str = ""
    topology: Topology = field(default_factory=Topology)
    apart: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    text: str = ""


def read_shape(spec: Fields, labels: dict[str, str], annotations: dict[str, str]) -> Shape:
    """The shape of a pod's or template's specification."""
    request = pod_request(spec)
    if not request.gpus:
        return Shape(request)
    apart, together, unread = _neighbours(spec, labels) if spec.data.get("affinity") else ((), (), ())
    if any(
        constraint.text("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        for constraint in spec.children("topologySpreadConstraints")
    ):
        unread = (*unread, "topology spread constraints")
    return Shape(
        request,
        selection(spec),
        tolerations(spec),
        spec.whole("priority", least=-(2**31)),
        spec.text("priorityClassName"),
        annotated_topology(annotations, spec),
        apart,
        together,
        unread,
        _text(spec),
    )


def annotated_topology(annotations: dict[str, str], where: Fields) -> Topology:
    """Kueue's annotations on pods (Kueue: "Topology Aware Scheduling")."""
    if not any(name.startswith(KUEUE) for name in annotations):
        return Topology()
    size = annotations.get(f"{KUEUE}podset-slice-size", "")
    if size and not (size.isascii() and size.isdigit() and 0 < int(size) < 2**31):
        where.refuse("annotations", f"a whole number of pods as {KUEUE}podset-slice-size")
        size = ""
    return Topology(
        required=annotations.get(f"{KUEUE}podset-required-topology", ""),
        preferred=annotations.get(f"{KUEUE}podset-preferred-topology", ""),
        slice_pods=int(size) if size else 0,
        slice_label=annotations.get(f"{KUEUE}podset-slice-required-topology", ""),
    )


def requested_topology(request: Fields, otherwise: Topology) -> Topology:
    """The `topologyRequest` of a pod set in a Kueue Workload."""
    if not request.data:
        return otherwise
    return replace(
        otherwise,
        required=request.text("required"),
        preferred=request.text("preferred"),
        slice_pods=request.whole("podSetSliceSize", 0) or 0,
        slice_label=request.text("podSetSliceRequiredTopology"),
    )


def network_topology(spec: Fields) -> Topology:
    """The `networkTopology` of a Volcano Job or PodGroup."""
    asked = spec.child("networkTopology")
    tier, name = asked.whole("highestTierAllowed"), asked.text("highestTierName")
    if asked.text("mode", "hard") != "hard":
        return Topology(preferred=name or f"tier {tier}" if asked.data else "")
    return Topology(tier=tier, tier_name=name)


def _neighbours(spec: Fields, labels: dict[str, str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Required affinities between pods: those between the gang's own, and in words those with others."""
    found: dict[str, list[str]] = {"podAntiAffinity": [], "podAffinity": []}
    unread = []
    for kind, words in (("podAntiAffinity", "anti-affinity"), ("podAffinity", "affinity")):
        between = spec.child("affinity", kind)
        for term in between.children("requiredDuringSchedulingIgnoredDuringExecution"):
            if _selects(term.child("labelSelector"), labels):
                found[kind].append(term.text("topologyKey"))
            else:
                unread.append(f"required {words} with other pods")
    return tuple(found["podAntiAffinity"]), tuple(found["podAffinity"]), tuple(unread)


def _selects(selector: Fields, labels: dict[str, str]) -> bool:
    """Whether a label selector selects pods with these labels."""
    if not selector.data or not selector.labels("matchLabels").items() <= labels.items():
        return False
    for expression in selector.children("matchExpressions"):
        key, operator = expression.text("key"), expression.text("operator")
        inside = labels.get(key) in expression.texts("values") if operator in ("In", "NotIn") else key in labels
        if inside != (operator in ("In", "Exists")):
            return False
    return True


def _text(spec: Fields) -> str:
    """Images, commands and arguments of the container with the GPUs, shortened."""
    words: list[str] = []
    for container in spec.children("containers"):
        if pod_request(Fields({"containers": [container.data]}, container.file, "$", {})).gpus:
            words.append(container.text("image").rpartition("/")[2])
            words += [word for key in ("command", "args") for word in container.texts(key)]
            break
    return " ".join(words)[:LONGEST_TEXT]


def one_per_node(shape: Shape) -> bool:
    """Whether no two pods may share a node."""
    return HOSTNAME in shape.apart
