"""Whose loss is taken from answers as they are: old classes and one's own code, unless autocast has it in 32 bits."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import job_from_facts
from whichgpu.engine.sizing.training_activations import bytes_of_a_logit


KNOWLEDGE = load_knowledge(locate("knowledge"))
FULL = {"task": "full_finetuning", "compute_precision": "bf16", "weight_precision": "bf16", "seq_len_tokens": 2048}
QLORA = {"task": "peft_finetuning", "peft_method": "qlora", "weight_precision": "gptq-int4", "seq_len_tokens": 2048}


def of_a_logit(model, **facts):
    job = job_from_facts(facts, KNOWLEDGE.models[model])
    return bytes_of_a_logit(job, job.shape)


@pytest.mark.parametrize(("version", "bytes_"), [("4.44", 6.0), ("4.48.1", 6.0), ("4.49", 12.0), (None, 12.0)])
def test_an_old_class_does_not_cast_its_answers(version, bytes_):
    facts = FULL | {"training_framework": "trl"} | ({} if version is None else {"transformers_version": version})
    assert of_a_logit("santacoder", **facts) == bytes_


def test_whoever_holds_the_answers_has_them_besides():
    facts = FULL | {"transformers_version": "4.48"}
    assert of_a_logit("santacoder", **facts) == of_a_logit("santacoder", **facts, training_framework="trl") + 2.0


def test_a_newer_class_casts_and_copies():
    assert of_a_logit("mistral-7b-v0.1", **FULL, training_framework="trl", transformers_version="4.48") == 14.0


def test_autocast_computes_the_loss_in_32_bits_whatever_it_is_given():
    facts = {**FULL, "weight_precision": "fp32", "training_framework": "trl", "transformers_version": "4.48"}
    assert of_a_logit("santacoder", **facts) == 12.0


@pytest.mark.parametrize(
    ("model", "framework", "bytes_"), [("qwen-7b", "deepspeed", 8.0), ("qwen-7b", "ms-swift", 14.0)]
)
def test_deepspeed_casts_the_model_and_autocasts_nothing(model, framework, bytes_):
    assert of_a_logit(model, **QLORA, training_framework=framework) == bytes_
    staged = QLORA | {"training_framework": "ms-swift", "sharding": "zero2"}
    assert of_a_logit(model, **staged) == 8.0


def test_a_base_of_gptq_is_trained_as_others_are():
    for weights in ("gptq-int4", "awq-int4", "nf4"):
        facts = QLORA | {"weight_precision": weights, "training_framework": "trl", "transformers_version": "4.48.1"}
        assert of_a_logit("mistral-7b-v0.1", **facts) == 14.0


def test_a_loop_of_ones_own_takes_its_loss_outside_of_a_compiled_model() -> None:
    facts = FULL | {"loss_precision": "bf16", "holds_logits": False}
    assert of_a_logit("llama-3.1-8b", **facts, compiled=True) == of_a_logit("llama-3.1-8b", **facts) == 6.0
    assert of_a_logit("llama-3.1-8b", **FULL, compiled=True) == 8.0
