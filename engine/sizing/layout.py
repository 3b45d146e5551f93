"""How a job is spread over GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """Tensor x pipeline x data = count."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    sharding: str = "none"  # none, zero1, zero2, zero3, fsdp

    @property
    def count(self) -> int:
        """GPUs used."""
        return self.tensor * self.pipeline * self.data
