"""Memory of training: states, adapters, sharding, activations, against sums that can be checked by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue.model import Gpu, ModelSpec, Moe
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.layers import layer_bytes_per_token
from whichgpu.engine.sizing.shape import shape_of
from whichgpu.engine.sizing.training_activations import adapter_params


CARD = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=84.6)
LLAMA_7B = ModelSpec(
    id="llama-2-7b", name="Llama 2 7B", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=32, intermediate=11008,
    vocab=32000, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
LLAMA_70B = ModelSpec(
    id="llama-3.1-70b", name="Llama 3.1 70B", kind="llm", layers=80, hidden=8192, heads=64, kv_heads=8,
    intermediate=28672, vocab=128256, gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
PARAMS_B = 6.7384


def estimate(layout: Layout | None = None, model: ModelSpec | None = LLAMA_7B, **facts) -> MemoryEstimate:
    found = estimate_memory(job_from_facts({"task": "full_finetuning", **facts}, model), CARD, layout or Layout())
    assert found is not None
    return found


def states(found: MemoryEstimate) -> float:
    shares = found.breakdown
    return sum(shares.get(name, 0.0) for name in ("weights", "gradients", "optimizer"))


@pytest.mark.parametrize(
    ("facts", "bytes_each"),
    [
        ({}, 16.0),
        ({"compute_precision": "bf16", "weight_precision": "bf16"}, 8.0),
        ({"compute_precision": "fp32"}, 16.0),
        ({"training_framework": "megatron"}, 18.0),
        ({"optimizer": "lion"}, 12.0),
        ({"optimizer": "sgd"}, 12.0),
        ({"optimizer": "adafactor"}, 8.1),
    ],
)
def test_bytes_per_trained_parameter(facts, bytes_each):
    assert states(estimate(**facts)) == pytest.approx(PARAMS_B * bytes_each, rel=1e-3)


@pytest.mark.parametrize("optimizer", ["adamw-8bit", "paged-adamw-8bit"])
def test_an_eight_bit_optimizer_keeps_embeddings_in_thirty_two_bits(optimizer):
    embedding_b = 32000 * 4096 / 1e9
    assert states(estimate(optimizer=optimizer)) == pytest.approx(PARAMS_B * 10.0 + embedding_b * 6.0, rel=1e-3)


@pytest.mark.parametrize(
    ("sharding", "bytes_each"),
    [("none", 16.0), ("zero1", 4 + 12 / 8), ("zero2", 2 + 14 / 8), ("zero3", 16 / 8), ("fsdp", 16 / 8)],
)
def test_sharding_spreads_the_states(sharding, bytes_each):
    found = estimate(Layout(data=8, sharding=sharding))
    assert states(found) == pytest.approx(PARAMS_B * bytes_each, rel=1e-3)


def kept_gathered(shape, settings="auto"):
    """Parameters of the third stage: the last ones up to half of the distance of reuse, and the next nine tenths."""
    stage = sizing_constants().training.zero.third_stage[settings]
    return max(stage.reuse_elements / 2, shape.layer_params) + 0.9 * shape.hidden**2


def test_full_sharding_keeps_the_last_layers_gathered_and_the_gradients_of_one():
    shape = shape_of(LLAMA_7B, None)
    assert shape is not None
    found = estimate(Layout(data=8, sharding="zero3"))
    expected = 2 * kept_gathered(shape) + 2 * shape.layer_params
    assert found.breakdown["gathered_layer"] == pytest.approx(expected / 1e9)
    assert "gathered_layer" not in estimate(Layout(data=8, sharding="zero2")).breakdown


def test_without_a_distance_of_reuse_one_layer_is_gathered():
    shape = shape_of(LLAMA_7B, None)
    assert shape is not None
    found = estimate(Layout(data=8, sharding="zero3"), training_framework="axolotl")
    expected = 2 * kept_gathered(shape, "axolotl") + 2 * shape.layer_params
    assert found.breakdown["gathered_layer"] == pytest.approx(expected / 1e9)
    assert expected < 2 * kept_gathered(shape)


# DeepSpeed's estimator for 70.55 B parameters at 18 bytes, GiB per GPU on 8 to 64 GPUs; Megatron's recipe is the same.
@pytest.mark.parametrize(("count", "gib"), [(8, 151.8), (16, 77.8), (32, 40.9), (64, 22.4)])
def test_states_of_a_70b_agree_with_deepspeeds_estimator(count, gib):
    found = estimate(Layout(data=count, sharding="zero3"), LLAMA_70B, training_framework="megatron")
    shape = shape_of(LLAMA_70B, None)
    assert shape is not None
    computed = states(found) + 4 * shape.embedding / 1e9  # The estimator counts its largest layer at 4 bytes.
    assert computed / 1.073741824 == pytest.approx(gib, rel=0.01)


def test_the_step_of_an_unfused_optimizer_needs_a_copy_of_the_gradients():
    short = estimate(seq_len_tokens=16, batch_size_per_gpu=1, gradient_checkpointing="full")
    assert short.breakdown["optimizer_step"] == pytest.approx(PARAMS_B * 4, rel=0.02)
    long = estimate(seq_len_tokens=8192, batch_size_per_gpu=8, gradient_checkpointing="none")
    assert "optimizer_step" not in long.breakdown


@pytest.mark.parametrize("ranks", [2, 8])
def test_ranks_of_fsdp_step_over_a_copy_of_their_shares_when_nothing_is_gathered(ranks):
    sharded = Layout(data=ranks, sharding="fsdp")
    at_once, one_by_one = (
        estimate(sharded, seq_len_tokens=16, optimizer_step=stated) for stated in ("foreach", "one-by-one")
    )
    assert at_once.allocated_gb == pytest.approx(PARAMS_B * (16 + 4) / ranks, rel=0.01)
    # Otherwise the peak is the backward pass, with weights and gradients of layers gathered.
    gathered = one_by_one.breakdown["gathered_layer"]
    assert one_by_one.allocated_gb == pytest.approx(PARAMS_B * 16 / ranks + gathered, rel=0.02)
    # Where neither step nor framework is stated, frameworks that shard stand for it, most of which hold no copy.
    assert estimate(sharded, seq_len_tokens=16).allocated_gb == one_by_one.allocated_gb


def test_a_framework_that_drops_gradients_between_steps_needs_less():
    facts = {"seq_len_tokens": 4096, "batch_size_per_gpu": 2, "gradient_checkpointing": "none"}
    dropped = estimate(training_framework="torchtune", **facts)
    assert dropped.breakdown["gradients"] == 0.0
    assert states(dropped) == pytest.approx(PARAMS_B * 6.0, rel=1e-3)


def test_checkpointing_trades_activations_for_time():
    facts = {"seq_len_tokens": 4096, "batch_size_per_gpu": 1}
    sizes = [
        estimate(gradient_checkpointing=setting, **facts).breakdown["activations"]
        for setting in ("none", "selective", "full")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < 0.1 * sizes[0]


def test_a_checkpoint_is_one_hidden_state_a_layer():
    found = estimate(seq_len_tokens=2048, batch_size_per_gpu=4, gradient_checkpointing="full")
    checkpoints = 32 * 4096 * 2 * 2048 * 4 / 1e9
    forward = 2048 * 4 * (3 * 4096 + 3 * 11008) * 2 / 1e9
    # The logits are larger than a layer at work, but cannot use what its forward pass left.
    assert found.breakdown["activations"] == pytest.approx(checkpoints + forward)
    chunked = estimate(seq_len_tokens=2048, batch_size_per_gpu=4, gradient_checkpointing="full", chunked_loss=True)
    at_work = 2048 * 4 * (10 * 4096 + 4 * 4096 + 2 * 8192 + 12 * 11008) / 1e9  # as traced, bytes per token
    both = chunked.breakdown["activations"] + chunked.breakdown["logits"]
    assert both == pytest.approx(checkpoints + at_work)


def test_what_the_loss_leaves_is_used_again_unless_lengths_vary_or_weights_are_gathered():
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 4, "gradient_checkpointing": "full"}
    usual, varying = estimate(**facts, packing=True), estimate(**facts, packing=False)
    assert varying.breakdown["activations"] > usual.breakdown["activations"]
    assert varying.allocated_gb == pytest.approx(usual.allocated_gb)
    gathered = estimate(Layout(data=8, sharding="fsdp"), **facts)
    assert gathered.breakdown["activations"] == pytest.approx(varying.breakdown["activations"])


def test_fsdp_holds_two_layers_the_gradients_of_one_twice_and_what_is_in_no_layer():
    sharded = Layout(data=8, sharding="fsdp")
    found = estimate(sharded, seq_len_tokens=512).breakdown["gathered_layer"]
    ends = 2 * 32000 * 4096
    layer = (PARAMS_B * 1e9 - ends) / 32
    assert found == pytest.approx((8 * layer + 2 * ends) / 1e9, rel=1e-3)


def test_gradients_of_a_single_micro_batch_are_not_beside_its_loss():
    facts = {"seq_len_tokens": 4096, "batch_size_per_gpu": 8, "gradient_checkpointing": "none"}
    once = estimate(**facts, gradient_accumulation_steps=1)
    often = estimate(**facts, gradient_accumulation_steps=8)
    gradients = often.breakdown["gradients"]
    assert once.breakdown.get("gradients", 0.0) == 0.0
    assert often.allocated_gb - once.allocated_gb == pytest.approx(gradients, rel=0.01)
    # Where the loss is small, the step of the optimiser holds them all the same.
    small = {"seq_len_tokens": 128, "batch_size_per_gpu": 1, "gradient_checkpointing": "full"}
    step = [estimate(**small, gradient_accumulation_steps=steps).allocated_gb for steps in (1, 8)]
    assert step[0] == pytest.approx(step[1], rel=0.01)


def test_attention_scores_grow_with_the_square_of_the_sequence_without_flash_attention():
    facts = {"batch_size_per_gpu": 1, "gradient_checkpointing": "none"}
    gaps = []
    for length in (2048, 4096):
        whole = estimate(flash_attention=False, seq_len_tokens=length, **facts).breakdown["activations"]
        gaps.append(whole - estimate(flash_attention=True, seq_len_tokens=length, **facts).breakdown["activations"])
    assert gaps[1] == pytest.approx(4 * gaps[0], rel=0.02)
    # Six bytes a score, as traced: a softmax in 32 bits and its cast.
    assert gaps[0] * 32 / 33 == pytest.approx(32 * 32 * 2048**2 * 6 / 1e9, rel=0.03)


def test_encoders_drop_scores_of_attention():
    bert = ModelSpec(
        id="b",
        name="b",
        kind="encoder",
        params_b=0.335,
        layers=24,
        hidden=1024,
        heads=16,
        kv_heads=16,
        head_dim=64,
        intermediate=4096,
        vocab=30522,
        gated_mlp=False,
    )
    facts = {"task": "full_finetuning", "compute_precision": "fp32", "weight_precision": "fp32", "seq_len_tokens": 512}
    facts |= {"batch_size_per_gpu": 4, "gradient_checkpointing": "none"}
    whole, fused = (estimate(model=bert, **facts, flash_attention=stated).breakdown for stated in (False, True))
    # As traced: softmax 4, a mask, what is left 4; in each of the layers and in the one at work.
    scores = 25 * 9 * 4 * 16 * 512**2 / 1e9
    assert whole["activations"] - fused["activations"] == pytest.approx(scores, rel=0.1)


def test_scores_that_are_dropped_take_nine_bytes_in_32_bits():
    gpt2 = ModelSpec(
        id="gpt2", name="GPT-2", kind="llm", layers=12, hidden=768, heads=12, kv_heads=12, intermediate=3072,
        vocab=50257, gated_mlp=False, tied_embeddings=True, bias="all", learned_positions=1024, drops_out=True,
    )  # fmt: skip
    facts = {
        "compute_precision": "fp32",
        "seq_len_tokens": 1024,
        "batch_size_per_gpu": 8,
        "gradient_checkpointing": "none",
    }
    for model, each in ((gpt2, 9), (replace(gpt2, drops_out=False), 4)):
        whole, fused = (
            estimate(model=model, **facts, flash_attention=stated).breakdown["activations"] for stated in (False, True)
        )
        # Of the twelve layers and of the one at work.
        assert whole - fused == pytest.approx(13 * each * 8 * 12 * 1024**2 / 1e9, rel=0.1)


def test_logits_take_fourteen_bytes_each_and_an_eighth_when_chunked():
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 2}
    whole = estimate(**facts).breakdown["logits"]
    assert whole == pytest.approx(14 * 2048 * 2 * 32000 / 1e9)
    before = {"training_framework": "unsloth", "training_framework_version": "2025.1.5"}
    assert estimate(**before, **facts).breakdown["logits"] == pytest.approx(whole / 8)
    assert estimate(Layout(tensor=4), **facts).breakdown["logits"] == pytest.approx(whole / 4)


@pytest.mark.parametrize(("release", "whole"), [("4.35.2", True), ("4.36.0", False), (None, False)])
def test_attention_is_fused_from_a_release_of_transformers_on(release, whole):
    facts = {"seq_len_tokens": 8192, "batch_size_per_gpu": 1, "training_framework": "transformers"}
    fused = estimate(**facts, flash_attention=True).allocated_gb
    found = estimate(**facts, transformers_version=release) if release else estimate(**facts)
    assert (found.allocated_gb > fused + 10.0) == whole


def test_a_fused_loss_takes_chunks_as_the_vocabulary_is_wider_than_the_stream():
    """Of 32,000 words over 4,096 numbers eight, of 128,256 thirty-two; TRL's are of 256 tokens."""
    facts = {"task": "peft_finetuning", "batch_size_per_gpu": 1, "chunked_loss": True}
    wide = replace(LLAMA_7B, vocab=128256)
    chunk = estimate(model=wide, seq_len_tokens=8192, **facts).breakdown["logits"]
    assert chunk == pytest.approx(14 * 8192 * 128256 / 32 / 1e9)
    trl = [
        estimate(model=wide, seq_len_tokens=tokens, training_framework="trl", **facts).breakdown["logits"]
        for tokens in (128, 1024, 8192)
    ]
    assert trl == pytest.approx([trl[1] / 2, trl[1], trl[1]])


