"""Measured models as job fields: seconds of computation per GPU type and megabytes per exchange."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instance_file import number
from real_traces import Profile, gavel_speeds, profiles

FP32_BYTES, HALF_BYTES = 4, 2

GAVEL_GBPS = 10.0
"""Network speed at which ResNet-18's 46.8 MB explain its measured slowdown over two nodes (45.7-50.0 MB by batch)."""

SCALABLE = ("LM", "ResNet-18", "ResNet-50", "Transformer")
"""Gavel's job types that were measured on several GPUs; the others run on one."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a job of the model is, beside its size."""

    name: str
    compute_s: float | dict[str, float]
    message_mb: float
    pattern: str = "allreduce"
    overlap: float = 0.0

    def fields(self, gpus: int) -> dict[str, Any]:
        """Fields of a job of so many workers; one worker exchanges nothing."""
        fields: dict[str, Any] = {"compute_s": self.compute_s}
        if gpus > 1:
            fields["message_mb"] = self.message_mb
            if self.pattern != "allreduce":
                fields["pattern"] = self.pattern
            if self.overlap > 0:
                fields["overlap"] = self.overlap
        return fields


def a100_models(folder: Path) -> dict[str, list[Model]]:
    """Models with A100 measurements, one entry per measured batch size, by model name.

    Gradients are FP32 (the source does not state the precision) but for LLaMA-2-7B, which is bf16. `moe-7b` is made
    up from it: the step of LLaMA-2-7B, every second layer with experts.
    """
    rows = profiles(folder)
    millions = {
        "resnet50": _params(rows, "resnet50"),
        "vgg16": _params(rows, "vgg16"),
        "inception3": _params(rows, "inception_v3"),
        "bert": 110.0,
        "gpt2": 124.0,
    }
    models: dict[str, list[Model]] = {}
    for row in rows:
        if row.gpu == "a100" and row.model in millions:
            message = number(FP32_BYTES * millions[row.model], 5)
            models.setdefault(row.model, []).append(
                Model(f"{row.model}-b{row.batch}", row.seconds, message, overlap=0.1)
            )
    llama = next(row for row in rows if row.model == "llama2-7b")
    if llama.params_millions is None:
        raise ValueError("the profile of llama2-7b has no parameter count")
    message = number(HALF_BYTES * llama.params_millions, 6)
    models["llama2-7b"] = [Model("llama2-7b", llama.seconds, message, overlap=0.1)]
    models["moe-7b"] = [Model("moe-7b", llama.seconds, _expert_mb(), "alltoall", overlap=0.1)]
    return models


def _expert_mb() -> float:
    """MB per worker and step: 32 sequences of 4096 tokens, 4096 bf16 values each, top-2 experts, there and back,
    forward and backward, in 16 layers."""
    tokens, hidden, top, passes, layers = 32 * 4096, 4096, 2, 4, 16
    return number(tokens * hidden * HALF_BYTES * top * passes * layers / 1e6, 6)


def t4_models(folder: Path) -> list[Model]:
    """Pollux's models on T4: step minus wait on one GPU, per batch size; FP32 gradients.

    Parameters in millions: BERT 110, YOLOv3 62, ResNet-18 (cifar10) and ResNet-50 (imagenet) as in timm.
    """
    rows = profiles(folder)
    millions = {
        "bert": 110.0,
        "yolov3": 62.0,
        "cifar10": _params(rows, "resnet18"),
        "imagenet": _params(rows, "resnet50"),
    }
    return [
        Model(f"{row.model}-b{row.batch}", {"T4": row.seconds}, number(FP32_BYTES * millions[row.model], 5))
        for row in rows
        if row.gpu == "t4" and row.model in millions
    ]


def gavel_models(folder: Path) -> dict[str, Model]:
    """Gavel's job types on V100 (16 and 32 GB alike) and P100.

    Seconds are those of one GPU alone. Megabytes are 4 bytes a parameter for the ResNets; the median over batch sizes
    of what explains the measured slowdown over two nodes at `GAVEL_GBPS` for the others.
    """
    rows, speeds = profiles(folder), gavel_speeds(folder)
    messages = {
        "ResNet-18": FP32_BYTES * _params(rows, "resnet18"),
        "ResNet-50": FP32_BYTES * _params(rows, "resnet50"),
        "LM": _implied_mb(speeds, "LM"),
        "Transformer": _implied_mb(speeds, "Transformer"),
    }
    models = {}
    for (kind, gpus), speed in speeds["v100"].items():
        if gpus != 1 or (kind, 1) not in speeds["p100"]:
            continue
        v100, p100 = number(1 / speed, 5), number(1 / speeds["p100"][(kind, 1)], 5)
        family = kind.split(" (")[0]
        models[kind] = Model(
            _short(kind),
            {"V100M16": v100, "V100M32": v100, "P100": p100},
            number(messages.get(family, 0.0), 4),
        )
    return models


def scalable(kind: str) -> bool:
    """Whether a Gavel job type was measured on more than one GPU."""
    return kind.split(" (", maxsplit=1)[0] in SCALABLE


def _implied_mb(speeds: dict[str, dict[tuple[str, int], float]], family: str) -> float:
    """Two workers exchange V megabytes (2·V·1/2) over the link: V = extra seconds per step · Gbit/s / 8e-3."""
    together, apart = speeds["v100"], speeds["v100_unconsolidated"]
    kinds = [kind for kind, gpus in together if gpus == 2 and kind.startswith(f"{family} (")]
    extra = [2 / apart[(kind, 2)] - 2 / together[(kind, 2)] for kind in kinds]
    return statistics.median(extra) * GAVEL_GBPS / 8e-3


def _params(rows: Iterable[Profile], model: str) -> float:
    """Millions of parameters of a timm model."""
    return next(row.params_millions for row in rows if row.model == model and row.params_millions is not None)


def _short(kind: str) -> str:
    """ "LM (batch size 20)" as "lm-b20"."""
    return kind.lower().replace(" (batch size ", "-b").removesuffix(")")
