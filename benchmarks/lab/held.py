"""What PyTorch's allocator holds over a training step beyond its tensors, and with how much of a card it would manage.

Every storage of two steps of a Llama, with adapters or whole, goes through the allocator of ``allocated.py``, which
does not tell streams apart, as FSDP's are.

Usage: python benchmarks/lab/held.py
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import median

import torch


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

import peft
import transformers
from allocated import Recorded, least, served
from torch.nn import functional
from tracer import fake_device, faked
from transformers_traced import TARGETS, Dims, config


_SHAPES = (
    Dims(4096, 32, 32, 128, 11008, vocab=32000),
    Dims(4096, 32, 8, 128, 14336, vocab=128256),
    Dims(2048, 32, 8, 64, 8192, vocab=64000),
    Dims(5120, 40, 40, 128, 13824, vocab=32000),
)
_BATCHES = ((1, 2048), (1, 8192), (4, 1024), (8, 2048))


def recorded(dims: Dims, layers: int, *, adapters: bool, recompute: bool) -> tuple[int, list[tuple[int, int]]]:
    """Bytes of the weights, and what comes and goes over two steps in 16 bits with AdamW."""
    with torch.device("meta"):
        module = transformers.LlamaForCausalLM(config("llama", dims, layers, "sdpa")).to(torch.bfloat16)
        if adapters:
            wanted = peft.LoraConfig(r=64, lora_dropout=0.1, target_modules=list(TARGETS["all-linear"]))
            module = peft.get_peft_model(module, wanted, autocast_adapter_dtype=False)
    with fake_device():
        faked(module)
        module.train()
        inner = module.base_model.model if adapters else module
        if recompute:
            inner.gradient_checkpointing_enable({"use_reentrant": True})
        if adapters:
            module.enable_input_require_grads()
        words = torch.zeros(dims.batch, dims.seq, dtype=torch.long)
        seen = Recorded()
        for tensor in (*module.parameters(), *module.buffers()):
            seen.see(tensor)
        weights = seen.now
        learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(learning, foreach=False)
        with seen:
            for _ in range(2):
                logits = inner(words).logits[:, :-1].reshape(-1, dims.vocab)
                loss = functional.cross_entropy(logits, words[:, 1:].reshape(-1))
                del logits
                loss.backward()
                del loss
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    return weights, seen.events


def main() -> None:
    """Print, beside the weights, what is held and what is needed over what is allocated."""
    shares: dict[tuple[bool, bool], list[tuple[float, float]]] = defaultdict(list)
    for shape, (batch, seq), adapters, recompute in product(_SHAPES, _BATCHES, (True, False), (True, False)):
        if not recompute and batch * seq > 8192:
            continue
        dims = Dims(**{**shape.__dict__, "batch": batch, "seq": seq})
        weights, events = recorded(dims, 8, adapters=adapters, recompute=recompute)
        free = served(events)
        beside = free.most_allocated - weights
        found = (free.most_reserved - weights) / beside, (least(events, free) - weights) / beside
        shares[adapters, recompute].append(found)
    for (adapters, recompute), found in shares.items():
        name = f"{'adapters' if adapters else 'whole'}, {'recomputed' if recompute else 'kept'}"
        held, needed = (median(each) for each in zip(*found, strict=True))
        print(f"{name}: {len(found)} steps, held {held:.3f}, needed {needed:.3f} of what is allocated beside weights")


if __name__ == "__main__":
    main()
