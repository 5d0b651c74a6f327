"""Switches of topology.conf (topology/tree, topology/block) or `scontrol show topology`, as a tree of uniform depth.

Slurm's trees may have any depth, different depths in different branches, and several roots. Levels are counted from the
leaf switches upwards; where a branch is shallower than others, a switch of the missing level is put in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from crop_cli.errors import Defect, InputError
from crop_cli.model.files import unusable
from crop_cli.model.findings import quoted
from crop_cli.model.instance import Switch
from crop_cli.names import compress, plural
from crop_cli.sources.slurm.forms import decoded, is_json
from crop_cli.sources.slurm.hostlists import expand
from crop_cli.sources.slurm.records import Input
from crop_cli.sources.slurm.text import Record, records

EXPECTED = "switches: topology.conf, or what `scontrol show topology` prints (SwitchName=... or BlockName=... lines)"

NO_SWITCH = "no-switch"
"""Name of the switch for nodes that are below none."""

_KEYS = {"switchname": "SwitchName", "blockname": "BlockName", "nodes": "Nodes", "switches": "Switches"}
_KEY = re.compile(rf"\b({'|'.join(_KEYS)})=", re.IGNORECASE)
_WANTED = re.compile(r"\s*(SwitchName|BlockName)=", re.IGNORECASE)

_TREE_LEVELS = ("rack", "pod", "zone")


@dataclass(slots=True)
class Tree:
    """What a topology file says.

    Attributes
    ----------
    leaf_of
        The leaf switch or block of each node.
    parents
        Switch above each switch; None for a root. In the order of the file.
    blocks
        Whether it is a block topology.
    warnings
        What a user should look at.
    """

    leaf_of: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str | None] = field(default_factory=dict)
    blocks: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Levels:
    """The uniform tree: names of levels top down, switches, and the parent of each node."""

    levels: list[str]
    switches: list[Switch]
    parent_of: dict[str, str]
    assumptions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_topology(source: Input) -> Tree:
    """The switches of a file.

    Raises
    ------
    InputError
        If it is something else, or a switch is named that is not described, is below two others, or below itself.
    """
    content = decoded(source)
    if is_json(content):
        # `scontrol show topology --json` of releases up to 24.11 prints plain text too.
        raise unusable(source.file, "JSON", EXPECTED)
    rows = records("\n".join(_lines(content)))
    if not rows:
        first = next((line.strip() for line in content.splitlines() if line.strip()), "")
        raise unusable(source.file, quoted(first) if first else "an empty file", EXPECTED, "line 1")
    tree = Tree(blocks=rows[0].kind == "BlockName")
    defects: list[Defect] = []
    below: dict[str, list[str]] = {}
    for row in rows:
        name = row.pairs[row.kind]
        try:
            _enter(tree, below, name, row)
        except ValueError as error:
            defects.append(Defect(f"line {row.line}", quoted(name), str(error)))
    defects += _connect(tree, below)
    if defects:
        raise InputError(source.file, defects)
    return tree


def uniform(tree: Tree | None, nodes: list[str]) -> Levels:
    """The tree above the nodes of an instance, of uniform depth; without a topology the nodes stand alone.

    A single switch above everything is the cluster itself and no level.
    """
    if tree is None or not tree.parents:
        return Levels(["node"], [], {})
    apart = _free(NO_SWITCH, set(tree.parents))
    parent_of = {name: tree.leaf_of.get(name, apart) for name in nodes}
    alone = [name for name in nodes if name not in tree.leaf_of]
    parents = dict(tree.parents)
    above = _chains(parents, dict.fromkeys(parent_of.values()))
    kept = [name for name in parents if name in above]
    made = Levels([], [], parent_of, [], list(tree.warnings))
    if alone:
        made.warnings.append(
            f"{plural(len(alone), 'node')} below no switch of the topology, put below a switch {quoted(apart)}: "
            f"{compress(alone)}"
        )
        kept.append(apart)
        parents[apart] = None
    height = _heights(parents, kept)
    while len(roots := [name for name in kept if parents[name] is None and name != apart]) == 1 and height[roots[0]]:
        made.assumptions.append(f"Switch {roots[0]} is above all others: it is the cluster itself, not a level.")
        kept.remove(roots[0])
        parents.update({name: None for name in kept if parents[name] == roots[0]})
    top = max(height[name] for name in kept)
    names = [_level(h, blocks=tree.blocks) for h in range(top + 1)]
    made.levels = [*reversed(names), "node"]
    filled: list[str] = []
    taken = {*kept, *nodes}
    for name in kept:
        upper = parents[name]
        missing = range(height[name] + 1, top + 1 if upper is None else height[upper])
        put_in = [_free(f"{name}-{names[h]}", taken) for h in missing]
        chain = [name, *put_in]
        for at, h, parent in zip(chain, range(height[name], top + 1), [*put_in, upper], strict=False):
            made.switches.append(Switch(name=at, level=names[h], parent=parent))
        filled += put_in
    if filled:
        made.assumptions.append(
            f"Switches that are put in where a branch has fewer levels than others: {compress(filled)}."
        )
    if tree.blocks:
        made.assumptions.append("Blocks are one level; larger block sizes are no levels of their own.")
    return made


def _level(height: int, *, blocks: bool) -> str:
    if blocks and height == 0:
        return "block"
    return _TREE_LEVELS[height] if height < len(_TREE_LEVELS) else f"level-{height + 1}"


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is taken from now on."""
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free)
    return free


