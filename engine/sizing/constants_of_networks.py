"""The constants of image networks: what their names tell, of what they are composed, and what they keep."""

import re

from whichgpu.engine.core import FrozenModel
from whichgpu.engine.sizing.constants_of_training import Constant


class Backbone(FrozenModel):
    """A backbone without its classifier; GMAC at 224 pixels."""

    params_m: float
    gmacs: float


class Windowed(FrozenModel):
    """A backbone that attends within windows: as above, and elements for each pixel that it holds, as traced."""

    params_m: float
    gmacs: float
    per_pixel: float
    per_pixel_mixed: float  # under autocast, of 2 bytes each


class Head(FrozenModel):
    """What stands on a backbone: parameters, GMAC at the native size, and maps kept for the backward pass."""

    params_m: float
    gmacs: float
    per_pixel: float  # elements for each pixel of the picture
    fixed_m: float  # million elements for each picture, whatever its size
    per_class: float = 0.0  # elements for each pixel and class


class Parts(FrozenModel):
    """Of what detectors and segmenters are composed."""

    backbones: dict[str, Backbone]
    windowed: dict[str, Windowed]
    heads: dict[str, Head]
    regions: int
    dilated_gmacs: Constant
    working_copies: Constant
    working_pyramid: Constant
    class_maps: Constant
    classes: Constant
    detected_classes: Constant
    source: str


class NetworkNames(FrozenModel):
    """Which networks an id tells: regular expressions that are matched from its beginning, without regard to case."""

    transformers: str
    of_one_width: str  # of them, those all of whose products are over tokens of one width
    swin: str  # with groups ``size`` and ``window``
    segformer: str  # with a group ``size``
    area_attention: str  # with a group ``size``
    matched: str  # detectors whose loss matches answers to what is in the pictures
    matched_twice: str  # of them, those with a second head
    source: str

    def __post_init__(self) -> None:
        """Refuses what is no regular expression."""
        for name in self.__struct_fields__[:-1]:
            try:
                re.compile(getattr(self, name))
            except re.error as error:
                raise ValueError(f"{name} is no regular expression: {error}") from None

    def found(self, which: str, model_id: str) -> re.Match[str] | None:
        """What of an id the expression of a field finds; None where the id does not tell such a network."""
        return re.match(getattr(self, which), model_id, re.IGNORECASE)


class SwinStages(FrozenModel):
    """A Swin transformer: layers of its four stages, and heads of the first, which double from stage to stage."""

    layers: tuple[int, int, int, int]
    heads: int
    source: str


class Vision(FrozenModel):
    """Convolutional and vision networks."""

    activations_per_gmac: Constant
    activations_exponent: Constant
    kept_per_activation: Constant
    kept_per_activation_of: dict[str, Constant]  # of families, by how their names begin
    kept_per_output: Constant  # of those that are published
    live_share: Constant
    gmacs_per_param_b: Constant
    native_px: Constant
    detection_px: Constant
    detection_aspect: Constant
    attended_bytes: Constant
    attended_ratio: Constant
    checkpointed_share: Constant
    names: NetworkNames
    swin_stages: dict[str, SwinStages]  # by size
    swin_window: Constant  # places of an edge
    segformer_layers: dict[str, tuple[int, int, int, int]]  # of its stages, by size
    segformer_heads: tuple[int, int, int, int]  # of each stage
    segformer_source: str
    area_scores: dict[str, float]  # of YOLO12, of all layers, for each pair of sixteenths of the picture's edges
    matched_bytes: Constant  # of a place that a detector answers for, while answers are matched to what is there
    matched_class_bytes: Constant  # the same for each class
    matched_classes: Constant
    parts: Parts
