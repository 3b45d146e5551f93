"""What image autoencoders hold while they decode, with and without the copies that convolutions make.

Tensor cores read channels last. PyTorch's tensors have them first, so that cuDNN copies what a convolution in 16 bits
reads, or what it gives: here the larger of the two lives once more while a convolution runs. Modules of diffusers run
on tensors without content; the peak beside the weights is given for each pixel of a picture.

Usage: python benchmarks/lab/copied.py
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import torch


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

from coders import DECODERS, Decoder
from tracer import LiveStorages, fake_device, faked


_EDGE = 1024
_PICTURES = (1, 4)


class Copying(LiveStorages):
    """Live storages, of which a convolution has the larger of its sides once more."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, see what it returns, and count the copy of a convolution's larger side."""
        found = super().__torch_dispatch__(func, types, args, kwargs)
        if func is torch.ops.aten.convolution.default:
            copied = max(side.numel() * side.element_size() for side in (args[0], found))
            self.peak = max(self.peak, self.now + copied)
        return found


def bytes_per_pixel(decoder: Decoder, pictures: int, live: LiveStorages) -> float:
    """Bytes at the peak beside the weights, for each pixel of one of so many pictures that are decoded in 16 bits."""
    module = decoder.in_16_bits()
    with fake_device(), torch.no_grad():
        faked(module)
        places = _EDGE // decoder.spatial
        latent = torch.empty(pictures, decoder.channels, places, places, dtype=torch.bfloat16)
        for tensor in (*module.parameters(), *module.buffers()):
            live.see(tensor)
        weights = live.now
        with live:
            module.decode(latent, return_dict=False)
    return (live.peak - weights) / pictures / _EDGE**2


def main() -> None:
    """Print a line for each autoencoder of pictures whose convolutions are of two dimensions."""
    for decoder in DECODERS:
        if decoder.module not in {"AutoencoderKL", "AutoencoderKLFlux2"}:
            continue
        for pictures in _PICTURES:
            plain, copied = (bytes_per_pixel(decoder, pictures, live) for live in (LiveStorages(), Copying()))
            print(f"{decoder.decoder}: {pictures} pictures, {plain:.0f} bytes a pixel, {copied:.0f} with copies")


if __name__ == "__main__":
    main()
