"""Adapters and quantised bases under FSDP, and what a full card gives back."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Gpu, ModelSpec
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts
from whichgpu.engine.sizing.shape import shape_of
from whichgpu.engine.sizing.training_activations import adapter_params


LLAMA_7B = ModelSpec(
    id="llama-2-7b", name="Llama 2 7B", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=32, intermediate=11008,
    vocab=32000, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
BODY_B, ENDS_B = 6.4763, 0.2621
ALL = ("q", "k", "v", "o", "gate", "up", "down")
FSDP = Layout(data=2, sharding="fsdp")
QLORA = {"task": "peft_finetuning", "peft_method": "qlora", "weight_precision": "nf4", "lora_targets": "all-linear"}


def estimate(layout: Layout = FSDP, usable_gb: float = 84.6, **facts: object) -> MemoryEstimate:
    card = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=usable_gb)
    found = estimate_memory(job_from_facts({**QLORA, "lora_rank": 64, **facts}, LLAMA_7B), card, layout)
    assert found is not None
    return found


@pytest.mark.parametrize(("kind", "scales"), [("nf4", 0.0625), ("nf4-dq", 0.0159)])
@pytest.mark.parametrize("ranks", [2, 8])
def test_scales_of_a_quantised_base_are_not_sharded(kind, scales, ranks):
    whole, spread = (
        estimate(layout, weight_precision=kind).breakdown["weights"]
        for layout in (Layout(), Layout(data=ranks, sharding="fsdp"))
    )
    assert whole == pytest.approx(BODY_B * (0.5 + scales) + ENDS_B * 2, rel=1e-3)
    assert spread == pytest.approx((BODY_B * 0.5 + ENDS_B * 2) / ranks + BODY_B * scales, rel=1e-3)


def test_scales_do_not_wait_in_host_memory():
    few, many = (estimate(cpu_offload=True, weight_precision=kind).breakdown["weights"] for kind in ("nf4-dq", "nf4"))
    assert many - few == pytest.approx(BODY_B * (0.0625 - 0.0159), rel=1e-3)


def test_fsdp_shards_adapters_and_offload_takes_them_along():
    params = adapter_params(shape_of(LLAMA_7B, None), 64, ALL) / 1e9
    one, two, eight = (
        estimate(layout, gradient_accumulation_steps=4).breakdown["adapters"]
        for layout in (Layout(), FSDP, Layout(data=8, sharding="fsdp"))
    )
    assert one == pytest.approx(params * 16)
    assert (two, eight) == (pytest.approx(one / 2), pytest.approx(one / 8))
    assert estimate(cpu_offload=True).breakdown["adapters"] == 0.0


def test_zero_leaves_adapters_whole_and_shards_their_moments():
    params = adapter_params(shape_of(LLAMA_7B, None), 64, ALL) / 1e9
    third = Layout(data=4, sharding="zero3")
    assert estimate(third).breakdown["adapters"] == pytest.approx(params * (8 + 8 / 4))
    assert estimate(third, cpu_offload=True).breakdown["adapters"] == pytest.approx(params * 8)


def test_gradients_of_adapters_are_not_there_when_the_loss_is_taken():
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 2, "gradient_checkpointing": "full"}
    once, many = (estimate(Layout(), gradient_accumulation_steps=steps, **facts) for steps in (1, 4))
    params = adapter_params(shape_of(LLAMA_7B, None), 64, ALL) / 1e9
    assert many.breakdown["adapters"] - once.breakdown["adapters"] == pytest.approx(4 * params)
    # Where hardly anything is kept they come on top of what the backward pass has left.
    tiny = estimate(Layout(), gradient_accumulation_steps=1, seq_len_tokens=16, batch_size_per_gpu=1)
    assert 0 < tiny.breakdown["gradients"] < 4 * params


def test_a_full_card_gives_back_what_is_never_in_use_together():
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 10, "gradient_checkpointing": "full"}
    roomy = estimate(**facts)
    least = estimate(usable_gb=1.0, **facts)
    assert least.per_gpu_gb < 0.85 * roomy.per_gpu_gb
    assert least.allocated_gb == pytest.approx(roomy.allocated_gb)
    between = 0.5 * (least.per_gpu_gb + roomy.per_gpu_gb)
    full = estimate(usable_gb=between, **facts)
    assert between - 0.01 < full.per_gpu_gb <= between
    assert sum(full.breakdown.values()) == pytest.approx(full.per_gpu_gb)
    assert full.low_gb <= full.per_gpu_gb <= full.high_gb


def test_one_gpu_gives_back_what_the_forward_pass_of_a_layer_left():
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 10, "gradient_checkpointing": "full"}
    roomy, least = estimate(Layout(), **facts), estimate(Layout(), usable_gb=1.0, **facts)
    left = 20480 * (3 * 4096 + 3 * 11008) * 2 / 1e9
    assert roomy.breakdown["activations"] - least.breakdown["activations"] == pytest.approx(left)
    assert least.allocated_gb == pytest.approx(roomy.allocated_gb)
    # Chunks of a loss are no larger than the blocks of a layer, and without recomputation nothing is let go.
    for other in ({"chunked_loss": True}, {"gradient_checkpointing": "none"}):
        both = [estimate(Layout(), usable_gb=usable, **facts | other) for usable in (1.0, 500.0)]
        assert both[0].per_gpu_gb == both[1].per_gpu_gb
