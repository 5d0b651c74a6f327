"""The few published numbers that the families draw from, each with its source."""

from __future__ import annotations

LINGJUN_PODS: tuple[dict[int, int], ...] = (
    {3: 1, 5: 1, 6: 3, 7: 8, 8: 35},
    {2: 2, 5: 1, 6: 4, 7: 7, 8: 28},
    {2: 1, 4: 2, 5: 5, 6: 8, 7: 8, 8: 5},
)
"""Racks by their number of hosts, in each of the three pods of Alibaba's Lingjun cluster: 119 racks, 847 hosts.

Counted in topo.csv of github.com/alibaba/alibaba-lingjun-dataset-2023 (Apache-2.0; Cao et al., Crux, SIGCOMM 2024). A
pod is a PSW, a rack the pair of a PSW and an ASW.
"""

RAIL_GROUPS = (60, 60, 60, 49, 24)
"""Servers below each group of four leaf switches: 253 servers of 8 A100 with 4 ports of 200 Gbit/s.

Zhejiang Lab LLM Trace Program 2024, cluster_2000_A100 (CC BY 4.0 and the repository's Terms of Access).
"""

RAIL_GROUP_UPLINK_GBPS = 4 * 34 * 400
"""Of a group of leaves: 4 switches with ports 31 to 64 at 400 Gbit/s (same source)."""

SUPERPOD_UNIT = 32
"""Nodes of a full scalable unit (NVIDIA DGX SuperPOD reference architecture, DGX H100)."""

SUPERPOD_UNITS_PER_SPINE = 4
"""Scalable units below one layer of spine switches; more are joined by a core layer (same source)."""

PHILLY_JOBS: dict[int, float] = {
    1: 76627, 2: 1818, 4: 1870, 8: 1643, 12: 7, 16: 199, 24: 7, 32: 67, 64: 6, 128: 3,
}  # fmt: skip
"""Jobs by GPUs in Microsoft's Philly trace, 82,247 in all.

Counted in philly.csv of github.com/pkusys/ElasticFlow (Apache-2.0), made from github.com/msr-fiddle/philly-traces
(CC BY 4.0; Jeon et al., USENIX ATC 2019).
"""

PHILLY_GPU_TIME: dict[int, float] = {
    1: 0.18065, 2: 0.03195, 4: 0.16732, 8: 0.48444, 12: 0.00003, 16: 0.11484, 24: 0.00147, 32: 0.01822, 64: 0.00064,
    128: 0.00044,
}  # fmt: skip
"""Shares of GPU time by GPUs of a job (same source as `PHILLY_JOBS`)."""

PHILLY_RUNNING: dict[int, float] = {gpus: share / gpus for gpus, share in PHILLY_GPU_TIME.items()}
"""Jobs by GPUs among those that want GPUs at one moment: GPU time over GPUs, so that demand has its shares."""

LLM_SIZES: dict[int, float] = {64: 1 / 64, 128: 1 / 128, 256: 1 / 256, 512: 1 / 512, 1024: 1 / 1024}
"""Large gangs, up to the 1,024 GPUs of Acme's largest jobs (Hu et al., NSDI 2024; CC BY 4.0).

That each size wants as many GPUs in all as every other is an assumption: Acme's job list is not in the table.
"""

FAULT_SHAPE, FAULTS_PER_DAY = 0.94, 0.0042
"""Gamma distribution of a node's faults per day: 584 faults of 400 GPU servers in 348 days, unevenly spread.

github.com/stepfun-ai/InfiniteHBD-Trace (Apache-2.0; SIGCOMM 2025); fitted to mean and variance of the counts by node.
"""

DOWN = 7 / 400
"""Share of nodes that are out of service, the median over time (same source as `FAULTS_PER_DAY`)."""

MIXED_GPUS: dict[str, int] = {"V100": 8, "P100": 4, "K80": 4}
"""GPU types of Gavel's measurements (Narayanan et al., OSDI 2020; MIT) and GPUs of a node, which are assumed."""

MIXED_RACKS = ("V100", "P100", "K80", "P100", "K80")
"""Types of the racks, by turns: after each turn all types have as many GPUs, as in Gavel's simulated cluster."""

RESTRICTED = 2388 / 8152
"""Share of jobs that name the GPU types they may use: pods of openb_pod_list_gpuspec33.csv.

github.com/alibaba/clusterdata, cluster-trace-gpu-v2023 (Apache-2.0; Weng et al., FGD, USENIX ATC 2023).
"""
