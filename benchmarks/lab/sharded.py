"""What FSDP holds beyond its shards at the peak of a step, traced without a GPU or a network between ranks.

PyTorch's ``fake`` process group answers collectives with tensors of the right shape, and its memory tracker tells
parameters, gathered buffers, gradients and what is sent apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore


@dataclass(frozen=True)
class Sharded:
    """A stack of layers, each a unit of its own; embedding and head are in the root."""

    hidden: int
    layers: int
    vocab: int
    ranks: int
    units: int = 1  # layers that are wrapped together
    reshards: bool = True  # after the forward pass; else whole weights stay, as under ZeRO-2


_PLAIN = Sharded(1024, 6, 4096, 8)
SHARDED: tuple[Sharded, ...] = (
    _PLAIN,
    Sharded(1024, 12, 4096, 8),
    Sharded(2048, 6, 2048, 4),
    replace(_PLAIN, ranks=2),
    replace(_PLAIN, ranks=64),
    replace(_PLAIN, units=2),
    replace(_PLAIN, layers=12, units=2),
    replace(_PLAIN, layers=12, units=3),
    replace(_PLAIN, reshards=False),
    replace(_PLAIN, layers=12, reshards=False),
)


class _Layer(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width, bias=False)
        self.down = torch.nn.Linear(4 * width, width, bias=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """A feed-forward part with its residual."""
        return hidden + self.down(torch.relu(self.up(hidden)))


class _Stack(torch.nn.Module):
    def __init__(self, cell: Sharded) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(cell.vocab, cell.hidden)
        self.layers = torch.nn.ModuleList(_Layer(cell.hidden) for _ in range(cell.layers))
        self.head = torch.nn.Linear(cell.hidden, cell.vocab, bias=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """A sum of all scores."""
        hidden = self.embedding(words)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden).sum()


def sharded_row(cell: Sharded) -> dict[str, Any]:
    """Bytes beyond the shards at the peak of the second step: as often the root, and as often one unit of layers.

    Everything is in 16 bits. The peak is in the backward pass while a layer is at least as large as the root.
    """
    if not dist.is_initialized():
        dist.init_process_group("fake", rank=0, world_size=cell.ranks, store=FakeStore())
    mesh = init_device_mesh("cpu", (cell.ranks,))
    torch.set_default_dtype(torch.bfloat16)
    try:
        with FakeTensorMode():
            stack, words = _Stack(cell), torch.zeros(1, 8, dtype=torch.long)
            layers = list(stack.layers)
            for first in range(0, cell.layers, cell.units):
                unit = layers[first : first + cell.units]
                wrapped = unit if cell.units > 1 else unit[0]
                fully_shard(wrapped, mesh=mesh, reshard_after_forward=cell.reshards)
            fully_shard(stack, mesh=mesh)
            tracker = FSDPMemTracker(stack)
            with tracker:
                for step in range(2):
                    stack(words).backward()
                    stack.zero_grad(set_to_none=True)
                    if step == 0:
                        tracker.reset_mod_stats()
            (parts,) = tracker.get_tracker_snapshot("peak").values()
    finally:
        torch.set_default_dtype(torch.float32)
        dist.destroy_process_group()
    named = {str(getattr(kind, "value", kind)): size for kind, size in parts.items()}
    beyond = sum(named.get(name, 0) for name in ("Unsharded Param", "All Gather", "Temp", "Reduce Scatter"))
    root, layer_bytes = 2 * 2 * cell.vocab * cell.hidden, 2 * 8 * cell.hidden**2 * cell.units
    return {"root": 1.0, "layer": round((beyond - root) / layer_bytes, 2)}
