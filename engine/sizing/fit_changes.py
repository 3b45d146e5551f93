"""What would make a job lighter: each change with the facts that state it, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Value
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.intake_training import all_linear
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout


class FitChange(Struct, frozen=True):
    """One change. ``facts`` is what to write in the workload; ``job`` and ``layout`` are with the change made."""

    id: str
    says: str
    costs: str
    source: str
    facts: dict[str, Value]
    job: Job
    layout: Layout
    other_work: bool = False  # less is done, or something else


_Change = tuple[str, dict[str, Value], Job, Layout]


def fit_changes_of(job: Job, layout: Layout) -> Iterator[FitChange]:
    """Every change that applies to the job, the one that costs least first. None is judged yet."""
    texts = sizing_constants().fit_changes
    for name, facts, changed, laid in _training(job, layout) if job.training else _serving(job, layout):
        text = texts[name]
        other = text.other_work or (job.kind == "full" and "peft_method" in facts)
        yield FitChange(name, text.change, text.costs, text.source, facts, changed, laid, other)


def _with(job: Job, **changes: Any) -> Job:
    return replace(job, **changes)


def _serving(job: Job, layout: Layout) -> Iterator[_Change]:
    constants = sizing_constants()
    bytes_each = constants.weights[job.weight_precision].body
    language = job.shape is not None
    if language and job.family != "encoder" and constants.kv_cache[job.kv_precision] >= 2.0:
        yield "cache-8bit", {"kv_cache_precision": "fp8"}, _with(job, kv_precision="fp8"), layout
    if bytes_each >= 2.0:
        yield "weights-8bit", {"weight_precision": "fp8"}, _with(job, weight_precision="fp8"), layout
    if language and bytes_each > 0.6:
        yield "weights-4bit", {"weight_precision": "awq-int4"}, _with(job, weight_precision="awq-int4"), layout
    if job.concurrency > 1:
        half = job.concurrency // 2
        yield "fewer-requests", {"concurrency": half}, _with(job, concurrency=half), layout
    if language and job.context_tokens >= 2048:
        half = job.context_tokens // 2
        shorter = _with(job, context_tokens=half, input_tokens=min(job.input_tokens, half))
        yield "shorter-context", {"context_tokens": half}, shorter, layout
    yield from _smaller_pictures(job, layout)
    yield from _offload(job, layout)


def _training(job: Job, layout: Layout) -> Iterator[_Change]:
    language = job.family == "llm" and job.shape is not None
    if language and not job.chunked_loss:
        yield "chunked-loss", {"chunked_loss": True}, _with(job, chunked_loss=True), layout
    if layout.data > 1 and layout.sharding not in {"fsdp", "zero3"}:
        yield "shard", {"sharding": "fsdp"}, job, layout._replace(sharding="fsdp")
    if job.micro_batch > 1:
        steps = job.micro_batch * (job.gradient_accumulation or 1)
        facts: dict[str, Value] = {"batch_size_per_gpu": 1, "gradient_accumulation_steps": steps}
        yield "micro-batch-1", facts, _with(job, micro_batch=1, gradient_accumulation=steps), layout
    if job.checkpointing != "full":
        yield "checkpoint", {"gradient_checkpointing": "full"}, _with(job, checkpointing="full"), layout
    if job.optimizer == "adamw":
        yield "optimizer-8bit", {"optimizer": "adamw-8bit"}, _with(job, optimizer="adamw-8bit"), layout
    lower = int(sizing_constants().defaults["lora_rank_lower"].value)
    if job.peft and job.lora_rank > lower:
        yield "lower-rank", {"lora_rank": lower}, _with(job, lora_rank=lower), layout
    if job.shape is not None and job.seq_len_tokens >= 1024:
        half = job.seq_len_tokens // 2
        yield "shorter-sequences", {"seq_len_tokens": half}, _with(job, seq_len_tokens=half), layout
    yield from _smaller_pictures(job, layout)
    if job.kind == "full":
        yield "lora", {"task": "peft_finetuning", "peft_method": "lora"}, _adapted(job, "lora", "bf16"), layout
    if job.kind in {"full", "lora"} and job.shape is not None:
        yield "qlora", {"task": "peft_finetuning", "peft_method": "qlora"}, _adapted(job, "qlora", "nf4-dq"), layout
    yield from _offload(job, layout)


def _offload(job: Job, layout: Layout) -> Iterator[_Change]:
    if not job.cpu_offload and job.family != "vision":
        yield "offload", {"cpu_offload": True}, _with(job, cpu_offload=True), layout


def _adapted(job: Job, kind: str, weights: str) -> Job:
    rank = job.lora_rank or int(sizing_constants().defaults["lora_rank"].value)
    targets = job.lora_targets or all_linear()
    return _with(job, kind=kind, weight_precision=weights, lora_rank=rank, lora_targets=targets)


def _smaller_pictures(job: Job, layout: Layout) -> Iterator[_Change]:
    if job.image_px >= 256:
        smaller = job.image_px * 3 // 4 // 16 * 16
        stated: dict[str, Value] = {"image_px": smaller}
        if job.image_short_px:
            stated["image_short_px"] = max(16, job.image_short_px * 3 // 4 // 16 * 16)
        yield "smaller-pictures", stated, _with(job, **stated), layout
