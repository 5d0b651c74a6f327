"""What a job of the instance is called in Kubernetes, and how its pods are found."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.model.findings import quoted

_KUBEFLOW = ("PyTorchJob", "MPIJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob")
_LWS = "leaderworkerset.sigs.k8s.io"

LABELS = {
    "Job": "batch.kubernetes.io/job-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    # Kubeflow's trainer makes a JobSet of the same name.
    "TrainJob": "jobset.sigs.k8s.io/jobset-name",
    **dict.fromkeys(_KUBEFLOW, "training.kubeflow.org/job-name"),
    "VolcanoJob": "volcano.sh/job-name",
    "RayCluster": "ray.io/cluster",
    "RayJob": "ray.io/cluster",
    "LeaderWorkerSet": f"{_LWS}/name",
    "Workload": "kueue.x-k8s.io/pod-group-name",
}
"""Label by which each kind's pods are found; its value is the object's name. A `Pod` is found by its own name."""

_MEMBERS = {
    "scheduling.x-k8s.io": (
        r"{.metadata.labels.scheduling\.x-k8s\.io/pod-group}",
        r"{.metadata.labels.pod-group\.scheduling\.sigs\.k8s\.io}",
        r"{.metadata.labels.pod-group\.scheduling\.sigs\.k8s\.io/name}",
        r"{.metadata.annotations.gang\.scheduling\.koordinator\.sh/name}",
    ),
    "scheduling.volcano.sh": (
        r"{.metadata.annotations.scheduling\.k8s\.io/group-name}",
        r"{.metadata.annotations.scheduling\.volcano\.sh/group-name}",
    ),
    "scheduling.run.ai": ("{.metadata.annotations.pod-group-name}",),
    "scheduling.k8s.io": ("{.spec.schedulingGroup.podGroupName}",),
}
"""Where a pod names its PodGroup, by the group's API group, as JSONPath of kubectl: annotations are no selectors."""

_REFERENCE = "/".join(f"{{.spec.workloadRef.{field}}}" for field in ("name", "podGroup", "podGroupReplicaKey"))
"""How a pod names its group of a Workload of Kubernetes itself (KEP-4671)."""

_GROUP = re.compile(r"[0-9]+|[0-9a-f]{40}")
"""Index of a group of a LeaderWorkerSet."""

_NAME = re.compile(
    r"(?:(?P<namespace>[a-z0-9][-a-z0-9]*)/)?(?P<name>[a-z0-9][-a-z0-9.]*)"
    r"(?: \((?P<kind>[A-Z]\w*)(?:\.(?P<group>[a-z0-9.-]+))?\))?(?P<rest> \(rest\))?"
)
_MEMBER = re.compile(
    r"(?P<namespace>[a-z0-9][-a-z0-9]*)/(?P<name>[a-z0-9][-a-z0-9.]*(?:/[a-z0-9][-a-z0-9]*){1,2})"
    r" \((?P<kind>Workload)(?:\.(?P<group>scheduling\.k8s\.io))?\)(?P<rest> \(rest\))?"
)
"""A pod group of a Workload of Kubernetes itself."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What a job is in Kubernetes.

    Attributes
    ----------
    kind, namespace, name
        Of the object; namespace "" where none is known.
    rest
        Whether only those of its pods are meant that have no node yet.
    group
        API group; "" where the kind tells it, or it is unknown.
    """

    kind: str
    namespace: str
    name: str
    rest: bool = False
    group: str = ""

    @property
    def in_namespace(self) -> list[str]:
        """Options of kubectl for the namespace."""
        return [f"--namespace={self.namespace}"] if self.namespace else []

    @property
    def selector(self) -> str:
        """Label selector of its pods, in shell; empty where they are found by `member`."""
        if self.member[0]:
            return ""
        label = LABELS[self.kind]
        if self.kind == "LeaderWorkerSet":
            # Each group is a job, named like its leader.
            name, _, index = self.name.rpartition("-")
            if name and _GROUP.fullmatch(index):
                return f"{label}={name},{_LWS}/group-index={index}"
        if self.kind == "RayJob":
            # Pods know their RayCluster only, whose name the RayJob's status tells.
            get = [
                "kubectl",
                "get",
                "rayjob",
                self.name,
                *self.in_namespace,
                "--output=jsonpath={.status.rayClusterName}",
            ]
            return f'{label}="$({shlex.join(get)})"'
        return f"{label}={self.name}"

    @property
    def member(self) -> tuple[tuple[str, ...], str]:
        """Texts of a pod in JSONPath, of which one is the given value if the pod belongs to it; none for most kinds."""
        if self.kind == "PodGroup":
            groups = [self.group] if self.group else list(_MEMBERS)
            return tuple(text for group in groups for text in _MEMBERS[group]), self.name
        if self.kind == "Workload" and "/" in self.name:
            return (_REFERENCE,), self.name if self.name.count("/") == 2 else f"{self.name}/"
        return (), ""


def workload_of(job: str, kind: str) -> Workload:
    """Read a job's name as `crop import kubernetes` gives it: "namespace/name", at times "(Kind)" or "(rest)" after it.

    Parameters
    ----------
    job
        The name; one without a namespace will do.
    kind
        Where the name tells none.

    Raises
    ------
    UsageError
        If the kind is unknown.
    InputError
        If the name is none of these: the job does not come from Kubernetes.
    """
    found = _NAME.fullmatch(job) or _MEMBER.fullmatch(job)
    if found is None:
        expected = '"name" or "namespace/name" of an object in Kubernetes, maybe with " (Kind)"'
        raise InputError("solution", [Defect("$.placements[].job", quoted(job), expected)])
    kind, group = found["kind"] or kind, found["group"] or ""
    if kind not in (*LABELS, "PodGroup", "Pod") or (kind == "PodGroup" and group and group not in _MEMBERS):
        known = ", ".join(["Pod", "PodGroup", *LABELS])
        shown = f"{kind}.{group}" if group else kind
        raise UsageError(f"kind {quoted(shown)} of job {quoted(job)} is unknown; these are known: {known}")
    return Workload(kind, found["namespace"] or "", found["name"], found["rest"] is not None, group)
