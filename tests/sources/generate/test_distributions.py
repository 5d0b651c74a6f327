"""The families draw what their sources say: structure exactly, random shares within stated tolerances."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from pathlib import Path

import pytest

from crop_cli.model.instance import Instance
from crop_cli.sources.generate import distributions as given
from crop_cli.sources.generate.registry import generate

TRACES = Path(os.environ.get("CROP_SHARED", Path(__file__).parents[4] / "shared")) / "traces"


def _sizes(instance: Instance) -> Counter[int]:
    return Counter(job.gpus for job in instance.jobs if job.placement is None)


def _nodes_per_switch(instance: Instance) -> Counter[str]:
    return Counter(node.parent or "" for node in instance.cluster.nodes)


def test_lingjun_racks_are_those_of_the_topology() -> None:
    """847 hosts have exactly the 119 racks of 2 to 8 hosts in three pods of 362, 306 and 179 hosts."""
    made = generate("lingjun-like", 847, seed=4).instance
    assert made.cluster.levels == ["pod", "rack", "node"]
    hosts = _nodes_per_switch(made)
    assert Counter(hosts.values()) == {2: 3, 3: 1, 4: 2, 5: 7, 6: 15, 7: 23, 8: 68}
    pods: Counter[str] = Counter()
    for switch in made.cluster.switches:
        if switch.level == "rack":
            pods[switch.parent or ""] += hosts[switch.name]
    assert sorted(pods.values()) == [179, 306, 362]


def test_a_single_pod_is_no_level() -> None:
    """Few hosts lie in one pod, whose uplink nothing could cut; the last rack is cut to fit."""
    made = generate("lingjun-like", 50, seed=4).instance
    assert made.cluster.levels == ["rack", "node"] and sum(_nodes_per_switch(made).values()) == 50


def test_rail_groups_are_those_of_the_cluster() -> None:
    """253 servers with 4 × 200 Gbit/s are in groups of 60, 60, 60, 49 and 24; more repeat the pattern."""
    made = generate("rail", 253).instance
    assert list(_nodes_per_switch(made).values()) == [60, 60, 60, 49, 24]
    assert {node.uplink_gbps for node in made.cluster.nodes} == {800}
    assert {switch.uplink_gbps for switch in made.cluster.switches} == {54400}
    assert list(_nodes_per_switch(generate("rail", 300).instance).values()) == [60, 60, 60, 49, 24, 47]


def test_superpods_have_units_of_32() -> None:
    """Units are full but for the last; more than four have spines above them, four units each."""
    small, large = generate("dgx-superpod", 100).instance, generate("dgx-superpod", 200).instance
    assert small.cluster.levels == ["unit", "node"] and large.cluster.levels == ["spine", "unit", "node"]
    assert list(_nodes_per_switch(small).values()) == [32, 32, 32, 4]
    assert list(_nodes_per_switch(large).values()) == [32] * 6 + [8]
    spines = Counter(switch.parent for switch in large.cluster.switches if switch.level == "unit")
    assert list(spines.values()) == [4, 3]


def test_philly_sizes_by_jobs() -> None:
    """Shares of jobs of 1, 2, 4, 8 and 16 GPUs are within 0.7 points of the trace's (about 6,700 jobs)."""
    sizes = _sizes(generate("philly-mix", 1000, seed=1).instance)
    for gpus, share in {1: 0.932, 2: 0.022, 4: 0.023, 8: 0.020, 16: 0.0024, 32: 0.0008}.items():
        assert sizes[gpus] / sizes.total() == pytest.approx(share, abs=0.007)
    assert set(sizes) <= set(given.PHILLY_JOBS)


def test_philly_sizes_by_gpu_time() -> None:
    """Shares of GPUs asked for are within 4 points of the trace's shares of GPU time (8,800 GPUs)."""
    sizes = _sizes(generate("philly-gpu-time", 1000, seed=1).instance)
    asked = sum(gpus * count for gpus, count in sizes.items())
    for gpus, share in given.PHILLY_GPU_TIME.items():
        assert gpus * sizes[gpus] / asked == pytest.approx(share, abs=0.04)


def test_large_language_models_are_few_and_large() -> None:
    """Gangs of 64 to 1,024 GPUs on whole nodes; each size asks for 20 ± 8 % of the GPUs (88,000 GPUs)."""
    made = generate("llm-mix", 10_000, seed=1).instance
    sizes = _sizes(made)
    asked = sum(gpus * count for gpus, count in sizes.items())
    assert set(sizes) == {64, 128, 256, 512, 1024} and {job.gpus_per_node for job in made.jobs} == {8}
    for gpus, count in sizes.items():
        assert gpus * count / asked == pytest.approx(0.2, abs=0.08)


