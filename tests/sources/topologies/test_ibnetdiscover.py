"""Dumps of ibnetdiscover: made-up fat trees of one to three layers, broken dumps, and the dump of a real fabric."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict

import pytest

from crop_cli.errors import InputError
from crop_cli.sources.draft import Draft
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from crop_cli.sources.topologies import ibnetdiscover
from crop_cli.sources.topologies.kind import NodeKind
from crop_cli.sources.topologies.registry import form_of
from tests.sources.public import whole

Cable = tuple[str, str, str]
"""Both ends and the link: switches are named S..., hosts otherwise; each cable takes a new port of both."""


def dump(cables: list[Cable], *, both: bool = True) -> bytes:
    """A dump of these cables; each is listed at its first end, and at the other too unless told otherwise."""
    port: Counter[str] = Counter()
    lines: dict[str, list[str]] = defaultdict(list)
    devices: Counter[str] = Counter()

    def end(name: str) -> tuple[str, str, int]:
        if name.startswith("S"):
            port[name] += 1
            return f"S-{name}", f"MF0;{name}:MQM9700/U1", port[name]
        # Every port of a host is an adapter of its own.
        devices[name] += 1
        return f"H-{name}-{devices[name]}", f"{name} mlx5_{devices[name]}", 1

    for one, other, link in cables:
        (guid, text, own), (peer, peer_text, far) = end(one), end(other)
        head = f'{"Switch" if guid[0] == "S" else "Ca"}\t64 "{guid}"\t\t# "{text}" lid 1 lmc 0'
        lines[head].append(f'[{own}]\t"{peer}"[{far}](0)\t\t# "{peer_text}" lid 2 {link}')
        if both:
            head = f'{"Switch" if peer[0] == "S" else "Ca"}\t64 "{peer}"\t\t# "{peer_text}" lid 1 lmc 0'
            lines[head].append(f'[{far}](1)\t"{guid}"[{own}]\t\t# lid 3 lmc 0 "{text}" lid 2 {link}')
    records = [
        "\n".join(["vendid=0x2c9", f"switchguid=0x{i}", head, *rest]) for i, (head, rest) in enumerate(lines.items())
    ]
    return ("#\n# Topology file\n#\n\n" + "\n\n".join(records) + "\n").encode()


def read(cables: list[Cable], **how: bool) -> Draft:
    """The draft of these cables."""
    return ibnetdiscover.read(dump(cables, **how), "dump", NodeKind())


def shape(
    draft: Draft,
) -> tuple[dict[str, tuple[str | None, float | None]], dict[str, tuple[str | None, float | None]]]:
    """Parent and uplink of switches and of nodes."""
    return (
        {s.name: (s.parent, s.uplink_gbps) for s in draft.switches},
        {n.name: (n.parent, n.uplink_gbps) for n in draft.nodes},
    )


LEAVES = [
    ("S1", "a", "4xHDR"),
    ("S1", "b", "4xHDR"),
    ("S2", "c", "4xHDR"),
    ("S1", "S9", "4xNDR"),
    ("S2", "S9", "4xNDR"),
]


def test_a_leaf_with_its_hosts_is_a_unit() -> None:
    """Two leaves below a spine, which is the root."""
    draft = read(LEAVES)
    assert draft.levels == ["unit", "node"]
    assert shape(draft) == (
        {"unit-1": (None, 400), "unit-2": (None, 400)},
        {"a": ("unit-1", 200), "b": ("unit-1", 200), "c": ("unit-2", 200)},
    )
    assert (draft.counts["hosts"], draft.counts["leaf switches"], draft.counts["higher switches"]) == (3, 2, 1)


def test_a_link_counts_once_however_often_it_is_listed() -> None:
    """From one end or from both."""
    assert shape(read(LEAVES, both=False)) == shape(read(LEAVES))


def test_leaves_that_share_hosts_are_one_unit() -> None:
    """Rails: each host has a port on both leaves; parallel cables add up."""
    cables = [(leaf, host, "4xNDR") for leaf in ("S1", "S2") for host in ("a", "b")]
    cables += [(leaf, host, "4xNDR") for leaf in ("S3", "S4") for host in ("c", "d")]
    cables += [(leaf, "S9", "4xNDR") for leaf in ("S1", "S1", "S2", "S3", "S4")]
    draft = read(cables)
    assert shape(draft) == (
        {"unit-1": (None, 1200), "unit-2": (None, 800)},
        {"a": ("unit-1", 800), "b": ("unit-1", 800), "c": ("unit-2", 800), "d": ("unit-2", 800)},
    )
    assert draft.counts["host links"] == 8


def test_three_layers_are_two_levels_above_the_nodes() -> None:
    """Two pods of two leaves and a spine each below a core."""
    cables = [(f"S1{i}", f"h{i}", "4xHDR") for i in range(4)]
    cables += [(f"S1{i}", f"S2{i // 2}", "4xNDR") for i in range(4)]
    cables += [(f"S2{p}", "S30", "4xXDR") for p in range(2)]
    draft = read(cables)
    assert draft.levels == ["pod", "unit", "node"]
    switches, nodes = shape(draft)
    assert switches == {
        "pod-1": (None, 800),
        "pod-2": (None, 800),
        "unit-1": ("pod-1", 400),
        "unit-2": ("pod-1", 400),
        "unit-3": ("pod-2", 400),
        "unit-4": ("pod-2", 400),
    }
    assert nodes["h3"] == ("unit-4", 200)


def test_a_single_switch_is_a_unit_without_an_uplink() -> None:
    """Nothing is above."""
    assert shape(read([("S1", "a", "4xEDR"), ("S1", "b", "2xHDR")])) == (
        {"unit-1": (None, None)},
        {"a": ("unit-1", 100), "b": ("unit-1", 100)},
    )


@pytest.mark.parametrize(
    ("link", "gbps"), [("4xQDR", 32), ("4xFDR", 54.56), ("4xEDR", 100), ("2xNDR", 200), ("4xNDR", 400), ("4xXDR", 800)]
)
def test_rates_of_links(link: str, gbps: float) -> None:
    """Lanes times the data rate of one."""
    assert read([("S1", "a", link), ("S1", "b", link)]).nodes[0].uplink_gbps == pytest.approx(gbps)


def test_hosts_with_fewer_links_are_pointed_out() -> None:
    """They are nodes all the same."""
    draft = read(
        [("S1", "a", "4xNDR"), ("S1", "a", "4xNDR"), ("S1", "b", "4xNDR"), ("S1", "b", "4xNDR"), ("S1", "c", "4xNDR")]
    )
    assert draft.warnings == ["1 of 3 hosts have fewer than the usual 2 links in the dump"]
    assert len(draft.nodes) == 3


def test_adapters_that_are_no_nodes_are_left_out() -> None:
    """Aggregation nodes and unnamed adapters carry no host's name; managers of the fabric are known by theirs."""
    text = dump([*LEAVES, ("S1", "x-ufm-1", "4xNDR"), ("S1", "q", "4xNDR")]).decode()
    text = text.replace("q mlx5_1", "MT4129 ConnectX7   Mellanox Technologies")
    draft = ibnetdiscover.read(text.encode(), "dump", NodeKind())
    assert [node.name for node in draft.nodes] == ["a", "b", "c"]
    assert [(skip.name, skip.reason) for skip in draft.skipped] == [
        ("H-x-ufm-1-1", "is of a host that is no node, by its name"),
        ("H-q-1", 'carries no host\'s name, but "MT4129 ConnectX7   Mellanox Technologies"'),
    ]


