"""What a node of a topology is, where the topology tells of the network only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeKind:
    """GPUs per node and their type; None where the source's own or usual answer is to be taken."""

    gpus: int | None = None
    gpu_type: str | None = None

    def filled(self, gpus: int, gpu_type: str, why: str) -> tuple[int, str, str]:
        """GPUs and type with a source's answers filled in, and a sentence on it; `why` says where those come from."""
        took_gpus = gpus if self.gpus is None else self.gpus
        took_type = gpu_type if self.gpu_type is None else self.gpu_type
        asked = self.gpus is not None and self.gpu_type is not None
        return (
            took_gpus,
            took_type,
            f"Nodes of {took_gpus} GPUs of type {took_type} ({'as asked for' if asked else why}).",
        )