def test_a_chunk_of_unsloths_loss_has_a_most():
    long = estimate(seq_len_tokens=500_000, training_framework="unsloth", batch_size_per_gpu=1)
    assert long.breakdown["logits"] == pytest.approx(4 * 500_000 * 32000 / 60 / 1e9)  # 238 GiB in parts of four.
    assert long.breakdown["logits"] * 16 / 4 < 4 * 1.024**3


@pytest.mark.parametrize("framework", ["ms-swift", "axolotl"])
def test_zero_steps_over_a_copy_in_32_bits_whatever_the_framework_does_without_it(framework):
    plain = states(estimate(training_framework=framework))
    staged = states(estimate(training_framework=framework, sharding="zero1"))
    assert (plain, staged) == pytest.approx((8 * PARAMS_B, 16 * PARAMS_B), rel=0.01)


def test_trainers_that_let_answers_go_hold_two_bytes_fewer_a_logit():
    """As a trace of transformers 5.24 has it; ms-swift's trainers still look at the answers."""
    facts = {"seq_len_tokens": 2048, "batch_size_per_gpu": 2}
    held = {
        name: estimate(training_framework=name, **facts).breakdown["logits"] for name in ("transformers", "ms-swift")
    }
    each = 2048 * 2 * 32000 / 1e9
    assert held == pytest.approx({"transformers": 12 * each, "ms-swift": 14 * each})


