"""Topologies in CSV files: Lingjun, Zhejiang Lab and openb, on excerpts, whole files and broken ones."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from crop_cli.sources.topologies import lingjun, openb_nodes, zhejiang
from crop_cli.sources.topologies.kind import NodeKind
from crop_cli.sources.topologies.order import by_numbers
from crop_cli.sources.topologies.registry import READERS, form_of
from tests.sources.public import excerpt, whole

ANY = NodeKind()
TABLES = {
    "lingjun": ("lingjun.csv", "alibaba_lingjun/topo.csv"),
    "zhejiang": ("zhejiang.csv", "derived/zhejianglab_a100_topology.csv"),
    "openb-nodes": ("openb_nodes.csv", "alibaba_openb/openb_node_list_gpu_node.csv"),
}


def read_whole(name: str) -> tuple[Draft, list[dict[str, str]]]:
    """A whole file as a draft, and its rows as they are."""
    file = whole(TABLES[name][1])
    with file.open(newline="", encoding="utf-8-sig") as text:
        return READERS[name](file.read_bytes(), file.name, ANY), list(csv.DictReader(text))


@pytest.mark.parametrize("name", TABLES)
def test_excerpts_make_valid_instances_without_jobs(name: str) -> None:
    """And are told by their columns."""
    data = excerpt(TABLES[name][0])
    assert form_of(data) == name
    made = dress(READERS[name](data, "f", ANY), load_profiles(), load_fabric("a100-ib"))
    assert made.instance.jobs == []
    assert made.instance.source and made.instance.licence


def test_lingjun_racks_are_pairs_of_switches() -> None:
    """Top-of-rack names repeat between pods; hosts are numbered in their rack."""
    draft = lingjun.read(b"ip,DSW,PSW,ASW\na,G6,P1,S1\nb,G6,P2,S1\nc,G6,P1,S1\n", "f", ANY)
    assert draft.levels == ["pod", "rack", "node"]
    assert [(s.name, s.level, s.parent) for s in draft.switches] == [
        ("P1", "pod", None),
        ("P2", "pod", None),
        ("P1-S1", "rack", "P1"),
        ("P2-S1", "rack", "P2"),
    ]
    assert [(n.name, n.parent) for n in draft.nodes] == [
        ("P1-S1-h1", "P1-S1"),
        ("P2-S1-h1", "P2-S1"),
        ("P1-S1-h2", "P1-S1"),
    ]


def test_lingjun_with_several_cores_has_a_level_of_them() -> None:
    """Else the core is the root."""
    draft = lingjun.read(b"ip,DSW,PSW,ASW\na,G1,P1,S1\nb,G2,P2,S1\n", "f", ANY)
    assert draft.levels == ["core", "pod", "rack", "node"]
    assert [(s.name, s.parent) for s in draft.switches[:4]] == [("G1", None), ("G2", None), ("P1", "G1"), ("P2", "G2")]


def test_lingjun_nodes_are_what_is_asked_for() -> None:
    """GPUs and type are not in the source; what is assumed is said."""
    asked = lingjun.read(excerpt("lingjun.csv"), "f", NodeKind(4, "H800"))
    assert {(n.gpus, n.gpu_type) for n in asked.nodes} == {(4, "H800")}
    assert asked.assumptions[0] == "Nodes of 4 GPUs of type H800 (as asked for)."
    usual = lingjun.read(excerpt("lingjun.csv"), "f", ANY)
    assert usual.assumptions[0] == "Nodes of 8 GPUs of type A100 (the source does not state them)."


def test_lingjun_whole() -> None:
    """847 hosts in 119 racks of three pods of 362, 306 and 179 hosts; 68 racks of 8."""
    draft, rows = read_whole("lingjun")
    assert len(draft.nodes) == len(rows) == 847
    racks = Counter(node.parent for node in draft.nodes)
    assert len(racks) == 119
    assert sum(n == 8 for n in racks.values()) == 68
    pods = Counter(str(node.parent).split("-", maxsplit=1)[0] for node in draft.nodes)
    assert pods == Counter(row["PSW"] for row in rows) == {"P10": 362, "P12": 306, "P8": 179}
    assert draft.counts == {"hosts": 847, "racks": 119, "pods": 3, "GPUs": 6776}


def test_zhejiang_groups_are_leaves_that_share_servers() -> None:
    """Two groups of two servers with four ports of 200 Gbit/s each; uplinks as wide as the servers' ports."""
    draft = zhejiang.read(excerpt("zhejiang.csv"), "f", ANY)
    assert [(s.name, s.uplink_gbps) for s in draft.switches] == [("group-1", 1600), ("group-2", 1600)]
    assert [(n.name, n.parent, n.uplink_gbps) for n in draft.nodes] == [
        ("gpu-1", "group-1", 800),
        ("gpu-2", "group-1", 800),
        ("gpu-61", "group-2", 800),
        ("gpu-62", "group-2", 800),
    ]


