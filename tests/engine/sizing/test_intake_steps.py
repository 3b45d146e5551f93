"""Steps without a batch: the same work whatever runs them."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import Facts
from whichgpu.engine.plans import PlanMaker
from whichgpu.engine.sizing import Job, job_from_facts


KNOWLEDGE = load_knowledge()


def job(model: str, **facts: object) -> Job:
    return job_from_facts(_stated(facts), KNOWLEDGE.find_model(model).spec)


def _stated(facts: dict[str, object]) -> Facts:
    return {"task": "peft_finetuning", "peft_method": "lora", "train_steps": 2000, **facts}  # type: ignore[dict-item]


def work(model: str, gpu: str, count: int, **facts: object) -> float:
    """Samples of the whole run on one plan."""
    stated = _stated(facts)
    maker = PlanMaker(job_from_facts(stated, KNOWLEDGE.find_model(model).spec), stated, KNOWLEDGE)
    speed = maker.plan(KNOWLEDGE.gpus[gpu], count, "asked").speed
    assert speed is not None
    return speed.values["hours"] * 3600 * speed.values["samples_per_s"]


@pytest.mark.parametrize("model", ["wan2.1-t2v-14b", "flux.1-dev", "llama-3.1-8b", "whisper-large-v3", "resnet50"])
@pytest.mark.parametrize("facts", [{}, {"batch_size_per_gpu": 2}])
def test_larger_cards_and_more_of_them_do_the_same_work(model: str, facts: dict[str, object]) -> None:
    one = work(model, "nvidia-b200", 1, **facts)
    assert one == pytest.approx(work(model, "nvidia-gh200", 1, **facts))
    assert one == pytest.approx(work(model, "nvidia-b200", 8, **facts))


def test_what_is_stated_of_gpus_is_multiplied() -> None:
    assert job("llama-3.1-8b", batch_size_per_gpu=2, gradient_accumulation_steps=2).global_batch == 4
    eight = job("llama-3.1-8b", batch_size_per_gpu=2, num_gpus=8, tensor_parallel=2)
    assert eight.global_batch == 2 * 4
    assert job("llama-3.1-8b", batch_size_per_gpu=2, data_parallel=8, gradient_accumulation_steps=4).global_batch == 64
    alone = job("llama-3.1-8b", batch_size_per_gpu=1)
    assert alone.global_batch == job("llama-3.1-8b").global_batch
    assert job("llama-3.1-8b", batch_size_per_gpu=4096).global_batch == 4096


def test_an_assumed_step_is_named_and_states_no_ranks() -> None:
    assumed = job("llama-3.1-8b", batch_size_per_gpu=2, gradient_accumulation_steps=2)
    assert assumed.step_assumed
    assert [one.value for one in assumed.assumed if one.fact == "global_batch_size"] == [4]
    assert assumed.data_ranks is None
    stated = job("llama-3.1-8b", batch_size_per_gpu=2, gradient_accumulation_steps=2, global_batch_size=16)
    assert (stated.step_assumed, stated.data_ranks) == (False, 4)


def test_nothing_is_assumed_where_nothing_hangs_on_it() -> None:
    assert job("llama-3.1-8b", train_steps=None).global_batch is None
    assert job("llama-3.1-8b", train_tokens_b=0.1).global_batch is None
    assert job("llama-3.1-8b", task="inference").global_batch is None


def test_pretraining_takes_tokens_whatever_their_sequences() -> None:
    short, long = (job("llama-3.1-8b", task="pretraining", seq_len_tokens=seq).global_batch for seq in (1000, 4000))
    assert short == 4 * long


def test_a_stated_batch_is_no_smaller_than_what_passes_at_once() -> None:
    # Eight ranks take eight samples, so that four a step leave half of them idle.
    few = work("flux.1-dev", "nvidia-b200", 8, global_batch_size=4)
    assert few == pytest.approx(8 * 2000)
    assert work("flux.1-dev", "nvidia-b200", 8, global_batch_size=64) == pytest.approx(64 * 2000)