def _lines(content: str) -> list[str]:
    """Lines of switches and blocks without comments, keys as Slurm writes them; others (block sizes, blocks of blocks)
    are left empty, so that lines keep their numbers."""
    lines = (line.split("#", 1)[0].strip() for line in content.splitlines())
    return [
        _KEY.sub(lambda match: _KEYS[match[1].lower()] + "=", line) if _WANTED.match(line) else "" for line in lines
    ]


def _enter(tree: Tree, below: dict[str, list[str]], name: str, row: Record) -> None:
    if name in tree.parents:
        raise ValueError("each switch once")
    tree.parents[name] = None
    switches = expand(row.get("Switches"))
    if switches:
        # What `scontrol show topology` lists as nodes of such a switch are those of the switches below it.
        below[name] = switches
        return
    twice = [node for node in expand(row.get("Nodes")) if tree.leaf_of.setdefault(node, name) != name]
    if twice:
        tree.warnings.append(
            f"{plural(len(twice), 'node')} below two switches, the first one counts: {compress(twice)}"
        )


def _connect(tree: Tree, below: dict[str, list[str]]) -> list[Defect]:
    """Enter the parents; what is wrong with them."""
    defects = []
    for name, switches in below.items():
        for switch in switches:
            if switch not in tree.parents:
                defects.append(
                    Defect(name, f"switch {quoted(switch)} without a line of its own", "a switch of the file")
                )
            elif tree.parents[switch] is not None:
                found = f"switch {quoted(switch)} below {quoted(str(tree.parents[switch]))} and {quoted(name)}"
                defects.append(Defect(name, found, "a tree: each switch below one other"))
            else:
                tree.parents[switch] = name
    for name in tree.parents:
        at, steps = tree.parents[name], 0
        while at is not None and steps <= len(tree.parents):
            at, steps = tree.parents[at], steps + 1
        if at is not None:
            defects.append(Defect(name, "a switch above itself", "a tree: no switch above itself"))
            break
    return defects


def _chains(parents: dict[str, str | None], leaves: dict[str, None]) -> set[str]:
    """Switches with a node below them."""
    found: set[str] = set()
    for leaf in leaves:
        at: str | None = leaf
        while at is not None and at in parents and at not in found:
            found.add(at)
            at = parents[at]
    return found


def _heights(parents: dict[str, str | None], kept: list[str]) -> dict[str, int]:
    """Levels below each switch: 0 for a leaf."""
    height = dict.fromkeys(kept, 0)
    for name in kept:
        at, steps = parents[name], 1
        while at is not None:
            height[at] = max(height[at], steps)
            at, steps = parents[at], steps + 1
    return height
