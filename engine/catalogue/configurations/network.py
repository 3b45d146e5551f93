"""What a vision network needs to be sized: counted from the shapes of its layers."""

from __future__ import annotations

from msgspec import Struct

from whichgpu.engine.catalogue.configurations.reader import ConfigReader


class Network(Struct, frozen=True):
    """Parameters, multiplications of one picture, and the numbers that training keeps of one."""

    params: int
    macs: float
    kept: float | None = None
    kept_mixed: float | None = None
    activations: float | None = None  # numbers that its layers give


def edge_of(reader: ConfigReader) -> int:
    """The side of an image in pixels; of one that is not square, its height."""
    return reader.maybe("image_size") or reader.first("image_size") or 224
