"""What a layer keeps where bitsandbytes holds the base and PEFT has prepared it for training, traced without a GPU.

``prepare_model_for_kbit_training`` casts norms, embedding and head to 32 bits. A matrix of bitsandbytes computes in 16
bits and answers in the type of what it read (``Linear4bit.forward``), for which a matrix in 16 bits stands here that
casts in the same way. For adapters on two, four and seven matrices, with and without autocast and dropout, bytes a
token of one layer are solved for the width, the feed-forward width and the width of keys and values. Dropout's mask is
not seen while a layer is computed anew, so that cells with both are given 3 bytes too high for each adapter.

Usage: python benchmarks/lab/prepared.py
"""

from __future__ import annotations

import sys
import warnings
from contextlib import nullcontext
from itertools import product
from pathlib import Path

import numpy as np


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

import peft
import torch
import transformers
from tracer import Step, fake_device, faked, trace
from transformers_traced import Dims, config


_DIMS = (
    Dims(1024, 16, 4, 64, 2816, batch=4),
    Dims(1024, 16, 16, 64, 4096, batch=4),
    Dims(1024, 16, 8, 64, 8192, batch=4),
    Dims(2048, 32, 8, 64, 5632, batch=4),
)
_TARGETS = (
    ("q_proj", "v_proj"),
    ("q_proj", "k_proj", "v_proj", "o_proj"),
    ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
)


class _Quantised(torch.nn.Linear):
    """Computes in 16 bits and answers in the type of what it reads, as a matrix of bitsandbytes does."""

    def forward(self, read: torch.Tensor) -> torch.Tensor:
        """The product."""
        return torch.nn.functional.linear(read.to(torch.bfloat16), self.weight).to(read.dtype)


def prepared(dims: Dims, layers: int, targets: tuple[str, ...], dropout: float) -> torch.nn.Module:
    """A small Llama with a prepared base under adapters in 32 bits."""
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config("llama", dims, layers, "sdpa")).to(torch.bfloat16)
        for part in list(module.model.modules()):
            for name, child in list(part.named_children()):
                if type(child) is torch.nn.Linear:
                    made = _Quantised(child.in_features, child.out_features, bias=False, dtype=torch.bfloat16)
                    setattr(part, name, made)
        module.requires_grad_(requires_grad=False)
        for wide in (module.model.embed_tokens, module.lm_head, module.model.norm):
            wide.float()
        for layer in module.model.layers:
            layer.input_layernorm.float()
            layer.post_attention_layernorm.float()
        adapted = peft.LoraConfig(r=8, lora_dropout=dropout, target_modules=list(targets))
        return peft.get_peft_model(module, adapted, autocast_adapter_dtype=True)


def step(dims: Dims, layers: int, targets: tuple[str, ...], *, autocast: bool, dropout: float, recompute: bool) -> Step:
    """Bytes of a step whose loss is a sum over hidden states."""
    module = prepared(dims, layers, targets, dropout)
    with fake_device():
        faked(module)
        module.train()
        if recompute:
            module.base_model.model.gradient_checkpointing_enable({"use_reentrant": True})
        module.enable_input_require_grads()
        words = torch.zeros(dims.batch, dims.seq, dtype=torch.long)

        def loss() -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
                return module.base_model.model.model(words).last_hidden_state.float().sum()

        return trace(module, loss)


def main() -> None:
    """Print bytes a token for each number of the three widths: of what is kept, and of a layer at work beside that."""
    for targets, autocast, dropout, recompute in product(_TARGETS, (True, False), (0.0, 0.05), (False, True)):
        sides, kept, working = [], [], []
        for dims in _DIMS:
            tokens = dims.tokens("llama")
            how = {"autocast": autocast, "dropout": dropout, "recompute": recompute}
            two, four = (step(dims, layers, targets, **how) for layers in (2, 4))
            sides.append((dims.hidden, dims.intermediate, 2 * dims.kv_heads * dims.head_dim))
            kept.append((four.kept - two.kept) / 2 / tokens)
            working.append((four.peak_backward - four.weights - four.kept) / tokens)
        for name, found in (("kept", kept), ("at work", working)):
            width, inner, values = np.linalg.lstsq(np.array(sides, float), np.array(found), rcond=None)[0]
            how = f"{len(targets)} adapters, {'autocast' if autocast else 'none'}, dropout {dropout}, "
            how += "recomputed" if recompute else "kept"
            print(f"{how}: {name} {width:.2f} width + {inner:.2f} inner + {values:.2f} keys and values")


if __name__ == "__main__":
    main()
