"""Trees and blocks of switches."""

from __future__ import annotations

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.slurm.topology import Levels, read_topology, uniform
from tests.sources.slurm.files import DATA, SHARED, given, text


def levels_of(content: str, nodes: list[str]) -> Levels:
    """The uniform tree of a topology file above these nodes."""
    return uniform(read_topology(text(content)), nodes)


def parents(tree: Levels) -> dict[str, tuple[str, str | None]]:
    """Level and parent of each switch."""
    return {switch.name: (switch.level, switch.parent) for switch in tree.switches}


def test_two_racks() -> None:
    """Leaf switches are racks; the one switch above all is the cluster and no level."""
    tree = levels_of("SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\nSwitchName=top Switches=l[0-1]", ["a", "b"])
    assert tree.levels == ["rack", "node"]
    assert parents(tree) == {"l0": ("rack", None), "l1": ("rack", None)}
    assert tree.parent_of == {"a": "l0", "b": "l1"}
    assert any("top" in said for said in tree.assumptions)


def test_one_pod_of_many() -> None:
    """Where all nodes are below one pod of a larger tree, neither it nor what is above it is a level."""
    lines = "SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\nSwitchName=l2 Nodes=c\n"
    lines += "SwitchName=p0 Switches=l0,l1\nSwitchName=p1 Switches=l2\nSwitchName=top Switches=p0,p1"
    tree = levels_of(lines, ["a", "b"])
    assert tree.levels == ["rack", "node"]
    assert parents(tree) == {"l0": ("rack", None), "l1": ("rack", None)}


def test_one_switch() -> None:
    """A single leaf switch stays a level."""
    tree = levels_of("SwitchName=l0 Nodes=n[1-2]", ["n1", "n2"])
    assert tree.levels == ["rack", "node"]
    assert parents(tree) == {"l0": ("rack", None)}


def test_several_roots() -> None:
    """Roots that share nothing are the top level."""
    lines = "SwitchName=p0 Switches=l0\nSwitchName=p1 Switches=l1\nSwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b"
    tree = levels_of(lines, ["a", "b"])
    assert tree.levels == ["pod", "rack", "node"]
    assert parents(tree)["l1"] == ("rack", "p1")
    assert parents(tree)["p0"] == ("pod", None)


def test_four_levels() -> None:
    """Levels have names however deep the tree is."""
    lines = ["SwitchName=a Nodes=x", "SwitchName=z Nodes=y"]
    for prefix, below in (("b", "a"), ("c", "b"), ("d", "c")):
        lines.append(f"SwitchName={prefix} Switches={below}")
    tree = levels_of("\n".join(lines), ["x", "y"])
    assert tree.levels == ["level-4", "zone", "pod", "rack", "node"]
    assert parents(tree)["z"] == ("rack", "z-pod")


def test_uneven_depth() -> None:
    """Where a branch is shallower a switch of each missing level is put in, and said."""
    lines = "SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\nSwitchName=l2 Nodes=c\n"
    lines += "SwitchName=pod0 Switches=l0,l1\nSwitchName=top Switches=pod0,l2"
    tree = levels_of(lines, ["a", "b", "c"])
    assert tree.levels == ["pod", "rack", "node"]
    assert parents(tree)["l2"] == ("rack", "l2-pod")
    assert parents(tree)["l2-pod"] == ("pod", None)
    assert any("l2-pod" in said for said in tree.assumptions)


def test_nodes_without_switch() -> None:
    """Nodes below no switch get one of their own, with a warning."""
    tree = levels_of("SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\nSwitchName=top Switches=l0,l1", ["a", "b", "x"])
    assert tree.parent_of["x"] == "no-switch"
    assert parents(tree)["no-switch"] == ("rack", None)
    assert any("x" in said for said in tree.warnings)


def test_a_switch_called_no_switch() -> None:
    """A switch that has the name already keeps it."""
    tree = levels_of("SwitchName=no-switch Nodes=a", ["a", "b"])
    assert tree.parent_of == {"a": "no-switch", "b": "no-switch-2"}


