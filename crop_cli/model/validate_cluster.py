"""Checks of the cluster: its levels, the numbers of its nodes, and that it is a tree of uniform depth."""

from __future__ import annotations

from crop_cli.model.findings import Findings, alike, key_path, named, number, one_of, quoted
from crop_cli.model.instance import Cluster, Node, Switch
from crop_cli.model.rules import exceeds
from crop_cli.model.tree import ROOT_NAME
from crop_cli.model.validate_fields import check_keys, check_name, check_numbers, check_unique

LEVELS = "$.cluster.levels"
SWITCHES = "$.cluster.switches"
NODES = "$.cluster.nodes"


def check_cluster(findings: Findings, cluster: Cluster) -> None:
    """Everything about the cluster that does not need the jobs (model.md, section 1)."""
    _check_levels(findings, cluster.levels)
    check_numbers(findings, "$.cluster", cluster)
    check_unique(findings, SWITCHES, [switch.name for switch in cluster.switches])
    for i, switch in enumerate(cluster.switches):
        check_name(findings, f"{SWITCHES}[{i}].name", switch.name)
        check_numbers(findings, f"{SWITCHES}[{i}]", switch, "switch", switch.name)
    if not cluster.nodes:
        findings.add(NODES, "an empty list", "at least one node")
    check_unique(findings, NODES, [node.name for node in cluster.nodes])
    for i, node in enumerate(cluster.nodes):
        _check_node(findings, f"{NODES}[{i}]", node)
    if findings.sound(LEVELS):
        _Parents(findings, cluster).check()


def _check_levels(findings: Findings, levels: list[str]) -> None:
    if not levels:
        findings.add(LEVELS, "an empty list", 'the names of the levels, top down, such as ["rack", "node"]')
    check_unique(findings, LEVELS, levels, field="")
    for i, level in enumerate(levels):
        check_name(findings, f"{LEVELS}[{i}]", level)
        if level == ROOT_NAME:
            findings.add(
                f"{LEVELS}[{i}]", quoted(level), f"another name: {quoted(ROOT_NAME)} is the root's, not listed"
            )


def _check_node(findings: Findings, path: str, node: Node) -> None:
    owner = named("node", node.name)
    check_name(findings, f"{path}.name", node.name)
    check_name(findings, f"{path}.gpu_type", node.gpu_type)
    check_numbers(findings, path, node, "node", node.name)
    check_keys(findings, f"{path}.resources", node.resources, owner)
    if "gpus" in node.resources:
        found = f"{number(node.resources['gpus'])}{owner}"
        findings.add(f"{path}.resources.gpus", found, 'no resource of this name: GPUs are the field "gpus"')
    for resource, used in node.used.items():
        at = key_path(f"{path}.used", resource)
        at_capacity = f"{path}.gpus" if resource == "gpus" else key_path(f"{path}.resources", resource)
        capacity: float | None = node.gpus if resource == "gpus" else node.resources.get(resource)
        if not findings.sound(at) or not findings.sound(at_capacity):
            continue
        if capacity is None:
            known = ["gpus", *node.resources]
            findings.add(at, f"an unknown resource{owner}", f"{one_of(known)}{alike(resource, known)}")
        elif exceeds(used, capacity):
            findings.add(at, f"{number(used)}{owner}", f"at most {number(capacity)}, what the node has")
        elif resource == "gpus" and used != int(used):
            # Whole workers are placed: half a GPU taken leaves no half to use.
            findings.add(at, f"{number(used)}{owner}", "a whole number: a GPU that is used in part counts as used")


def shared_name_warnings(cluster: Cluster) -> list[str]:
    """Names that a report could not tell apart."""
    taken = {node.name: "a node" for node in cluster.nodes} | {ROOT_NAME: "the root"}
    return [
        f"{SWITCHES}[{i}].name: switch {quoted(switch.name)} has the name of {taken[switch.name]}"
        for i, switch in enumerate(cluster.switches)
        if switch.name in taken
    ]


