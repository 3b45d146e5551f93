"""What plain transformers takes while serving, by version: prompts, scores that are not fused, caches joined anew."""

from __future__ import annotations

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.versions import older


def passing_bytes(shape: Shape) -> float:
    """Bytes that one prompt token holds while it passes through a layer: gate, up and product, and three inputs.

    Gate and up that come out of one matrix are still there beside the activation and the product.
    """
    wide = 4.0 if shape.fused_gate else 3.0
    return (wide * shape.intermediate + 3.0 * shape.hidden) * 2.0


def joined_held(job: Job) -> tuple[float, float]:
    """How much more than cache and passing prompt an allocator needs where each layer makes the joined cache anew.

    As a share of both, and how much further it may be.
    """
    if job.engine != "transformers" or job.model is None or not job.model.joins_layers:
        return 0.0, 0.0
    constants = sizing_constants()
    held = constants.joined_caches.value
    return held - 1.0, constants.joined_caches_most.value - held


def joined_matrices_gb(job: Job, shape: Shape) -> float:
    """Query, key and value of all layers in one matrix each, beside those that it is made of, in GB.

    AutoAWQ makes every layer anew before it lets the model as loaded go (awq/models/llama.py, LlamaFuser).
    """
    if job.engine != "transformers" or not job.fuses_modules or shape.fused_qkv:
        return 0.0
    matrices = shape.hidden * shape.head_dim * (shape.heads + 2.0 * shape.kv_heads)
    return matrices * shape.layers * sizing_constants().weights[job.weight_precision].body / 1e9


def scores_gb(job: Job, shape: Shape) -> float:
    """Scores of a prompt's attention in a layer that does not fuse it, in GB."""
    plain = sizing_constants().plain_code
    if job.engine != "transformers" or (job.flash_attention and not older(job.engine_version, plain.eager_before)):
        return 0.0
    return shape.heads * job.input_tokens**2 * plain.score_bytes / 1e9


def prompt_logits_gb(job: Job, shape: Shape) -> float:
    """Logits of every token of a prompt, in GB, for versions that compute them all."""
    return (
        _logits_gb(job, shape) if older(job.engine_version, sizing_constants().plain_code.whole_logits_before) else 0.0
    )


def prompt_logits_left_open_gb(job: Job, shape: Shape) -> float:
    """Logits of a whole prompt in GB where the version of transformers is not stated and may be one that keeps them."""
    return _logits_gb(job, shape) if job.engine_version is None else 0.0


def _logits_gb(job: Job, shape: Shape) -> float:
    """Logits of a whole prompt; models' own code and decoders beside encoders compute those of one token."""
    model = job.model
    elsewhere = model is not None and (model.concatenates_cache or model.kind == "encoder_decoder")
    if job.engine != "transformers" or job.family != "llm" or elsewhere:
        return 0.0
    return job.input_tokens * shape.vocab * sizing_constants().plain_code.logit_bytes / 1e9


def holds_two_caches(job: Job, shape: Shape) -> bool:
    """Whether a second cache lies beside all else; where a prompt's caches were joined, its peak came before."""
    joined = job.model is not None and job.model.joins_layers
    return cache_twice(job, shape) >= 1.0 and not joined


def cache_twice(job: Job, shape: Shape) -> float:
    """Share of the cache that is there twice at the end of a step: all of it, or one layer's keys.

    The prompt's own step has nothing to join: where outputs are stated to be one token long, the cache is there once.
    """
    one_token = job.output_tokens <= 1 and "output_tokens" not in job.unstated
    if job.engine != "transformers" or one_token:
        return 0.0
    own_code = job.model is not None and job.model.concatenates_cache
    if own_code or older(job.engine_version, sizing_constants().plain_code.tuples_before):
        return 1.0
    return 0.5 / shape.layers
