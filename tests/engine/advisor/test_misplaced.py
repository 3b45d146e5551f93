"""What newcomers write that is no value of the fact they wrote it for: they are told how it is stated."""

from __future__ import annotations

import re
from typing import Any

import pytest

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import InputError, Problem


SERVING: dict[str, Any] = {"task": "inference", "model_name": "llama-3.1-8b"}


def problem_of(advisor: Advisor, fact: str, value: object) -> Problem:
    with pytest.raises(InputError) as caught:
        advisor.context.resolve(advisor.read({**SERVING, fact: value}).given)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("fact", "written", "fix"),
    [
        ("task", "grpo", "write rl_method: grpo, with task: full_finetuning or peft_finetuning"),
        ("task", "rlhf", "write rl_method: ppo, with task: full_finetuning or peft_finetuning"),
        ("task", "dpo", "write rl_method: dpo, with task: full_finetuning or peft_finetuning"),
        ("task", "rl", "write rl_method: ppo or grpo or dpo, with task: full_finetuning or peft_finetuning"),
        ("task", "reinforcement learning", "write rl_method: ppo or grpo or dpo, with task: full_finetuning or"),
        ("task", "batch", "write serving_mode: batch, with task: inference"),
        ("task", "vllm", "write serving_engine: vllm"),
        ("task", "h100", "write gpu_candidates: h100, or gpus_owned: h100"),
        ("task", "llama-3.1-8b", "write model_name: llama-3.1-8b"),
        ("model_name", "faster-whisper", "write serving_engine: faster-whisper; model_name is the model itself"),
        ("model_name", "h100", "write gpu_candidates: h100, or gpus_owned: h100; model_name is the model itself"),
        ("model_name", "lora", "write peft_method: lora; or task: peft_finetuning; model_name is the model itself"),
        ("deployment_site", "aws", "write providers_allowed: aws"),
        ("traffic_level", "spiky", "write traffic_pattern: bursty"),
        ("latency_slo_ms", "fast", "write objective: fastest"),
        ("model_size", "large", "write model_size_class: large"),
        ("gpu_candidates", "llama-3.1-8b", "write model_name: llama-3.1-8b"),
        ("budget_usd_per_month", "$3/h", "write budget_usd_per_hour: $3/h"),
        ("budget_usd_per_hour", "$5k/month", "write budget_usd_per_month: $5k/month"),
    ],
)
def test_a_word_of_another_fact_is_pointed_there(advisor: Advisor, fact: str, written: str, fix: str) -> None:
    problem = problem_of(advisor, fact, written)
    assert problem.fix is not None
    assert problem.fix.startswith(fix)
    assert not problem.nearest


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("budget", "5k", "write budget_usd_per_hour (budget per hour), or budget_usd_per_month (budget per month), or"),
        ("budget", "$5k/month", "write budget_usd_per_month (budget per month)"),
        ("tokens", "1B", "write train_tokens_b (training tokens)"),
        ("tokens", "900", "write input_tokens (tokens in), or output_tokens (tokens out), or train_tokens_b"),
        ("precision", "bf16", "write compute_precision (precision of the arithmetic), or weight_precision"),
        ("gpus", "4", "write num_gpus (number of GPUs)"),
        ("gpus", "2 x h100", "write gpu_candidates (GPUs compared), or gpus_owned (GPUs owned)"),
        ("vram", "24GB", "write required_vram_gb (memory required)"),
        ("cloud", "aws", "write providers_allowed (providers allowed)"),
        ("dataset", "10GB", "write dataset_samples (samples of the data set), or dataset_scale (size of the data set)"),
    ],
)
def test_a_name_of_several_facts_lists_those_that_take_the_value(
    advisor: Advisor, name: str, value: object, fix: str
) -> None:
    problem = problem_of(advisor, name, value)
    assert problem.code == "unknown-fact"
    assert problem.fix is not None
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("deadline_days", 3, "write deadline_hours: 3 days"),
        ("latency_s", "10", "write latency_slo_ms: 10 s"),
        ("context_k", 128, "write context_tokens: 128 k"),
        ("requests_per_minute", 30, "write peak_qps: 30 requests/minute"),
        ("budget_usd_per_day", 50.5, "write budget_usd_per_hour: 50.5 usd/day"),
        ("timeout_s", 5, "see: whichgpu facts"),  # It has a unit, and nothing else, in common with any fact.
        ("budget_eur", 3000, "write budget_usd_per_hour or budget_usd_total"),
    ],
)
def test_a_figure_under_a_name_with_another_unit_is_written_with_it(
    advisor: Advisor, name: str, value: object, fix: str
) -> None:
    assert problem_of(advisor, name, value).fix == fix