def names_readable(findings: Findings, path: str, length: int) -> bool:
    """Whether the names in a list of objects are all known, so that one that is not among them is an error."""
    if findings.is_stand_in(path):
        return False
    return findings.sound(path) or not any(findings.is_stand_in(f"{path}[{i}].name") for i in range(length))


class _Parents:
    """Whether every switch and node hangs on a switch of the level above its own."""

    def __init__(self, findings: Findings, cluster: Cluster) -> None:
        self.findings = findings
        self.cluster = cluster
        self.depth_of = {level: d for d, level in enumerate(cluster.levels, start=1)}
        self.switch = {switch.name: switch for switch in reversed(cluster.switches)}
        self.node_names = {node.name for node in cluster.nodes}
        self.on_cycles = _on_cycles(self.switch)
        self.all_known = names_readable(findings, SWITCHES, len(cluster.switches))

    def check(self) -> None:
        levels = self.cluster.levels
        for i, switch in enumerate(self.cluster.switches):
            path, owner = f"{SWITCHES}[{i}]", named("switch", switch.name)
            if switch.level in levels[:-1]:
                self._check_parent(path, switch, self.depth_of[switch.level], owner)
            else:
                self._wrong_level(path, switch, owner)
        above = levels[-2] if len(levels) > 1 else None
        for i, node in enumerate(self.cluster.nodes):
            parent = self.switch.get(node.parent) if node.parent is not None else None
            if (above is None and node.parent is None) or (parent is not None and parent.level == above):
                continue
            self._check_parent(f"{NODES}[{i}]", node, len(levels), named("node", node.name))

    def _wrong_level(self, path: str, switch: Switch, owner: str) -> None:
        levels = self.cluster.levels
        if len(levels) == 1:
            expected = f"no switch at all: the only level, {quoted(levels[0])}, is the nodes'"
        elif switch.level == levels[-1]:
            expected = f"{one_of(levels[:-1])}: the last level is the nodes'"
        else:
            expected = f"{one_of(levels[:-1])}{alike(switch.level, levels[:-1])}"
        self.findings.add(f"{path}.level", f"{quoted(switch.level)}{owner}", expected)

    def _check_parent(self, path: str, child: Switch | Node, depth: int, owner: str) -> None:
        """`depth` is the child's."""
        at = f"{path}.parent"
        found = f"{'nothing' if child.parent is None else quoted(child.parent)}{owner}"
        if depth == 1:
            if child.parent is not None:
                level = quoted(self.cluster.levels[0])
                self.findings.add(at, found, f"no parent: level {level} is directly below the root")
            return
        level = self.cluster.levels[depth - 2]
        expected = f"the name of a switch of level {quoted(level)}"
        if child.parent is None:
            self.findings.add(at, found, expected)
            return
        parent = self.switch.get(child.parent)
        if parent is None:
            if child.parent in self.node_names:
                self.findings.add(at, f"{found}, which is a node", expected)
            elif self.all_known:
                self.findings.add(at, f"{found}, which is no switch", expected)
        elif parent.level != level and parent.level in self.depth_of:
            leads = (
                "a cycle: the way up leads back here"
                if isinstance(child, Switch) and child.name in self.on_cycles
                else ""
            )
            self.findings.add(at, f"{found}, {leads or f'a switch of level {quoted(parent.level)}'}", expected)


def _on_cycles(switch: dict[str, Switch]) -> set[str]:
    """Names of the switches from which the way up leads back to themselves."""
    done: set[str] = set()
    found: set[str] = set()
    for start in switch:
        way: dict[str, int] = {}
        name: str | None = start
        while name in switch and name not in done and name not in way:
            way[name] = len(way)
            name = switch[name].parent
        if name in way:
            found.update(list(way)[way[name] :])
        done.update(way)
    return found