def test_the_form_is_told_by_its_records() -> None:
    """Whatever the comment at the top says."""
    assert form_of(dump(LEAVES)) == "ibnetdiscover"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing of the kind\n", "no record of a switch"),
        (dump([("S1", "S2", "4xNDR")]).decode(), "no host with a name"),
        (dump(LEAVES).decode().replace("4xHDR", "4xABC"), "a rate among"),
        (dump(LEAVES).decode().replace("4xHDR", ""), "expected a link"),
        ('[1]\t"H-a"[1](0)\t\t# "a mlx5_0" lid 2 4xNDR\n', "line 1"),
    ],
    ids=["text", "no hosts", "rate", "no rate", "no record"],
)
def test_broken_dumps_are_named(text: str, words: str) -> None:
    """With the line where that is what is wrong."""
    with pytest.raises(InputError) as caught:
        ibnetdiscover.read(text.encode(), "dump", NodeKind())
    assert words in str(caught.value)


def test_a_real_fabric() -> None:
    """119 named nodes in 8 units, 31 leaves, 9 spines, 532 links between these; links of nodes as in a table."""
    file = whole("fabric_samples/ibnetdiscover_dgx.out")
    draft = ibnetdiscover.read(file.read_bytes(), file.name, NodeKind())
    assert (draft.counts["hosts"], draft.counts["leaf switches"], draft.counts["higher switches"]) == (119, 31, 9)
    units = Counter(node.parent for node in draft.nodes)
    assert len(units) == 8
    assert (min(units.values()), max(units.values())) == (10, 18)
    assert sum(switch.uplink_gbps or 0 for switch in draft.switches) == 532 * 400
    with whole("derived/dgx_ib_links.csv").open(newline="") as text:
        links = Counter(row["peer"] for row in csv.DictReader(text) if row["peer_kind"] == "dgx")
    assert {node.name: node.uplink_gbps for node in draft.nodes} == {name: 400.0 * n for name, n in links.items()}
    assert Counter(links.values())[4] == 109
    assert draft.warnings == ["10 of 119 hosts have fewer than the usual 4 links in the dump"]
    made = dress(draft, load_profiles(), load_fabric("h100-ib"))
    assert len(made.instance.cluster.nodes) == 119