def test_adapters_follow_rank_and_targets():
    shape = shape_of(LLAMA_7B, None)
    assert shape is not None
    query_value = adapter_params(shape, 8, ("q", "v"))
    assert query_value == 8 * 32 * 4 * 4096
    everything = adapter_params(shape, 16, ("q", "k", "v", "o", "gate", "up", "down"))
    assert everything / 1e6 == pytest.approx(39.98, rel=1e-3)
    found = estimate(task="peft_finetuning", peft_method="lora", lora_rank=16, lora_targets="all-linear")
    assert found.breakdown["adapters"] == pytest.approx(everything * 16 / 1e9)
    assert found.breakdown["weights"] == pytest.approx(PARAMS_B * 2, rel=1e-3)


def test_an_eight_bit_optimizer_shrinks_adapters():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 64}
    whole = estimate(**facts).breakdown["adapters"]
    assert estimate(optimizer="adamw-8bit", **facts).breakdown["adapters"] == pytest.approx(whole * 10 / 16)


def test_qlora_holds_the_base_in_four_bits_with_double_quantisation():
    found = estimate(task="peft_finetuning", peft_method="qlora")
    ends = 2 * 32000 * 4096
    assert found.breakdown["weights"] == pytest.approx(((PARAMS_B * 1e9 - ends) * 0.5159 + ends * 2) / 1e9, rel=1e-3)
    assert found.breakdown["dequantised_layer"] == pytest.approx(4096 * 11008 * 2 / 1e9)


