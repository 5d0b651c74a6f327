"""Objects that stand for gangs: what pods each kind asks for, and whether it waits, is held back or has finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from crop_cli.sources.kubernetes.documents import Key, Thing
from crop_cli.sources.kubernetes.fields import Fields
from crop_cli.sources.kubernetes.resources import Request, gpus_of
from crop_cli.sources.kubernetes.shape import Shape, Topology, network_topology, read_shape, requested_topology

BATCH = "batch"
VOLCANO_BATCH = "batch.volcano.sh"
JOBSET = "jobset.x-k8s.io"
KUBEFLOW = "kubeflow.org"
KUEUE_GROUP = "kueue.x-k8s.io"
LWS = "leaderworkerset.x-k8s.io"
TRAINER = "trainer.kubeflow.org"
VOLCANO = "scheduling.volcano.sh"
COSCHEDULING = "scheduling.x-k8s.io"
KAI = "scheduling.run.ai"
RAY = "ray.io"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of equal shape.

    Attributes
    ----------
    parts
        Groups of equal size of which the set is made (the Jobs of a JobSet); for constraints per group.
    """

    count: int
    shape: Shape
    parts: int = 1


@dataclass(slots=True)
class Described:
    """What an object says about its gang.

    Attributes
    ----------
    sets
        Its pods; empty where the object does not say.
    finished
        Whether it has ended, well or not.
    held
        Why it does not wait for room although it has not ended; empty if it does.
    topology
        Of the gang as a whole.
    priority, priority_class
        If the object has any.
    least
        Pods that must start together, where only that is said.
    running
        Whether its pods run.
    """

    sets: list[PodSet] = field(default_factory=list)
    finished: bool = False
    held: str = ""
    topology: Topology = field(default_factory=Topology)
    priority: int | None = None
    priority_class: str = ""
    least: int = 0
    running: bool = False


def template(fields: Fields) -> Shape:
    """The shape of a pod template."""
    metadata = fields.child("metadata")
    return read_shape(fields.child("spec"), metadata.labels("labels"), metadata.labels("annotations"))


def workload(thing: Thing) -> Described:
    """A Workload of Kueue: pod sets with counts and templates, less the pods that have done their part."""
    freed = {one.text("name"): one.whole("count", 0) or 0 for one in thing.status.children("reclaimablePods")}
    sets = []
    for pod_set in thing.spec.children("podSets"):
        shape = template(pod_set.child("template"))
        topology = requested_topology(pod_set.child("topologyRequest"), shape.topology)
        count = max(0, (pod_set.whole("count", 1) or 0) - freed.get(pod_set.text("name"), 0))
        sets.append(PodSet(count, replace(shape, topology=topology)))
    reference = thing.spec.child("priorityClassRef").text("name")
    return Described(
        sets,
        finished=thing.condition("Finished") == "True",
        held="" if thing.spec.flag("active", default=True) else "is deactivated in Kueue",
        running=thing.condition("PodsReady") == "True",
        priority=thing.spec.whole("priority", least=-(2**31)),
        priority_class=thing.spec.text("priorityClassName") or reference,
    )


def batch_job(thing: Thing) -> Described:
    """A Job of Kubernetes: `parallelism` pods at a time, at most those that have not succeeded yet."""
    held = "is suspended" if thing.spec.flag("suspend") and not queued(thing) else ""
    succeeded = thing.status.whole("succeeded", 0) or 0
    return Described(
        [_job_pods(thing.spec, succeeded=succeeded)], _ended(thing), held, running=bool(thing.status.whole("ready", 0))
    )


def _job_pods(spec: Fields, replicas: int = 1, succeeded: int = 0) -> PodSet:
    parallelism = spec.whole("parallelism", 1) or 0
    completions = spec.whole("completions")
    at_a_time = parallelism if completions is None else min(parallelism, max(0, completions - succeeded))
    return PodSet(at_a_time * replicas, template(spec.child("template")), replicas)


