"""Workload-scope figures of what memory is made of: the guides' arithmetic, before any GPU is chosen.

These are the figures that the guides reason with (weights = bytes x parameters, sixteen bytes a parameter for full
training, 1.5 to 2 times inference for adapters). What a plan really takes on a GPU is ``memory.estimate_memory``.
Importing this module registers the calculators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import (
    Value,
    as_inputs,
    as_number,
    calculator,
    plain_number,
)
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.job_tracing import traced_job
from whichgpu.engine.sizing.rank_shares import cached_bytes_per_sequence
from whichgpu.engine.sizing.states import state_bytes
from whichgpu.engine.sizing.training_activations import (
    UNBOUND,
    activations_gb as layer_activations_gb,
    adapter_params,
    logits_gb,
)


#: What the state of training depends on beside the task and the size.
_STATE_USES = ("compute_precision", "optimizer", "training_framework", "peft_method", "lora_rank")
_NOMINAL = {"fp32": 4.0, "fp16": 2.0, "bf16": 2.0, "mixed": 2.0, "fp8": 1.0, "int8": 1.0, "gptq-int8": 1.0}


class Trained(TypedDict):
    """What the state of training depends on."""

    task: str
    param_count_b: float
    compute_precision: str | None
    optimizer: str | None
    training_framework: str | None
    peft_method: str | None
    lora_rank: int | None


def nominal_bytes(weight_precision: str | None) -> float:
    """Bytes per parameter as the guides compute: 4, 2, 1 or 0.5; GGUF types as their files really are."""
    if weight_precision is None:
        return 2.0
    if weight_precision in _NOMINAL:
        return _NOMINAL[weight_precision]
    if weight_precision.startswith(("q", "iq")):
        form = sizing_constants().weights.get(weight_precision)
        return form.body if form else 0.5
    return 0.5


@calculator(
    output="weights_gb",
    unit="GB",
    needs=("param_count_b",),
    uses=("weight_precision",),
    trends={"param_count_b": "rises"},
    formula="parameters x bytes per parameter (32 bit 4, 16 bit 2, 8 bit 1, 4 bit 0.5)",
    source="thunder/model-size-calculations",
)
def weights_gb(*, param_count_b: float, weight_precision: str | None) -> float:
    """Memory of the weights alone, in GB."""
    return param_count_b * nominal_bytes(weight_precision)


@calculator(
    output="inference_vram_gb",
    unit="GB",
    needs=("param_count_b",),
    uses=("weight_precision", "task"),
    trends={"param_count_b": "rises"},
    formula="parameters x bytes per parameter; 2 bytes while the task is training",
    source="thunder/model-size-calculations",
)
def inference_vram_gb(*, param_count_b: float, weight_precision: str | None, task: str | None) -> float:
    """The guides' base figure for serving, in GB. Training is compared with serving in 16 bits."""
    trains = task is not None and profile_of(task).trains
    return param_count_b * (2.0 if trains else nominal_bytes(weight_precision))


@calculator(
    output="gradients_gb",
    unit="GB",
    needs=("task", "param_count_b"),
    uses=_STATE_USES,
    trends={"param_count_b": "rises"},
    formula="trained parameters x 2 bytes (4 in 32 bits and in Megatron); of adapters 4 bytes",
    source="ZeRO paper (2 + 2 + 12 bytes)",
)
def gradients_gb(**inputs: Unpack[Trained]) -> float | None:
    """Memory of the gradients of everything that is trained, in GB."""
    if _serves(inputs["task"]) or not (job := trained_job(**inputs)).training:
        return None
    if job.peft:
        return _adapter_billions(job) * 4.0
    return inputs["param_count_b"] * state_bytes(job).gradients


@calculator(
    output="optimizer_gb",
    unit="GB",
    needs=("task", "param_count_b"),
    uses=_STATE_USES,
    trends={"param_count_b": "rises"},
    formula="trained parameters x (4 bytes master copy + 8 bytes of Adam's moments); 8-bit Adam 4 + 2",
    source="ZeRO paper (2 + 2 + 12 bytes)",
)
def optimizer_gb(**inputs: Unpack[Trained]) -> float | None:
    """Memory of the optimiser's state, 32-bit master copy included, in GB."""
    if _serves(inputs["task"]) or not (job := trained_job(**inputs)).training:
        return None
    if job.peft:
        return _adapter_billions(job) * 8.0
    return inputs["param_count_b"] * state_bytes(job).optimizer


