"""Layers of frameworks that bring models of their own: litgpt's and torchtune's, traced as those of transformers are.

Needs ``requirements-frameworks.txt`` besides. Adapters are on query and value, or on all that a recipe calls all; they
are in 16 bits like the base, as both frameworks have them.
"""

from __future__ import annotations

from typing import Any

import torch
from tracer import Step, fake_device, faked, trace
from transformers_traced import Dims, Technique


_LITGPT = {
    "": (),
    "qv": ("lora_query", "lora_value"),
    "all-linear": ("lora_query", "lora_key", "lora_value", "lora_projection", "lora_mlp"),
}
_TORCHTUNE = {"qv": ["q_proj", "v_proj"], "all-linear": ["q_proj", "k_proj", "v_proj", "output_proj"]}


def framework_step(framework: str, dims: Dims, layers: int, technique: Technique) -> Step:
    """Bytes of one training step of a framework's own Llama."""
    module, blocks, norm = (_litgpt if framework == "litgpt" else _torchtune)(dims, layers, technique)
    with fake_device():
        faked(module)
        module.train()
        if framework == "litgpt":
            module.cos = module.sin = torch.zeros(1, dims.seq, dims.head_dim, dtype=torch.bfloat16)
        shape = (dims.batch, dims.seq, dims.hidden)
        states = torch.zeros(*shape, dtype=torch.bfloat16, requires_grad=bool(technique.targets))
        rotary = (module.cos, module.sin) if framework == "litgpt" else ()

        def loss() -> torch.Tensor:
            hidden = states
            for block in blocks:
                hidden = block(hidden, *rotary)
                hidden = hidden[0] if isinstance(hidden, tuple) else hidden
            total: torch.Tensor = norm(hidden).sum()
            return total

        return trace(module, loss)


def _litgpt(dims: Dims, layers: int, technique: Technique) -> tuple[Any, Any, Any]:
    from litgpt import lora, model  # noqa: PLC0415  # Only where this framework is traced.

    described: dict[str, Any] = {
        "name": "traced",
        "block_size": 1 << 14,
        "n_layer": layers,
        "n_embd": dims.hidden,
        "n_head": dims.heads,
        "n_query_groups": dims.kv_heads,
        "head_size": dims.head_dim,
        "intermediate_size": dims.intermediate,
        "padded_vocab_size": dims.vocab,
        "rotary_percentage": 1.0,
        "parallel_residual": False,
        "bias": False,
        "norm_class_name": "RMSNorm",
        "mlp_class_name": "LLaMAMLP",
    }
    library = lora if technique.targets else model
    if technique.targets:
        adapters = dict.fromkeys(_LITGPT[technique.targets], True)
        described |= {"lora_r": technique.rank, "lora_dropout": technique.adapter_dropout, **adapters}
    with torch.device("meta"):
        module = library.GPT(library.Config(**described)).to(torch.bfloat16)
    if technique.targets:
        lora.mark_only_lora_as_trainable(module)
    return module, module.transformer.h, module.transformer.ln_f


def _torchtune(dims: Dims, layers: int, technique: Technique) -> tuple[Any, Any, Any]:
    from torchtune.models.llama3 import llama3, lora_llama3  # noqa: PLC0415  # As above.
    from torchtune.modules.peft import get_adapter_params, set_trainable_params  # noqa: PLC0415

    described = {
        "vocab_size": dims.vocab,
        "num_layers": layers,
        "num_heads": dims.heads,
        "num_kv_heads": dims.kv_heads,
        "embed_dim": dims.hidden,
        "max_seq_len": 1 << 14,
        "intermediate_dim": dims.intermediate,
    }
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("meta"):
            if not technique.targets:
                module = llama3(**described)
            else:
                wide = technique.targets == "all-linear"
                adapters = {"lora_rank": technique.rank, "lora_alpha": 16.0, "lora_dropout": technique.adapter_dropout}
                module = lora_llama3(_TORCHTUNE[technique.targets], apply_lora_to_mlp=wide, **adapters, **described)
                set_trainable_params(module, get_adapter_params(module))
    finally:
        torch.set_default_dtype(torch.float32)
    return module, module.layers, module.norm
