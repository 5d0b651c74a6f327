"""Fabrics: the named ones, files, and the bandwidths that they fill in."""

from __future__ import annotations

from pathlib import Path

import pytest

from crop_cli.errors import InputError, UsageError
from crop_cli.model.instance import Node, Switch
from crop_cli.sources.fabric import DEFAULT, Fabric, load_fabric, named_fabrics, with_bandwidths

LEVELS = ["pod", "rack", "node"]
SWITCHES = [
    Switch(name="p", level="pod"),
    Switch(name="r1", level="rack", parent="p"),
    Switch(name="r2", level="rack", parent="p", uplink_gbps=7.0),
    Switch(name="r3", level="rack", parent="p"),
]
NODES = [
    Node(name="a", gpus=8, parent="r1"),
    Node(name="b", gpus=8, parent="r1", uplink_gbps=5.0),
    Node(name="c", gpus=8, parent="r2", gpu_link_gbps=3.0, fabric_gbps=4.0),
]
FABRIC = Fabric(
    "f", "s", gpu_link_gbps=100, fabric_gbps=200, node_uplink_gbps=50, switch_uplink_gbps_per_node=[10, None]
)


def test_what_the_source_states_stays() -> None:
    """Only absent bandwidths are filled in, of nodes and of switches."""
    switches, nodes, _ = with_bandwidths(LEVELS, SWITCHES, NODES, FABRIC)
    assert [(n.gpu_link_gbps, n.fabric_gbps, n.uplink_gbps) for n in nodes] == [
        (100, 200, 50),
        (100, 200, 5),
        (3, 4, 50),
    ]
    assert {s.name: s.uplink_gbps for s in switches} == {"p": None, "r1": 20, "r2": 7, "r3": 10}


def test_the_last_figure_holds_for_all_levels_above() -> None:
    """A pod with three nodes below it gets three times the last figure."""
    fabric = Fabric("f", "s", switch_uplink_gbps_per_node=[10])
    switches, _, _ = with_bandwidths(LEVELS, SWITCHES, NODES, fabric)
    assert switches[0].uplink_gbps == 30


def test_every_kind_of_filled_bandwidth_is_said_once() -> None:
    """One sentence with name, source and figures; none where nothing was filled in."""
    _, _, said = with_bandwidths(LEVELS, SWITCHES, NODES, FABRIC)
    assert said == [
        "Bandwidths of fabric f (s): a GPU's own link: 100 Gbit/s; the fabric inside a node: 200 Gbit/s; "
        "a node's uplink: 50 Gbit/s; a rack's uplink: 10 Gbit/s per node below it."
    ]
    assert with_bandwidths(LEVELS, SWITCHES, NODES, Fabric("none", ""))[2] == []


def test_a_flat_cluster_has_no_switches_to_fill() -> None:
    """Nodes alone."""
    switches, nodes, _ = with_bandwidths(["node"], [], [Node(name="a", gpus=1)], FABRIC)
    assert (switches, nodes[0].uplink_gbps) == ([], 50)


def test_named_fabrics_have_sources_and_sound_figures() -> None:
    """A node cannot send more than its GPUs' links carry; a rack is not wider than its nodes."""
    assert DEFAULT in named_fabrics()
    for name, fabric in named_fabrics().items():
        assert fabric.name == name
        assert fabric.source
        assert fabric.gpu_link_gbps is not None and fabric.node_uplink_gbps is not None
        assert fabric.node_uplink_gbps <= 8 * fabric.gpu_link_gbps
        assert all(
            share is not None and share <= fabric.node_uplink_gbps for share in fabric.switch_uplink_gbps_per_node
        )


@pytest.mark.parametrize(
    ("name", "one_way_gbps"),
    # One direction of NVLink: half of the data sheets' sum of both, in bits.
    [("a100-ib", 600 / 2 * 8), ("h100-ib", 900 / 2 * 8), ("v100-eth", 300 / 2 * 8), ("pcie-eth", 126)],
)
def test_gpu_links_are_one_direction_of_the_data_sheet(name: str, one_way_gbps: float) -> None:
    """GB/s in both directions, halved, times eight."""
    assert load_fabric(name).gpu_link_gbps == one_way_gbps


def test_a_fabric_may_be_a_file(tmp_path: Path) -> None:
    """With the fields of the struct."""
    file = tmp_path / "mine.json"
    file.write_text('{"name": "mine", "source": "me", "node_uplink_gbps": 10}')
    assert load_fabric(str(file)) == Fabric("mine", "me", node_uplink_gbps=10)


def test_an_unknown_name_lists_the_known_ones() -> None:
    """It is an error of use."""
    with pytest.raises(
        UsageError, match=r"there is no fabric 'gold' \(expected a100-ib, h100-ib, v100-eth or pcie-eth"
    ):
        load_fabric("gold")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"name": "x"}',
        '{"name": "x", "source": "s", "speed": 1}',
        '{"name": "x", "source": "s", "node_uplink_gbps": "10"}',
        '{"name": "x", "source": "s", "node_uplink_gbps": -10}',
        '{"name": "x", "source": "s", "node_uplink_gbps": 0}',
        '{"name": "x", "source": "s", "gpu_link_gbps": 1e300}',
        '{"name": "x", "source": "s", "switch_uplink_gbps_per_node": [10, -1]}',
    ],
)
def test_a_file_that_is_no_fabric_is_an_input_error(tmp_path: Path, text: str) -> None:
    """It is named, whatever is wrong with it."""
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"bad\.json"):
        load_fabric(str(file))


def test_all_wrong_bandwidths_of_a_file_are_named(tmp_path: Path) -> None:
    """Each with its path."""
    file = tmp_path / "bad.json"
    file.write_text(
        '{"name": "x", "source": "s", "fabric_gbps": -1, "node_uplink_gbps": 0, "switch_uplink_gbps_per_node": [1, 0]}'
    )
    with pytest.raises(InputError) as caught:
        load_fabric(str(file))
    paths = [defect.path for defect in caught.value.defects]
    assert paths == ["$.fabric_gbps", "$.node_uplink_gbps", "$.switch_uplink_gbps_per_node[1]"]


def test_a_missing_file_is_an_input_error() -> None:
    """The file is named."""
    with pytest.raises(InputError, match=r"none\.json"):
        load_fabric("none.json")
