"""How a job is spread over GPUs."""

from __future__ import annotations

from typing import NamedTuple


class Layout(NamedTuple):
    """Tensor x pipeline x data = count."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    sharding: str = "none"  # none, zero1, zero2, zero3, fsdp

    @property
    def count(self) -> int:  # type: ignore[override]  # Of GPUs, as everywhere; no one counts equal degrees.
        """GPUs used."""
        return self.tensor * self.pipeline * self.data

    @property
    def label(self) -> str:
        """The degrees above one and the sharding, as in ``tp4-dp2-fsdp``."""
        degrees = (("tp", self.tensor), ("pp", self.pipeline), ("dp", self.data))
        parts = [f"{name}{degree}" for name, degree in degrees if degree > 1]
        return "-".join([*parts, *([self.sharding] if self.sharding != "none" else [])]) or "dp1"
