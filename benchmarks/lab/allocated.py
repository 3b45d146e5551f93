"""What PyTorch's allocator holds while storages come and go as in a trace, and with how much of a card it would manage.

Storages are taken from and given back to the allocator of ``joined.py`` in the order of the trace: once on a card
without end, then on ever smaller ones, where it gives back segments that are wholly free. Streams are not told apart.
"""

from __future__ import annotations

import torch
from joined import Block, CachingAllocator, OutOfMemoryError
from tracer import LiveStorages


_HALVINGS = 8


class Recorded(LiveStorages):
    """Storages as they come and go: each by its key, with its size, or minus it."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[int, int]] = []

    def see(self, tensor: torch.Tensor) -> None:
        """Note a storage that is new."""
        key = tensor.untyped_storage()._cdata
        known = key in self.live
        super().see(tensor)
        if not known and self.live[key]:
            self.events.append((key, self.live[key]))

    def _forget(self, key: int) -> None:
        if self.live.get(key):
            self.events.append((key, -self.live[key]))
        super()._forget(key)


def served(events: list[tuple[int, int]], capacity: float = float("inf")) -> CachingAllocator:
    """An allocator that has served these."""
    allocator, blocks = CachingAllocator(capacity), dict[int, Block]()
    for key, size in events:
        if size > 0:
            blocks[key] = allocator.take(size)
        elif key in blocks:
            allocator.give(blocks.pop(key))
    return allocator


def least(events: list[tuple[int, int]], free: CachingAllocator) -> float:
    """The smallest card on which they are served, in bytes."""
    low, high = float(free.most_allocated), float(free.most_reserved)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        try:
            served(events, middle)
            high = middle
        except OutOfMemoryError:
            low = middle
    return high
