"""Transformers as trained: real modules of transformers and peft under the techniques of their trainers."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import peft
import torch
import transformers
from parallel import attention_over, ranks, split_as_dtensors, split_as_megatron
from torch.nn import functional
from torch.utils.checkpoint import create_selective_checkpoint_contexts
from tracer import Step, fake_device, faked, trace
from transformers import masking_utils


transformers.logging.set_verbosity_error()
# Without content nothing tells that no sequences are packed, and a mask would be made for them.
masking_utils.find_packed_sequence_indices = lambda *_, **__: None
# Keys and values are not copied for their groups of heads, as on a GPU without a mask.
os.environ["TRANSFORMERS_SDPA_FORCE_GQA"] = "1"

_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
TARGETS: dict[str, tuple[str, ...]] = {
    "qv": ("q_proj", "v_proj"),
    "attention": _ATTENTION,
    "all-linear": (*_ATTENTION, "gate_proj", "up_proj", "down_proj"),
}


@dataclass(frozen=True)
class Dims:
    """Dimensions of one layer, and the tokens that pass."""

    hidden: int = 1024
    heads: int = 16
    kv_heads: int = 4
    head_dim: int = 64
    intermediate: int = 2816
    seq: int = 512
    batch: int = 16
    vocab: int = 512
    layers: int = 2
    tied: bool = False
    experts: int = 8
    experts_per_token: int = 2

    def tokens(self, architecture: str) -> int:
        """Of one step; pictures are squares of patches, with one token more for the class."""
        return self.batch * (round(self.seq**0.5) ** 2 + 1 if architecture == "vit" else self.seq)


@dataclass(frozen=True)
class Technique:
    """How a module is trained; the words are those of the facts and recipes of the sizing engine."""

    recipe: str = "pure"  # pure: all in 16 bits; autocast: 32-bit weights; fp32
    attention: str = "sdpa"  # sdpa and flash keep the same; eager keeps the scores
    checkpointing: str = "none"  # none, selective, full, offloaded
    targets: str = ""  # of adapters; none: all weights learn
    dora: bool = False
    rank: int = 8
    adapter_dropout: float = 0.0
    loss: str = "none"  # none: a sum over hidden states; whole, chunked, fused
    optimizer: str = ""  # none: one step without
    tensor: int = 1  # ranks over which a layer is split: each traces its own piece
    sequence: str = ""  # dtensor, megatron: those ranks share the tokens between split matrices
    context: int = 1  # ranks that share a sequence: ``Dims.seq`` is what one of them holds
    context_by: str = ""  # ring, gather, ulysses

    def named(self) -> dict[str, Any]:
        """What differs from plain training in 16 bits."""
        plain = asdict(Technique())
        return {name: value for name, value in asdict(self).items() if value != plain[name] or name == "recipe"}


def config(architecture: str, dims: Dims, layers: int, attention: str) -> Any:
    """The configuration of a small model of an architecture with these dimensions."""
    common: dict[str, Any] = {
        "vocab_size": dims.vocab,
        "hidden_size": dims.hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": dims.heads,
        "intermediate_size": dims.intermediate,
        "attn_implementation": attention,
    }
    if architecture in {"bert", "vit"} and attention == "sdpa":
        # The CPU's kernel of flash attention takes no dropout; a GPU's does, and keeps its random state only.
        common["attention_probs_dropout_prob"] = 0.0
    grouped = {**common, "num_key_value_heads": dims.kv_heads, "head_dim": dims.head_dim, "use_cache": False}
    if architecture == "llama":
        return transformers.LlamaConfig(**grouped, tie_word_embeddings=dims.tied, max_position_embeddings=1 << 17)
    if architecture == "qwen3":
        return transformers.Qwen3Config(**grouped, tie_word_embeddings=dims.tied, max_position_embeddings=1 << 17)
    if architecture == "mixtral":
        experts = {"num_local_experts": dims.experts, "num_experts_per_tok": dims.experts_per_token}
        return transformers.MixtralConfig(**grouped, **experts, sliding_window=None)
    if architecture == "gpt-neox":
        return transformers.GPTNeoXConfig(**common, max_position_embeddings=1 << 17, use_cache=False)
    if architecture == "bert":
        return transformers.BertConfig(**common, max_position_embeddings=1 << 15)
    if architecture == "vit":
        return transformers.ViTConfig(**{k: v for k, v in common.items() if k != "vocab_size"}, image_size=16 * 64)
    raise ValueError(f"no architecture {architecture!r}")


def step(architecture: str, dims: Dims, layers: int, technique: Technique) -> Step:
    """Bytes of one training step."""
    over = technique.tensor
    if over > 1 and technique.sequence != "dtensor":
        # A rank's piece of a layer that is split by columns, then rows: whole width outside, a share of it inside.
        inner = replace(dims, heads=dims.heads // over, kv_heads=max(1, dims.kv_heads // over))
        dims = replace(inner, intermediate=dims.intermediate // over)
    # sdpa reaches the kernel of flash attention only without a mask.
    implementation = "eager" if technique.attention == "eager" else "sdpa"
    described = config(architecture, dims, layers, implementation)
    kind = torch.float32 if technique.recipe in {"autocast", "fp32"} else torch.bfloat16
    with torch.device("meta"):
        module = _module(architecture, described, kind)
        if technique.targets:
            module = _adapted(module, technique)
    if technique.context > 1:
        module.config._attn_implementation = attention_over(technique.context_by, technique.context)
    with ExitStack() as held:
        mesh = held.enter_context(ranks(over)) if technique.sequence == "dtensor" else None
        held.enter_context(fake_device())
        faked(module)
        module.train()
        if mesh is not None:
            split_as_dtensors(module.model, mesh)
        elif technique.sequence:
            split_as_megatron(module.model, over)
        _recompute(module, technique)
        inputs = _shared(dims, over, kind) if technique.sequence else _inputs(architecture, dims, kind)
        loss = lambda: _loss(architecture, module, inputs, dims, technique)  # noqa: E731
        return trace(module, loss, _OPTIMIZERS[technique.optimizer])


def _shared(dims: Dims, over: int, kind: torch.dtype) -> dict[str, torch.Tensor]:
    """What the first layer gets where ranks share the tokens; places are those of all of them."""
    share = torch.zeros(dims.batch, dims.seq // over, dims.hidden, dtype=kind, requires_grad=True)
    return {"inputs_embeds": share, "position_ids": torch.arange(dims.seq).unsqueeze(0)}


def _module(architecture: str, described: Any, kind: torch.dtype) -> torch.nn.Module:
    auto = transformers.AutoModel if architecture in {"bert", "vit"} else transformers.AutoModelForCausalLM
    if architecture == "mixtral":
        described._experts_implementation = "grouped_mm"
    module: torch.nn.Module = auto.from_config(described, dtype=kind)
    return module


def _adapted(module: torch.nn.Module, technique: Technique) -> torch.nn.Module:
    plan = peft.LoraConfig(
        r=technique.rank,
        target_modules=list(TARGETS[technique.targets]),
        lora_dropout=technique.adapter_dropout,
        use_dora=technique.dora,
    )
    # PEFT keeps adapters in 32 bits beside a base in 16 (autocast_adapter_dtype).
    return peft.get_peft_model(module, plan)  # type: ignore[no-any-return]


#: Matrix products and attention, whose outputs selective checkpointing keeps.
_PRODUCTS = {
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten.bmm.default,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
}


def _recompute(module: torch.nn.Module, technique: Technique) -> None:
    if technique.checkpointing == "none":
        return
    settings: dict[str, Any] = {"use_reentrant": technique.checkpointing == "offloaded"}
    if technique.checkpointing == "selective":
        settings["context_fn"] = lambda: create_selective_checkpoint_contexts(list(_PRODUCTS))
    module.gradient_checkpointing_enable(settings)
    if technique.targets or technique.checkpointing == "offloaded":
        module.enable_input_require_grads()


def _to_host() -> Any:
    """What is kept for the backward pass waits in host memory, in the manner of Unsloth: only a description stays."""
    return torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: tensor if isinstance(tensor, torch.nn.Parameter) else (tensor.shape, tensor.dtype),
        lambda kept: torch.empty(kept[0], dtype=kept[1]) if isinstance(kept, tuple) else kept,
    )


def _inputs(architecture: str, dims: Dims, kind: torch.dtype) -> dict[str, torch.Tensor]:
    if architecture == "vit":
        side = 16 * round(dims.seq**0.5)
        return {"pixel_values": torch.zeros(dims.batch, 3, side, side, dtype=kind)}
    return {"input_ids": torch.zeros(dims.batch, dims.seq, dtype=torch.long)}


def _loss(
    architecture: str, module: Any, inputs: dict[str, torch.Tensor], dims: Dims, technique: Technique
) -> torch.Tensor:
    """A loss over the step's tokens, in the manner of the technique."""
    autocast = torch.autocast("cpu", torch.bfloat16) if technique.recipe == "autocast" or technique.targets else None
    with autocast or nullcontext():
        causal = module.get_base_model() if technique.targets else module
        if architecture in {"bert", "vit"}:
            extra = {"interpolate_pos_encoding": True} if architecture == "vit" else {}
            return causal(**inputs, **extra).last_hidden_state.sum()
        body = causal.base_model if architecture == "gpt-neox" else causal.model
        with _to_host() if technique.checkpointing == "offloaded" else nullcontext():
            states = body(**inputs, use_cache=False).last_hidden_state
        if technique.loss == "none":
            return states.sum()
        head = causal.get_output_embeddings()
        wanted = inputs["input_ids"]
        if technique.loss == "whole":  # As transformers' ForCausalLMLoss: logits in 32 bits, then cross entropy.
            logits = head(states).float()
            return functional.cross_entropy(logits.view(-1, dims.vocab), wanted.reshape(-1))
        pieces = states.split(-(-dims.seq // 8), dim=1)
        labels = wanted.split(-(-dims.seq // 8), dim=1)
        logits_of = [head(piece) for piece in pieces]
        parts = [
            functional.cross_entropy(piece.float().reshape(-1, dims.vocab), label.reshape(-1), reduction="sum")
            for piece, label in zip(logits_of, labels, strict=True)
        ]
        return torch.stack(parts).sum() / dims.tokens(architecture)


_OPTIMIZERS: dict[str, Any] = {
    "": None,
    "adamw": lambda parameters: torch.optim.AdamW(parameters, foreach=False),
    "adamw-foreach": lambda parameters: torch.optim.AdamW(parameters, foreach=True),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, foreach=False),
    "adafactor": lambda parameters: transformers.optimization.Adafactor(parameters, relative_step=False, lr=1e-3),
}
