"""How long one step of a serving engine takes: roofline of decode and prefill, exchanges between GPUs, kernel starts.

What a load of many requests makes of these steps is in ``queueing``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from whichgpu.engine.core import named
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.rank_shares import cached_bytes_per_sequence, expert_sharers, routed_params
from whichgpu.engine.sizing.rows import Rows
from whichgpu.engine.sizing.shape import Shape
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_links import Split, all_reduce_s, choose
from whichgpu.engine.sizing.speed_rates import Rates


class Load(NamedTuple):
    """What one request and one decode step ask of a replica, whatever the GPU: columns, per tensor rank.

    Bytes and FLOPs.
    """

    shared_bytes: Any  # weights that every step reads
    expert_bytes: Any  # routed experts, all of them
    expert_share: Any  # of them, that one token reads
    cache_bytes: Any  # per sequence, at the middle of its answer
    token_flops: Any  # per generated token
    prefill_flops: Any  # per request
    routed_flops: Any  # of them, those of routed experts
    exchange_bytes: float  # per token and all-reduce
    layers: int
    prompt_tokens: float  # of a request, that are computed and not found in the cache of prefixes
    sharers: Any = 1  # replicas whose tokens pass through the same experts
    routed_bytes: float = 0.0  # of a token, that go to its experts on other GPUs and come back, in all layers
    sparse_layers: float = 0.0
    verified: float = 1.0  # tokens that a step computes for each sequence: one, and those that were drafted
    accepted: float = 1.0  # of them, that become part of the answer


def load_of(job: Job, shape: Shape, rows: Rows) -> Load:
    """The load of a job on one tensor rank of each plan."""
    constants, tensor = sizing_constants(), rows.tensor
    sharers = expert_sharers(job, rows)
    weight = constants.weights[job.weight_precision]
    ends = 2.0 if weight.ends_16bit else weight.body
    routed, share = routed_params(shape)
    # The input embedding is looked up, not read; a tied one is read as the head.
    read = (shape.body - routed) * weight.body + (shape.head or shape.embedding) * ends
    width = shape.heads * shape.head_dim
    asked = job.input_tokens
    context = asked + job.output_tokens // 2
    cached = cached_bytes_per_sequence(shape, context, constants.kv_cache[job.kv_precision], tensor, 1)
    if job.engine == "transformers" and not job.fuses_modules:  # Fused attention has a cache of its own.
        cached *= speed_constants().serving.cache_copies.value * (1.0 + shape.heads / shape.kv_heads)
    active = shape.active_params - shape.embedding
    # The last token of a prompt is computed always: the first answer comes of it.
    found = (asked - 1) * job.prefix_share
    computed = asked - found
    attention = 2.0 * shape.full_layers * width * (asked**2 - found**2)  # causal: half of 4 L w T^2
    if shape.sliding_layers:
        attention += 4.0 * shape.sliding_layers * width * computed * min(asked, shape.window)
    drafted, chance = job.draft_tokens, job.draft_acceptance
    load = Load(
        shared_bytes=max(0.0, read) / tensor,
        expert_bytes=routed * weight.body / tensor / sharers,
        expert_share=share,
        cache_bytes=cached,
        token_flops=2.0 * active / tensor,
        prefill_flops=(2.0 * active * computed + attention) / tensor,
        routed_flops=2.0 * routed * share * computed / tensor,
        exchange_bytes=2.0 * shape.hidden,
        layers=shape.layers,
        prompt_tokens=computed,
        sharers=sharers,
        # Sent in 8 bits to each GPU that holds one of its experts, back in 16.
        routed_bytes=3.0 * shape.hidden * shape.sparse_layers * np.minimum(shape.experts_per_token, sharers - 1.0),
        sparse_layers=shape.sparse_layers,
        verified=1.0 + drafted,
        # Leviathan et al., "Fast Inference from Transformers via Speculative Decoding" (2023), equation 1.
        accepted=1.0 + drafted if chance >= 1 else (1.0 - chance ** (drafted + 1)) / (1.0 - chance),
    )
    return named(load, "load")


class Steps(NamedTuple):
    """What a step of each plan's replicas is made of, in seconds: columns."""

    weights: Any  # read by every step
    experts: Any  # routed ones, all of them; 0 where there are none
    expert_share: Any  # of them, that one token reads
    sparse: Any  # it has routed experts
    cache: Any  # read for a sequence
    arithmetic: Any  # of a sequence
    prompt: Any  # arithmetic of a prompt
    together: Any  # share of it in experts, which all replicas compute together that share them
    floor: float  # kernels cannot be started faster
    eager_floor: float  # nor those of a prompt, which replays no captured graph
    alone: Any  # those who decode wait while a prompt passes
    host: float
    per_sequence: float
    exchange: Any  # of a step, whatever its size
    exchange_per_token: Any
    sharers: Any  # replicas that go through their steps together, since they share their experts
    verified: float  # tokens of a sequence
    accepted: float
    prompt_tokens: float
    stages: Any  # that work on different micro-batches at a time

    def without_and_with(self, sequences: Any, prompts: Any = 1.0) -> tuple[Any, Any]:
        """Seconds of a step with a token for each of ``sequences``, 1 or more; and with prompts that pass as well.

        A step reads the weights once, whoever is in it. Where either memory or arithmetic takes far longer it alone
        counts, near the ridge of the roofline both: the fourth root of the sum of their fourth powers.
        """
        batch = np.maximum(1.0, sequences / self.stages)
        alone = batch * self.verified
        both = alone + prompts * self.prompt_tokens
        arithmetic = self.arithmetic * batch
        memory = with_prompts = self.weights + self.cache * batch
        if self.sparse:
            unread = 1.0 - self.expert_share
            with_prompts = memory + self.experts * (1.0 - unread ** (both * self.sharers))
            memory = memory + self.experts * (1.0 - unread ** (alone * self.sharers))
        rest = self.host + self.per_sequence * batch + self.exchange
        step = np.maximum(_either(memory, arithmetic), self.floor)
        lengthened = np.maximum(_either(with_prompts, arithmetic + prompts * self.prompt), self.floor)
        return step + rest + self.exchange_per_token * alone, lengthened + rest + self.exchange_per_token * both

    def own_pass(self, step: Any, added: Any) -> Any:
        """Seconds until a prompt has passed through.

        Args:
            step: seconds of a step without the prompt.
            added: what the prompt adds to it.
        """
        return _either(step + added, self.eager_floor)

    def lengthened_by(self, prompts: Any) -> Any:
        """How many times the time of one prompt a step takes longer in which each replica takes so many prompts.

        Replicas that share their experts step together. Their experts share the work of all prompts. The rest lasts
        until the replica with the most prompts is done, so that prompts of replicas which come to the same step pass
        side by side: some replica has one in ``1 - exp(-n s)`` of the steps, if n come to each of s replicas by chance.
        """
        if not np.any(self.sharers > 1):
            return prompts
        apart = np.maximum(prompts, 1.0 - np.exp(-prompts * self.sharers))
        return self.together * prompts * self.sharers + (1.0 - self.together) * apart


