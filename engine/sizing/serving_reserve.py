"""What a serving engine keeps free for its steps: by the largest step that it tries, or by version."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.sizing.constants import EngineReserve, EngineStep, sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.versions import entry_of


GIB = 1.073741824  # decimal GB
#: 1.89 GiB kept free on one stage falls to 1.10 and 1.05 on two and four (llm-d-planner, vLLM 0.19 report).
PIPELINE_SHARE = 0.57


def kept_free_gb(job: Job, shape: Shape, rows: Rows) -> Any:
    """What an engine keeps free for the forward pass and for sampling, in GB."""
    return _kept_by(reserve_of(job.engine, job.engine_version), job, shape, rows)


def _kept_by(reserve: EngineReserve, job: Job, shape: Shape, rows: Rows) -> Any:
    """What one version keeps free, in GB."""
    if reserve.step is not None:
        free = _step_gb(reserve.step, shape, rows)
    else:
        kept = reserve.activation_moe_gib if shape.moe and reserve.activation_moe_gib else reserve.activation_gib
        free = kept * GIB * np.where(rows.pipeline > 1, PIPELINE_SHARE, 1.0)
    if reserve.whole_prompts_to is not None and job.context_tokens <= reserve.whole_prompts_to:
        free = np.maximum(free, _passing_gb(job.context_tokens, shape, rows))
    if reserve.answers_prompts and reserve.step is not None:
        # Answers in 16 bits: those of a rank, and of all ranks beside them where they are put together.
        words = shape.vocab * (1.0 / rows.tensor + (rows.tensor > 1))
        tokens = max(reserve.step.tokens, job.input_tokens)
        free = np.maximum(free, tokens * (2.0 * words + 2.0 * shape.hidden) / 1e9)
    return free


def _passing_gb(tokens: Any, shape: Shape, rows: Rows) -> Any:
    """What tokens take as they pass a layer, in GB: only the feed-forward part is split over tensor ranks."""
    wide = 3.0 * shape.intermediate / rows.tensor
    if shape.moe:  # A token's copies for its experts and what these answer share their place.
        answers = 1.0 * shape.experts_per_token * shape.hidden
        wide = np.maximum(2.0 * shape.intermediate / rows.tensor, answers) + shape.intermediate / rows.tensor
    return tokens * (wide + 3.0 * shape.hidden) * 2.0 / 1e9


def _step_gb(step: EngineStep, shape: Shape, rows: Rows) -> Any:
    """Peak of an engine's largest step, in GB: of its forward pass, or of sampling, beside what the pass has left.

    Logits are those of the whole vocabulary on every tensor rank; a stage before the last samples nothing.
    """
    tokens = np.where(rows.small_card, step.tokens_small, step.tokens)
    sequences = np.where(rows.small_card, step.sequences_small, step.sequences)
    sampled = sequences * shape.vocab * step.sampler_bytes + tokens * shape.hidden * 2.0
    return np.maximum(_passing_gb(tokens, shape, rows), sampled / 1e9 + step.sampler_mib * 1.048576e-3)


def kept_ends(job: Job, shape: Shape, rows: Rows, reserve: EngineReserve) -> tuple[Any, Any]:
    """Least and most that an engine keeps free with what lies outside, in GB; of all versions while none is stated."""
    ends = sizing_constants().engine_step_ends
    if reserve.step is None:
        low = reserve.low_gib * GIB
    else:
        low = ends.low * _kept_by(reserve, job, shape, rows) + reserve.low_gib * GIB
    entries = (reserve,) if job.engine_version is not None else sizing_constants().engines.get(job.engine, (reserve,))
    high: Any = 0.0
    for entry in entries:
        computed = ends.high * _kept_by(entry, job, shape, rows) if entry.step is not None else 0.0
        high = np.maximum(high, computed + entry.high_gib * GIB)
    return low, high


def reserve_of(engine: str, version: str | None) -> EngineReserve:
    """The reserve of an engine; without a version, that of the newest one known."""
    return entry_of(sizing_constants().engines.get(engine) or sizing_constants().engines["vllm"], version)