def test_of_a_model_that_nobody_knows_only_what_is_near_is_named(advisor: Advisor) -> None:
    assert any("mistral" in near for near in problem_of(advisor, "model_name", "mistral large 9").nearest)
    for name in ("foo", "claude"):
        problem = problem_of(advisor, "model_name", name)
        assert not problem.nearest
        assert "whichgpu models" in (problem.fix or "")


def test_another_currency_is_turned_into_dollars(advisor: Advisor) -> None:
    for written in ("5000 EUR", "€5k", "5k eur", "5000 euro a month", "5000€", "EUR 5000"):
        problem = problem_of(advisor, "budget_usd_per_month", written)
        assert (problem.code, (problem.fix or "").split(",")[0]) == ("other-currency", "write 5"), written
    millions = problem_of(advisor, "budget_usd_per_month", "3000000 EUR").fix or ""
    assert re.match(r"write 3,\d\d0,000, in US dollars", millions), millions
    monthly = problem_of(advisor, "budget_usd_per_hour", "€5000/month").fix or ""
    assert re.match(r"write 5,\d\d0 USD/month \(at the rate", monthly), monthly
    assert "¥" in problem_of(advisor, "budget_usd_per_month", "¥5000").message
    assert "in US dollars" not in (problem_of(advisor, "budget_usd_per_month", "5000 apples").fix or "")


@pytest.mark.parametrize(
    ("fact", "written", "value"),
    [
        ("budget_usd_per_month", "$5k/month", 5000),
        ("budget_usd_per_month", "$60k a year", 5000),
        ("monthly_cloud_spend_usd", "3000 monthly", 3000),
        ("gpu_hours_per_year", "730 hours per month", 8760),
        ("deadline_hours", "two days", 48),
        ("deadline_hours", "a week", 168),
        ("num_gpus", "four", 4),
        ("peak_qps", "600 rpm", 10),
        ("batch", "8", 8),
        ("gpus_owned", "two 4090", ("nvidia-rtx-4090:2",)),
        ("interruptible", "spot", True),
        ("always_on", "24/7", True),
        ("runs_cadence", "every day", "daily"),
        ("serving_mode", "streaming", "interactive"),
        ("model_size", "8b", 8),
        ("vendor_preference", "AMD", "amd"),
    ],
)
def test_what_people_write_is_read(advisor: Advisor, fact: str, written: str, value: object) -> None:
    canonical = advisor.vocabulary.resolve(fact)
    assert canonical is not None
    assert advisor.read({**SERVING, fact: written}).given[canonical] == pytest.approx(value)


@pytest.mark.parametrize(
    ("fact", "written", "says"),
    [
        ("framework", "vllm", "what it says is stated as serving_engine: vllm"),
        ("provider", "aws", "what it says is stated as providers_allowed: aws"),
        ("utilization_pct", 0.3, "30 stands for 30 %"),
        ("providers_allowed", "foo", "nothing in the price list is offered by 'foo'"),
        ("regions_allowed", "atlantis", "nothing in the price list is offered in 'atlantis'; did you mean"),
    ],
)
def test_nothing_is_lost_in_silence(advisor: Advisor, fact: str, written: object, says: str) -> None:
    (remark,) = advisor.read({**SERVING, fact: written}).remarks
    assert says in remark.message


def test_what_is_offered_needs_no_remark(advisor: Advisor) -> None:
    for fact, written in (("providers_allowed", "amazon, hyperscaler"), ("regions_allowed", "eu, us-east-1")):
        assert not advisor.read({**SERVING, fact: written}).remarks
    assert not advisor.read({**SERVING, "utilization_pct": "0.3 %"}).remarks


def test_a_choice_inside_a_longer_text_is_named(advisor: Advisor) -> None:
    assert problem_of(advisor, "vendor_preference", "AMD only").nearest[0] == "amd"