def test_switches_without_nodes() -> None:
    """Switches that have no node of the instance below them are not in it."""
    tree = levels_of("SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=b\nSwitchName=top Switches=l0,l1", ["a"])
    assert list(parents(tree)) == ["l0"]


def test_no_topology() -> None:
    """Without a topology the nodes stand alone."""
    assert uniform(None, ["a"]).levels == ["node"]


def test_keys_in_any_case_and_comments() -> None:
    """slurm.conf knows no case, and comments and blank lines are no switches."""
    tree = levels_of("# l0=rack 1\n\n  switchname=l0 NODES=n[1-2] LinkSpeed=1 # here\n", ["n1", "n2"])
    assert tree.parent_of == {"n1": "l0", "n2": "l0"}


def test_node_below_two_switches() -> None:
    """Of two leaf switches the first counts, with a warning."""
    tree = levels_of("SwitchName=l0 Nodes=a\nSwitchName=l1 Nodes=a,b", ["a", "b"])
    assert tree.parent_of == {"a": "l0", "b": "l1"}
    assert any("two switches" in said for said in tree.warnings)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("SwitchName=top Switches=l9", "a switch of the file"),
        ("SwitchName=l0 Nodes=a\nSwitchName=l0 Nodes=b", "each switch once"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "no switch above itself"),
        ("SwitchName=l Nodes=a\nSwitchName=a1 Switches=l\nSwitchName=a2 Switches=l", "each switch below one other"),
        ("SwitchName=l Nodes=a[1-", "brackets that open and close"),
        ("hello", "topology.conf"),
        ("", "topology.conf"),
        ('{"a": 1}', "topology.conf"),
        ("NodeName=a Gres=gpu:4", "topology.conf"),
    ],
    ids=["unknown", "twice", "cycle", "two-parents", "brackets", "other", "empty", "json", "nodes"],
)
def test_what_is_no_tree(content: str, expected: str) -> None:
    """A file that describes no tree of switches is refused with what was expected."""
    with pytest.raises(InputError, match=expected):
        read_topology(text(content))


def test_conf_and_command_agree() -> None:
    """topology.conf and `scontrol show topology` of one cluster give the same tree."""
    nodes = [f"gpu0{i}" for i in range(1, 5)] + [f"old0{i}" for i in range(1, 5)]
    folder = DATA / "mixed-24.11"
    one, other = (
        uniform(read_topology(given(folder / name)), nodes) for name in ("topology.conf", "scontrol_show_topology.txt")
    )
    assert one.levels == other.levels == ["pod", "rack", "node"]
    assert one.parent_of == other.parent_of
    assert parents(one) == parents(other)


@pytest.mark.parametrize("name", ["topology.conf", "scontrol_show_topology.txt"])
def test_blocks(name: str) -> None:
    """Blocks are one level; lines of block sizes and of blocks of blocks are none."""
    nodes = [f"r{rack}n{i}" for rack in range(4) for i in range(4)]
    tree = uniform(read_topology(given(DATA / "block-24.11" / name)), nodes)
    assert tree.levels == ["block", "node"]
    assert parents(tree) == {f"rack{rack}": ("block", None) for rack in range(4)}
    assert tree.parent_of["r2n3"] == "rack2"


@pytest.mark.skipif(not SHARED.exists(), reason="the samples of other projects are not here")
@pytest.mark.parametrize(
    ("name", "levels", "top"), [("tree", ["pod", "rack", "node"], 6), ("block", ["block", "node"], 12)]
)
def test_published_samples(name: str, levels: list[str], top: int) -> None:
    """The two published files of 96 nodes in 12 leaves have the levels that they say."""
    tree = read_topology(given(SHARED / "traces" / "fabric_samples" / f"slurm_topology_{name}.conf"))
    assert len(tree.leaf_of) == 96
    found = uniform(tree, list(tree.leaf_of))
    assert found.levels == levels
    assert sum(switch.parent is None for switch in found.switches) == top
    assert len(set(found.parent_of.values())) == 12
