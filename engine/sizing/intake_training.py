"""What of a job only training asks: batch, checkpointing, precision recipe, optimiser, adapters."""

from __future__ import annotations

from typing import Any

from whichgpu.engine.catalogue import Family, ModelSpec
from whichgpu.engine.core import Value
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Framework
from whichgpu.engine.sizing.fact_reader import TRANSFORMERS, FactReader
from whichgpu.engine.sizing.intake_losses import chunk_counts, chunked_loss, compiled_loss, release_open
from whichgpu.engine.sizing.intake_reinforcement import reinforcement_of
from whichgpu.engine.sizing.intake_steps import step_samples
from whichgpu.engine.sizing.job import Kind
from whichgpu.engine.sizing.versions import older


_ATTENTION = ("q", "k", "v", "o")
_ALL_LINEAR = ("q", "k", "v", "o", "gate", "up", "down")
_TARGETS: dict[str, tuple[str, ...]] = {
    "attention": _ATTENTION,
    "qkvo": _ATTENTION,
    "qkv": ("q", "k", "v"),
    "qv": ("q", "v"),
    "all-linear": _ALL_LINEAR,
    "all": _ALL_LINEAR,
}


def all_linear() -> tuple[str, ...]:
    """The matrices that adapters on every linear layer touch."""
    return _ALL_LINEAR


