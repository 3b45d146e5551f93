"""Memory of reinforcement learning beside the model that learns: frozen models, a critic, and the rollout engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.model import PartColumn, total_gb
from whichgpu.engine.sizing.rank_shares import cached_bytes_per_sequence
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.serving_reserve import GIB, reserve_of
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.states import gradients_stay, shards, state_bytes, weights_stay
from whichgpu.engine.sizing.training_terms import (
    ACTIVATIONS,
    CRITIC,
    GRADIENTS,
    LIVE_LAYER,
    LOGITS,
    RESIDENT,
    ROLLOUT,
    STEP,
)


#: GPUs of one node, over which a replica of a rollout engine is split where it is not stated over how many.
_NODE = 8
#: Bytes of a parameter in 16 bits.
_HALF = 2.0
#: Tokens that engines allot to a sequence at a time.
_BLOCK = 16


class RolloutEngine(NamedTuple):
    """What a rollout engine takes of each GPU, in GB."""

    working: Any  # while it answers: weights, cache, what it keeps free, libraries and graphs
    asleep: Any  # while weights are updated
    tensor: Any  # GPUs over which one replica is split


def frozen_models(job: Job, shape: Shape, rows: Rows, on_rank: Any) -> PartColumn:
    """Reference and reward models in 16 bits, spread and sharded as the trained weights; those that wait pass by.

    ``on_rank`` are the parameters of the trained model that lie on one rank before sharding.
    """
    over = shards(rows)[0] * shape.params / on_rank
    gb = job.resident_params_b * _HALF / over
    passing = np.minimum(gb, 2.0 * shape.largest_layer * _HALF / rows.tensor / 1e9)
    gb = np.where(job.cpu_offload & ~weights_stay(job, rows), passing, gb)
    return PartColumn(RESIDENT, gb, (job.resident_params_b, over))


def critic_states(job: Job, rows: Rows) -> PartColumn:
    """Weights, gradients and optimiser state of a critic, which learns in turn with the actor and as it does.

    Its activations are those of the actor's step at another time. Under adapters only its base lies there.
    """
    over = rows.tensor * rows.pipeline
    weights, gradients, states = (over * share for share in shards(rows))
    per = state_bytes(job)
    if job.peft:
        each: Any = _HALF / weights
    elif job.cpu_offload:
        each = np.where(weights_stay(job, rows), per.weights / weights, 0.0)
        each = each + np.where(gradients_stay(job, rows), per.gradients / gradients, 0.0)
    else:
        each = per.weights / weights + per.gradients / gradients + per.optimizer / states
    return PartColumn(CRITIC, job.critic_params_b * each, (job.critic_params_b, weights, gradients, states))


def rollout_engine(job: Job, shape: Shape, rows: Rows) -> RolloutEngine:
    """What the engine that answers prompts takes of the GPUs that also train.

    Where it shares the trained weights, as a model that generates itself does, only its cache comes on top; sharded
    weights are gathered for it, so that they count all the same.
    """
    constants = sizing_constants()
    reserve = reserve_of("transformers" if job.rollout_shares_weights else "vllm", None)
    tensor = np.minimum(job.rollout_tensor or _gpus_of_a_replica(shape), rows.count)
    whole = (shards(rows)[0] == 1) & (rows.tensor == 1) & (rows.pipeline == 1) & job.rollout_shares_weights
    weights = np.where(whole, 0.0, shape.params * _HALF / tensor / 1e9)
    element = constants.kv_cache[job.kv_precision]
    cached = cached_bytes_per_sequence(shape, job.seq_len_tokens, element, tensor, _BLOCK)
    cache = job.concurrency * cached / 1e9
    stays = 0.0 if job.rollout_shares_weights else (reserve.outside_gib + reserve.graphs_gib) * GIB
    return RolloutEngine(weights + cache + reserve.activation_gib * GIB + stays, stays + np.zeros(len(tensor)), tensor)


def _gpus_of_a_replica(shape: Shape) -> float:
    """GPUs over which a replica of the engine is split where not stated: a node, or as many as its weights ask for."""
    most = sizing_constants().training.rollout_weights_gb.value
    return _NODE * float(np.ceil(shape.params * _HALF / 1e9 / (_NODE * most)))


def rollout_part(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> PartColumn:
    """What the rollout engine adds to the peak of training, in GB.

    Models that take turns leave nothing. An engine that is awake lies beside the step, one that sleeps beside what the
    step leaves: weights, optimiser state and frozen models. Where it takes a fixed share of the card, the card must
    have room for the rest beside that share: the need is that of the smallest card on which both fit.
    """
    engine = rollout_engine(job, shape, rows)
    step = total_gb(parts)
    left = step
    if job.models_take_turns:
        left = np.zeros(len(rows.tensor))
    elif job.rollout_sleeps:
        left = step - total_gb(parts, ACTIVATIONS, LOGITS, GRADIENTS, LIVE_LAYER, STEP)
    together = left + engine.working
    if job.rollout_share:
        together = np.maximum(left / (1.0 - job.rollout_share), engine.working / job.rollout_share)
        together = np.maximum(together, left + engine.working)
    more = np.maximum(together - step, engine.asleep)
    inputs = (engine.working, engine.tensor, job.rollout_share, job.rollout_sleeps)
    return PartColumn(ROLLOUT, more, inputs, more > 0)


def rollout_spare(job: Job, shape: Shape, rows: Rows, parts: list[PartColumn]) -> Any:
    """How much less the engine may take where its share of the card is only what the framework usually gives, in GB."""
    if not job.rollout_share or not job.rollout_share_assumed:
        return 0.0
    trained = [part for part in parts if part.kind is not ROLLOUT]
    least = rollout_part(replace(job, rollout_share=None), shape, rows, trained).gb
    return total_gb(parts, ROLLOUT) - least


def beside_the_actor(job: Job, shape: Shape, rows: Rows, on_rank: Any) -> list[PartColumn]:
    """Further models of reinforcement learning that lie on the GPUs that train; models that take turns do not."""
    more: list[PartColumn] = []
    if job.models_take_turns:
        return more
    if job.resident_params_b:
        more.append(frozen_models(job, shape, rows, on_rank))
    if job.critic_params_b:
        more.append(critic_states(job, rows))
    return more
