"""Patches for Kubernetes: valid documents, the right nodes, the right number of pods on each."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.export.kubernetes import Pods, kubernetes_json, kubernetes_yaml, pods_of
from crop_cli.export.workloads import Workload, workload_of
from tests.export import solved

yaml = pytest.importorskip("yaml")

_LWS = "leaderworkerset.sigs.k8s.io"
_FOUR = {"gpus": 4, "level": "node"}


def _made(
    tmp_path: Path, jobs: list[dict[str, Any]], nodes: dict[str, int] | None = None, **options: Any
) -> list[Pods]:
    return pods_of(solved.exported(tmp_path, solved.instance(jobs, nodes)), **options)


def _hosts(document: dict[str, Any]) -> list[str]:
    """Host names that a Job's template allows."""
    affinity = document["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert expression["key"] == "kubernetes.io/hostname"
    assert expression["operator"] == "In"
    return list(expression["values"])


def test_every_document_is_a_partial_job(tmp_path: Path) -> None:
    """The stream is YAML; each document names its Job and nothing but the node affinity of its template."""
    data = solved.instance(
        [{"name": "ml/bert", "gpus": 16}, {"name": "ml/t5 (JobSet)", "gpus": 4}, {"name": "x", "gpus": 4}]
    )
    exported = solved.exported(tmp_path, data)
    documents = list(yaml.safe_load_all(kubernetes_yaml(exported, pods_of(exported))))
    placed = {placement.name: list(placement.nodes) for placement in exported.placements}
    named = {"bert": "ml/bert", "x": "x"}
    assert documents
    for document in documents:
        assert (document["apiVersion"], document["kind"]) == ("batch/v1", "Job")
        assert _hosts(document) == placed[named[document["metadata"]["name"]]]
        assert set(document["spec"]["template"]["spec"]) == {"affinity"}


def test_comments_alone_are_no_document(tmp_path: Path) -> None:
    """A job without a template to patch adds comments only."""
    exported = solved.exported(
        tmp_path, solved.instance([{"name": "ml/t5 (JobSet)", "gpus": 4}, {"name": "a", "gpus": 4}])
    )
    text = kubernetes_yaml(exported, pods_of(exported))
    assert [document["metadata"]["name"] for document in yaml.safe_load_all(text)] == ["a"]
    assert "jobset.sigs.k8s.io/jobset-name=t5" in text


def test_pods_by_index_fill_the_nodes(tmp_path: Path) -> None:
    """An uneven split gives each pod a node, as many as its GPUs take."""
    (pods,) = _made(tmp_path, [{"name": "odd", "gpus": 12, "segment": _FOUR}], {"a": 8, "b": 4})
    assert pods.gpus == 4
    assert Counter(pods.nodes) == {"a": 2, "b": 1}
    assert [pods.pod_patch(i)["spec"]["nodeSelector"]["kubernetes.io/hostname"] for i in range(3)] == pods.nodes


@pytest.mark.parametrize(
    ("fields", "options", "gpus"),
    [
        ({}, {}, 1),
        ({"segment": {"gpus": 2, "level": "node"}}, {}, 2),
        ({"segment": {"gpus": 16, "level": "rack"}}, {}, 1),
        ({"gpus_per_node": 8}, {}, 8),
        ({"segment": {"gpus": 2, "level": "node"}}, {"gpus_per_pod": 4}, 4),
    ],
)
def test_gpus_of_a_pod(tmp_path: Path, fields: dict[str, Any], options: dict[str, Any], gpus: int) -> None:
    """The option decides, then the multiples that the instance asks for per node; pods that need none have one GPU."""
    (pods,) = _made(tmp_path, [{"name": "a", "gpus": 16, **fields}], **options)
    assert pods.gpus == gpus
    assert len(pods.nodes) == 16 // gpus


def test_pods_that_do_not_divide_the_split_are_refused(tmp_path: Path) -> None:
    """Three GPUs per pod cannot give eight on a node."""
    with pytest.raises(UsageError, match="cannot take"):
        _made(tmp_path, [{"name": "a", "gpus": 16}], gpus_per_pod=3)


@pytest.mark.parametrize(
    ("nodes", "exact"), [({"n1": 8, "n2": 8}, True), ({"n1": 12, "n2": 12}, False), ({"n1": 16}, True)]
)
def test_exact_is_claimed_only_where_nodes_have_no_room_for_more(
    tmp_path: Path, nodes: dict[str, int], exact: bool
) -> None:
    """The template alone fixes the split when each node is full, or there is one node."""
    spread = {"spread": {"level": "node", "max_gpus": 8}} if len(nodes) > 1 else {}
    (pods,) = _made(tmp_path, [{"name": "a", "gpus": 16, "segment": {"gpus": 4, "level": "node"}, **spread}], nodes)
    assert pods.exact is exact


def test_without_the_instance_nothing_is_claimed(tmp_path: Path) -> None:
    """A solution alone does not tell what else a node has room for."""
    exported = solved.exported(tmp_path, solved.instance([{"name": "a", "gpus": 16}]), with_instance=False)
    (pods,) = pods_of(exported)
    assert not pods.exact
    assert pods.gpus == 8
    assert "not checked" in kubernetes_yaml(exported, [pods])


def test_running_jobs_get_no_patch(tmp_path: Path) -> None:
    """What stays where it is needs none."""
    jobs = [{"name": "runs", "gpus": 8, "placement": {"n1": 8}}, {"name": "new", "gpus": 8}]
    assert [pods.placement.name for pods in _made(tmp_path, jobs)] == ["new"]


def test_kinds_of_gpus_are_on_the_host_of_their_node(tmp_path: Path) -> None:
    """What the importer names NODE/KIND is the node NODE of Kubernetes, in templates, pods and lists."""
    exported = solved.exported(
        tmp_path,
        solved.instance(
            [{"name": "a", "gpus": 7, "segment": {"gpus": 7, "level": "node"}}], {"n1/mig-1g.5gb": 7, "n1/gpu": 4}
        ),
    )
    (pods,) = pods_of(exported)
    (document,) = yaml.safe_load_all(kubernetes_yaml(exported, [pods]))
    assert _hosts(document) == ["n1"]
    assert pods.nodes == ["n1"]
    assert json.loads(kubernetes_json([pods]))[0]["nodes"] == {"n1": 7}


def test_other_names_of_nodes_stay_as_they_are(tmp_path: Path) -> None:
    """A slash in a name that the importer would not give is a part of it, and stays within its quotes."""
    name = 'x"; reboot #/ --- $(reboot)'
    exported = solved.exported(tmp_path, solved.instance([{"name": "a", "gpus": 4}], {name: 4}))
    (document,) = yaml.safe_load_all(kubernetes_yaml(exported, pods_of(exported)))
    assert _hosts(document) == [name]


def test_jobs_that_move_are_no_documents(tmp_path: Path) -> None:
    """The template of a Job that runs is fixed: applying the file must not fail for it, and the comment says so."""
    away = {"name": "away", "gpus": 8, "placement": {"n1": 4, "n2": 4}, "movable": True, "message_mb": 1e5}
    exported = solved.exported(tmp_path, solved.instance([away]))
    (pods,) = pods_of(exported)
    text = kubernetes_yaml(exported, [pods])
    assert pods.placement.change == "moves"
    assert not list(yaml.safe_load_all(text))
    assert "is to move" in text


def test_commands_keep_their_arguments_together(tmp_path: Path) -> None:
    """A shell reads each command as kubectl with one whole patch."""
    (pods,) = _made(tmp_path, [{"name": "ml/bert", "gpus": 16, "gpus_per_node": 8}])
    template, *gated = pods.commands()
    words = shlex.split(template)
    assert words[:6] == ["kubectl", "patch", "job", "bert", "--namespace=ml", "--type=strategic"]
    assert json.loads(words[6].removeprefix("--patch=")) == pods.template_patch
    assert len(gated) == 2
    assert "--selector=batch.kubernetes.io/job-name=bert" in gated[1]
    assert '$3 == "1"' in gated[1]
    assert json.loads(shlex.split(gated[1])[-1].removeprefix("--patch=")) == pods.pod_patch(1)


def test_a_pod_is_patched_by_its_name(tmp_path: Path) -> None:
    """A job that is a single pod has one command and no template."""
    (pods,) = _made(tmp_path, [{"name": "ml/one (Pod)", "gpus": 2}])
    (command,) = pods.commands()
    assert shlex.split(command)[:4] == ["kubectl", "patch", "pod", "one"]
    assert pods.document is None


def test_of_a_job_that_runs_in_part_only_pods_are_patched(tmp_path: Path) -> None:
    """Its template may not be changed any more, and indices tell nothing about which pods wait."""
    (pods,) = _made(tmp_path, [{"name": "ml/bert (rest)", "gpus": 16}])
    assert pods.document is None
    assert all("--field-selector=spec.nodeName=" in command for command in pods.commands())


def test_programs_get_a_list(tmp_path: Path) -> None:
    """The JSON form has every patch as an object."""
    (row,) = json.loads(kubernetes_json(_made(tmp_path, [{"name": "ml/bert", "gpus": 16, "gpus_per_node": 8}])))
    assert (row["kind"], row["namespace"], row["name"], row["exact"]) == ("Job", "ml", "bert", True)
    assert [pod["index"] for pod in row["pods"]] == [0, 1]


@pytest.mark.parametrize(
    ("job", "workload"),
    [
        ("bert", Workload("Job", "", "bert")),
        ("ml/bert", Workload("Job", "ml", "bert")),
        ("ml/bert-7 (PyTorchJob)", Workload("PyTorchJob", "ml", "bert-7")),
        ("ml/t5 (rest)", Workload("Job", "ml", "t5", rest=True)),
        ("ml/t5 (JobSet) (rest)", Workload("JobSet", "ml", "t5", rest=True)),
    ],
)
def test_names_tell_kind_and_namespace(job: str, workload: Workload) -> None:
    """Forms in which the importer names jobs."""
    assert workload_of(job, "Job") == workload


@pytest.mark.parametrize(
    ("job", "selector"),
    [
        ("ml/a", "batch.kubernetes.io/job-name=a"),
        ("ml/a (TrainJob)", "jobset.sigs.k8s.io/jobset-name=a"),
        ("ml/a (JAXJob)", "training.kubeflow.org/job-name=a"),
        ("ml/a (RayCluster)", "ray.io/cluster=a"),
        (
            "ml/a (RayJob)",
            "ray.io/cluster=\"$(kubectl get rayjob a --namespace=ml '--output=jsonpath={.status.rayClusterName}')\"",
        ),
        ("ml/vllm-1 (LeaderWorkerSet)", f"{_LWS}/name=vllm,{_LWS}/group-index=1"),
        ("ml/vllm (LeaderWorkerSet)", f"{_LWS}/name=vllm"),
        ("ml/a (PodGroup)", ""),
    ],
)
def test_labels_of_the_pods(job: str, selector: str) -> None:
    """Each kind's pods have a label with its name; a group of a LeaderWorkerSet has two; pod groups are annotations."""
    assert workload_of(job, "Job").selector == selector


def test_pod_groups_are_found_where_their_scheduler_writes_them() -> None:
    """By any scheduler's label or annotation, by one scheduler's where the name tells it, by a reference of the pod."""
    some, _ = workload_of("ml/a (PodGroup)", "Job").member
    volcano, name = workload_of("ml/a (PodGroup.scheduling.volcano.sh)", "Job").member
    assert set(volcano) < set(some)
    assert "{.metadata.annotations.pod-group-name}" in some
    assert volcano[0] == r"{.metadata.annotations.scheduling\.k8s\.io/group-name}"
    assert name == "a"
    assert workload_of("ml/w/workers (Workload)", "Job").member[1] == "w/workers/"
    assert workload_of("ml/w/workers/3 (Workload) (rest)", "Job").member[1] == "w/workers/3"


@pytest.mark.parametrize("job", ["17 bert", "a/b/c", "a (job)", "ml/", "Bert", "-x", "a,b"])
def test_names_of_other_systems_are_refused(job: str) -> None:
    """What Kubernetes would not take as a name is an error, not a broken label selector."""
    with pytest.raises(InputError):
        workload_of(job, "Job")


def test_an_unknown_kind_is_refused() -> None:
    """The message lists what is known."""
    for job, kind in (("a", "Deployment"), ("ml/a (PodGroup.example.com)", "Job")):
        with pytest.raises(UsageError, match="JobSet"):
            workload_of(job, kind)
