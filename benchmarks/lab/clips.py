"""What video autoencoders hold while they decode one whole, beside their weights: bytes for each pixel of a frame.

Modules of diffusers run without gradients on tensors that have a shape and no content; of all storages that live at a
time the largest sum is given, for clips of several lengths. A longer clip costs what its frames do, unless the decoder
passes it through in pieces of its own.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from coders import Decoder, decoding
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


#: Latent frames of the clips that are traced: of pieces of two and of sixteen frames, and beyond.
_LENGTHS = (1, 3, 5, 13, 21)
_EDGE = 512


class _Live(TorchDispatchMode):
    """The sum of storages that live, and the largest that it was."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(answer):
            if isinstance(leaf, torch.Tensor):
                self._see(leaf.untyped_storage())
        return answer

    def _see(self, storage: Any) -> None:
        key = storage._cdata
        if key not in self._sizes:
            self._sizes[key] = storage.nbytes()
            self.now += storage.nbytes()
            self.peak = max(self.peak, self.now)
            weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self.now -= self._sizes.pop(key, 0)


def clip_row(decoder: Decoder) -> dict[str, Any]:
    """Latent frames of a clip, and bytes for each pixel of a frame at the peak of its decoding."""
    module = decoder.in_16_bits()
    return {"held": [[frames, round(_peak(decoder, module, frames) / _EDGE**2)] for frames in _LENGTHS]}


def _peak(decoder: Decoder, module: torch.nn.Module, frames: int) -> int:
    run = decoding(decoder, module, _EDGE, frames)
    with torch.no_grad(), _Live() as live:
        run()
    return live.peak
