"""GRES and TRES in all the forms that Slurm's releases print."""

from __future__ import annotations

import pytest

from crop_cli.sources.slurm import tres


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gpu:4", {"": 4}),
        ("gpu", {"": 1}),
        ("gpu:a100", {"a100": 1}),
        ("gpu:l40s:4(IDX:0-3)", {"l40s": 4}),
        ("gpu:a100:8(S:0-1),mps:20", {"a100": 8}),
        ("gpu:a100:3(IDX:0,2,4),gpu:h100:2", {"a100": 3, "h100": 2}),
        ("gres:gpu:4", {"": 4}),
        ("gres/gpu:a100:4", {"a100": 4}),
        ("cpu=4,gres/gpu=1", {"": 1}),
        ("cpu=2,mem=1G,gres/gpu=8,gres/gpu:h100=8", {"h100": 8}),
        ("gpu:l40s:0(IDX:N/A)", {}),
        ("gpu:a100_1g.5gb:7", {"a100_1g.5gb": 7}),
        ("(null)", {}),
        ("nic:mlx5_gpu:2", {}),
        ("", {}),
    ],
)
def test_gpus(text: str, found: dict[str, int]) -> None:
    """GPUs are counted by type, whatever else a list has and whichever separators it uses."""
    assert tres.counts(text) == found


@pytest.mark.parametrize(
    ("text", "megabytes"), [("64G", 65536), ("4000M", 4000), ("8192", 8192), ("1T", 2**20), ("0", 0), ("2Gc", 2048)]
)
def test_memory(text: str, megabytes: float) -> None:
    """Memory has units of powers of 2, megabytes without one."""
    assert tres.megabytes(text) == megabytes


def test_no_memory() -> None:
    """What is no amount of memory is refused."""
    with pytest.raises(ValueError, match="amount of memory"):
        tres.megabytes("much")


@pytest.mark.parametrize(
    ("total", "used", "gpus"),
    [
        ("gpu:a100:8,mps:20", "gpu:a100:3,mps:10", 4),
        ("gpu:4,shard:16", "gpu:0,shard:5(4/4,1/4,0/4,0/4)", 2),
        ("gpu:4,shard:16", "gpu:1,shard:0", 0),
        ("gpu:4", "gpu:4", 0),
        ("gpu:4,mps:400", "gpu:0,mps:4000", 4),
    ],
    ids=["fewest", "per-device", "none", "no-shares", "too-many"],
)
def test_shared_gpus(total: str, used: str, gpus: int) -> None:
    """A GPU of which a share is in use counts; without a list per device as few as could hold the shares."""
    assert tres.shared_gpus(total, used, 8 if "8" in total else 4) == gpus


def test_amounts() -> None:
    """CPUs and memory of a TRES list, and None where it has none."""
    assert tres.amount("cpu=2,mem=64G,node=1", "cpu") == 2
    assert tres.amount("cpu=2,mem=64G,node=1", "mem") == 65536
    assert tres.amount("cpu=2", "mem") is None
    assert tres.per_gpu("gres:gpu:4") == 4
