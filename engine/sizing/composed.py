"""Detectors and segmenters that are named by their parts: a backbone (R-50, X-101-32x8d) under heads (Mask R-CNN, FPN).

Model zoos hold hundreds of such networks under names that say how each is built, so that its feature maps can be
counted instead of listed.
"""

from __future__ import annotations

import re

from msgspec import Struct

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import remembered
from whichgpu.engine.sizing.constants import sizing_constants


_BACKBONE = re.compile(
    r"(?<![a-z])(?P<kind>resnext|resnet|[rx])[-_ ]?(?P<depth>18|34|50|101|152)"
    r"(?:[-_ ](?P<groups>32|64)x(?P<width>4|8)d)?(?![0-9])"
)
#: In the manner of detectron2's configurations: ``faster_rcnn_R_50_FPN_3x``.
_FROZEN_NORMS = re.compile(r"_[rx]_\d+_")
_BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
_HEADS = (
    ("panoptic", r"panoptic"),
    ("cascade", r"cascade"),
    ("keypoint", r"keypoint"),
    ("mask", r"mask|panoptic"),
    ("box", r"r-?cnn|panoptic"),
    ("retinanet", r"retinanet"),
    ("rpn", r"(?<![a-z])rpn"),
    ("deeplabv3", r"deeplab"),
    ("pspnet", r"pspnet"),
    ("fcn", r"(?<![a-z])fcn"),
    ("upernet", r"upernet"),
)
_DENSE = frozenset({"deeplabv3", "pspnet", "fcn", "upernet"})


class Composed(Struct, frozen=True):
    """A network from its parts. Elements are of feature maps kept for the backward pass, before copies."""

    name: str
    params_b: float
    per_pixel: float  # elements of the backbone
    heads_per_pixel: float
    heads_fixed: float  # per image, whatever its size: regions of interest
    copies: float  # of each backbone element: before and after norm and activation
    dense: bool  # a class for every pixel, not boxes
    gmacs: float  # at ``native_px`` squared
    native_px: int

    def elements(self, pixels: float) -> float:
        """Elements kept for one image of so many pixels."""
        return pixels * (self.per_pixel * self.copies + self.heads_per_pixel) + self.heads_fixed


@remembered
def composed_network(name: str) -> Composed | None:
    """The network that a name is composed of; None where it names no backbone or no head that is known."""
    told = name.casefold()
    backbone = _BACKBONE.search(told)
    heads = [head for head, pattern in _HEADS if re.search(pattern, told)]
    if backbone is None or not heads:
        return None
    parts = sizing_constants().vision.parts
    depth, dense = int(backbone["depth"]), bool(_DENSE & set(heads))
    kind = "x" if backbone["kind"].startswith(("x", "resnext")) else "r"
    groups, width = (int(backbone["groups"] or 32), int(backbone["width"] or (8 if "_x_" in told else 4)))
    base = parts.backbones.get(f"{kind}{depth}" if kind == "r" else f"{kind}{depth}-{groups}x{width}d")
    if base is None:
        return None
    stages = _stages(depth, 64 if kind == "r" else groups * width)
    trained = re.search(r"syncbn|(?<![a-z])gn(?![a-z])", told) is not None
    frozen = _FROZEN_NORMS.search(told) is not None and not trained
    layout = "c4" if re.search(r"c4", told) else "dc5" if re.search(r"dc5", told) else "dense" if dense else "fpn"
    kept = _kept(stages, layout, from_stage=0 if trained or dense else 2)
    found = [parts.heads[head] for head in heads] + ([parts.heads[layout]] if layout != "dense" else [])
    fixed = sum(head.fixed_m for head in found) * 1e6
    if layout == "c4":  # The last stage runs on every region of interest instead of once.
        fixed += parts.regions * stages[3]
    native = 224 if dense else 1033
    gmacs = base.gmacs * (native / 224) ** 2 * (3.5 if dense else 1.0) + sum(head.gmacs for head in found)
    return Composed(
        name=name,
        params_b=(base.params_m + sum(head.params_m for head in found)) / 1e3,
        per_pixel=kept / 224**2,
        heads_per_pixel=sum(head.per_pixel for head in found),
        heads_fixed=fixed,
        copies=(parts.copies_frozen if frozen else parts.copies) * parts.beyond_count.value,
        dense=dense,
        gmacs=gmacs,
        native_px=native,
    )


def composed_spec(name: str) -> ModelSpec | None:
    """A catalogue record of a network that its name composes."""
    found = composed_network(name)
    if found is None:
        return None
    return ModelSpec(
        id=re.sub(r"[^a-z0-9.]+", "-", name.casefold()).strip("-"),
        name=name,
        kind="vision" if found.dense else "detection",
        params_b=found.params_b,
        gmacs_per_image=found.gmacs,
        resolution_px=None if found.dense else found.native_px,
        sources=("torchvision",),
    )


def _stages(depth: int, width: int) -> tuple[float, float, float, float]:
    """Elements of the convolutions' outputs in each stage of a ResNet at 224 pixels."""
    elements = []
    for stage, blocks in enumerate(_BLOCKS[depth]):
        places = (56 >> stage) ** 2
        inner = width << stage
        out = (256 if depth >= 50 else 64) << stage
        each = 2 * inner + out if depth >= 50 else 2 * out
        elements.append(float(places * (blocks * each + (out if depth >= 50 or stage else 0))))
    return elements[0], elements[1], elements[2], elements[3]


def _kept(stages: tuple[float, float, float, float], layout: str, *, from_stage: int) -> float:
    """Elements kept of the backbone: detectors freeze stem and first stage; dilated stages keep their size."""
    stem = 112 * 112 * 64.0 + 56 * 56 * 64.0
    first = 0.0 if from_stage else stem + stages[0]
    if layout == "c4":
        return first + stages[1] + stages[2]
    if layout == "dc5":
        return first + stages[1] + stages[2] + 4 * stages[3]
    if layout == "dense":  # Both last stages stay at an eighth of the picture.
        return first + stages[1] + 4 * stages[2] + 16 * stages[3]
    return first + stages[1] + stages[2] + stages[3]