def training_of(
    reader: FactReader, kind: Kind, family: Family, params_b: float | None, model: ModelSpec | None
) -> dict[str, Any]:
    """The fields of a job that training reads; serving takes their defaults."""
    framework = reader.text("training_framework")
    defaults = sizing_constants().training.frameworks.get(framework or "")
    seq, batch, checkpointing = _lengths(reader, kind, family, params_b, defaults)
    ranks = reader.whole("context_parallel") or 1
    data = reader.whole("data_parallel")
    recipe = _recipe(reader, kind, defaults)
    step = step_samples(reader, kind, family, seq)
    return {
        "compute_precision": reader.text("compute_precision") or "mixed",
        "seq_len_tokens": -(-seq // ranks),
        "micro_batch": batch,
        "gradient_accumulation": reader.whole("gradient_accumulation_steps"),
        "global_batch": step.samples,
        "step_assumed": step.assumed,
        "recipe": recipe,
        "autocasts": recipe == "mixed" and kind in {"full", "pretraining"} and bool(defaults and defaults.autocasts),
        "prepared": kind == "qlora" and bool(defaults and defaults.prepares),
        "optimizer": _optimizer(reader, kind, model, defaults),
        "transformers_version": reader.text("transformers_version"),
        "optimizer_step": reader.text("optimizer_step"),
        "release_open": release_open(reader, defaults),
        "chunk_counts": chunk_counts(reader, defaults),
        **_step(reader, defaults),
        "checkpointing": checkpointing,
        "flash_attention": _fused_attention(reader, defaults),
        "chunked_loss": chunked_loss(reader, defaults),
        "narrow_loss": reader.text("loss_precision") in {"bf16", "fp16"},
        "holds_logits": reader.flag("holds_logits"),
        "loss_autocasts": _loss_autocasts(reader, recipe, defaults),
        "loss_assumed": bool(defaults and defaults.chunked_loss_in_examples) and not reader.known("chunked_loss"),
        "fused_loss": bool(defaults and defaults.fused_loss)
        or (framework in {None, "other"} and kind == "pretraining" and not reader.known("loss_precision")),
        "lora_rank": _lora_rank(reader, kind, family, defaults),
        "lora_rank_stated": reader.known("lora_rank"),
        "lora_targets": _lora_targets(reader, kind, family, defaults),
        "adapter_dropout": _adapter_dropout(reader, defaults),
        "narrow_adapters": _narrow_adapters(reader),
        "trains_embeddings": bool(reader.flag("trains_embeddings")),
        "trains_encoders": reader.flag("trains_encoders"),
        "weight_decomposed": bool(reader.flag("weight_decomposed")),
        **reinforcement_of(reader, kind, defaults, params_b),
        "framework": framework,
        "process_groups": reader.text("framework") not in sizing_constants().collectives.once_for,
        "master_open": _master_open(reader, kind, framework_known=defaults is not None),
        "data_parallel": None if data is None else data * ranks,
        "context_parallel": ranks,
        "expert_parallel": reader.whole("expert_parallel"),
        "sequence_parallel": _sequence_parallel(reader, defaults),
        "every_second_product": defaults is not None and defaults.every_second_product,
        "pipeline_schedule": reader.text("pipeline_schedule") or "1f1b",
        "compiled": bool(reader.flag("compiled")),
        "compiles_loss": compiled_loss(reader, defaults),
        "liger": bool(reader.flag("liger_kernels")),
        "activation_offload": _activation_offload(reader, kind, checkpointing, defaults),
        "varying_lengths": _varying_lengths(reader, defaults),
        "packed": bool(reader.flag("packing")),
        "optimizer_in_backward": bool(reader.flag("optimizer_in_backward")),
    }


def _fused_attention(reader: FactReader, defaults: Framework | None) -> bool:
    """As stated; else by the framework, or by the age of PyTorch, if that is known."""
    if reader.known("flash_attention"):
        return reader.flag("flash_attention") is not False
    if defaults and defaults.holds_scores:
        return bool(reader.assume("flash_attention", False, defaults.source))
    if older(reader.text("pytorch_version"), sizing_constants().context.fused_since):
        return bool(reader.assume("flash_attention", False, "PyTorch before 2.0 does not fuse attention"))
    plain = sizing_constants().plain_code
    if older(reader.text("transformers_version"), plain.eager_before) and not (defaults and defaults.fuses_attention):
        return bool(reader.assume("flash_attention", False, plain.source))
    return True


def _sequence_parallel(reader: FactReader, defaults: Framework | None) -> bool | None:
    stated = reader.flag("sequence_parallel")
    return defaults.sequence_parallel if stated is None and defaults is not None else stated


def _activation_offload(reader: FactReader, kind: Kind, checkpointing: str, defaults: Framework | None) -> bool:
    stated = reader.flag("activation_offload")
    if stated is not None or kind == "inference":
        return bool(stated)
    # What a framework offloads by default are its own checkpoints.
    return defaults is not None and defaults.offloads_checkpoints and checkpointing == "full"


def _varying_lengths(reader: FactReader, defaults: Framework | None) -> bool:
    packed = reader.flag("packing")
    return not packed if packed is not None else defaults is not None and defaults.varying_lengths


def _lengths(
    reader: FactReader, kind: Kind, family: Family, params_b: float | None, defaults: Framework | None
) -> tuple[int, int, str]:
    """Sequence length, micro-batch, checkpointing."""
    if kind == "inference":
        return 1, 1, "none"
    seq_known = reader.known("seq_len_tokens") or reader.known("context_tokens")
    seq = reader.whole("seq_len_tokens") or (reader.whole("context_tokens") if reader.known("context_tokens") else None)
    if defaults and defaults.seq_len and not seq_known and family == "llm":
        seq = reader.assume("seq_len_tokens", defaults.seq_len, defaults.source)
    if not seq:
        usual = "encoder_seq_len_tokens" if family == "encoder" else None
        seq = reader.default("seq_len_tokens", usual) if family in TRANSFORMERS else 1
    batch = reader.whole("batch_size_per_gpu")
    if reader.flag("large_batch") and not reader.known("batch_size_per_gpu"):
        batch = reader.default("batch_size_per_gpu", "large_batch_size")
    if defaults and defaults.batch and not reader.known("batch_size_per_gpu") and not reader.flag("large_batch"):
        batch = reader.assume("batch_size_per_gpu", defaults.batch, defaults.source)
    if not batch:
        batch = reader.default("batch_size_per_gpu", "vision_batch_size" if family == "vision" else None)
    raw = reader.flag("gradient_checkpointing")
    stated = reader.text("gradient_checkpointing") if raw is None else "full" if raw else "none"
    usual = _usual_checkpointing(reader, kind, family, defaults)
    if defaults and usual and not reader.known("gradient_checkpointing"):
        stated = reader.assume("gradient_checkpointing", usual, defaults.source)
    if family == "speech" and not reader.known("gradient_checkpointing"):
        stated = reader.assume("gradient_checkpointing", "full", "published recipes for Whisper recompute activations")
    if stated not in {"none", "selective", "full"}:
        large = family in TRANSFORMERS or (family.startswith("diffusion") and (params_b or 0.0) > 3.0)
        stated = reader.assume("gradient_checkpointing", "full" if large else "none", "usual for models of this kind")
    return seq, batch, stated


def _usual_checkpointing(reader: FactReader, kind: Kind, family: Family, defaults: Framework | None) -> str | None:
    """What the framework does by default: preparing a quantised base turns recomputation on, adapters alone do not."""
    if defaults is None:
        return None
    plain = reader.text("weight_precision") in {None, "bf16", "fp16", "fp32"}
    if kind == "lora" and plain and family == "llm" and defaults.checkpointing_lora:
        return defaults.checkpointing_lora
    return defaults.checkpointing


def _recipe(reader: FactReader, kind: Kind, defaults: Framework | None) -> str:
    """Mixed, pure 16-bit or 32-bit."""
    if kind == "inference":
        return "mixed"
    compute, weights = reader.text("compute_precision"), reader.text("weight_precision")
    if compute == "fp32":
        return "fp32"
    if compute == "bf16" and weights == "bf16" and reader.known("weight_precision"):
        return "pure"
    if (
        defaults
        and defaults.loads_32bit
        and not reader.known("compute_precision")
        and not reader.known("weight_precision")
    ):
        autocasts = kind == "qlora" or defaults.autocasts
        return "mixed" if autocasts else reader.assume("compute_precision", "fp32", defaults.source)
    # DeepSpeed's optimiser steps over a copy in 32 bits, whatever the framework does without it.
    staged = (reader.text("sharding") or "") in {"zero1", "zero2", "zero3"}
    if defaults and not staged and (defaults.recipe or (defaults.recipe_full and kind == "full")):
        recipe = defaults.recipe or defaults.recipe_full or "mixed"
        # What is computed in 16 bits is kept in 16 bits: these frameworks hold no master copy by default.
        if not reader.known("compute_precision"):
            reader.assume("compute_precision", recipe, defaults.source)
        return recipe
    return "mixed"


def _loss_autocasts(reader: FactReader, recipe: str, defaults: Framework | None) -> bool:
    """Whether the loss is computed under autocast.

    DeepSpeed casts the model instead (accelerate/accelerator.py has no ``native_amp`` under it); frameworks whose
    recipe is pure have none, but the Trainer's flags of 16 bits are autocast over weights in 16 bits too.
    """
    staged = (reader.text("sharding") or "").startswith("zero")
    by_deepspeed = staged or reader.text("training_framework") == "deepspeed"
    pure = reader.known("weight_precision") or defaults is None or defaults.step != "trainer"
    return not by_deepspeed and not (recipe == "fp32" or (recipe == "pure" and pure))


def _optimizer(reader: FactReader, kind: Kind, model: ModelSpec | None, defaults: Framework | None) -> str:
    """As stated; else what is usual for the kind of network."""
    stated = reader.text("optimizer")
    if kind != "inference" and defaults and defaults.optimizer and not reader.known("optimizer"):
        return reader.assume("optimizer", defaults.optimizer, defaults.source)
    if stated in sizing_constants().training.optimizers:
        return stated
    if kind != "inference" and model is not None and (model.kind == "detection" or composed_network(model.name)):
        return reader.assume("optimizer", "sgd", "detectors and segmenters are trained with momentum")
    if kind != "inference":
        reader.assume("optimizer", "adamw", "the standard optimiser")
    return "adamw"


def _step(reader: FactReader, defaults: Framework | None) -> dict[str, bool]:
    """Whether AdamW steps over all parameters at once: as stated, else as the framework and its releases have it."""
    stated = reader.text("optimizer_step")
    if stated is not None:
        return {"steps_at_once": stated == "foreach"}
    release, version = sizing_constants().training.step_by_release, reader.text("pytorch_version")
    if older(version, release.at_once_since) or (defaults is not None and defaults.step == "fused"):
        return {"steps_at_once": False}
    if defaults is None or defaults.step == "foreach":
        return {"steps_at_once": True, "steps_assumed": defaults is None and not reader.known("training_framework")}
    if older(reader.text("transformers_version"), release.own_before):
        return {"steps_at_once": False}
    return {"steps_at_once": older(version, release.fused_since), "steps_open": version is None}


def _narrow_adapters(reader: FactReader) -> bool | None:
    stated = reader.text("adapter_precision")
    return None if stated is None else stated in {"bf16", "fp16"}


def _adapter_dropout(reader: FactReader, defaults: Framework | None) -> bool:
    """As stated; else what the framework does."""
    stated = reader.number("lora_dropout")
    return stated > 0.0 if stated is not None else defaults is not None and defaults.adapter_dropout


def _lora_rank(reader: FactReader, kind: Kind, family: Family, defaults: Framework | None) -> int:
    """As stated; else the framework's default, or what papers use; 0 without adapters."""
    rank = reader.whole("lora_rank")
    if rank and reader.known("lora_rank"):
        return rank
    if kind not in {"lora", "qlora"}:
        return 0
    if defaults and defaults.rank:
        return reader.assume("lora_rank", defaults.rank, defaults.source)
    if family not in TRANSFORMERS:
        return reader.default("lora_rank", "lora_rank_generator")
    return reader.default("lora_rank", "qlora_rank" if kind == "qlora" else "lora_rank")


def _lora_targets(reader: FactReader, kind: Kind, family: Family, defaults: Framework | None) -> tuple[str, ...]:
    """Which matrices get an adapter; none without adapters."""
    if kind not in {"lora", "qlora"}:
        return ()
    if defaults and defaults.targets and not reader.known("lora_targets"):
        return _TARGETS[reader.assume("lora_targets", defaults.targets, defaults.source)]
    if family.startswith("diffusion") and not reader.known("lora_targets"):
        return _TARGETS[reader.assume("lora_targets", "attention", "usual for image and video generators")]
    stated: Value | None = reader.facts.get("lora_targets")
    if isinstance(stated, tuple):
        named = tuple(part for part in _ALL_LINEAR if part in stated)
        if named:
            return named
    if isinstance(stated, str) and stated in _TARGETS:
        return _TARGETS[stated]
    return _TARGETS[reader.assume("lora_targets", "all-linear", "bounds the memory from above")]


def _master_open(reader: FactReader, kind: Kind, *, framework_known: bool) -> bool:
    """Sixteen bits may mean a 32-bit copy of the weights (autocast, DeepSpeed) or none, where no framework tells."""
    if kind not in {"full", "pretraining"} or framework_known or reader.known("weight_precision"):
        return False
    stated = reader.known("compute_precision") and reader.text("compute_precision") in {"bf16", "fp16"}
    return stated and reader.text("training_framework") in {None, "other"}