def test_what_bitsandbytes_leaves_is_cast_to_thirty_two_bits_by_peft():
    facts = {
        "task": "peft_finetuning",
        "peft_method": "qlora",
        "gradient_checkpointing": "full",
        "seq_len_tokens": 2048,
    }
    facts |= {"batch_size_per_gpu": 4, "weight_precision": "nf4", "lora_rank": 8, "lora_targets": "qv"}
    plain = estimate(**facts, training_framework="transformers").breakdown
    found = estimate(**facts, training_framework="peft").breakdown
    ends, tokens = 2 * 32000 * 4096 / 1e9, 4 * 2048 / 1e9
    assert found["weights"] - plain["weights"] == pytest.approx(2 * ends, rel=0.01)
    checkpoints = 2 * 32 * 4096 * tokens
    assert found["activations"] - plain["activations"] == pytest.approx(checkpoints)
    # Shards of FSDP are flat: all of one type.
    sharded = Layout(data=2, sharding="fsdp")
    flat = [estimate(sharded, **facts, sharding="fsdp", training_framework=name) for name in ("peft", "transformers")]
    assert flat[0].breakdown["activations"] == pytest.approx(flat[1].breakdown["activations"])


def test_lora_shards_the_frozen_base():
    facts = {"task": "peft_finetuning", "peft_method": "lora"}
    assert estimate(Layout(data=4, sharding="zero3"), **facts).breakdown["weights"] == pytest.approx(
        PARAMS_B * 2 / 4, rel=1e-3
    )
    assert estimate(Layout(data=4), **facts).breakdown["weights"] == pytest.approx(PARAMS_B * 2, rel=1e-3)


