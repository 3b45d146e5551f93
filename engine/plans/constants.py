"""The constants of planning, read once from ``knowledge/plans.yaml``."""

from pathlib import Path

from whichgpu.engine.core import FrozenModel, kept_in_use, read_constants, traceable


class Factor(FrozenModel):
    """A number and its ground."""

    value: float
    source: str


class Bound(FrozenModel):
    """A whole number and its ground."""

    value: int
    source: str


class Words(FrozenModel):
    """Words and their ground."""

    value: tuple[str, ...]
    source: str


class Safety(FrozenModel):
    """By what factor an estimate is raised before it is compared with the card, by how it was made."""

    training: Factor
    serving: Factor
    rule_of_thumb: Factor
    stated: Factor


class PlanConstants(FrozenModel):
    """Everything in ``knowledge/plans.yaml``."""

    safety: Safety
    most_gpus: dict[str, Bound]
    most_in_a_desk: Bound
    most_consumer: Bound
    most_slow_link: Bound
    tensor_on_pcie: Bound
    tensor_most: Bound
    tuning_split_by: Words
    tokens_per_micro_batch: Bound
    tokens_per_step: Bound
    images_per_micro_batch: Bound
    usual_image_px: Bound  # of those
    small_images_per_micro_batch: Bound
    patience_hours: Bound
    step_seconds: Factor
    least_gain_of_doubling: Factor
    worth_splitting: Factor
    worth_whole_weights: Factor
    room_for_whole_weights: Factor
    host_memory: Factor
    room_on_a_part_of_a_board: Factor


@traceable("plans")
@kept_in_use
def plan_constants(folder: Path | None = None) -> PlanConstants:
    """The constants of a knowledge folder, or of the one that comes with the program. Raises KnowledgeError."""
    return read_constants(PlanConstants, "plans.yaml", folder)
