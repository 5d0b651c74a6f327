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

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Workload:
    """Kind, namespace ("" where none is known) and name of what a job is in Kubernetes."""

    kind: str
    namespace: str
    name: str

    @property
    def in_namespace(self) -> list[str]:
        """Options of kubectl for the namespace."""
        return [f"--namespace={self.namespace}"] if self.namespace else []


def workload_of(job: str, kind: str) -> Workload:
    """Read a job's name: NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME (KIND also in the middle).

    Parameters
    ----------
    job
        The name.
    kind
        Where the name tells none.

    Raises
    ------
    UsageError
        If the kind is unknown.
    InputError
        If namespace or name is none of Kubernetes's: the job does not come from there.
    """
    if kind not in (*LABELS, "Pod"):
        raise UsageError(f"kind {quoted(kind)} is unknown; these are known: Pod, {', '.join(LABELS)}")
    parts = job.split("/")
    named = next((part for part in parts[:2] if part in LABELS or part == "Pod"), None) if len(parts) == 3 else None
    if named is not None:
        parts.remove(named)
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in parts):
        expected = "NAME, NAMESPACE/NAME or KIND/NAMESPACE/NAME of an object in Kubernetes"
        raise InputError("solution", [Defect("$.placements[].job", quoted(job), expected)])
    return Workload(named or kind, parts[0] if len(parts) == 2 else "", parts[-1])
