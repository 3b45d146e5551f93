"""How many samples a step of the optimizer takes where the number of steps is stated, but not the batch of a step.

The work of a run is then one number for all plans: a larger card, or more of them, does not train for longer.
"""

from __future__ import annotations

from typing import NamedTuple

from whichgpu.engine.catalogue import Family
from whichgpu.engine.core import Banded
from whichgpu.engine.sizing.fact_reader import TRANSFORMERS, FactReader
from whichgpu.engine.sizing.intake_reinforcement import ONLINE
from whichgpu.engine.sizing.job import Kind
from whichgpu.engine.sizing.speed_constants import speed_constants


class StepSamples(NamedTuple):
    """Samples of a step over all GPUs."""

    samples: int | None  # None where nothing depends on it
    assumed: bool = False


def step_samples(reader: FactReader, kind: Kind, family: Family, seq: int) -> StepSamples:
    """As stated; else what the stated batches per GPU make, but no less than is usual where they leave something open.

    Args:
        reader: of the facts.
        kind: of the job.
        family: of the model.
        seq: tokens of a sequence over all GPUs that share it.
    """
    stated = reader.whole("global_batch_size")
    if stated or kind == "inference" or not reader.whole("train_steps") or reader.number("train_tokens_b"):
        return StepSamples(stated or None)
    batch = reader.whole("batch_size_per_gpu") if reader.known("batch_size_per_gpu") else None
    times, ranks = reader.whole("gradient_accumulation_steps"), _ranks(reader)
    stated_samples = (batch or 1) * (times or 1) * (ranks or 1)
    if batch and (times or ranks):
        because = "the batch of one GPU as often as it is stated" if ranks else "stated for one GPU"
        return StepSamples(reader.assume("global_batch_size", stated_samples, because), True)
    usual = _usual(kind, family, seq, online=reader.text("rl_method") in ONLINE)
    because = "stated for one GPU" if stated_samples > usual else "usual; the same for all plans, and hours go with it"
    return StepSamples(reader.assume("global_batch_size", max(stated_samples, usual), because), True)


def _ranks(reader: FactReader) -> int | None:
    """GPUs that work on samples of their own, as stated; None where it is not known."""
    stated, count = reader.whole("data_parallel"), reader.whole("num_gpus")
    if stated or not count:
        return stated or None
    for name in ("tensor_parallel", "pipeline_parallel", "context_parallel"):
        count //= reader.whole(name) or 1
    return max(1, count)


def _usual(kind: Kind, family: Family, seq: int, *, online: bool) -> int:
    training = speed_constants().training
    if family not in TRANSFORMERS:
        return round(usual_samples(kind, family).value)
    if kind == "pretraining":
        return max(1, round(training.pretraining_step_tokens.value / seq))
    if online:
        return round(speed_constants().reinforcement.step_sequences.value)
    return round(training.tuning_step_sequences.value)


def usual_samples(kind: Kind, family: Family) -> Banded:
    """Samples of a step of a network that reads no tokens, where they are not stated."""
    training = speed_constants().training
    usual = training.pretraining_step_samples if kind == "pretraining" else training.tuning_step_samples
    return usual.get(family, usual["other"])
