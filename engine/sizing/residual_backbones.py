"""ResNets and ResNeXts as backbones of detectors and segmenters: what they keep of their feature maps."""

from __future__ import annotations

import re
from itertools import pairwise

from msgspec import Struct

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_networks import Backbone


_BACKBONE = re.compile(
    r"(?<![a-z])(?P<kind>resnext|resnet|[rx])[-_ ]?(?P<depth>18|34|50|101|152)"
    r"(?:[-_ ](?P<groups>32|64)x(?P<width>4|8)d)?(?![0-9])"
)
#: In the manner of detectron2's configurations: ``faster_rcnn_R_50_FPN_3x``. Norms are frozen if the name tells none.
DETECTRON = re.compile(r"_[rx]_\d+_")
DEEP = 50  # From this depth on blocks are bottlenecks.
_BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class Residual(Struct, frozen=True):
    """A ResNet or ResNeXt: blocks of its four stages, widths, and what it keeps of each convolution."""

    depth: int
    width: int  # inner channels of the first stage
    trained_norms: bool  # then the norm's input is kept beside the activation's output
    stride_first: bool  # the first convolution of a stage goes over to its size, not the second

    @property
    def out(self) -> int:
        """Channels that the first stage gives."""
        return 256 if self.depth >= DEEP else 64

    def stage(self, at: int, side: int, before: int) -> float:
        """Elements that a stage keeps of maps of ``side`` squared, which come at ``before`` squared."""
        blocks, copies = _BLOCKS[self.depth][at], 2 if self.trained_norms else 1
        inner, out, places = self.width << at, self.out << at, side * side
        widths = 2 * inner + out if self.depth >= DEEP else 2 * out
        found = places * blocks * copies * widths
        if self.trained_norms and (at or self.depth >= DEEP):  # The shortcut's own convolution and norm.
            found += places * out
        if self.depth >= DEEP and not self.stride_first:
            found += copies * inner * (before * before - places)
        return 1.0 * found


def backbone_of(name_lower: str) -> tuple[Backbone, Residual] | None:
    """The backbone that a name tells: what is published of it, and how it is built."""
    backbone = _BACKBONE.search(name_lower)
    if backbone is None:
        return None
    depth = int(backbone["depth"])
    kind = "x" if backbone["kind"].startswith(("x", "resnext")) else "r"
    groups, width = (int(backbone["groups"] or 32), int(backbone["width"] or (8 if "_x_" in name_lower else 4)))
    base = sizing_constants().vision.parts.backbones.get(f"{kind}{depth}" + f"-{groups}x{width}d" * (kind == "x"))
    if base is None:
        return None
    detectron = DETECTRON.search(name_lower) is not None
    trained = not detectron or re.search(r"syncbn|(?<![a-z])gn(?![a-z])", name_lower) is not None
    return base, Residual(depth, 64 if kind == "r" else groups * width, trained, detectron and kind == "r")


def kept_of(built: Residual, layout: str, last: int = 32) -> float:
    """Elements kept of the backbone for each pixel, counted at 224 pixels.

    Detectors freeze stem and first stage, whose output the second one learns from; dilated stages keep their size, of
    which the ``last`` is such a part of the picture's.
    """
    third, fourth = 28 if last == 8 else 14, {8: 28, 16: 14}.get(last, 14 if layout == "dc5" else 7)
    sides = pairwise((56, 56, 28, third, fourth))
    stages = [built.stage(at, side, before) for at, (before, side) in enumerate(sides)]
    if layout in {"dense", "classifier"}:
        # Of the stem its norm's input, its output, and the pooled map with places of 8 bytes.
        first = 2 * 112 * 112 * 64.0 + 3 * 56 * 56 * 64.0
        if layout == "dense":  # Three convolutions of 32, 32 and 64 channels.
            first += 2 * 112 * 112 * 64.0
        return (first + sum(stages)) / 224**2
    first = 56.0 * 56.0 * built.out
    return (first + sum(stages[1:3] if layout == "c4" else stages[1:])) / 224**2
