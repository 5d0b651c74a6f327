"""Patches that send pods to the nodes that were chosen for them.

Kubernetes lets scheduling be changed in two places, and only before it is decided:

- The pod template of a suspended `Job` takes another node affinity (KEP-2926, stable since 1.27). One patch is for all
  pods alike: it fixes the set of nodes. How many pods go to each is fixed only where a node has no room for more.
- A pod that a scheduling gate holds back takes a narrower node selector (KEP-3838, stable since 1.30). One patch for
  each pod fixes its node.

So every job gets commands for its gated pods, and a `Job` also a partial object for its template. A pod's patch is a
`nodeSelector`, which is added to whatever selects its nodes already. A template's is a `nodeAffinity`, since a selector
names one value only; its terms take the place of the template's own.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

from crop_cli.errors import UsageError
from crop_cli.export.placed import Exported, Placement
from crop_cli.export.workloads import Workload, workload_of
from crop_cli.model.findings import quoted
from crop_cli.names import plural

HOSTNAME = "kubernetes.io/hostname"
INDEX_FIELD = r"{.metadata.labels.batch\.kubernetes\.io/job-completion-index}"
"""Label of the pods of an indexed Job, as JSONPath of kubectl."""

MANAGER = "crop"
"""Field manager of server-side apply."""

_KIND = re.compile(r"(?P<node>[a-z0-9][-a-z0-9.]*)/[A-Za-z0-9][-A-Za-z0-9.+_]*")
"""A node's name with a kind of its GPUs after it."""

_DEVICES = "/(gpu|mig-|i915|xe|gaudi|npu|Ascend|neuron|tpu|mlu|[a-z]px_nps)"
"""Resources that are GPUs, in the limits of a container: pods without any (launchers, Ray's head) are not counted."""


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of a job.

    Attributes
    ----------
    placement, workload
        The job, here and in Kubernetes.
    gpus
        Of one pod.
    hosts
        GPUs by node of Kubernetes: all kinds of GPUs of a node are on one host.
    nodes
        Of these, that of every pod, by index: pods of a node have neighbouring indices.
    exact
        Whether the set of nodes alone fixes how many pods each gets; False also where that is unknown.
    """

    placement: Placement
    workload: Workload
    gpus: int
    hosts: dict[str, int]
    nodes: list[str]
    exact: bool

    @property
    def numbered(self) -> bool:
        """Whether pods have an index: those of an indexed Job, unless some run already."""
        return self.workload.kind == "Job" and not self.workload.rest

    @property
    def template_patch(self) -> dict[str, Any] | None:
        """A strategic merge patch of the object; None where it has no template that may be changed."""
        if not self.numbered:
            return None
        hosts = {"key": HOSTNAME, "operator": "In", "values": list(self.hosts)}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        return {"spec": {"template": {"spec": {"affinity": affinity}}}}

    @property
    def document(self) -> dict[str, Any] | None:
        """The patch as a partial object for server-side apply; None for a job that runs, whose template is fixed."""
        patch, workload = self.template_patch, self.workload
        if patch is None or self.placement.change == "moves":
            return None
        space = {"namespace": workload.namespace} if workload.namespace else {}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": workload.name, **space}, **patch}

    def pod_patch(self, index: int) -> dict[str, Any]:
        """A patch of one pod, strategic merge or merge."""
        return {"spec": {"nodeSelector": {HOSTNAME: self.nodes[index]}}}

    def found(self, index: int) -> str:
        """A pipeline of shell that prints one pod, as "pod/NAME", if it has no node yet."""
        workload, pending = self.workload, "--field-selector=spec.nodeName="
        find = shlex.join(["kubectl", "get", "pods", *workload.in_namespace, pending])
        fields, value = ((INDEX_FIELD,), "") if self.numbered else workload.member
        columns = ["pod/{.metadata.name}", "{.spec.containers[*].resources.limits}", *fields]
        path = "jsonpath={range .items[*]}" + r'{"\t"}'.join(columns) + r'{"\n"}{end}'
        test = f"$2 ~ /{_DEVICES.replace('/', '[/]')}/"
        if self.numbered:
            # Pods of a Job that is not indexed are alike.
            test += f' && ($3 == "{index}" || $3 == "" && ++n == {index + 1})'
        elif fields:
            test += " && (" + " || ".join(f'${i} == "{value}"' for i in range(3, len(columns) + 1)) + ")"
        select = f" --selector={workload.selector}" if workload.selector else ""
        awk = shlex.join(["awk", "-F", r"\t", f"{test} {{ print $1 }}"])
        # Pods without an index are alike: each command takes the one of its place in the list.
        nth = "" if self.numbered else f" | sort -V | sed -n {index + 1}p"
        return f"{find}{select} {shlex.quote(f'--output={path}')} | {awk}{nth}"

    def commands(self) -> Iterator[str]:
        """Lines of shell: the template's patch, then one for each gated pod."""
        space = self.workload.in_namespace
        if self.template_patch is not None:
            kubectl = ["kubectl", "patch", "job", self.workload.name, *space, "--type=strategic"]
            yield shlex.join([*kubectl, f"--patch={_compact(self.template_patch)}"])
        for index in range(len(self.nodes)):
            patch = f"--patch={_compact(self.pod_patch(index))}"
            if self.workload.kind == "Pod":
                yield shlex.join(["kubectl", "patch", "pod", self.workload.name, *space, patch])
                continue
            send = shlex.join(["kubectl", "patch", "{}", *space, patch])
            yield f"{self.found(index)} | xargs -I{{}} {send}"


