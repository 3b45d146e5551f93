"""Detectors and segmenters that are named by their parts: a backbone (R-50, X-101-32x8d) under heads (Mask R-CNN, FPN).

Model zoos hold hundreds of such networks under names that say how each is built, so that its feature maps can be
counted instead of listed.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.core import remembered
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_networks import Head
from whichgpu.engine.sizing.residual_backbones import DEEP, DETECTRON, backbone_of, kept_of


#: In the manner of torchvision's: ``retinanet_resnet50_fpn``. Names of neither manner are taken as mmdetection's.
_TORCHVISION = re.compile(r"resnet|resnext")
_CLASSIFIER = re.compile(r"(?:resnet|resnext)[-_ ]?\d+(?:[-_ ]?\d+x\d+d)?")
#: Heads that are mmdetection's FCOSHead, ATSSHead or made of their towers: mmdet/models/dense_heads.
_TOWERS = r"(?<![a-z])(?:fcos|atss|paa|gfl|vfnet|autoassign|condinst|boxinst)"
_HEADS = (
    ("panoptic", r"panoptic"),
    ("cascade", r"cascade|(?<![a-z])htc|roi[-_ ]?trans"),
    ("semantic-fused", r"(?<![a-z])htc"),
    ("keypoint", r"keypoint"),
    ("mask", r"mask(?!2?[-_ ]?former|[-_ ]?dino)|panoptic|(?<![a-z])htc|point-?rend"),
    ("box", r"r-?cnn|panoptic|(?<![a-z])htc|point-?rend|roi[-_ ]?trans"),
    ("retinanet", r"retinanet|free-?anchor|(?<![a-z])fsaf|(?<![a-z])fovea"),
    ("towers-normed", _TOWERS),
    ("rpn", r"(?<![a-z])rpn"),
    ("deeplabv3", r"deeplab"),
    ("pspnet", r"pspnet"),
    ("fcn", r"(?<![a-z])fcn"),
    ("upernet", r"upernet"),
    ("solov2", r"(?<![a-z])solo-?v2"),
)
#: Over a pyramid, and over a backbone whose last stages are dilated.
_USUAL = (("towers-normed", r"(?<![a-z])fpn"), ("pspnet", r"(?<![a-z])d(?:8|16)(?![0-9])"))
#: Backbones that attend within windows, by how papers and model zoos call their sizes.
_WINDOWED = re.compile(r"(?<![a-z])swin[-_ ]?(t|s|b|l)(?:iny|mall|ase|arge)?(?![a-z0-9])")
#: The first Faster R-CNN: the convolutions of VGG-16, whose two wide layers run on every region.
_VGG = re.compile(r"(?<![a-z])vgg[-_ ]?16(?![0-9])")
#: Segmenters whose third stage halves its maps too, as mmsegmentation and detectron2 (DeepLab's OS16) name them.
_SIXTEENTH = re.compile(r"(?<![a-z])(?:d|os)[-_ ]?16(?![0-9])")
_DENSE = frozenset({"deeplabv3", "deeplabv3plus", "pspnet", "fcn", "upernet"})


class Composed(Struct, frozen=True):
    """A network from its parts. Elements are of feature maps: kept for the backward pass, or alive at its start."""

    name: str
    params_b: float
    kept_per_pixel: float  # of the backbone and its heads
    kept_fixed: float  # per image, whatever its size: regions of interest
    working_per_pixel: float  # gradients of the largest maps, while all is still kept
    working_fixed: float
    class_maps: float  # maps of a class for each pixel that losses keep
    class_scores: float  # elements a pixel of each class that a detector without regions scores everywhere
    dense: bool  # a class for every pixel, not boxes
    gmacs: float  # at ``native_px`` squared
    native_px: int
    more_mixed: float = 0.0  # elements a pixel of a backbone that attends, under autocast beyond those in 32 bits

    def elements(self, pixels: float, classes: int = 0, wide: float = 1.0) -> float:
        """Elements alive at the start of the backward pass for one image.

        Args:
            pixels: of the image.
            classes: that a network which gives each pixel a class distinguishes.
            wide: elements of an activation in one of a loss: losses are in 32 bits whatever comes before (mmdetection
                and mmsegmentation, ``force_fp32`` of their heads' losses; autocast of PyTorch).
        """
        # Beside the maps that a loss keeps as many take their gradients, before those of the layers come.
        working = max(self.working_per_pixel, self.class_maps * classes * wide)
        scored = self.class_scores * (classes or sizing_constants().vision.parts.detected_classes.value) * wide
        each = self.kept_per_pixel + self.class_maps * classes * wide + scored + working
        each += self.more_mixed if wide > 1.0 else 0.0
        return pixels * each + self.kept_fixed + self.working_fixed


@remembered
def composed_network(name: str) -> Composed | None:
    """The network that a name is composed of; None where it names no backbone or no head that is known."""
    name_lower = name.casefold()
    if _VGG.search(name_lower) and re.search(r"r-?cnn", name_lower):
        return _over_vgg(name)
    heads = _heads_of(name_lower)
    windowed = _WINDOWED.search(name_lower)
    if windowed is not None and heads:
        return _over_windows(name, f"swin-{windowed[1]}", heads)
    found = backbone_of(name_lower)
    if not heads or found is None:
        return None
    base, built = found
    parts = sizing_constants().vision.parts
    dense = bool(_DENSE & set(heads))
    layout = "c4" if "c4" in name_lower else "dc5" if "dc5" in name_lower else "dense" if dense else "fpn"
    if layout == "fpn" and {"retinanet", "retinanet-fused", "towers-normed"} & set(heads):
        layout = "fpn-coarse"
    if layout == "fpn" and built.trained_norms and DETECTRON.search(name_lower):  # Then the heads have norms too.
        heads += ["fpn-normed"] + ["mask-normed"] * ("mask" in heads)
        heads += ["box-convolved"] * ("box" in heads) * (3 if "cascade" in heads else 1)
    if {"box", "rpn"} & set(heads) and layout == "fpn":
        heads.append("proposals")
    chosen = [parts.heads[head] for head in heads] + ([parts.heads[layout]] if layout != "dense" else [])
    last = (16 if _SIXTEENTH.search(name_lower) else 8) if dense else 32
    if last == 16:
        chosen = [_halved(head, name) for head, name in zip(chosen, heads, strict=True)]
    if dense and built.depth < DEEP:
        chosen = [_thin(head) for head in chosen]
    kept_fixed = sum(head.fixed_m for head in chosen) * 1e6
    working_fixed = 0.0
    if layout == "c4":  # The last stage runs on every region of interest instead of once.
        kept_fixed += parts.regions * built.stage(3, 7, 7 if built.stride_first else 14)
        working_fixed = parts.working_copies.value * parts.regions * 49 * (built.out << 3)
    working = parts.working_copies.value * (built.out << 3) / (1.0 * last**2 if dense else 256.0)
    if layout.startswith("fpn"):
        working = parts.working_pyramid.value / (4.0 if layout == "fpn-coarse" else 1.0)
    dilated = parts.dilated_gmacs.value if dense else 1.0
    gmacs = _at_native_px(base.gmacs, dense=dense) * dilated + sum(head.gmacs for head in chosen)
    return Composed(
        name=name,
        params_b=(base.params_m + sum(head.params_m for head in chosen)) / 1e3,
        kept_per_pixel=kept_of(built, layout, last=32 if "upernet" in heads else last)
        + sum(head.per_pixel for head in chosen),
        kept_fixed=kept_fixed,
        working_per_pixel=0.0 if layout == "c4" else working,
        working_fixed=working_fixed,
        class_maps=parts.class_maps.value if dense else 0.0,
        class_scores=sum(head.per_class for head in chosen),
        dense=dense,
        gmacs=gmacs,
        native_px=_native_px(dense=dense),
    )


def _native_px(*, dense: bool) -> int:
    """The edge of the pictures for which multiply-adds are counted: of classifiers and segmenters, and of detectors."""
    vision = sizing_constants().vision
    return round(vision.native_px.value if dense else vision.detection_px.value)


def _at_native_px(gmacs: float, *, dense: bool) -> float:
    """GMAC of a backbone, counted for a classifier's picture, at the size of the network's own."""
    return gmacs * (_native_px(dense=dense) / _native_px(dense=True)) ** 2


def _heads_of(name: str) -> list[str]:
    """The heads that a name tells; a head that no one knows is taken as towers over a pyramid, or as PSPNet's."""
    heads = [head for head, pattern in _HEADS if re.search(pattern, name)]
    if not heads:
        return [head for head, pattern in _USUAL if re.search(pattern, name)]
    if "deeplabv3" in heads and re.search(r"\+|plus", name):
        heads[heads.index("deeplabv3")] = "deeplabv3plus"
    if "retinanet" in heads and not (DETECTRON.search(name) or _TORCHVISION.search(name)):
        heads[heads.index("retinanet")] = "retinanet-fused"
    if {"cascade", "mask"} <= set(heads) and not DETECTRON.search(name):
        heads += ["mask"] * 2  # One for each stage of boxes; detectron2 has one for all.
    if "semantic-fused" in heads:  # Hybrid task cascade: masks of a stage pass the heads of those before it, too.
        heads += ["mask"] * 3
    return heads


def _thin(head: Head) -> Head:
    """A head over a backbone of basic blocks, whose last maps have a quarter of the channels, as the head's then do.

    mmsegmentation: configs/pspnet/pspnet_r18-d8_512x1024_80k_cityscapes.py, 128 channels for 512 and 64 for 256.
    """
    return replace(head, params_m=head.params_m / 16, gmacs=head.gmacs / 16, per_pixel=head.per_pixel / 4)


def _halved(head: Head, name: str) -> Head:
    """A segmenter's head over maps of half the size; DeepLabV3+ takes its finer maps from the first stage."""
    coarse = sizing_constants().vision.parts.heads["deeplabv3" if name == "deeplabv3plus" else name].per_pixel
    return replace(head, per_pixel=head.per_pixel - 0.75 * coarse)


def _over_vgg(name: str) -> Composed:
    """Faster R-CNN over VGG-16, whose first two blocks are frozen and whose activations take their inputs' place."""
    parts = sizing_constants().vision.parts
    base, heads = parts.backbones["vgg16"], [parts.heads["box-vgg"], parts.heads["rpn-vgg"]]
    # The pooled second block, three blocks of three maps, and two poolings with places of 8 bytes.
    kept = 128 / 16.0 + 3 * (256 / 16.0 + 512 / 64.0 + 512 / 256.0) + 3 * (256 / 64.0 + 512 / 256.0)
    kept += sum(head.per_pixel for head in heads)
    # Two maps of the finest block are there together before anything is kept.
    first = 2 * 64.0
    return Composed(
        name=name,
        params_b=(base.params_m + sum(head.params_m for head in heads)) / 1e3,
        kept_per_pixel=kept,
        kept_fixed=sum(head.fixed_m for head in heads) * 1e6,
        working_per_pixel=max(0.0, first - kept),
        working_fixed=0.0,
        class_maps=0.0,
        class_scores=0.0,
        dense=False,
        gmacs=_at_native_px(base.gmacs, dense=False) + sum(head.gmacs for head in heads),
        native_px=_native_px(dense=False),
    )


def _over_windows(name: str, windowed: str, heads: list[str]) -> Composed | None:
    """Heads over a backbone that attends within windows, all of which learns; none is dilated."""
    parts = sizing_constants().vision.parts
    base, dense = parts.windowed[windowed], bool(_DENSE & set(heads))
    if dense and heads != ["upernet"]:  # Other dense heads stand on dilated maps, which such a backbone has not.
        return None
    coarse = {"retinanet", "retinanet-fused", "towers-normed"} & set(heads)
    layout = [] if dense else ["fpn-coarse" if coarse else "fpn"]
    proposals = ["proposals"] if {"box", "rpn"} & set(heads) and not coarse and not dense else []
    chosen = [parts.heads[head] for head in (*heads, *layout, *proposals)]
    gmacs = _at_native_px(base.gmacs, dense=dense) + sum(head.gmacs for head in chosen)
    return Composed(
        name=name,
        params_b=(base.params_m + sum(head.params_m for head in chosen)) / 1e3,
        kept_per_pixel=base.per_pixel + sum(head.per_pixel for head in chosen),
        kept_fixed=sum(head.fixed_m for head in chosen) * 1e6,
        working_per_pixel=0.0,  # It is traced at its peak.
        working_fixed=0.0,
        class_maps=parts.class_maps.value if dense else 0.0,
        class_scores=sum(head.per_class for head in chosen),
        dense=dense,
        gmacs=gmacs,
        native_px=_native_px(dense=dense),
        more_mixed=base.per_pixel_mixed - base.per_pixel,
    )


@remembered
def plain_elements(name: str) -> float | None:
    """Elements for each pixel that a classifier keeps whose name is a backbone; None of every other name."""
    found = backbone_of(name.casefold())
    if found is None or composed_network(name) is not None or not _CLASSIFIER.fullmatch(name.casefold()):
        return None
    return kept_of(found[1], "classifier")


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