@calculator(
    output="adapters_gb",
    unit="GB",
    needs=("param_count_b", "peft_method", "lora_rank"),
    uses=("lora_targets",),
    trends={"param_count_b": "rises", "lora_rank": "rises"},
    formula="rank x (inputs + outputs) of the adapted matrices of a typical decoder of that size x 16 bytes",
    source="LoRA paper; PEFT keeps adapters in 32 bits",
)
def adapters_gb(*, param_count_b: float, peft_method: str, lora_rank: int, lora_targets: str | None) -> float | None:
    """Memory of the adapters with gradients and optimiser state, in GB."""
    if peft_method not in {"lora", "qlora"}:
        return None
    facts: dict[str, Value] = {"task": "peft_finetuning", "peft_method": peft_method, "param_count_b": param_count_b}
    facts["lora_rank"] = lora_rank
    if lora_targets is not None:
        facts["lora_targets"] = lora_targets
    return _adapter_billions(typical_job(facts)) * sizing_constants().training.adapter_bytes.value


@calculator(
    output="activations_gb",
    unit="GB",
    needs=("task", "param_count_b", "seq_len_tokens"),
    uses=("batch_size_per_gpu", "gradient_checkpointing", "flash_attention", "peft_method", "model_family"),
    trends={"param_count_b": "rises", "seq_len_tokens": "rises", "batch_size_per_gpu": "rises"},
    formula="tokens x bytes kept per layer x layers + logits at 14 bytes, for a typical decoder of that size",
    source="vramcalc 0.1.2; Korthikanti et al.",
)
def activations_gb(
    *,
    task: str,
    param_count_b: float,
    seq_len_tokens: int,
    batch_size_per_gpu: int | None,
    gradient_checkpointing: str | None,
    flash_attention: bool | None,
    peft_method: str | None,
    model_family: str | None,
) -> float | None:
    """Intermediate results of one training step on one GPU, in GB. Language models only."""
    if _serves(task):
        return None
    facts: dict[str, Value] = {
        "task": task,
        "param_count_b": param_count_b,
        "seq_len_tokens": seq_len_tokens,
        "model_family": model_family or "llm",
    }
    for name, value in (
        ("batch_size_per_gpu", batch_size_per_gpu),
        ("gradient_checkpointing", gradient_checkpointing),
        ("flash_attention", flash_attention),
        ("peft_method", peft_method),
    ):
        if value is not None:
            facts[name] = value
    job = typical_job(facts)
    if not job.training or job.shape is None:
        return None
    kept = layer_activations_gb(job, job.shape, 1, 1, job.micro_batch, UNBOUND)
    return as_number(sum(kept) + logits_gb(job, job.shape, 1, job.micro_batch))


@calculator(
    output="kv_cache_gb",
    unit="GB",
    needs=("task", "param_count_b", "context_tokens", "concurrency"),
    uses=("kv_cache_precision", "model_family"),
    trends={"param_count_b": "rises", "context_tokens": "rises", "concurrency": "rises"},
    formula="requests x context x 2 x layers x KV heads x head size x bytes, for a typical decoder of that size",
    source="vLLM pool / tokens (llm-d-planner); no guide gives a figure (C42)",
)
def kv_cache_gb(
    *,
    task: str,
    param_count_b: float,
    context_tokens: int,
    concurrency: int,
    kv_cache_precision: str | None,
    model_family: str | None,
) -> float | None:
    """Cache of past tokens over all requests, in GB. Language models only."""
    job = typical_job({"task": task, "param_count_b": param_count_b, "model_family": model_family or "llm"})
    if job.training or job.shape is None or job.family != "llm":
        return None
    size = sizing_constants().kv_cache.get(kv_cache_precision or "fp16", 2.0)
    return as_number(concurrency * cached_bytes_per_sequence(job.shape, context_tokens, size, 1, 16) / 1e9)


def _serves(task: str) -> bool:
    """Whether a task is sized as serving whatever else is known, so that nothing of training need be computed."""
    return profile_of(task).sized_as == "serving"


def trained_job(**inputs: Unpack[Trained]) -> Job:
    """The job of what is known of a training run, on a typical model of the size."""
    return typical_job({name: value for name, value in inputs.items() if value is not None})


def typical_job(facts: Mapping[str, Any]) -> Job:
    """The job of these facts on a typical model of the size; its numbers are inputs of what is computed from it."""
    return as_inputs(job_from_facts({name: plain_number(value) for name, value in facts.items()}, None), traced_job)


def _adapter_billions(job: Job) -> float:
    if job.shape is None:
        return 0.0
    return adapter_params(job.shape, job.lora_rank, job.lora_targets) / 1e9
