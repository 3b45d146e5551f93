"""Layers of a base of bitsandbytes that PEFT has prepared: what their matrices answer is in 32 bits."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.sizing import job_from_facts
from whichgpu.engine.sizing.layers import layer_bytes_per_token
from whichgpu.engine.sizing.shape import shape_of


LLAMA_7B = ModelSpec(
    id="llama-2-7b", name="Llama 2 7B", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=32, intermediate=11008,
    vocab=32000, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
_FACTS = {"task": "peft_finetuning", "peft_method": "qlora", "training_framework": "peft", "weight_precision": "nf4"}
_OWN_LOOP = {"loss_precision": "bf16"}  # without autocast
#: As traced (benchmarks/lab/prepared.py): adapters, how, and bytes for each number of the stream, of the feed-forward
#: width and of keys and values that a layer keeps.
_TRACED = [
    ("qv", {"lora_dropout": 0}, (16, 12, 2)),
    ("qv", {"lora_dropout": 0.05}, (18, 12, 2)),
    ("qv", {"lora_dropout": 0, **_OWN_LOOP}, (20, 12, 4)),
    ("qv", {"lora_dropout": 0.05, **_OWN_LOOP}, (26, 12, 4)),
    ("qkvo", {"lora_dropout": 0}, (20, 12, 2)),
    ("qkvo", {"lora_dropout": 0.05}, (24, 12, 2)),
    ("qkvo", {"lora_dropout": 0, **_OWN_LOOP}, (20, 12, 4)),
    ("qkvo", {"lora_dropout": 0.05, **_OWN_LOOP}, (36, 12, 4)),
    ("all-linear", {"lora_dropout": 0}, (24, 14, 2)),
    ("all-linear", {"lora_dropout": 0.05}, (30, 15, 2)),
    ("all-linear", {"lora_dropout": 0, **_OWN_LOOP}, (24, 16, 4)),
    ("all-linear", {"lora_dropout": 0.05, **_OWN_LOOP}, (46, 17, 4)),
]


def _bytes(recompute: str, **stated: object) -> tuple[float, float, float]:
    return layer_bytes_per_token(
        job_from_facts({**_FACTS, "gradient_checkpointing": recompute, **stated}, LLAMA_7B), shape_of(LLAMA_7B, None), 1
    )


@pytest.mark.parametrize(("targets", "stated", "each"), _TRACED)
def test_a_layer_keeps_what_was_traced(targets, stated, each):
    shape = shape_of(LLAMA_7B, None)
    sides = (shape.hidden, shape.intermediate, 2 * shape.kv_heads * shape.head_dim)
    traced = sum(side * of_it for side, of_it in zip(sides, each, strict=True))
    assert _bytes("none", lora_targets=targets, **stated)[1] == pytest.approx(traced, rel=0.01)


@pytest.mark.parametrize(("targets", "stated", "each"), _TRACED)
def test_a_layer_that_is_computed_anew_has_gradients_of_its_inner_maps_beside(targets, stated, each):
    kept = _bytes("none", lora_targets=targets, **stated)[1]
    traced = kept + (24 - each[1]) * LLAMA_7B.intermediate
    assert _bytes("full", lora_targets=targets, **stated)[0] == pytest.approx(traced, rel=0.01)


def test_a_base_that_nobody_prepared_answers_in_16_bits():
    prepared = _bytes("none", lora_targets="qv", lora_dropout=0)[1]
    plain = _bytes("none", lora_targets="qv", lora_dropout=0, training_framework="llama-factory")[1]
    assert prepared > 1.3 * plain


def test_eager_attention_holds_its_scores_beside():
    stated = {"lora_targets": "qv", "seq_len_tokens": 2048}
    fused, eager = (_bytes("none", flash_attention=flash, **stated)[1] for flash in (True, False))
    assert eager - fused == pytest.approx(6 * 32 * 2048)
