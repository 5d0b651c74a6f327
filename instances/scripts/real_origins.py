"""Where the data of the real instances comes from, under which licence, and what was assumed or changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """One public source: who made it and where it is, its licence, and what was changed."""

    source: str
    licence: str
    changes: str


PHILLY = Origin(
    "Job sizes and arrival order: Philly trace, Jeon et al., USENIX ATC 2019 (github.com/msr-fiddle/philly-traces), "
    "as philly.csv of github.com/pkusys/ElasticFlow",
    "CC BY 4.0 (Philly trace; the copy's repository is Apache-2.0)",
    "Philly: a window of one virtual cluster; times left out, models added",
)
LINGJUN = Origin(
    "Cluster: github.com/alibaba/alibaba-lingjun-dataset-2023, topo.csv, Cao et al. (Crux), ACM SIGCOMM 2024",
    "Apache-2.0 (Lingjun topology)",
    "Lingjun: hosts renumbered within their rack; a rack is a pair of aggregation and top-of-rack switch",
)
ZHEJIANG = Origin(
    "Cluster: Zhejiang Lab LLM Trace Program 2024 (github.com/zhejianglab/Zhejiang-Lab-Cluster-Traces), "
    "cluster_2000_A100",
    "CC BY 4.0 and the repository's Terms of Access (Zhejiang Lab topology; attribution, terms passed on)",
    "Zhejiang: ports merged into one uplink per server and one per group of leaf switches, addresses left out",
)
LLAMA = Origin(
    "LLaMA-2-7B step time: training log in Zhejiang-Lab-Cluster-Traces (Zhejiang Lab 2024)",
    "CC BY 4.0 and the repository's Terms of Access (Zhejiang Lab training log)",
    "Zhejiang log: median step time only",
)
ELASTICFLOW = Origin(
    "A100 step times: github.com/pkusys/ElasticFlow, throughputs_A100, Gu et al., ASPLOS 2023",
    "Apache-2.0 (ElasticFlow)",
    "ElasticFlow: single-GPU steps per second inverted",
)
TIMM = Origin(
    "Parameter counts: github.com/huggingface/pytorch-image-models, results", "Apache-2.0 (timm)", "timm: counts only"
)
HBD = Origin(
    "Fault rates: github.com/stepfun-ai/InfiniteHBD-Trace, SIGCOMM 2025",
    "Apache-2.0 (InfiniteHBD trace)",
    "InfiniteHBD: fitted to a Gamma distribution, drawn anew",
)
GAVEL = Origin(
    "V100 and P100 speeds, gangs: github.com/stanford-futuredata/gavel, Narayanan et al., OSDI 2020",
    "MIT (Gavel)",
    "Gavel: steps per second inverted, jobs that were not measured on so many GPUs left out",
)
POLLUX = Origin(
    "T4 step times: Pollux artifact, Qiao et al., OSDI 2021 (petuum/adaptdl), as in github.com/pkusys/ElasticFlow",
    "Apache-2.0 (Pollux)",
    "Pollux: step minus wait on one GPU, median",
)
OPENB = Origin(
    "Nodes and pods: openb trace, Weng et al. (FGD), USENIX ATC 2023 (github.com/alibaba/clusterdata)",
    "Apache-2.0 (openb)",
    "openb: a part of the nodes; pods that share a GPU left out, models added",
)
DGX = Origin(
    "Cluster: ibnetdiscover sample of github.com/NVIDIA/topograph (tests/output/ibnetdiscover/example.out)",
    "Apache-2.0 (topograph)",
    "topograph: links merged into one uplink per node and one per scalable unit",
)

A100_DATA = (ELASTICFLOW, LLAMA, TIMM)

A100_ASSUMPTIONS = (
    "Models are drawn at random by job size (the trace names none); weak scaling: the time of one GPU holds for each.",
    "Gradients are FP32 (LLaMA-2-7B: bf16); BERT has 110, GPT-2 124 million parameters; "
    "10 % of the computation hides communication.",
    "moe-7b is made up: LLaMA-2-7B's step with top-2 experts in 16 layers, 137 GB sent per worker and step (alltoall).",
)
RECOVERY_ASSUMPTION = "A failure costs 10 minutes of restart and half of 60 minutes between checkpoints."
FAULT_ASSUMPTION = "Failures per day of a node: Gamma with shape 0.94 and mean 0.0042, drawn with a fixed seed."
GAVEL_ASSUMPTIONS = (
    "Node uplinks of 10 Gbit/s: the speed at which ResNet-18's 46.8 MB explain its measured slowdown over two nodes; "
    "LM and Transformer exchange the megabytes that explain theirs.",
    "V100 with 16 and 32 GB are equally fast; nodes of 8 V100 have NVLink (1200 Gbit/s), all others PCIe (126 Gbit/s).",
    "No communication is hidden behind computation (the measured slowdowns already exclude what is).",
    "openb has no racks: every two nodes are equally far.",
    "Pods run on one node each, as in the trace; gangs may span nodes and state no cores or memory.",
)