def steps_of(load: Load, rates: Rates, split: Split) -> Steps:
    """The steps of plans."""
    moe = bool(np.any(load.expert_bytes))
    # Drafted tokens pass through a small model first, one after another.
    drafting = 1.0 + (load.verified - 1.0) * speed_constants().serving.draft_share.value
    host = load.layers * (rates.per_layer + (rates.per_moe_layer if moe else 0.0)) + rates.per_step
    fixed, per_token = _exchange_s(load, rates, split)
    routed = load.routed_flops / load.sharers
    prefill = load.prefill_flops - load.routed_flops + routed
    found = Steps(
        weights=load.shared_bytes / rates.weights * drafting,
        experts=load.expert_bytes / rates.weights * drafting,
        expert_share=load.expert_share if moe else 1.0,
        sparse=moe,
        cache=load.cache_bytes / rates.bandwidth * drafting,
        arithmetic=load.token_flops * load.verified / rates.decode * drafting,
        prompt=prefill / rates.prefill,
        together=routed / prefill if moe else 0.0,
        floor=load.layers * rates.launch_floor,
        eager_floor=load.layers * rates.eager_floor,
        alone=rates.alone,
        host=host * drafting,
        per_sequence=rates.per_sequence,
        exchange=fixed,
        exchange_per_token=per_token,
        sharers=load.sharers,
        verified=load.verified,
        accepted=load.accepted,
        prompt_tokens=load.prompt_tokens,
        stages=split.rows.pipeline,
    )
    return named(found, "step")


def _either(one: Any, other: Any) -> Any:
    """Nearly the larger of two times, and a fifth more than each where they are equal."""
    one, other = one * one, other * other
    return np.sqrt(np.sqrt(one * one + other * other))


def _exchange_s(load: Load, rates: Rates, split: Split) -> tuple[Any, Any]:
    """Two all-reduces a layer over the tensor ranks, one hand-over per pipeline boundary: for a step, and per token.

    Tokens of replicas that share their experts go to them and back in each sparse layer.
    """
    tensor, pipeline = split.rows.tensor, split.rows.pipeline
    alone, with_one = (all_reduce_s(size, tensor, split.tensor_link) for size in (0.0, load.exchange_bytes))
    reduces = 2 * load.layers
    fixed, per_token = reduces * rates.exchange * alone, reduces * rates.exchange_bytes * (with_one - alone)
    if np.any(load.sharers > 1):
        far = choose(load.sharers * tensor > split.per_node, split.over_all, split.link)
        shared = load.sharers > 1
        fixed = fixed + np.where(shared, 2 * load.sparse_layers * rates.exchange * far.latency_s, 0.0)
        wire = load.routed_bytes / tensor / (far.gbs * 1e9)
        per_token = per_token + np.where(shared, rates.exchange_bytes * wire, 0.0)
    if np.any(pipeline > 1):
        latency = np.where(split.node.latency_s, split.node.latency_s, split.link.latency_s)
        gbs = np.where(split.node.latency_s, split.node.gbs, split.link.gbs)
        fixed = fixed + (pipeline - 1) * latency
        per_token = per_token + (pipeline - 1) * load.exchange_bytes / (gbs * 1e9)
    return fixed, per_token


def pass_s(load: Load, rates: Rates, split: Split, tokens: Any) -> Any:
    """Seconds until so many tokens have passed through each replica and nothing is decoded beside them."""
    arithmetic = load.prefill_flops / rates.prefill
    memory = (load.shared_bytes + load.expert_bytes) / rates.weights
    busy = np.maximum(np.maximum(arithmetic, memory), load.layers * rates.launch_floor)
    fixed, per_token = _exchange_s(load, rates, split)
    return busy + fixed + per_token * tokens
