"""What a job of the instance is called in Kubernetes, and how its pods are found."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crop_cli.errors import Defect, InputError, UsageError
from crop_cli.model.findings import quoted

LABELS = {
    "Job": "batch.kubernetes.io/job-name",
    "JobSet": "jobset.sigs.k8s.io/jobset-name",
    "PyTorchJob": "training.kubeflow.org/job-name",
    "MPIJob": "training.kubeflow.org/job-name",
    "TFJob": "training.kubeflow.org/job-name",
    "XGBoostJob": "training.kubeflow.org/job-name",
    "PaddleJob": "training.kubeflow.org/job-name",
    "VolcanoJob": "volcano.sh/job-name",
    "LeaderWorkerSet": "leaderworkerset.sigs.k8s.io/name",
    "Workload": "kueue.x-k8s.io/pod-group-name",
    "PodGroup": "scheduling.x-k8s.io/pod-group",
}
"""Label by which each kind's pods are found; its value is the object's name. A `Pod` is found by its own name."""

_NAME = re.compile(
    r"(?:(?P<namespace>[a-z0-9][-a-z0-9]*)/)?(?P<name>[a-z0-9][-a-z0-9.]*)"
    r"(?: \((?P<kind>[A-Z]\w*)\))?(?P<rest> \(rest\))?"
)


@dataclass(frozen=True, slots=True)
class Workload:
    """What a job is in Kubernetes.

    Attributes
    ----------
    kind, namespace, name
        Of the object; namespace "" where none is known.
    rest
        Whether only those of its pods are meant that have no node yet.
    """

    kind: str
    namespace: str
    name: str
    rest: bool = False

    @property
    def in_namespace(self) -> list[str]:
        """Options of kubectl for the namespace."""
        return [f"--namespace={self.namespace}"] if self.namespace else []


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
    found = _NAME.fullmatch(job)
    if found is None:
        expected = '"name" or "namespace/name" of an object in Kubernetes, maybe with " (Kind)"'
        raise InputError("solution", [Defect("$.placements[].job", quoted(job), expected)])
    kind = found["kind"] or kind
    if kind not in (*LABELS, "Pod"):
        known = ", ".join(["Pod", *LABELS])
        raise UsageError(f"kind {quoted(kind)} of job {quoted(job)} is unknown; these are known: {known}")
    return Workload(kind, found["namespace"] or "", found["name"], found["rest"] is not None)
