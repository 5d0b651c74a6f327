"""The families of small instances. A family is one function `(draw, name, nodes, load) -> document`."""

from __future__ import annotations

from collections.abc import Callable

from draw import Draw
from instance_file import number
from small_parts import Part, Parts, about, document, free_gpus, model_job, node, queue, racks

Family = Callable[[Draw, str, int, float], Part]


def uniform(draw: Draw, name: str, count: int, load: float) -> Part:
    """Equal nodes of 8 GPUs in racks, NVLink inside, 200 Gbit/s out; jobs of measured models."""
    switches, of_node = racks(count, draw.pick((2, 3, 4)), 400)
    nodes = [node(f"n{i + 1}", rack, 8, gpu_link_gbps=2400, uplink_gbps=200) for i, rack in enumerate(of_node)]
    jobs = queue(draw, free_gpus(nodes), load, model_job)
    return document(name, _said(uniform), _racked(switches, nodes), jobs)


def tight(draw: Draw, name: str, count: int, load: float) -> Part:
    """Bin packing: awkward sizes on nodes of 4 to 9 GPUs, most jobs must stay on one node."""

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job: Part = {"name": label, "gpus": gpus, "weight": about(draw, 1.0, 0.3)}
        if draw.chance(0.7):
            job["within"] = "node"
        return job

    nodes = [node(f"n{i + 1}", None, draw.integer(4, 9)) for i in range(count)]
    jobs = queue(draw, free_gpus(nodes), load, make, {1: 1, 2: 2, 3: 4, 4: 3, 5: 3, 6: 2, 7: 1})
    return document(name, _said(tight), {"levels": ["node"], "nodes": nodes}, jobs)


def types(draw: Draw, name: str, count: int, load: float) -> Part:
    """Three GPU types and some degraded nodes; every model gains differently, some are not built for every type."""
    slower = {"A100": (1.0, 1.0), "V100": (1.5, 3.0), "T4": (3.0, 6.0)}

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus)
        measured = {kind: number(job["compute_s"] * draw.uniform(*factor), 3) for kind, factor in slower.items()}
        allowed = [kind for kind in measured if kind == "A100" or draw.chance(0.75)]
        job["compute_s"] = {kind: measured[kind] for kind in allowed}
        return job

    kinds = ["A100", *(draw.pick(tuple(slower)) for _ in range(count - 1))]
    nodes = []
    for i, kind in enumerate(kinds):
        link, gpus = (2400, 8) if kind == "A100" else (1200, draw.pick((4, 8))) if kind == "V100" else (126, 4)
        slowdown = about(draw, 1.3, 0.1) if draw.chance(0.2) else None
        fields = {"gpu_type": kind, "gpu_link_gbps": link, "uplink_gbps": 100, "slowdown": slowdown}
        nodes.append(node(f"n{i + 1}", None, gpus, **fields))
    jobs = queue(draw, free_gpus(nodes), load, make)
    return document(name, _said(types), {"levels": ["node"], "nodes": nodes}, jobs)


def resources(draw: Draw, name: str, count: int, load: float) -> Part:
    """CPU cores and memory bind as often as GPUs; parts of them are in use."""

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus)
        cpu, memory = draw.pick(((4, 32), (6, 96), (14, 32)))
        job["resources_per_gpu"] = {"cpu": cpu, "memory_gib": memory}
        return job

    switches, of_node = racks(count, draw.pick((2, 4)), None)
    nodes = []
    for i, rack in enumerate(of_node):
        cpu, memory = draw.pick(((64, 384), (96, 768)))
        taken = {"cpu": 8, "memory_gib": 64} if draw.chance(0.3) else None
        have = {"cpu": cpu, "memory_gib": memory}
        fields = {"gpu_link_gbps": 2400, "uplink_gbps": 200, "resources": have, "used": taken}
        nodes.append(node(f"n{i + 1}", rack, 8, **fields))
    jobs = queue(draw, free_gpus(nodes), load, make, {1: 2, 2: 4, 4: 6, 8: 6, 16: 1})
    return document(name, _said(resources), _racked(switches, nodes), jobs)