@pytest.mark.parametrize(("method", "rank", "up", "down"), [("lora", 32, 1.0, 0.35), ("qlora", 64, 0.0, 0.35)])
def test_an_unstated_rank_widens_the_band_to_the_usual_ranks(method, rank, up, down):
    facts = {"task": "peft_finetuning", "peft_method": method}
    unstated, stated = estimate(**facts), estimate(lora_rank=rank, **facts)
    adapters = stated.breakdown["adapters"]
    assert unstated.per_gpu_gb == stated.per_gpu_gb
    assert unstated.high_gb - stated.high_gb > up * adapters
    assert stated.low_gb - unstated.low_gb > 0.5 * down * adapters
    assert "rank" in unstated.band_reason


@pytest.mark.parametrize(("framework", "rank"), [("torchtune", 8), ("axolotl", 32), ("unsloth", 16)])
def test_an_unstated_rank_is_that_of_the_framework(framework, rank):
    facts = {"task": "peft_finetuning", "peft_method": "lora", "training_framework": framework}
    assert estimate(**facts).breakdown["adapters"] == estimate(lora_rank=rank, **facts).breakdown["adapters"]


def test_a_compiled_step_keeps_less():
    plain, compiled = estimate(gradient_checkpointing="none"), estimate(gradient_checkpointing="none", compiled=True)
    assert compiled.breakdown["activations"] < plain.breakdown["activations"]
    assert compiled.breakdown["logits"] == pytest.approx(plain.breakdown["logits"] * 8 / 14)


@pytest.mark.parametrize("checkpointing", ["none", "full"])
def test_offloaded_activations_leave_two_layers_on_the_card(checkpointing):
    facts = {"gradient_checkpointing": checkpointing, "seq_len_tokens": 8192, "batch_size_per_gpu": 2}
    kept = estimate(activation_offload=True, **facts).breakdown["activations"]
    assert kept < 0.6 * estimate(**facts).breakdown["activations"]


def test_an_optimizer_inside_the_backward_pass_keeps_no_gradients():
    plain, fused = estimate(), estimate(optimizer_in_backward=True)
    assert fused.breakdown["gradients"] < 0.2 * plain.breakdown["gradients"]
    assert "optimizer_step" not in fused.breakdown


def test_offload_below_the_third_stage_leaves_the_weights_on_the_card():
    found = estimate(Layout(data=4, sharding="zero2"), cpu_offload=True)
    assert found.breakdown["weights"] == pytest.approx(PARAMS_B * 2, rel=1e-3)
    assert found.breakdown["gradients"] == pytest.approx(PARAMS_B * 2 / 4, rel=1e-3)
    assert "optimizer" not in found.breakdown


@pytest.mark.parametrize("facts", [{}, {"task": "peft_finetuning", "peft_method": "lora"}])
def test_offload_leaves_two_layers_on_the_card(facts):
    found = estimate(model=LLAMA_70B, cpu_offload=True, **facts)
    assert states(found) < 10
    assert found.per_gpu_gb < 40


def test_a_pipeline_keeps_as_many_micro_batches_in_flight_as_it_has_stages():
    facts = {"seq_len_tokens": 4096, "batch_size_per_gpu": 1, "gradient_checkpointing": "none"}
    whole = estimate(**facts).breakdown["activations"]
    assert estimate(Layout(pipeline=4), **facts).breakdown["activations"] == pytest.approx(whole, rel=0.02)
    alone = estimate(Layout(pipeline=4), gradient_accumulation_steps=1, **facts).breakdown["activations"]
    assert alone < 0.3 * whole


def test_the_allocators_share_goes_by_the_layout():
    shares = {
        (data, sharding): next(
            term.inputs["share"]
            for term in estimate(Layout(data=data, sharding=sharding)).terms
            if term.name == "allocator"
        )
        for data, sharding in ((1, "none"), (4, "none"), (4, "fsdp"))
    }
    assert shares == {(1, "none"): 0.055, (4, "none"): 0.054, (4, "fsdp"): 0.069}