def pods_of(exported: Exported, *, kind: str = "Job", gpus_per_pod: int | None = None) -> list[Pods]:
    """The jobs that start, with their pods, in the order of the solution.

    Parameters
    ----------
    exported
        What is placed.
    kind
        Of jobs whose name tells none.
    gpus_per_pod
        GPUs of a pod. None: what the instance asks for in multiples per node (`segment`, `gpus_per_node`), else the
        largest number that divides the job's GPUs on every node.

    Raises
    ------
    UsageError
        If the GPUs of a job on a node are no multiple of those of a pod.
    InputError
        If a job's name is none of Kubernetes's.
    """
    return [
        _pods(exported, placement, workload_of(placement.name, kind), gpus_per_pod)
        for placement in exported.placements
        if placement.change != "stays"
    ]


def kubernetes_yaml(exported: Exported, jobs: list[Pods]) -> str:
    """Partial Jobs in one YAML stream (each document is JSON, which is YAML), with the commands in comments."""
    return "\n".join(_lines(exported, jobs)) + "\n"


def kubernetes_json(jobs: list[Pods]) -> str:
    """A list of jobs with their patches, and the commands."""
    rows = [
        {
            "job": pods.placement.name,
            "change": pods.placement.change,
            "kind": pods.workload.kind,
            "namespace": pods.workload.namespace or None,
            "name": pods.workload.name,
            "nodes": pods.hosts,
            "gpus_per_pod": pods.gpus,
            "exact": pods.exact,
            "patch": pods.template_patch,
            "pods": [{"index": i, "node": node, "patch": pods.pod_patch(i)} for i, node in enumerate(pods.nodes)],
            "expected_goodput": pods.placement.row.goodput,
            "commands": list(pods.commands()),
        }
        for pods in jobs
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _pods(exported: Exported, placement: Placement, workload: Workload, gpus: int | None) -> Pods:
    if workload.kind == "Pod":
        gpus = placement.gpus
    gpus = gpus or _gpus_per_pod(exported, placement)
    if any(count % gpus for count in placement.nodes.values()):
        split = ", ".join(f"{count} on {quoted(node)}" for node, count in placement.nodes.items())
        raise UsageError(f"job {quoted(placement.name)} has GPUs ({split}) that pods of {gpus} GPUs cannot take")
    hosts: dict[str, int] = defaultdict(int)
    for node, count in placement.nodes.items():
        # NODE/KIND is how the importer names each of several kinds of GPUs on a node.
        kind = _KIND.fullmatch(node)
        hosts[kind["node"] if kind else node] += count
    nodes = [host for host, count in hosts.items() for _ in range(count // gpus)]
    return Pods(placement, workload, gpus, dict(hosts), nodes, _exact(exported, placement, gpus))


def _gpus_per_pod(exported: Exported, placement: Placement) -> int:
    job, instance = placement.job, exported.instance
    if job is not None and instance is not None:
        if job.segment is not None and job.segment.level == instance.cluster.levels[-1]:
            return job.segment.gpus
        if job.gpus_per_node is not None:
            return job.gpus_per_node
        return 1
    return gcd(*placement.nodes.values())


def _exact(exported: Exported, placement: Placement, gpus: int) -> bool:
    """Whether every node is full of this job's pods, or there is only one."""
    if len(placement.nodes) == 1:
        return True
    if exported.instance is None:
        return False
    room = {
        n.name: n.gpus - n.used.get("gpus", 0.0) for n in exported.instance.cluster.nodes if n.name in placement.nodes
    }
    return all(room[node] // gpus == count // gpus for node, count in placement.nodes.items())


def _lines(exported: Exported, jobs: list[Pods]) -> Iterator[str]:
    yield from (f"# {line}" for line in exported.head())
    yield f"# kubectl apply --server-side --force-conflicts --field-manager={MANAGER} --filename=THIS_FILE"
    yield "# changes the templates of the suspended Jobs below, before they are resumed or admitted. The commands in"
    yield "# comments do the same, or send single pods to their nodes while a scheduling gate holds them."
    for pods in jobs:
        # Comments alone are no document.
        yield "---" if pods.document is not None else "#"
        yield f"# {pods.placement.told()}"
        if pods.placement.change == "moves":
            yield "# It runs, and is to move: the commands take effect only once it is suspended or its pods are gated."
        yield f"# {plural(len(pods.nodes), 'pod')} of {plural(pods.gpus, 'GPU')}: " + ", ".join(
            f"{count // pods.gpus} on {quoted(node)}" for node, count in pods.hosts.items()
        )
        if pods.template_patch is not None and not pods.exact:
            yield "# The template fixes the nodes; how many pods each gets, only the patches of gated pods do."
        yield from (f"#   {command}" for command in pods.commands())
        if pods.document is not None:
            yield json.dumps(pods.document, indent=2)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