def bandwidth(draw: Draw, name: str, count: int, load: float) -> Part:
    """Narrow uplinks and shared PCIe fabrics, chatty models of both patterns: links are the scarce thing."""
    chatty = {"bert": 2.0, "gpt2": 2.0, "vgg16": 2.0, "gnmt": 1.0, "experts": 4.0}

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus, chatty)
        if draw.chance(0.5):
            job["overlap"] = number(draw.pick((0.1, 0.25, 0.5)))
        return job

    switches, of_node = racks(count, 2, draw.pick((40, 60, 100)))
    nodes = []
    for i, rack in enumerate(of_node):
        fabric = draw.pick((None, 128, 256))
        fields = {"gpu_link_gbps": 126, "fabric_gbps": fabric, "uplink_gbps": draw.pick((50, 100))}
        nodes.append(node(f"n{i + 1}", rack, 4, **fields))
    jobs = queue(draw, free_gpus(nodes), load, make, {1: 1, 2: 2, 3: 2, 4: 2, 6: 2, 8: 2})
    cluster = {"oversubscription": draw.pick((0.8, 1.0, 1.5)), **_racked(switches, nodes)}
    return document(name, _said(bandwidth), cluster, jobs)


def fragmented(draw: Draw, name: str, count: int, load: float) -> Part:
    """Up to seven of eight GPUs of every node are taken: few nodes are whole, jobs must be split or wait."""
    switches, of_node = racks(count, draw.pick((2, 4)), 200)
    nodes = []
    for i, rack in enumerate(of_node):
        taken = draw.weighted({0: 2, 2: 1, 3: 1, 4: 2, 5: 1, 6: 1, 7: 1})
        fields = {"gpu_link_gbps": 2400, "uplink_gbps": 100, "used": {"gpus": taken} if taken else None}
        nodes.append(node(f"n{i + 1}", rack, 8, **fields))
    jobs = queue(draw, free_gpus(nodes), load, model_job)
    return document(name, _said(fragmented), _racked(switches, nodes), jobs)