def test_batches_of_varying_length_fragment_memory():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 8, "seq_len_tokens": 8192}
    plain, varying = estimate(**facts), estimate(training_framework="ms-swift", **facts)
    assert varying.allocated_gb == plain.allocated_gb
    assert varying.per_gpu_gb > 1.1 * plain.per_gpu_gb


def sparse(layout: Layout, **facts) -> MemoryEstimate:
    moe = Moe(experts=64, experts_per_token=4, expert_intermediate=2048)
    return estimate(layout, model=replace(LLAMA_7B, moe=moe), **facts)


def test_experts_are_spread_over_data_ranks_in_a_pipeline_or_where_stated():
    together, spread = sparse(Layout(data=8)), sparse(Layout(data=8), expert_parallel=8)
    assert spread.breakdown["weights"] < 0.2 * together.breakdown["weights"]
    assert spread.breakdown["optimizer"] == pytest.approx(together.breakdown["optimizer"])
    pipelined = sparse(Layout(pipeline=2, data=8, sharding="zero1"))
    assert pipelined.breakdown["weights"] < 0.2 * together.breakdown["weights"]
    sharded = Layout(data=8, sharding="fsdp")
    assert sparse(sharded, expert_parallel=8).breakdown["weights"] == sparse(sharded).breakdown["weights"]


def test_frozen_experts_are_spread_too_and_megatrons_have_adapters():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 8, "lora_targets": "all-linear"}
    together, spread = sparse(Layout(data=8), **facts), sparse(Layout(data=8), **facts, expert_parallel=8)
    assert spread.breakdown["weights"] < 0.2 * together.breakdown["weights"]
    assert spread.breakdown["adapters"] == together.breakdown["adapters"]  # PEFT's adapters are on linear layers.
    megatron = sparse(Layout(data=8), **facts, training_framework="megatron", expert_parallel=8)
    on_experts = 8 * 32 * 64 * 3 * (4096 + 2048) / 8  # rank, layers, experts, matrices, both sides, ranks
    more = (
        megatron.breakdown["adapters"]
        - sparse(
            Layout(data=8), **facts | {"lora_targets": "attention"}, training_framework="megatron", expert_parallel=8
        ).breakdown["adapters"]
    )
    assert more > on_experts * 10 / 1e9


def test_experts_of_other_ranks_are_not_gathered_with_a_layer():
    sharded = Layout(data=8, sharding="fsdp")
    together, spread = sparse(sharded), sparse(sharded, expert_parallel=8)
    assert spread.breakdown["gathered_layer"] < 0.3 * together.breakdown["gathered_layer"]
    assert estimate(sharded, expert_parallel=8) == estimate(sharded)  # Without experts there is nothing to spread.


def test_logits_of_a_pipeline_hide_behind_the_activations_of_its_first_stage():
    facts = {"seq_len_tokens": 4096, "gradient_checkpointing": "none"}
    assert estimate(**facts).breakdown["logits"] > 0
    assert "logits" not in estimate(Layout(pipeline=4), **facts).breakdown


def test_pre_training_stacks_fuse_the_loss():
    plain = estimate().breakdown["logits"]
    assert estimate(task="pretraining").breakdown["logits"] == pytest.approx(plain * 8 / 14)
    assert estimate(training_framework="nemo").breakdown["logits"] == pytest.approx(plain * 8 / 14)


@pytest.mark.parametrize(("checkpointing", "layers"), [("full", 1), ("none", 32)])
def test_gptq_matrices_are_kept_unpacked_where_autograd_goes_through_them(checkpointing, layers):
    """Sixteen bits of a layer that is computed anew, or of all; AWQ's own function keeps them narrow."""
    facts = {"task": "peft_finetuning", "peft_method": "qlora", "seq_len_tokens": 128, "batch_size_per_gpu": 1}
    facts |= {"gradient_checkpointing": checkpointing, "lora_rank": 8, "lora_targets": "qv"}
    gptq, awq = (
        estimate(**facts, weight_precision=kind).breakdown["dequantised_layer"] for kind in ("gptq-int4", "awq-int4")
    )
    shape = shape_of(LLAMA_7B, None)
    assert gptq - awq == pytest.approx(layers * 2 * shape.layer_params / 1e9, rel=0.001)


