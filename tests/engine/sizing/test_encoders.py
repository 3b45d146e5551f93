"""Encoders of pictures beside a language model: in and outside the catalogue, frozen and learning."""

from __future__ import annotations

from statistics import median

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, estimate_memory, job_from_facts, sizing_constants


KNOWLEDGE = load_knowledge(locate("knowledge"))
GPU = KNOWLEDGE.gpus["nvidia-a100-80gb-sxm"]
QWEN_VL, LLAMA = KNOWLEDGE.models["qwen-vl"], KNOWLEDGE.models["llama-3.1-8b"]
SERVED = {"task": "inference", "serving_engine": "transformers", "input_tokens": 512, "concurrency": 1}
ADAPTED = {"task": "peft_finetuning", "peft_method": "lora", "seq_len_tokens": 512, "batch_size_per_gpu": 1}
ADAPTED |= {"lora_rank": 16, "lora_targets": "attention", "compute_precision": "bf16"}
UNKNOWN = {"model_family": "multimodal", "param_count_b": 9.6}


def estimate(model, layout=None, **facts):
    return estimate_memory(job_from_facts(facts, model), GPU, layout or Layout())


def test_what_is_usual_is_the_middle_of_the_catalogue():
    sizes = [
        sum(size for name, size in model.components_b.items() if name not in {"language", "multi_token_prediction"})
        for model in KNOWLEDGE.models.values()
        if model.kind == "multimodal" and "language" in model.components_b
    ]
    assert sizing_constants().typical.encoders_b == pytest.approx(median(filter(None, sizes)), rel=0.1)


def test_encoders_that_are_only_stated_stay_in_16_bits_too():
    """1.9 of 9.6 billion parameters, as Qwen-VL has them."""
    narrow = SERVED | UNKNOWN | {"weight_precision": "gptq-int4"}
    stated = estimate(None, **narrow, encoder_params_b=1.934).breakdown["weights"]
    known = estimate(QWEN_VL, **SERVED, weight_precision="gptq-int4").breakdown["weights"]
    assert stated - estimate(None, **narrow, encoder_params_b=0).breakdown["weights"] > 2.0
    assert stated == pytest.approx(known, rel=0.15)


def test_a_model_of_pictures_that_nobody_knows_has_usual_encoders_and_says_so():
    job = job_from_facts(SERVED | UNKNOWN, None)
    assert job.shape.encoders == pytest.approx(0.43e9)
    assert job.shape.params == pytest.approx(9.6e9)
    assert [assumed.value for assumed in job.assumed if assumed.fact == "encoder_params_b"] == [0.43]
    small = job_from_facts(SERVED | UNKNOWN | {"param_count_b": 0.5}, None)
    assert small.shape.encoders == pytest.approx(0.1e9)


@pytest.mark.parametrize("name", ["my-llava-tune-9b", "Some-VL-9B", "InternVL9-9B"])
def test_a_name_tells_a_model_of_pictures(name):
    assert job_from_facts(SERVED | {"model_name": name, "param_count_b": 9.6}, None).shape.encoders > 0


def test_a_language_model_that_pictures_are_added_to_grows_by_them():
    job = job_from_facts(SERVED | {"model_name": "llava-of-our-own", "model_family": "multimodal"}, LLAMA)
    assert job.shape.params == pytest.approx(8.03e9 + 0.43e9, rel=0.001)
    assert job_from_facts(SERVED, LLAMA).shape.encoders == 0.0


def test_pictures_pass_through_an_encoder_while_serving():
    """A picture of 2,240 pixels is 25,600 places, which a layer of the encoder works with before a short prompt."""
    facts = SERVED | {"input_tokens": 16, "weight_precision": "bf16"}
    small, large = (estimate(QWEN_VL, **facts, image_px=edge).breakdown["activations"] for edge in (224, 2240))
    assert large > small
    assert large == pytest.approx(25600 * 10 * (1.934e9 / (12 * 27)) ** 0.5 * 2 / 1e9, rel=0.01)


@pytest.mark.parametrize(("sharding", "each"), [("none", 6.0), ("zero2", (2 + 12) / 4)])
def test_encoders_that_learn_beside_adapters_have_gradients_and_moments(sharding, each):
    layout = Layout(data=4, sharding=sharding)
    plain, more = (
        estimate(QWEN_VL, layout, **ADAPTED, sharding=sharding, trains_encoders=flag).breakdown["adapters"]
        for flag in (False, True)
    )
    assert more - plain == pytest.approx(1.934 * each, rel=0.01)


def test_copies_of_embedding_and_head_keep_the_type_of_the_base():
    """PEFT casts adapters alone: a copy, a gradient and two moments of 16 bits."""
    plain, more = (estimate(QWEN_VL, **ADAPTED, trains_embeddings=flag).breakdown["adapters"] for flag in (False, True))
    assert more - plain == pytest.approx(2 * 151936 * 4096 * 8 / 1e9, rel=0.01)


def test_frozen_encoders_have_no_states_in_full_training():
    facts = {"task": "full_finetuning", "seq_len_tokens": 512, "batch_size_per_gpu": 1, "compute_precision": "bf16"}
    whole, frozen = (estimate(QWEN_VL, **facts, trains_encoders=flag) for flag in (True, False))
    states = ("weights", "gradients", "optimizer")
    less = sum(whole.breakdown.get(name, 0.0) - frozen.breakdown.get(name, 0.0) for name in states)
    assert less == pytest.approx(1.934 * 14, rel=0.02)


def test_encoders_that_learn_keep_their_pictures():
    facts = ADAPTED | {"gradient_checkpointing": "none", "image_px": 448}
    plain, more = (estimate(QWEN_VL, **facts, trains_encoders=flag).breakdown["activations"] for flag in (False, True))
    width = (1.934e9 / (12 * 27)) ** 0.5
    assert more - plain == pytest.approx(1024 * 27 * 32 * width / 1e9, rel=0.01)
