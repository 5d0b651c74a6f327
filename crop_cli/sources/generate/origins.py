"""Sources and licences of what the families draw from, as an instance states them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """One public source and its licence."""

    source: str
    licence: str


LINGJUN = Origin(
    "rack sizes: topo.csv of github.com/alibaba/alibaba-lingjun-dataset-2023, Cao et al. (Crux), ACM SIGCOMM 2024",
    "Apache-2.0 (Lingjun topology)",
)
ZHEJIANG = Origin(
    "leaf groups: Zhejiang Lab LLM Trace Program 2024 (github.com/zhejianglab/Zhejiang-Lab-Cluster-Traces), "
    "cluster_2000_A100",
    "CC BY 4.0 and the repository's Terms of Access (Zhejiang Lab topology; attribution, terms passed on)",
)
SUPERPOD = Origin(
    "scalable units: NVIDIA DGX SuperPOD reference architecture, DGX H100", "published figures (DGX SuperPOD)"
)
PHILLY = Origin(
    "job sizes: Philly trace, Jeon et al., USENIX ATC 2019 (github.com/msr-fiddle/philly-traces), as philly.csv of "
    "github.com/pkusys/ElasticFlow",
    "CC BY 4.0 (Philly trace; the copy's repository is Apache-2.0)",
)
ACME = Origin("largest job: Acme trace, Hu et al., NSDI 2024 (github.com/InternLM/AcmeTrace)", "CC BY 4.0 (Acme trace)")
HBD = Origin("fault rates: github.com/stepfun-ai/InfiniteHBD-Trace, ACM SIGCOMM 2025", "Apache-2.0 (InfiniteHBD trace)")
OPENB = Origin(
    "jobs that name a GPU type: openb trace, Weng et al. (FGD), USENIX ATC 2023 (github.com/alibaba/clusterdata)",
    "Apache-2.0 (openb)",
)
GAVEL = Origin(
    "GPU types in equal numbers: github.com/stanford-futuredata/gavel, Narayanan et al., USENIX OSDI 2020",
    "MIT (Gavel)",
)
FEIGE = Origin(
    "tight example of greedy maximum coverage: Nemhauser, Wolsey, Fisher, Mathematical Programming 14, 1978; "
    "Feige, Journal of the ACM 45, 1998",
    "a published construction, no data",
)
