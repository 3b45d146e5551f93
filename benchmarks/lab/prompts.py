"""What a prompt and the step after it take while a model of transformers serves, traced without a GPU.

Of a forward pass without gradients: what it holds at its peak beside weights and cache, for each token and, where
attention is eager, for each score. Of the step that follows: how much of the cache is there twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from tracer import LiveStorages, fake_device, faked
from transformers_traced import Dims, config


@dataclass(frozen=True)
class Prompt:
    """One architecture and its attention."""

    architecture: str
    attention: str  # sdpa, eager


PROMPTS: tuple[Prompt, ...] = tuple(Prompt(name, kind) for name in ("llama", "qwen3") for kind in ("sdpa", "eager"))
_DIMS = Dims(hidden=1024, heads=16, kv_heads=4, head_dim=64, intermediate=4096, batch=1, layers=4)


def prompt_row(prompt: Prompt) -> dict[str, Any]:
    """Bytes for a score and for a token of the widths that pass, and the share of the cache that a step holds twice."""
    short, long = (_peaks(prompt, replace(_DIMS, seq=tokens)) for tokens in (2048, 4096))
    # Peak = a x tokens + b x tokens squared, beside weights and cache.
    square = (long[0] / 4096 - short[0] / 2048) / 2048
    each = short[0] / 2048 - square * 2048
    widths = 2.0 * (3 * _DIMS.intermediate + 3 * _DIMS.hidden)
    return {
        "score": round(square / _DIMS.heads, 2),
        "token_over_three_widths": round(each / widths, 2),
        "cache_twice": round(long[1], 3),
    }


def _peaks(prompt: Prompt, dims: Dims) -> tuple[float, float]:
    described = config(prompt.architecture, dims, dims.layers, prompt.attention)
    described.use_cache = True
    with torch.device("meta"):
        module: Any = transformers.AutoModelForCausalLM.from_config(described, dtype=torch.bfloat16).model
    with fake_device(), torch.no_grad():
        faked(module)
        module.eval()
        live = LiveStorages()
        for tensor in (*module.parameters(), *module.buffers()):
            live.see(tensor)
        words, next_word = (torch.zeros(1, tokens, dtype=torch.long) for tokens in (dims.seq, 1))
        cache = transformers.DynamicCache(config=described)
        weights = live.now
        with live:
            module(input_ids=words, past_key_values=cache, use_cache=True)
            held = 2 * dims.layers * dims.kv_heads * dims.head_dim * dims.seq * 2
            passing = live.peak - weights - held
            live.restart()
            module(input_ids=next_word, past_key_values=cache, use_cache=True)
            twice = (live.peak - live.now) / held
    return float(passing), twice