def test_fragmented_clusters_have_three_tenths_taken() -> None:
    """Half of the taken GPUs are used, half belong to running jobs that stay; nodes differ in what is left."""
    made = generate("fragmented", 100, seed=1).instance
    used = {node.name: int(node.used.get("gpus", 0)) for node in made.cluster.nodes}
    running = [job for job in made.jobs if job.placement is not None]
    assert sum(used.values()) == sum(job.gpus for job in running) == 120
    assert not any(job.movable for job in running)
    left = dict.fromkeys(used, 8)
    for job in running:
        for node, gpus in (job.placement or {}).items():
            left[node] -= gpus
    assert len({left[node] - used[node] for node in left}) >= 5


def test_types_have_equal_numbers_and_own_speeds() -> None:
    """V100, P100 and K80 have a third of the GPUs each; every job has seconds for each type that it may use."""
    made = generate("heterogeneous", 400, seed=1).instance
    gpus: Counter[str] = Counter()
    for node in made.cluster.nodes:
        gpus[node.gpu_type] += node.gpus
    assert gpus == {"V100": 640, "P100": 640, "K80": 640}
    types = [set(job.compute_s) for job in made.jobs if isinstance(job.compute_s, dict)]
    assert len(types) == len(made.jobs)
    single = sum(len(names) == 1 for names in types) / len(types)
    assert single == pytest.approx(given.RESTRICTED, abs=0.05)
    free = [job.compute_s for job in made.jobs if isinstance(job.compute_s, dict) and len(job.compute_s) == 3]
    assert all(len(set(seconds.values())) == 3 for seconds in free)


def test_lemon_nodes_follow_the_gamma_distribution() -> None:
    """Mean 0.0042 ± 5 % a day, variance over squared mean 1/0.94 ± 15 % (4,000 nodes)."""
    nodes = generate("failures", 4000, seed=1).instance.cluster.nodes
    rates = [node.failures_per_day for node in nodes]
    mean = sum(rates) / len(rates)
    variance = sum((rate - mean) ** 2 for rate in rates) / len(rates)
    assert mean == pytest.approx(0.0042, rel=0.05)
    assert variance / mean**2 == pytest.approx(1 / 0.94, rel=0.15)


def test_some_nodes_are_slow_or_down_and_jobs_lose_work() -> None:
    """2 ± 0.7 % are slow by 5 to 30 %, 1.75 ± 0.7 % are down (4,000 nodes); every job has restarts and checkpoints."""
    made = generate("failures", 4000, seed=1).instance
    slow = [node.slowdown for node in made.cluster.nodes if node.slowdown > 1]
    assert len(slow) / 4000 == pytest.approx(0.02, abs=0.007) and 1.05 <= min(slow) <= max(slow) <= 1.3
    assert sum(node.state == "down" for node in made.cluster.nodes) / 4000 == pytest.approx(0.0175, abs=0.007)
    assert all(job.restart_minutes in (5, 10, 20) and job.checkpoint_minutes in (30, 60, 120) for job in made.jobs)


def test_lingjun_table_against_the_source() -> None:
    """The table is what counting the published topology gives."""
    rows = _rows("alibaba_lingjun/topo.csv")
    racks = Counter((row["PSW"], row["ASW"]) for row in rows)
    pods = [Counter(hosts for (psw, _), hosts in racks.items() if psw == pod) for pod in ("P10", "P12", "P8")]
    assert tuple(map(dict, pods)) == given.LINGJUN_PODS


def test_philly_tables_against_the_source() -> None:
    """Jobs and shares of GPU time by size are what counting the trace gives."""
    rows = _rows("philly/philly.csv.gz")
    time: Counter[int] = Counter()
    for row in rows:
        time[int(row["num_gpus"])] += int(float(row["gpu_time"]))
    assert Counter(int(row["num_gpus"]) for row in rows) == given.PHILLY_JOBS
    shares = {gpus: seconds / time.total() for gpus, seconds in time.items()}
    assert shares == pytest.approx(given.PHILLY_GPU_TIME, abs=5e-6)


def _rows(name: str) -> list[dict[str, str]]:
    path = TRACES / name
    if not path.exists():
        pytest.skip("the public traces are not here")
    data = path.read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
    return list(csv.DictReader(text.splitlines()))
