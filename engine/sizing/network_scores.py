"""What image networks hold beside their maps while they learn: scores of attention, and labels being matched."""

from __future__ import annotations

from operator import mul

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn, TermKind
from whichgpu.engine.sizing.network_maps import attends, largest_pixels, tokens_and_width
from whichgpu.engine.sizing.rows import Ints


_MATCHED = TermKind(
    "logits",
    "images x places of three levels (21 / 1,024 of the pixels) x (512 + 27 x classes) bytes, twice with two heads",
    ("images", "pixels", "classes", "heads"),
    "counted in ultralytics' loss and its assignment of labels; see knowledge/sizing.yaml, vision",
)
_AREAS = TermKind(
    "activations",
    "images x (pixels / 256) squared x scores x bytes; scores are layers x (heads at a sixteenth / 4 areas + heads at a"
    " thirty-second / 16)",
    ("images", "pixels", "scores", "bytes"),
    "YOLO12's attention over areas, whose softmax is written out (ultralytics nn/modules/block.py, AAttn)",
)
_SCORES = TermKind(
    "activations",
    "images x scores of attention x bytes, where it is not fused: tokens squared x heads x layers, of Swin places x"
    " window squared x heads of each stage, of SegFormer places x pixels / 1,024 x heads of each stage",
    ("images", "pixels", "scores", "bytes"),
    "ViT, Swin and SegFormer papers; PyTorch before 2.0 and code of before that write scores out",
)
#: Answers at an eighth, a sixteenth and a thirty-second of the size.
_PLACES = 21.0 / 1024.0
#: Channels of a head of vision transformers.
_HEAD = 64.0


def scores_and_matching(job: Job, params_b: float, images: Ints) -> list[PartColumn]:
    """All that a network holds beside its maps until the backward pass.

    Args:
        job: what is trained.
        params_b: billions of parameters.
        images: pictures at once, for each row.
    """
    return _matched(job, images) + _scored_areas(job, images) + _plain_scores(job, params_b, images)


def _matched(job: Job, images: Ints) -> list[PartColumn]:
    """What a detector's loss holds beside all maps while answers are matched to what is in the pictures."""
    vision, model = sizing_constants().vision, job.model
    if model is None or model.kind != "detection" or not vision.names.found("matched", model.id):
        return []
    classes = job.classes or round(vision.matched_classes.value)
    heads = 2 if vision.names.found("matched_twice", model.id) else 1
    each = vision.matched_bytes.value + vision.matched_class_bytes.value * classes
    pixels = largest_pixels(job)
    value = images * pixels * _PLACES * each * heads / 1e9
    return [PartColumn(_MATCHED, value, (images, pixels, classes, heads))]


def _scored_areas(job: Job, images: Ints) -> list[PartColumn]:
    """Scores that a detector keeps whose blocks attend over quarters of the picture, and at last over all of it."""
    vision = sizing_constants().vision
    found = vision.names.found("area_attention", job.model.id) if job.model is not None else None
    if found is None or job.checkpointing != "none":
        return []
    training = sizing_constants().training
    each = training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    scores = vision.area_scores[found["size"].lower()]
    pixels = largest_pixels(job)
    return [PartColumn(_AREAS, images * (pixels / 256.0) ** 2 * scores * each / 1e9, (images, pixels, scores, each))]


def _plain_scores(job: Job, params_b: float, images: Ints) -> list[PartColumn]:
    """Scores that an image network keeps whose attention is not fused; of one layer where it is recomputed."""
    model = job.model
    if job.family != "vision" or model is None or not params_b:
        return []
    found = _segformer_scores(job, model) if _writes_scores_out(job, model) else None
    if found is None and not job.flash_attention and attends(model):
        found = _swin_scores(job, model) or _vit_scores(job, params_b)
    if found is None:
        return []
    training, pixels = sizing_constants().training, job.pixels()
    each = training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    scores, largest = found
    held = scores if job.checkpointing == "none" else largest
    return [PartColumn(_SCORES, images * held * each / 1e9, (images, pixels, held, each))]


def _writes_scores_out(job: Job, model: ModelSpec) -> bool:
    """Whether a SegFormer's attention is not fused: by its authors' code and mmsegmentation, if nothing is stated."""
    stated = "flash_attention" not in job.open_facts or job.framework is not None
    return sizing_constants().vision.names.found("segformer", model.id) is not None and not (
        stated and job.flash_attention
    )


def _segformer_scores(job: Job, model: ModelSpec) -> tuple[float, float] | None:
    """Scores of all layers of a SegFormer for one picture, and of the layer that has most of them."""
    vision, pixels = sizing_constants().vision, job.pixels()
    size = vision.names.found("segformer", model.id)
    layers = vision.segformer_layers.get(size["size"].lower()) if size is not None else None
    if layers is None:
        return None
    # Places at a quarter of the picture's edges, at an eighth and so on, to those at a thirty-second.
    per_layer = [pixels / 16 / 4**at * pixels / 1024 * heads for at, heads in enumerate(vision.segformer_heads)]
    return sum(map(mul, layers, per_layer)), max(per_layer)


def _swin_scores(job: Job, model: ModelSpec) -> tuple[float, float] | None:
    """Attention scores of a Swin transformer for one image, within windows: of all layers, and of the largest."""
    vision, pixels = sizing_constants().vision, job.pixels()
    swin = vision.names.found("swin", model.id)
    if swin is None:
        return None
    stages = vision.swin_stages[swin["size"].lower()]
    side = int(swin["window"] or vision.swin_window.value)
    per_layer = [pixels / 16 / 4**at * side**2 * (stages.heads << at) for at in range(len(stages.layers))]
    return sum(map(mul, stages.layers, per_layer)), max(per_layer)


def _vit_scores(job: Job, params_b: float) -> tuple[float, float]:
    """Attention scores of a vision transformer for one image, all tokens to all: of all layers, and of the largest."""
    tokens, width, layers = tokens_and_width(job, params_b)
    largest = tokens**2 * width / _HEAD
    return largest * layers, largest
