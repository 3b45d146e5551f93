"""What hardware that is owned could do, where it is not the answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.owned import owned_sentence
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.owned_use import OwnedUse


def use_of(decision: Decision) -> OwnedUse:
    found = decision.owned_use()
    assert found is not None
    return found


def says(decision: Decision, advisor: Advisor) -> str:
    return owned_sentence(use_of(decision), decision.outcome.intake.facts, advisor.vocabulary)


TUNING: dict[str, Any] = {"task": "peft_finetuning", "peft_method": "qlora", "model_name": "llama-3.1-70b"}


def test_what_holds_the_job_with_a_change_says_which_and_at_what_cost_and_speed(
    decide: Callable[..., Decision], advisor: Advisor
) -> None:
    decision = decide({**TUNING, "gpus_owned": ["nvidia-rtx-3090:2"]})
    use = use_of(decision)
    assert (use.plan.gpu.id, use.plan.count, use.holds) == ("nvidia-rtx-3090", 2, True)
    assert use.facts == {"cpu_offload": True}
    # As it is decided where that is stated.
    stated = decide({**TUNING, "gpus_owned": ["nvidia-rtx-3090:2"], "cpu_offload": True}).outcome
    assert stated.round is not None
    assert use.plan.id in stated.round.surviving.ids
    assert use.cost_ratio is not None
    assert use.speed_ratio is not None
    assert use.speed_ratio < 1
    sentence = says(decision, advisor)
    assert sentence.startswith("2 x GeForce RTX 3090 hold it if you keep what is not in use in system memory: ")
    assert "tokens/s" in sentence
    assert "of electricity and upkeep an hour" in sentence


@pytest.mark.parametrize(
    ("facts", "change"),
    [
        (
            {"task": "inference", "model_name": "qwen2.5-32b", "concurrency": 4, "gpus_owned": ["nvidia-rtx-3090:1"]},
            "quantize the weights to 4 bits",
        ),
        (
            {"task": "full_finetuning", "model_name": "llama-3.1-8b", "gpus_owned": ["nvidia-rtx-4090:4"]},
            "in system memory",
        ),
    ],
)
def test_any_change_that_leaves_the_work_as_it_is_comes_before_others(
    facts: dict[str, Any], change: str, decide: Callable[..., Decision], advisor: Advisor
) -> None:
    decision = decide(facts)
    assert change in says(decision, advisor)
    assert not any(each.other_work for each in use_of(decision).changes)


def test_what_holds_the_job_and_misses_a_limit_says_which(decide: Callable[..., Decision], advisor: Advisor) -> None:
    facts = {"task": "pretraining", "model_family": "llm", "param_count_b": 1, "train_tokens_b": 20}
    decision = decide(facts, deadline_hours=48, gpus_owned=["nvidia-rtx-4090:2"])
    use = use_of(decision)
    assert use.holds
    assert use.rejection is not None
    assert "days for the run" in says(decision, advisor)
    assert ". But: " in says(decision, advisor)
    service = {"task": "inference", "model_name": "llama-3.1-70b", "peak_qps": 0.2}
    served = decide(service, gpus_owned=["nvidia-rtx-4090:2"])
    assert "0.2 requests/s are expected" in says(served, advisor)


def test_a_line_of_many_says_what_takes_no_further_decision(decide: Callable[..., Decision]) -> None:
    facts = {"task": "pretraining", "model_family": "llm", "param_count_b": 1, "train_tokens_b": 20}
    decision = decide(facts, deadline_hours=48, gpus_owned=["nvidia-rtx-4090:2"])
    assert decision.compact()["owned"]["id"] == use_of(decision).plan.id
    assert "owned" not in decide({**TUNING, "gpus_owned": ["nvidia-rtx-3090:2"]}).compact()


def test_what_cannot_hold_the_job_says_so(decide: Callable[..., Decision], advisor: Advisor) -> None:
    decision = decide({"task": "inference", "model_name": "deepseek-v3", "gpus_owned": ["nvidia-rtx-3090:1"]})
    assert not use_of(decision).holds
    assert "does not hold it: " in says(decision, advisor)


def test_it_stands_at_the_head_of_the_answer_and_not_where_it_is_the_answer(decide: Callable[..., Decision]) -> None:
    decision = decide({**TUNING, "gpus_owned": ["nvidia-rtx-3090:2"]})
    answer = decision.to_dict(trade_offs=True)
    assert answer["owned"]["change"] == {"cpu_offload": True}
    assert answer["owned"]["tokens_per_s"] > 0
    assert decide(TUNING).owned_use() is None
    used = decide({"task": "inference", "model_name": "llama-3.1-8b", "gpus_owned": ["nvidia-rtx-4090:1"]})
    assert used.outcome.chosen is not None
    assert used.outcome.chosen.ranked.plan.cost.origin == "owned"
    assert used.owned_use() is None
    assert "owned" not in used.to_dict(trade_offs=True)


@pytest.mark.parametrize(
    ("facts", "pace"),
    [
        (
            {"task": "inference", "model_name": "sdxl", "gpus_owned": ["nvidia-v100-32gb:1"]},
            r"it: [\d.]+ s for an answer, \$",
        ),
        (
            {"task": "pretraining", "model_name": "resnet-50", "gpus_owned": ["nvidia-l40s:4"]},
            r"it: [\d,]+ samples/s, \$",
        ),
    ],
)
def test_every_figure_has_its_unit(
    decide: Callable[..., Decision], advisor: Advisor, facts: dict[str, Any], pace: str
) -> None:
    assert re.search(pace, says(decide({**facts, "objective": "fastest"}), advisor))