def test_an_old_pytorch_does_not_fuse_attention_and_holds_every_kernel():
    facts = {"seq_len_tokens": 4096, "gradient_checkpointing": "none"}
    context = sizing_constants().context
    old, later, new = (estimate(pytorch_version=version, **facts) for version in ("1.10.2", "1.13.1", "2.4"))
    eager = estimate(flash_attention=False, **facts)
    assert old.breakdown["activations"] == later.breakdown["activations"] == eager.breakdown["activations"]
    assert new.breakdown["activations"] == estimate(**facts).breakdown["activations"] < eager.breakdown["activations"]
    lazy = new.breakdown["context"]
    assert old.breakdown["context"] == pytest.approx(lazy + context.eager_more_gib * 1.073741824)
    oldest = estimate(pytorch_version="1.6", **facts)
    assert oldest.breakdown["context"] == pytest.approx(context.eager_gib * 1.073741824)
    assert later.breakdown["context"] == new.breakdown["context"] < old.breakdown["context"]
    stated = estimate(pytorch_version="1.13.1", flash_attention=True, **facts)  # By a package beside it.
    assert stated.breakdown["activations"] == new.breakdown["activations"]


@pytest.mark.parametrize(
    ("stated", "bytes_each"),
    [
        ({"training_framework": "transformers"}, 12),  # 4.49 and later, and where nobody says
        ({"training_framework": "transformers", "transformers_version": "4.47.1"}, 14),
        ({"training_framework": "transformers", "transformers_version": "4.38"}, 12),
        ({}, 14),  # a loop that holds the answers
        ({"transformers_version": "4.38"}, 16),
        ({"loss_precision": "bf16", "transformers_version": "4.49"}, 8),
        ({"loss_precision": "bf16", "transformers_version": "4.44"}, 16),  # the model answers in 32 bits itself
        ({"loss_precision": "bf16", "transformers_version": "4.49", "holds_logits": False}, 6),
        ({"training_framework": "transformers", "holds_logits": True}, 14),
        ({"holds_logits": False}, 12),
        ({"compute_precision": "fp32", "training_framework": "transformers"}, 12),
    ],
)
def test_logits_take_what_the_release_of_transformers_makes_of_them(stated, bytes_each):
    found = estimate(seq_len_tokens=1024, batch_size_per_gpu=2, gradient_checkpointing="full", **stated)
    assert found.breakdown["logits"] == pytest.approx(2048 * LLAMA_7B.vocab * bytes_each / 1e9)


def test_pretraining_fuses_its_loss_unless_a_precision_of_it_is_stated():
    facts = {"task": "pretraining", "seq_len_tokens": 1024, "batch_size_per_gpu": 2}
    fused, own = (estimate(**facts, **stated).breakdown["logits"] for stated in ({}, {"loss_precision": "fp32"}))
    logits = 2048 * LLAMA_7B.vocab / 1e9
    assert (fused, own) == (pytest.approx(8 * logits), pytest.approx(14 * logits))


@pytest.mark.parametrize(
    ("stated", "more"),
    [({"training_framework": "transformers"}, 2), ({"compute_precision": "fp32"}, 4), ({"loss_precision": "bf16"}, 2)],
)
def test_capped_logits_keep_what_came_out_of_the_cap(stated, more):
    plain, capped = (
        estimate(model=replace(LLAMA_7B, capped_logits=caps), seq_len_tokens=1024, batch_size_per_gpu=2, **stated)
        for caps in (False, True)
    )
    logits = 2048 * LLAMA_7B.vocab / 1e9
    assert capped.breakdown["logits"] - plain.breakdown["logits"] == pytest.approx(more * logits)


def test_a_head_that_was_cast_to_32_bits_is_cast_back_under_autocast():
    facts = {"task": "peft_finetuning", "peft_method": "qlora", "seq_len_tokens": 1024, "batch_size_per_gpu": 1}
    facts |= {"gradient_checkpointing": "full", "training_framework": "peft"}
    trainer, own = (estimate(**facts, **stated).breakdown["logits"] for stated in ({}, {"loss_precision": "bf16"}))
    logits = 1024 * LLAMA_7B.vocab / 1e9
    assert trainer == pytest.approx(12 * logits + 2 * LLAMA_7B.vocab * LLAMA_7B.hidden / 1e9)
    assert own == pytest.approx(16 * logits)


@pytest.mark.parametrize(
    ("stated", "at_once"),
    [
        ({"training_framework": "transformers"}, False),  # fused since PyTorch 2.8; earlier ones are in the band
        ({"training_framework": "transformers", "pytorch_version": "2.8.0"}, False),
        ({"training_framework": "transformers", "pytorch_version": "2.4.1"}, True),
        ({"training_framework": "transformers", "pytorch_version": "2.0.1", "transformers_version": "4.30"}, False),
        ({"training_framework": "transformers", "pytorch_version": "1.13"}, False),
        ({"training_framework": "torchtune", "pytorch_version": "2.4"}, False),
        ({}, True),
        ({"pytorch_version": "1.13"}, False),
        ({"optimizer_step": "fused"}, False),
        ({"optimizer_step": "foreach", "training_framework": "transformers"}, True),
    ],
)
def test_an_optimizer_that_steps_at_once_holds_a_copy(stated, at_once):
    facts = {"compute_precision": "fp32", "seq_len_tokens": 128, "batch_size_per_gpu": 1}
    found = estimate(gradient_checkpointing="full", **facts, **stated)
    assert ("optimizer_step" in found.breakdown) is at_once