def test_zhejiang_whole() -> None:
    """253 servers, 2,024 GPUs, 1,012 ports, 20 leaves in 5 groups of 60, 60, 60, 49 and 24 servers."""
    draft, rows = read_whole("zhejiang")
    assert len(draft.nodes) == len({row["server"] for row in rows}) == 253
    assert draft.counts == {"servers": 253, "GPUs": 2024, "ports": len(rows), "leaf switches": 20, "groups": 5}
    assert sorted(Counter(node.parent for node in draft.nodes).values()) == [24, 49, 60, 60, 60]
    assert sum(n.uplink_gbps or 0 for n in draft.nodes) == sum(float(row["port_gbps"]) for row in rows)


def test_openb_states_everything_but_racks() -> None:
    """GPUs, types, cores and GiB."""
    draft = openb_nodes.read(excerpt("openb_nodes.csv"), "f", NodeKind(99, "unheard"))
    node = draft.nodes[0]
    assert (node.name, node.gpus, node.gpu_type, node.parent) == ("openb-node-0000", 2, "P100", None)
    assert node.resources == {"cpu": 64.0, "memory_gib": 256.0}
    assert draft.levels == ["node"]


def test_openb_nodes_without_gpus_are_left_out() -> None:
    """And counted."""
    draft = openb_nodes.read(b"sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\nb,1,1,1,T4\n", "f", ANY)
    assert ([n.name for n in draft.nodes], [s.name for s in draft.skipped]) == (["b"], ["a"])


def test_openb_whole() -> None:
    """1,213 nodes and 6,212 GPUs; shapes as counted in the file."""
    draft, rows = read_whole("openb-nodes")
    assert draft.counts == {"nodes": 1213, "GPUs": 6212}
    shapes = Counter((node.gpus, node.gpu_type) for node in draft.nodes)
    assert shapes == Counter((int(row["gpu"]), row["model"]) for row in rows)
    assert (shapes[8, "G2"], shapes[2, "T4"]) == (549, 387)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("lingjun", "ip,DSW,PSW,ASW\na,G,P,S\na,G,P,S\n", "line 3, ip"),
        ("lingjun", "ip,DSW,PSW,ASW\na,G,P,S\nb,H,P,S\n", "line 3, DSW"),
        ("lingjun", "ip,DSW,PSW,ASW\na,G,,S\n", "line 2, PSW"),
        ("lingjun", "ip,DSW,PSW\na,G,P\n", "columns ASW too"),
        ("zhejiang", "server,leaf_switch,port_gbps\na,l,fast\n", "line 2, port_gbps"),
        ("zhejiang", "server,leaf_switch,port_gbps\na,l,0\n", "line 2, port_gbps"),
        ("zhejiang", "server,leaf_switch,port_gbps\n,l,200\n", "line 2, server"),
        ("openb-nodes", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,T4\na,1,1,1,T4\n", "line 3, sn"),
        ("openb-nodes", "sn,cpu_milli,memory_mib,gpu,model\na,1,1,1,\n", "line 2, model"),
        ("openb-nodes", "sn,cpu_milli,memory_mib,gpu,model\na,1,x,1,T4\n", "line 2, memory_mib"),
    ],
)
def test_broken_files_are_named(name: str, text: str, words: str) -> None:
    """Line and column."""
    with pytest.raises(InputError) as caught:
        READERS[name](text.encode(), "f", ANY)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("data", [b"", b"\n", b"\x1f\x8b\x00", b"\xff\xfe\x00", b"a,b\n1,2\n", b"{}"], ids=range(6))
def test_another_file_is_an_input_error(name: str, data: bytes) -> None:
    """Every reader refuses it by name."""
    with pytest.raises(InputError, match="wrong"):
        READERS[name](data, "wrong", ANY)


@pytest.mark.parametrize("name", ["lingjun", "zhejiang", "openb-nodes"])
def test_a_table_without_rows_has_no_nodes(name: str) -> None:
    """It is refused by the name of the file."""
    head = excerpt(TABLES[name][0]).splitlines(keepends=True)[0]
    with pytest.raises(InputError, match="line 1: found a table without rows"):
        dress(READERS[name](head, "f", ANY), load_profiles(), load_fabric("a100-ib"))


def test_names_are_in_order_of_their_numbers() -> None:
    """2 before 10."""
    assert sorted(["n10", "n2", "m-3-1", "m-1-20", "7"], key=by_numbers) == ["7", "m-1-20", "m-3-1", "n2", "n10"]