def failures(draw: Draw, name: str, count: int, load: float) -> Part:
    """Nodes fail at very different rates, one may be drained or down; restarts and checkpoints have their price."""

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus)
        job["restart_minutes"] = draw.pick((5, 15, 45))
        job["checkpoint_minutes"] = draw.pick((15, 60, 240))
        if gpus >= 8 and draw.chance(0.4):
            job["spread"] = {"level": "node", "max_gpus": gpus // 2}
        return job

    switches, of_node = racks(count, draw.pick((2, 4)), 400)
    nodes = []
    for i, rack in enumerate(of_node):
        # Ten times the rate of a healthy cluster, so that it decides something.
        rate = number(draw.gamma(0.94, 0.042), 3)
        state = draw.pick(("drained", "down")) if i > 1 and draw.chance(0.15) else None
        fields = {"gpu_link_gbps": 2400, "uplink_gbps": 200, "failures_per_day": rate, "state": state}
        nodes.append(node(f"n{i + 1}", rack, 8, **fields))
    jobs = queue(draw, free_gpus(nodes), load, make)
    objective = {"failure_weight": draw.pick((0.5, 1.0, 2.0))}
    return document(name, _said(failures), _racked(switches, nodes), jobs, objective)


def running(draw: Draw, name: str, count: int, load: float) -> Part:
    """Some jobs run: most stay where they are, some may be moved at a price; a small new one is required."""
    switches, of_node = racks(count, draw.pick((2, 4)), 400)
    nodes = [node(f"n{i + 1}", rack, 8, gpu_link_gbps=2400, uplink_gbps=200) for i, rack in enumerate(of_node)]
    free = {n["name"]: 8 for n in nodes}
    jobs: Parts = []
    for number_of in range(count):
        size = draw.weighted({1: 3, 2: 3, 4: 3, 8: 1})
        held = _occupy(free, draw.shuffled(list(free)), size)
        if held is None:
            continue
        job = model_job(draw, f"r{number_of + 1:02d}", size, {"resnet50": 1, "inception3": 1, "llama7b": 1})
        job["placement"] = held
        if draw.chance(0.5):
            job.update(movable=True, migration_minutes=draw.pick((5, 20, 60)))
        jobs.append(job)
    fresh = queue(draw, sum(free.values()), load, model_job)
    smallest = min(fresh, key=lambda job: int(job["gpus"]))
    smallest["required"] = True
    return document(name, _said(running), _racked(switches, nodes), jobs + fresh)


def deep(draw: Draw, name: str, count: int, load: float) -> Part:
    """Three or four levels with uplinks that get narrower per GPU towards the top; some jobs must stay within a pod."""
    levels = draw.pick((["pod", "rack", "node"], ["zone", "pod", "rack", "node"]))
    switches: Parts = []
    parents: list[str | None] = [None]
    width = {"zone": 2, "pod": 2, "rack": 2}
    gbps = {"zone": 100, "pod": 100, "rack": 150}
    for level in levels[:-1]:
        below: list[str | None] = []
        for parent in parents:
            for _ in range(width[level]):
                switch: Part = {"name": f"{level}-{len(below) + 1}", "level": level}
                if parent is not None:
                    switch["parent"] = parent
                switches.append({**switch, "uplink_gbps": gbps[level]})
                below.append(switch["name"])
        parents = below
    nodes = []
    for i in range(count):
        parent = parents[i * len(parents) // count]
        nodes.append(node(f"n{i + 1}", parent, draw.pick((2, 4)), gpu_link_gbps=1200, uplink_gbps=100))
    switches = _without_empty(switches, nodes)

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus)
        if draw.chance(0.3):
            job["within"] = draw.pick(levels[:-1])
        return job

    jobs = queue(draw, free_gpus(nodes), load, make)
    objective = {"cut_penalty": 0.005}
    return document(name, _said(deep), {"levels": levels, "switches": switches, "nodes": nodes}, jobs, objective)


def shapes(draw: Draw, name: str, count: int, load: float) -> Part:
    """Most jobs have a shape constraint: within a domain, segments, a spread limit, or a fixed count per node."""

    def make(draw: Draw, label: str, gpus: int) -> Part:
        job = model_job(draw, label, gpus)
        shape = draw.weighted({"none": 1, "within": 1, "segment": 1, "spread": 1, "gpus_per_node": 1})
        if shape == "within":
            job["within"] = draw.pick(("rack", "node")) if gpus <= 8 else "rack"
        elif shape == "segment" and gpus >= 4:
            job["segment"] = {"gpus": gpus // draw.pick((2, 4)), "level": draw.pick(("rack", "node"))}
        elif shape == "spread" and gpus >= 2:
            job["spread"] = {"level": draw.pick(("rack", "node")), "max_gpus": max(1, gpus // 2)}
        elif shape == "gpus_per_node" and gpus >= 2:
            job["gpus_per_node"] = min(8, gpus) // draw.pick((1, 2))
        return job

    switches, of_node = racks(count, 2, 400)
    nodes = []
    for i, rack in enumerate(of_node):
        taken = {"gpus": draw.integer(1, 3)} if draw.chance(0.3) else None
        nodes.append(node(f"n{i + 1}", rack, 8, gpu_link_gbps=2400, uplink_gbps=200, used=taken))
    jobs = queue(draw, free_gpus(nodes), load, make)
    return document(name, _said(shapes), _racked(switches, nodes), jobs)


FAMILIES: dict[str, Family] = {
    family.__name__: family
    for family in (uniform, tight, types, resources, bandwidth, fragmented, failures, running, deep, shapes)
}


def _racked(switches: Parts, nodes: Parts) -> Part:
    return {"levels": ["rack", "node"], "switches": switches, "nodes": nodes}


def _said(family: Family) -> str:
    return f"Family {family.__name__}: {(family.__doc__ or '').splitlines()[0]}"


def _occupy(free: dict[str, int], order: list[str], gpus: int) -> dict[str, int] | None:
    """Take GPUs of the first node that has enough, else of nodes in turn; None if there are not so many."""
    if sum(free.values()) < gpus:
        return None
    whole = [name for name in order if free[name] >= gpus]
    held: dict[str, int] = {}
    for name in whole[:1] or order:
        take = min(free[name], gpus - sum(held.values()))
        if take > 0:
            held[name] = take
            free[name] -= take
    return held


def _without_empty(switches: Parts, nodes: Parts) -> Parts:
    """Only the switches above some node."""
    parent = {switch["name"]: switch.get("parent") for switch in switches}
    kept: set[str] = set()
    for part in nodes:
        name = part["parent"]
        while name is not None:
            kept.add(name)
            name = parent[name]
    return [switch for switch in switches if switch["name"] in kept]
