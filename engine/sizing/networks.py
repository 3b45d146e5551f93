"""Memory of vision networks, speech recognisers, and networks known only by their size."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.composed import composed_network, plain_elements
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import MemoryColumns, PartColumn, TermKind, total_gb
from whichgpu.engine.sizing.rows import Floats, Ints, Rows, ceiling
from whichgpu.engine.sizing.speech_memory import loads_in_32_bits, speech_activations, speech_cache
from whichgpu.engine.sizing.states import shards
from whichgpu.engine.sizing.training import Block, overlap_gradients, step_part, trained_states
from whichgpu.engine.sizing.training_adapters import bytes_of_an_adapter
from whichgpu.engine.sizing.training_band import finished
from whichgpu.engine.sizing.training_terms import ADAPTERS, ALLOCATOR, CONTEXT, FROZEN


_WEIGHTS = TermKind(
    "weights",
    "parameters x bytes",
    ("parameters_b", "bytes_per_parameter", "models"),
    "thunder, gmi: bytes x parameters",
)
_MAPS = TermKind(
    "activations",
    "images x feature-map elements (5.5 M x GMAC^0.6 at the native size, growing with the pixels) x copies x bytes",
    ("images", "gmacs_per_image", "image_px", "native_px", "copies"),
    "Designing Network Design Spaces; copies chosen on six detectron2 runs",
)
_PUBLISHED = TermKind(
    "activations",
    "images x millions of outputs of its layers at the native size, growing with the pixels x copies x bytes",
    ("images", "macts_per_image", "image_px", "native_px", "copies"),
    "the outputs as published for the model; copies as traced (knowledge/sizing.yaml, vision.kept_per_output)",
)
_COUNTED = TermKind(
    "activations",
    "images x (pixels x (maps kept of backbone and heads and of each class, and gradients at the start of the backward"
    " pass) + maps of the regions of interest) x bytes",
    ("images", "network", "pixels", "classes"),
    "ResNet, FPN and Mask R-CNN papers: outputs of convolutions counted; see knowledge/sizing.yaml, vision.parts",
)
_TRACED = TermKind(
    "activations",
    "images x pixels x numbers kept of each x bytes",
    ("images", "network", "pixels", "kept_per_pixel"),
    "the network as modules, traced without a GPU (benchmarks/lab: yolos.py, classifiers.py)",
)
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
    " window squared x heads of each stage",
    ("images", "pixels", "scores", "bytes"),
    "ViT paper; Swin paper, table 7; PyTorch before 2.0 and code of before that write scores out",
)
#: Swin by size: layers of its four stages, and heads of the first, which double from stage to stage (paper, table 7).
_SWINS = {"t": (2, 2, 6, 2, 3), "s": (2, 2, 18, 2, 3), "b": (2, 2, 18, 2, 4), "l": (2, 2, 18, 2, 6)}
_SWIN = re.compile(r"swin(?:v2)?[-_](?:v2[-_])?([tsbl])")
_WINDOW = re.compile(r"window[-_]?(\d+)")
_AREA_ATTENTION = re.compile(r"yolov?12([nslmx])")
#: Detectors whose answers are matched by their own scores (task-aligned assignment), and those with a second head.
_MATCHING = re.compile(r"yolov?(6|8|9|10|11|12|26)(?!\d)")
_TWO_HEADS = frozenset(("10", "26"))
#: Answers at an eighth, a sixteenth and a thirty-second of the size.
_PLACES = 21.0 / 1024.0
#: Channels of a head of vision transformers.
_HEAD = 64.0
_ATTENDED = TermKind(
    "activations",
    "images x tokens x 34 bytes x width x layers; tokens are GMAC / parameters",
    ("images", "tokens", "width", "layers"),
    "Korthikanti et al.; ViT paper",
)
_ATTENDING = re.compile(r"(vit|deit|beit|swin|dino|clip|siglip|eva)")
_SHARE = TermKind("activations", "a tenth of the rest for each sample", ("samples", "share"), "alloc 0.0.16")


def network_memory(job: Job, rows: Rows) -> MemoryColumns:
    """Memory per GPU of a vision, speech or other network, for each row."""
    params_b = job.params_b or 0.0
    return _training(job, params_b, rows) if job.training else _inference(job, params_b, rows)


class FeatureMaps(NamedTuple):
    """What the layers of a network give for one image."""

    elements: float  # for the image at its size
    gmacs: float  # at the native size
    macts: float | None  # millions of elements at the native size, where they are published
    native_px: float

    def part(self, images: Any, px: int, copies: float, size: float) -> PartColumn:
        """The memory of so many copies of them, in GB."""
        value = images * self.elements * copies * size / 1e9
        if self.macts is None:
            return PartColumn(_MAPS, value, (images, self.gmacs, px, self.native_px, copies))
        return PartColumn(_PUBLISHED, value, (images, self.macts, px, self.native_px, copies))


def feature_maps(job: Job) -> FeatureMaps:
    """The maps of one image: outputs as published, else as many as networks of so many multiply-adds have."""
    vision = sizing_constants().vision
    model = job.model
    native = vision.native_px.value
    if model is not None and (model.resolution_px or model.kind == "detection"):
        native = 1.0 * (model.resolution_px or vision.detection_px.value)
    gmacs = model.gmacs_per_image if model is not None else None
    if gmacs is None:
        gmacs = vision.gmacs_per_param_b.value * (job.params_b or 0.0)
    macts = model.macts_per_image if model is not None else None
    elements = 1e6 * macts if macts else vision.activations_per_gmac.value * gmacs**vision.activations_exponent.value
    return FeatureMaps(elements * _largest_pixels(job) / native**2, gmacs, macts, native)


def _largest_pixels(job: Job) -> float:
    """Pixels of a picture; of a network that learns at many sizes those of the largest, which counts."""
    above = job.model.trains_px_above if job.training and job.model is not None else None
    return job.pixels() * (1.0 + (above or 0) / max(1, job.image_px)) ** 2


def kept_for_gradients_gb(job: Job, images: Any) -> Any:
    """What a network keeps of so many pictures or samples until the backward pass, in GB."""
    return _training_activation(job, job.params_b or 0.0, images).gb


def _composed_maps(job: Job, images: Ints, size: float) -> PartColumn | None:
    """Maps of a network that its name composes: counted, not estimated from arithmetic."""
    found = composed_network(job.model.name) if job.model is not None else None
    if found is None:
        plain = plain_elements(job.model.name) if job.model is not None else None
        if plain is None or job.model is None:
            return None
        pixels = job.pixels()
        return PartColumn(_COUNTED, images * plain * pixels * size / 1e9, (images, job.model.name, pixels, 0))
    # Where the long edge alone is stated: detectors see pictures of 3 to 5, segmenters squares, as is the usual size.
    pixels = job.pixels(1.0 if found.dense or "image_px" in job.unstated else 0.6)
    unstated = round(sizing_constants().vision.parts.classes.value) if found.dense else 0
    classes = job.classes or unstated
    value = images * found.elements(pixels, classes, 1.0 if job.recipe == "fp32" else 2.0) * size / 1e9
    return PartColumn(_COUNTED, value, (images, found.name, pixels, classes))


def _traced_maps(job: Job, images: Ints, size: float) -> PartColumn | None:
    """Maps of a network that was traced as a whole."""
    model = job.model
    each = model.kept_per_pixel if model is not None else None
    if each is None or model is None:
        return None
    if job.recipe == "mixed" and model.kept_per_pixel_mixed is not None:
        each = model.kept_per_pixel_mixed
    if model.kept_classes and job.classes:  # Losses are in 32 bits whatever comes before.
        more = sizing_constants().vision.parts.class_maps.value * (job.classes - model.kept_classes)
        each += more * (1.0 if job.recipe == "fp32" else 2.0)
    pixels = _largest_pixels(job)
    return PartColumn(_TRACED, images * pixels * each * size / 1e9, (images, model.name, pixels, each))


def _tokens_and_width(job: Job, params_b: float) -> tuple[float, float, float]:
    """Tokens of a picture, width and layers of a vision transformer of that size."""
    maps = feature_maps(job)
    tokens = maps.gmacs / params_b * job.pixels() / maps.native_px**2
    ratio = sizing_constants().vision.attended_ratio.value
    width = (params_b * 1e9 * ratio / 12.0) ** (1.0 / 3.0)
    return tokens, width, width / ratio


def _attended_maps(job: Job, params_b: float, images: Ints, size: float) -> PartColumn | None:
    """Maps of a vision transformer: every parameter serves each token once, so that GMAC / parameters counts them."""
    model = job.model
    if model is None or not params_b or not _ATTENDING.match(model.id):
        return None
    tokens, width, layers = _tokens_and_width(job, params_b)
    each = sizing_constants().vision.attended_bytes.value * size / 2.0
    value = images * tokens * each * width * layers / 1e9
    return PartColumn(_ATTENDED, value, (images, tokens, width, layers))


def _inference(job: Job, params_b: float, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    stated_bytes = per = constants.weights[job.weight_precision].body
    if loads_in_32_bits(job):
        per = constants.other.speech_weight_bytes.value
    # A program may keep 32 bits whatever precision is stated: openai/whisper does.
    most = constants.other.speech_weight_bytes.value if job.family == "speech" and not job.engine_stated else per
    models = ceiling(job.models_served, rows.data)
    weights = params_b * per * models / (rows.tensor * rows.pipeline)
    activation = _inference_activation(job, params_b, weights, ceiling(rows.batch, rows.data))
    tensors = weights + activation.gb
    parts = (
        PartColumn(_WEIGHTS, weights, (params_b, per, models)),
        activation,
        PartColumn(ALLOCATOR, constants.allocator.one_gpu * tensors, (constants.allocator.one_gpu,)),
        PartColumn(CONTEXT, rows.context_gb, (rows.count,)),
    )
    return MemoryColumns(
        per_gpu_gb=total_gb(parts),
        low_gb=0.85 * weights * min(1.0, stated_bytes / per) + 0.3 * activation.gb,
        high_gb=1.2 * weights * max(1.0, most / per) + 2.0 * activation.gb + 2.0 * rows.context_gb,
        allocated_gb=tensors,
        parts=parts,
        band_reason="feature maps and workspaces differ between networks of one size",
        method="architecture" if job.model is not None else "rule of thumb",
    )


def _inference_activation(job: Job, params_b: float, weights: Floats, requests: Ints) -> PartColumn:
    constants = sizing_constants()
    if job.family == "vision":
        size = 4.0 if job.weight_precision == "fp32" else 2.0
        share = constants.vision.live_share.value
        return feature_maps(job).part(np.maximum(requests, 1), job.image_px, share, size)
    if job.family == "speech":
        return speech_cache(job, params_b, requests)
    share = constants.other.activations_share.value
    return PartColumn(_SHARE, weights * share * requests, (requests, share))


def _training(job: Job, params_b: float, rows: Rows) -> MemoryColumns:
    constants = sizing_constants()
    parts: list[PartColumn] = []
    workspace: Any = 0.0
    released: Any = 0.0
    params = params_b * 1e9 / rows.tensor / rows.pipeline
    if job.peft:
        weight, over = constants.weights[job.weight_precision], shards(rows)[0]
        per = (weight.body - weight.scales) / over + weight.scales
        inputs = (params_b, job.weight_precision, over, weight.scales)
        parts.append(PartColumn(FROZEN, params * per / 1e9, inputs))
        trained = 0.01 * params * job.lora_rank / 16.0
        states = bytes_of_an_adapter(job)
        parts.append(PartColumn(ADAPTERS, trained * states / 1e9, (trained / 1e6, job.lora_rank, states)))
    else:
        block = Block(params, 0.0, params / 24.0, params, params / 24.0)
        workspace, released = trained_states(job, block, rows, parts)
    activation = _training_activation(job, params_b, rows.batch)
    parts.append(activation)
    parts += _matched(job, rows.batch) + _scored_areas(job, rows.batch) + _plain_scores(job, params_b, rows.batch)
    parts.append(step_part(workspace, overlap_gradients(job, params, released, activation.gb, rows, parts)))
    # Where it is assumed that activations are recomputed, a sixteenth of what would be kept without is allowed for.
    plain = replace(job, checkpointing="none")
    unsure = job.family == "speech" and "gradient_checkpointing" in job.unstated
    open_gb = 0.0625 * _training_activation(plain, params_b, rows.batch).gb if unsure else 0.0
    known = job.model is not None
    # Of pictures only the long edge is known: those that a segmenter sees whole may be half as tall as wide.
    found = composed_network(job.model.name) if job.model is not None else None
    soft = activation.gb
    less_gb = 0.5 * soft if found is not None and found.dense and not job.image_short_px else 0.0
    return finished(job, parts, rows, known=known, soft=soft, open_gb=open_gb, less_gb=less_gb)


def _matched(job: Job, images: Ints) -> list[PartColumn]:
    """What a detector's loss holds beside all maps while answers are matched to what is in the pictures."""
    found = _MATCHING.match(job.model.id) if job.model is not None and job.model.kind == "detection" else None
    if found is None:
        return []
    vision = sizing_constants().vision
    classes = job.classes or round(vision.matched_classes.value)
    heads = 2 if found.group(1) in _TWO_HEADS else 1
    each = vision.matched_bytes.value + vision.matched_class_bytes.value * classes
    pixels = _largest_pixels(job)
    value = images * pixels * _PLACES * each * heads / 1e9
    return [PartColumn(_MATCHED, value, (images, pixels, classes, heads))]


