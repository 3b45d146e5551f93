"""Feature maps of image networks and other networks: counted, traced, or estimated from their arithmetic."""

from __future__ import annotations

from typing import Any, NamedTuple

from whichgpu.engine.catalogue import ModelSpec
from whichgpu.engine.sizing.composed import composed_network, plain_elements
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn, TermKind
from whichgpu.engine.sizing.rows import Ints
from whichgpu.engine.sizing.speech_memory import speech_activations


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
_ATTENDED = TermKind(
    "activations",
    "images x tokens x 34 bytes x width x layers; tokens are GMAC / parameters",
    ("images", "tokens", "width", "layers"),
    "Korthikanti et al.; ViT paper",
)
SHARE = TermKind("activations", "a tenth of the rest for each sample", ("samples", "share"), "alloc 0.0.16")


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
    return FeatureMaps(elements * largest_pixels(job) / native**2, gmacs, macts, native)


def largest_pixels(job: Job) -> float:
    """Pixels of a picture; of a network that learns at many sizes those of the largest, which counts."""
    above = job.model.trains_px_above if job.training and job.model is not None else None
    return job.pixels() * (1.0 + (above or 0) / max(1, job.image_px)) ** 2


def kept_for_gradients_gb(job: Job, images: Any) -> Any:
    """What a network keeps of so many pictures or samples until the backward pass, in GB."""
    return training_activation(job, job.params_b or 0.0, images).gb


def _composed_maps(job: Job, images: Ints, size: float) -> PartColumn | None:
    """Maps of a network that its name composes: counted, not estimated from arithmetic."""
    found = composed_network(job.model.name) if job.model is not None else None
    if found is None:
        plain = plain_elements(job.model.name) if job.model is not None else None
        if plain is None or job.model is None:
            return None
        pixels = job.pixels()
        return PartColumn(_COUNTED, images * plain * pixels * size / 1e9, (images, job.model.name, pixels, 0))
    # Where the long edge alone is stated, segmenters see squares, as is the usual size.
    vision = sizing_constants().vision
    pixels = job.pixels(1.0 if found.dense or "image_px" in job.unstated else vision.detection_aspect.value)
    unstated = round(vision.parts.classes.value) if found.dense else 0
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
    pixels = largest_pixels(job)
    return PartColumn(_TRACED, images * pixels * each * size / 1e9, (images, model.name, pixels, each))


def attends(model: ModelSpec) -> bool:
    """Whether an image network is a vision transformer, by its name."""
    return sizing_constants().vision.names.found("transformers", model.id) is not None


def tokens_and_width(job: Job, params_b: float) -> tuple[float, float, float]:
    """Tokens of a picture, width and layers of a vision transformer of so many billion parameters.

    Every parameter serves each token once, so that multiply-adds over parameters count the tokens; a layer of width h
    has 12 h^2 parameters.
    """
    maps = feature_maps(job)
    tokens = maps.gmacs / params_b * job.pixels() / maps.native_px**2
    ratio = sizing_constants().vision.attended_ratio.value
    width = (params_b * 1e9 * ratio / 12.0) ** (1.0 / 3.0)
    return tokens, width, width / ratio


def _attended_maps(job: Job, params_b: float, images: Ints, size: float) -> PartColumn | None:
    """Maps of a vision transformer."""
    model = job.model
    if model is None or not params_b or not attends(model):
        return None
    tokens, width, layers = tokens_and_width(job, params_b)
    each = sizing_constants().vision.attended_bytes.value * size / 2.0
    value = images * tokens * each * width * layers / 1e9
    return PartColumn(_ATTENDED, value, (images, tokens, width, layers))


def _copies(job: Job, maps: FeatureMaps) -> float:
    """Copies of its layers' outputs that training keeps."""
    vision = sizing_constants().vision
    if maps.macts:
        return vision.kept_per_output.value
    name = job.model.id.lower() if job.model is not None else ""
    families = (found for start, found in vision.kept_per_activation_of.items() if name.startswith(start))
    return next(families, vision.kept_per_activation).value


def training_activation(job: Job, params_b: float, batch: Ints) -> PartColumn:
    """What is kept of each sample for the gradients: counted or traced where the network is known, else by its size.

    Args:
        job: what is trained.
        params_b: billions of parameters.
        batch: samples at once, for each row.
    """
    constants = sizing_constants()
    if job.family == "vision":
        size = 4.0 if job.recipe == "fp32" else 2.0
        kept = 1.0 if job.checkpointing == "none" else constants.vision.checkpointed_share.value
        share = size * kept
        counted = _traced_maps(job, batch, share) or _composed_maps(job, batch, share)
        counted = counted or _attended_maps(job, params_b, batch, share)
        if counted is not None:
            return counted
        maps = feature_maps(job)
        return maps.part(batch, job.image_px, _copies(job, maps) * kept, size)
    if job.family == "speech":
        return speech_activations(job, params_b, batch)
    share = constants.other.activations_share.value
    return PartColumn(SHARE, params_b * 16.0 * share * batch, (batch, share))