def test_a_step_that_is_not_stated_is_left_open_upwards():
    facts = {"compute_precision": "fp32", "seq_len_tokens": 128, "gradient_checkpointing": "full"}
    opened, stated = (
        estimate(training_framework="transformers", **facts, **version)
        for version in ({}, {"pytorch_version": "2.9", "optimizer_step": "fused"})
    )
    assert opened.per_gpu_gb == pytest.approx(stated.per_gpu_gb)
    assert opened.high_gb > stated.high_gb + 0.5 * 4 * PARAMS_B
    assert "at once" in opened.band_reason


def test_adapters_have_the_type_that_is_stated():
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 64, "lora_targets": "all-linear"}
    params = adapter_params(shape_of(LLAMA_7B, None), 64, ("q", "k", "v", "o", "gate", "up", "down"))
    for kind, each in (("fp32", 16), ("bf16", 8)):
        assert estimate(**facts, adapter_precision=kind).breakdown["adapters"] == pytest.approx(params * each / 1e9)


#: As traced without a GPU under PEFT 0.21: bytes a token of one layer of Llama 2 7B with rank 64 on all linear layers.
_ADAPTED = [
    ({"adapter_precision": "bf16", "lora_dropout": 0}, 171016, 207196),
    ({"adapter_precision": "bf16", "lora_dropout": 0.1}, 239368, 285956),
    ({"lora_dropout": 0}, 206224, 296844),
    ({"lora_dropout": 0.1}, 241808, 376332),
    ({"lora_dropout": 0, "loss_precision": "bf16"}, 275848, 352388),  # without autocast
    ({"lora_dropout": 0.1, "loss_precision": "bf16"}, 311432, 418436),
]


@pytest.mark.parametrize(("stated", "kept", "at_work"), _ADAPTED)
def test_adapters_keep_what_was_traced(stated, kept, at_work):
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 64, "lora_targets": "all-linear", **stated}
    shape = shape_of(LLAMA_7B, None)
    plain, again = (job_from_facts({**facts, "gradient_checkpointing": kind}, LLAMA_7B) for kind in ("none", "full"))
    assert layer_bytes_per_token(plain, shape, 1)[1] == pytest.approx(kept, rel=0.02)
    assert layer_bytes_per_token(again, shape, 1)[0] == pytest.approx(at_work, rel=0.03)


@pytest.mark.parametrize("model_family", ["diffusion_image", "vision"])
def test_adapters_of_pictures_have_the_type_that_is_stated_too(model_family):
    facts = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 16, "model_family": model_family}
    wide, narrow = (
        estimate(model=None, param_count_b=2.0, adapter_precision=kind, **facts).breakdown["adapters"]
        for kind in ("fp32", "bf16")
    )
    assert wide == pytest.approx(2 * narrow)


def test_ligers_kernels_keep_what_they_read():
    facts = {"training_framework": "nemo-automodel", "seq_len_tokens": 2048, "batch_size_per_gpu": 4}
    tokens = 4 * 2048

    def kept(**more):
        return estimate(**facts, gradient_checkpointing="none", **more).breakdown["activations"]

    # The activation of the gate, and of two norms what was cast to 32 bits and what they scale, less what they read.
    less = 32 * tokens * (11008 * 2 + 2 * 4096 * (4 + 2 - 2)) / 1e9
    assert kept() - kept(liger_kernels=True) == pytest.approx(less, rel=0.01)
    facts |= {"gradient_checkpointing": "full", "chunked_loss": True}
    anew = [estimate(**facts, liger_kernels=on).breakdown for on in (False, True)]
    assert anew[1]["activations"] < anew[0]["activations"]
    assert anew[1]["logits"] == anew[0]["logits"]


def test_transformers_option_for_liger_fuses_the_loss_too():
    facts = {"training_framework": "transformers", "seq_len_tokens": 2048, "batch_size_per_gpu": 4}
    plain, fused = estimate(**facts), estimate(**facts, liger_kernels=True)
    assert fused.breakdown["logits"] < plain.breakdown["logits"] / 4
    whole = estimate(**facts, liger_kernels=True, chunked_loss=False)
    assert whole.breakdown["logits"] == plain.breakdown["logits"]
