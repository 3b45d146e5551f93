"""Time of reinforcement learning between two updates: generating answers, and scoring them by the other models."""

from __future__ import annotations

from typing import Any

import numpy as np

from whichgpu.engine.core import TURNED, Pick
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.intake_reinforcement import ONLINE
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rank_shares import cached_bytes_per_sequence
from whichgpu.engine.sizing.rows import Ints, Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_peaks import serving_precisions
from whichgpu.engine.sizing.speed_rates import steps_of_engine


#: Bytes of a weight that answers are written with.
_HALF = 2.0
#: Tokens that engines allot to a sequence at a time.
_BLOCK = 16
#: An engine is split until a quarter of the weights' size is left for the cache of what it writes.
_WITH_CACHE = 1.25
#: Passes forward that an update comes to with recomputation: forward, twice that back, and forward again.
_LEARNS = 4.0


def rollout_and_scoring_s(
    job: Job, shape: Shape, table: GpuTable, which: Ints, rows: Rows, samples: Any, forward_s: Any, pick: Pick
) -> Any:
    """Seconds per step that reinforcement learning spends outside the update; 0 where samples are given.

    Args:
        job: what is trained.
        shape: of the model.
        table: the GPUs.
        which: the GPU of each row.
        rows: the plans.
        samples: sequences of the step over all GPUs.
        forward_s: seconds in which all of them pass the trained model once, forward.
        pick: the slow, middle or fast end of the constants.
    """
    if job.rl_method in {None, "none"}:
        return 0.0
    online = job.rl_method in ONLINE
    # Chances of the tokens before the update, then by the frozen models; a critic judges and learns as the actor does.
    passes = (1.0 if online else 0.0) + job.resident_params_b * 1e9 / shape.params
    passes += (1.0 + _LEARNS) * job.critic_params_b * 1e9 / shape.params
    beside = passes * forward_s
    if online and job.rollout_here:
        beside = beside + samples * generation_s(job, shape, table, which, rows, pick)
    return beside


def generation_s(job: Job, shape: Shape, table: GpuTable, which: Ints, rows: Rows, pick: Pick) -> Any:
    """Seconds in which all GPUs of each plan together write one answer, of as many as a step of the method samples.

    Prompts are arithmetic. Then each step of the decoder reads the weights once for all answers that a replica writes
    at a time, and the cache of each; they are as many as the share of the card holds that the engine has.
    """
    known, serving = speed_constants().reinforcement, speed_constants().serving
    sequences = float(job.global_batch or known.step_sequences.value)
    written = job.answer_tokens or job.seq_len_tokens * known.answer_share.at(TURNED[pick])
    written = min(written, job.seq_len_tokens)
    usable = table.usable_gb()[which] * 1e9 * (job.rollout_share or known.card_share.value)
    weights = shape.params * _HALF
    split = np.exp2(np.ceil(np.log2(np.maximum(1.0, _WITH_CACHE * weights / usable))))
    split = np.minimum(job.rollout_tensor or split, rows.count)
    replicas = rows.count / split
    element = sizing_constants().kv_cache[job.kv_precision]
    cached = split * cached_bytes_per_sequence(shape, job.seq_len_tokens, element, split, _BLOCK)
    most = np.maximum(1.0, (split * usable - weights) / cached)
    together = np.minimum(np.maximum(1.0, sequences / replicas), most)
    peaks = table.peaks(serving_precisions("bf16"))
    rate = (peaks.flops * peaks.share)[which] * serving.prefill_share.at(pick)
    a_token = 2.0 * shape.active_params
    half_written = cached * (1.0 - 0.5 * written / job.seq_len_tokens)
    bandwidth = split * table.bandwidth_in_reach(pick)[which]
    # Products read the weights or wait for the arithmetic; attention reads the cache after them.
    products = np.maximum(weights / bandwidth, together * a_token / (split * rate))
    working = products + together * half_written / bandwidth
    engine = steps_of_engine("transformers" if job.rollout_shares_weights else "vllm")
    slower = {"value": 1.0, "low": engine.high, "high": engine.low}[pick]
    starting = (shape.layers * engine.launch_floor_us + engine.per_step_us) * 1e-6 * slower
    step = np.maximum(working, starting)
    prompts = (job.seq_len_tokens - written) * a_token / (rows.count * rate)
    return prompts + written * step / (together * replicas)