def _scored_areas(job: Job, images: Ints) -> list[PartColumn]:
    """Scores that a detector keeps whose blocks attend over quarters of the picture, and at last over all of it."""
    found = _AREA_ATTENTION.match(job.model.id) if job.model is not None else None
    if found is None:
        return []
    training = sizing_constants().training
    each = training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    scores = sizing_constants().vision.area_scores[found.group(1)]
    pixels = _largest_pixels(job)
    if job.checkpointing != "none":
        return []
    return [PartColumn(_AREAS, images * (pixels / 256.0) ** 2 * scores * each / 1e9, (images, pixels, scores, each))]


def _plain_scores(job: Job, params_b: float, images: Ints) -> list[PartColumn]:
    """Scores that a vision transformer keeps whose attention is not fused; of one layer where it is recomputed."""
    model = job.model
    if job.flash_attention or job.family != "vision" or model is None or not params_b or not _ATTENDING.match(model.id):
        return []
    training = sizing_constants().training
    each = training.attention_score_bytes.value - (2.0 if job.recipe == "fp32" else 0.0)
    pixels, swin = job.pixels(), _SWIN.match(model.id)
    if swin is not None:
        *stages, heads = _SWINS[swin.group(1)]
        window = _WINDOW.search(model.id)
        side = int(window.group(1)) if window else 7
        # Places at a quarter of the picture's edges, at an eighth and so on.
        by_stage = [layers * pixels / 16 / 4**at * side**2 * (heads << at) for at, layers in enumerate(stages)]
        scores, largest = sum(by_stage), max(found / layers for found, layers in zip(by_stage, stages, strict=True))
    else:
        tokens, width, layers = _tokens_and_width(job, params_b)
        largest = tokens**2 * width / _HEAD
        scores = largest * layers
    found = scores if job.checkpointing == "none" else largest
    return [PartColumn(_SCORES, images * found * each / 1e9, (images, pixels, found, each))]


def _copies(job: Job, maps: FeatureMaps) -> float:
    """Copies of its layers' outputs that training keeps."""
    vision = sizing_constants().vision
    if maps.macts:
        return vision.kept_per_output.value
    name = job.model.id.lower() if job.model is not None else ""
    families = (found for start, found in vision.kept_per_activation_of.items() if name.startswith(start))
    return next(families, vision.kept_per_activation).value


def _training_activation(job: Job, params_b: float, batch: Ints) -> PartColumn:
    constants = sizing_constants()
    if job.family == "vision":
        size = 4.0 if job.recipe == "fp32" else 2.0
        share = size * (1.0 if job.checkpointing == "none" else 0.4)
        counted = _traced_maps(job, batch, share) or _composed_maps(job, batch, share)
        if counted is not None:
            return counted
        attended = _attended_maps(job, params_b, batch, share)
        if attended is not None:
            return attended
        maps = feature_maps(job)
        copies = _copies(job, maps)
        if job.checkpointing != "none":
            copies *= 0.4
        return maps.part(batch, job.image_px, copies, size)
    if job.family == "speech":
        return speech_activations(job, params_b, batch)
    share = constants.other.activations_share.value
    return PartColumn(_SHARE, params_b * 16.0 * share * batch, (batch, share))
