"""What of a job only training asks: batch, checkpointing, precision recipe, optimiser, adapters."""

from __future__ import annotations

from whichgpu.engine.catalogue import Family, ModelSpec
from whichgpu.engine.core import Value
from whichgpu.engine.sizing.composed import composed_network
from whichgpu.engine.sizing.constants import Framework, sizing_constants
from whichgpu.engine.sizing.job import Kind
from whichgpu.engine.sizing.reading import TRANSFORMERS, Reader


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


def learning_of(
    reader: Reader, kind: Kind, family: Family, params_b: float | None, habits: Framework | None
) -> tuple[int, int, str]:
    """Sequence length, micro-batch, checkpointing."""
    if kind == "inference":
        return 1, 1, "none"
    seq = reader.whole("seq_len_tokens") or (reader.whole("context_tokens") if reader.known("context_tokens") else None)
    if not seq:
        seq = reader.default("seq_len_tokens") if family in TRANSFORMERS else 1
    batch = reader.whole("batch_size_per_gpu")
    if reader.flag("large_batch") and not reader.known("batch_size_per_gpu"):
        batch = reader.default("batch_size_per_gpu", "large_batch_size")
    if habits and habits.batch and not reader.known("batch_size_per_gpu") and not reader.flag("large_batch"):
        batch = reader.assume("batch_size_per_gpu", habits.batch, habits.source)
    if not batch:
        batch = reader.default("batch_size_per_gpu", "vision_batch_size" if family == "vision" else None)
    raw = reader.flag("gradient_checkpointing")
    stated = reader.text("gradient_checkpointing") if raw is None else "full" if raw else "none"
    by_habit = kind in {"lora", "qlora"} or family.startswith("diffusion")
    if habits and habits.checkpointing and not reader.known("gradient_checkpointing") and by_habit:
        stated = reader.assume("gradient_checkpointing", habits.checkpointing, habits.source)
    if family == "speech" and not reader.known("gradient_checkpointing"):
        stated = reader.assume("gradient_checkpointing", "full", "published recipes for Whisper recompute activations")
    if stated not in {"none", "selective", "full"}:
        large = family in TRANSFORMERS or (family.startswith("diffusion") and (params_b or 0.0) > 3.0)
        stated = reader.assume("gradient_checkpointing", "full" if large else "none", "usual for models of this kind")
    return seq, batch, stated


def recipe_of(reader: Reader, kind: Kind, habits: Framework | None) -> str:
    """Mixed, pure 16-bit or 32-bit."""
    if kind == "inference":
        return "mixed"
    compute, weights = reader.text("compute_precision"), reader.text("weight_precision")
    if compute == "fp32":
        return "fp32"
    if compute == "bf16" and weights == "bf16" and reader.known("weight_precision"):
        return "pure"
    if habits and habits.loads_32bit and not reader.known("compute_precision") and not reader.known("weight_precision"):
        return "mixed" if kind == "qlora" else reader.assume("compute_precision", "fp32", habits.source)
    if habits and habits.recipe:
        # What is computed in 16 bits is kept in 16 bits: these frameworks hold no master copy unless told to.
        if not reader.known("compute_precision"):
            reader.assume("compute_precision", habits.recipe, habits.source)
        return habits.recipe
    return "mixed"


def optimizer_of(reader: Reader, kind: Kind, model: ModelSpec | None) -> str:
    """As stated; else what is usual for the kind of network."""
    stated = reader.text("optimizer")
    if stated in sizing_constants().training.optimizers:
        return stated
    if kind != "inference" and model is not None and (model.kind == "detection" or composed_network(model.name)):
        return reader.assume("optimizer", "sgd", "detectors and segmenters are trained with momentum")
    if kind != "inference":
        reader.assume("optimizer", "adamw", "the standard optimiser")
    return "adamw"


def chunked_loss_of(reader: Reader, habits: Framework | None) -> bool:
    """As stated; else what the framework does."""
    stated = reader.flag("chunked_loss")
    if stated is not None:
        return stated
    return habits is not None and (habits.chunked_loss or habits.chunked_loss_in_examples)


def lora_rank_of(reader: Reader, kind: Kind, family: Family, habits: Framework | None) -> int:
    """As stated; else the framework's default, or what papers use; 0 without adapters."""
    rank = reader.whole("lora_rank")
    if rank and reader.known("lora_rank"):
        return rank
    if kind not in {"lora", "qlora"}:
        return 0
    if habits and habits.rank:
        return reader.assume("lora_rank", habits.rank, habits.source)
    if family not in TRANSFORMERS:
        return reader.default("lora_rank", "lora_rank_generator")
    return reader.default("lora_rank", "qlora_rank" if kind == "qlora" else "lora_rank")


def lora_targets_of(reader: Reader, kind: Kind, family: Family, habits: Framework | None) -> tuple[str, ...]:
    """Which matrices get an adapter; none without adapters."""
    if kind not in {"lora", "qlora"}:
        return ()
    if habits and habits.targets and not reader.known("lora_targets"):
        return _TARGETS[reader.assume("lora_targets", habits.targets, habits.source)]
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
