"""How far from an estimate its formula lets memory lie, read once from ``knowledge/memory_band_formulas.yaml``."""

from functools import cache
from pathlib import Path
from typing import Any

from whichgpu.engine.core import FrozenModel, read_constants, traceable
from whichgpu.engine.sizing.constants_of_training import Constant


class TrainingEnds(FrozenModel):
    """The ends of a training step's band: of all tensors and of the whole device, and of what is soft besides."""

    low: float
    low_soft: float
    high: float
    high_soft: float
    source: str


class SoftEnds(FrozenModel):
    """What may be less and more where a fact is not stated, as shares of what is soft."""

    low: float
    high: float
    source: str


class TrainingBand(FrozenModel):
    """Of a training step."""

    architecture: TrainingEnds
    size_alone: TrainingEnds
    quantised_high: Constant
    no_master_low: Constant
    lengths_open: SoftEnds
    batch_open: SoftEnds
    short_edge_low: Constant
    rank_low: Constant
    largest_rank: Constant
    kept_high: Constant
    kept_high_of_framework: Constant
    recomputed_low: Constant
    experts_high: Constant
    loss_high: Constant


class ServingBand(FrozenModel):
    """Of a served language model."""

    prompts_low: Constant
    versioned_low: Constant
    most_high: Constant
    cache_high: Constant
    context_open_low: Constant
    exact: Constant
    architecture: Constant
    quantised: Constant
    loaded: Constant
    size_alone_cache_low: Constant
    size_alone_cache_high: Constant


class NetworkBand(FrozenModel):
    """Of a network that is used and not trained, as shares of its weights, activations and driver context."""

    weights_low: Constant
    weights_high: Constant
    activations_low: Constant
    activations_high: Constant
    context_high: Constant

    def ends(self, weights: Any, activations: Any, context: Any) -> tuple[Any, Any]:
        """The least and the most of these parts together, in their unit."""
        low = self.weights_low.value * weights + self.activations_low.value * activations
        high = self.weights_high.value * weights + self.activations_high.value * activations
        return low, high + self.context_high.value * context


class GeneratorBand(NetworkBand):
    """Of an image or video generator."""

    text_high: Constant


class BandFormulas(FrozenModel):
    """Everything in ``knowledge/memory_band_formulas.yaml``."""

    training: TrainingBand
    serving: ServingBand
    generators: GeneratorBand
    networks: NetworkBand


@traceable("memory_band_formulas")
@cache
def band_formulas(folder: Path | None = None) -> BandFormulas:
    """The formulas of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(BandFormulas, "memory_band_formulas.yaml", folder)