_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def jobset(thing: Thing) -> Described:
    """A JobSet: replicated Jobs, each with its parallelism."""
    sets = [_replicated(replicated, thing.annotations) for replicated in thing.spec.children("replicatedJobs")]
    held = "is suspended" if thing.spec.flag("suspend") and not queued(thing) else ""
    ended = bool(thing.status.text("terminalState")) or _ended(thing)
    running = any(job.whole("ready", 0) for job in thing.status.children("replicatedJobsStatus"))
    return Described(sets, ended, held, running=running)


def _replicated(replicated: Fields, annotations: dict[str, str]) -> PodSet:
    job = replicated.child("template")
    replicas = replicated.whole("replicas", 1)
    pods = _job_pods(job.child("spec"), 1 if replicas is None else replicas)
    exclusive = job.child("metadata").labels("annotations").get(_EXCLUSIVE) or annotations.get(_EXCLUSIVE, "")
    if exclusive and pods.parts and not pods.shape.topology.slice_label:
        # Each Job has a domain to itself: its pods share one. That no other Job does is not kept.
        topology = replace(pods.shape.topology, slice_pods=pods.count // pods.parts, slice_label=exclusive)
        unread = (*pods.shape.unread, "exclusive topology (a domain for each Job alone; each Job is in one domain)")
        return replace(pods, shape=replace(pods.shape, topology=topology, unread=unread))
    return pods


def volcano_job(thing: Thing) -> Described:
    """A Job of Volcano: tasks with replicas."""
    sets = [
        PodSet(task.whole("replicas", 1) or 0, template(task.child("template")))
        for task in thing.spec.children("tasks")
    ]
    phase = thing.status.child("state").text("phase")
    return Described(
        sets,
        finished=phase in ("Completed", "Failed", "Terminated", "Aborted", "Terminating", "Completing"),
        topology=network_topology(thing.spec),
        priority_class=thing.spec.text("priorityClassName"),
        running=phase == "Running",
    )


def kubeflow_job(thing: Thing) -> Described:
    """A PyTorchJob, MPIJob, TFJob, ...: replicas by role (`pytorchReplicaSpecs`, ...)."""
    sets = []
    for key in thing.spec.data:
        if key.endswith("ReplicaSpecs"):
            roles = thing.spec.child(key)
            for role in roles.data:
                replica = roles.child(role)
                sets.append(PodSet(_or(replica.whole("replicas"), 1), template(replica.child("template"))))
    policy = thing.spec.child("runPolicy")
    held = "is suspended" if policy.flag("suspend") and not queued(thing) else ""
    return Described(
        sets,
        _ended(thing),
        held,
        priority_class=policy.child("schedulingPolicy").text("priorityClass"),
        running=thing.condition("Running") == "True",
    )


def train_job(thing: Thing, runtimes: dict[Key, Thing]) -> Described:
    """A TrainJob: nodes of its trainer, with what it or its runtime says they need."""
    reference = thing.spec.child("runtimeRef")
    kind = reference.text("kind", "ClusterTrainingRuntime")
    space = "" if kind.startswith("Cluster") else thing.namespace
    runtime = runtimes.get(Key(kind, TRAINER, space, reference.text("name")))
    held = "is suspended" if thing.spec.flag("suspend") and not queued(thing) else ""
    trainer = thing.spec.child("trainer")
    pods = _runtime_pods(runtime) if runtime else []
    count = trainer.whole("numNodes")
    if count is None and runtime is not None:
        count = runtime.spec.child("mlPolicy").whole("numNodes")
    if trainer.data.get("resourcesPerNode"):
        own = Fields(
            {"containers": [{"resources": trainer.data["resourcesPerNode"]}]},
            trainer.file,
            trainer.path,
            trainer.defects,
        )
        asked = read_shape(own, {}, {})
        base = next((one.shape for one in pods if one.shape.request.gpus), asked)
        pods = [PodSet(1, replace(base, request=asked.request))]
    sets = [replace(one, count=_or(count, 1)) if one.shape.request.gpus else one for one in pods]
    return Described(sets, _ended(thing), held)


def _runtime_pods(runtime: Thing) -> list[PodSet]:
    """The trainer's pods in a (Cluster)TrainingRuntime, which has the template of a JobSet."""
    spec = runtime.spec.child("template", "spec")
    return [_replicated(replicated, {}) for replicated in spec.children("replicatedJobs")]


def leader_worker_set(thing: Thing) -> Described:
    """One group of a LeaderWorkerSet: a leader and its workers."""
    groups = thing.spec.child("leaderWorkerTemplate")
    size = _or(groups.whole("size"), 1)
    worker = template(groups.child("workerTemplate"))
    leader = template(groups.child("leaderTemplate")) if groups.data.get("leaderTemplate") else worker
    exclusive = thing.annotations.get("leaderworkerset.sigs.k8s.io/exclusive-topology", "")
    if exclusive:
        unread = (*leader.unread, "exclusive topology (a domain for each group alone; each group is in one domain)")
        leader = replace(leader, unread=unread)
    return Described([PodSet(1, leader), PodSet(max(0, size - 1), worker)], topology=Topology(required=exclusive))


def pod_group(thing: Thing) -> Described:
    """A PodGroup of Volcano, of scheduler-plugins or of KAI: how many pods must start together."""
    spec = thing.spec
    topology = network_topology(spec)
    if thing.group == KAI:
        asked = spec.child("topologyConstraint")
        topology = Topology(
            required=asked.text("requiredTopologyLevel"), preferred=asked.text("preferredTopologyLevel")
        )
    members = _or(spec.whole("minMember"), 1)
    # Volcano writes what is asked for under the names of a quota, too.
    least = {name.removeprefix("requests."): amount for name, amount in spec.quantities("minResources").items()}
    gpus = {name: amount / members for name, amount in gpus_of(least).items() if members and amount > 0}
    sets = []
    if gpus and all(amount == int(amount) for amount in gpus.values()):
        pooled = {name: least[name] / members for name in ("cpu", "memory") if least.get(name)}
        sets = [PodSet(members, Shape(Request(gpus, pooled)))]
    phase = thing.status.text("phase")
    return Described(
        sets,
        finished=phase in ("Completed", "Finished", "Failed"),
        topology=topology,
        priority_class=spec.text("priorityClassName"),
        least=members,
        running=phase == "Running",
    )


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _ended(thing: Thing) -> bool:
    return any(thing.condition(kind) == "True" for kind in ("Complete", "Completed", "Failed", "Succeeded"))


def queued(thing: Thing) -> bool:
    """Whether Kueue holds it back until it is admitted: it waits for room."""
    return "kueue.x-k8s.io/queue-name" in thing.labels


READERS: dict[str, Callable[[Thing], Described]] = {
    KUEUE_GROUP: workload,
    JOBSET: jobset,
    VOLCANO_BATCH: volcano_job,
    KUBEFLOW: kubeflow_job,
    LWS: leader_worker_set,
    BATCH: batch_job,
    VOLCANO: pod_group,
    COSCHEDULING: pod_group,
    KAI: pod_group,
}
"""By API group, for the kinds that `is_gang` knows."""


def is_gang(key: Key) -> bool:
    """Whether an object of this kind is a gang, or one of the objects that make up one."""
    kind, group = key.kind, key.group
    if group in (BATCH, VOLCANO_BATCH):
        return kind == "Job"
    if group == KUBEFLOW:
        return kind.endswith("Job")
    if group == RAY:
        return kind in ("RayJob", "RayCluster")
    return (kind, group) in (
        ("Workload", KUEUE_GROUP),
        ("JobSet", JOBSET),
        ("TrainJob", TRAINER),
        ("LeaderWorkerSet", LWS),
        ("PodGroup", VOLCANO),
        ("PodGroup", COSCHEDULING),
        ("PodGroup", KAI),
    )
