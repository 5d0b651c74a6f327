"""Damaged files: an instance or an error that says where, never anything else."""

from __future__ import annotations

import random

import pytest

from crop_cli.errors import CropError
from crop_cli.model.validate import validate
from crop_cli.sources.dress import dress
from crop_cli.sources.fabric import load_fabric
from crop_cli.sources.profiles import load_profiles
from crop_cli.sources.slurm.draft import Options, read
from crop_cli.sources.slurm.records import Input
from tests.sources.slurm.files import DATA

FOLDER = DATA / "mixed-24.11"
NODES = ["scontrol_show_node_details.txt", "scontrol_show_node_oneliner.txt", "sinfo.json", "scontrol_show_nodes.json"]
JOBS = ["scontrol_show_job_details.txt", "scontrol_show_job.txt", "scontrol_show_job_oneliner.txt", "squeue.json"]
PIECES = [b"0", b"9", b"-", b"[", b",", b"=", b" ", b"\n", b"x", b"(null)", b"null", b"{}", b"1e99", b"N/A", b"|"]


def damaged(data: bytes, dice: random.Random) -> bytes:
    """A file with a piece taken out, put in or overwritten, up to twice."""
    changed = bytearray(data)
    for _ in range(dice.choice([0, 1, 1, 2])):
        at = dice.randrange(len(changed))
        piece = dice.choice(PIECES)
        end = at + dice.choice([0, len(piece), dice.randrange(1, 200)])
        changed[at:end] = dice.choice([b"", piece])
    return bytes(changed)


@pytest.mark.parametrize("seed", range(12))
def test_damage(seed: int) -> None:
    """Whatever is damaged, what comes out is a valid instance or an error raised on purpose."""
    dice = random.Random(seed)
    profiles, fabric = load_profiles(), load_fabric("a100-ib")
    for _ in range(15):
        names = [dice.choice(NODES), "topology.conf", dice.choice(JOBS), "scontrol_show_reservation.txt"]
        files = [Input(name, damaged((FOLDER / name).read_bytes(), dice)) for name in names]
        options = Options(movable=dice.random() < 0.5, include_held=dice.random() < 0.5)
        try:
            made = dress(read(*files, options), profiles, fabric)
        except CropError as error:
            assert str(error)
        else:
            assert validate(made.instance)[0] == []
