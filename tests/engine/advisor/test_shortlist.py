"""Which other plans an answer shows, and which of them first."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
WORKLOADS: tuple[dict[str, object], ...] = (
    {"task": "inference", "model_name": "qwen3-8b", "concurrency": 500},
    {"task": "inference", "model_name": "bert-base", "peak_qps": 5},
    {"task": "inference", "model_name": "whisper-large-v3", "audio_hours_per_hour": 200, "objective": "cheapest"},
    {"task": "pretraining", "param_count_b": 1.3, "train_tokens_b": 100, "objective": "fastest"},
    {"task": "peft_finetuning", "peft_method": "lora", "model_name": "llama-3.1-8b", "train_tokens_b": 0.06},
)


def could_be_preferred(plan: Mapping[str, Any], margin: float) -> bool:
    """Whether a plan is clearly cheaper or faster than the answer and no other beats it, by what the answer says."""
    cost, speed = plan["cost_ratio"], plan["speed_ratio"]
    if plan["dominated_by"] or cost is None:
        return False
    return cost < 1 - margin or (speed is not None and 1 / speed < 1 - margin)


def as_shown(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The alternatives in the order of a page."""
    ranks = sorted(plan["shown_rank"] for plan in answer["alternatives"])
    assert ranks == list(range(1, len(ranks) + 1))
    return sorted(answer["alternatives"], key=lambda plan: plan["shown_rank"])


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: str(workload.get("model_name", "own")))
def test_what_a_buyer_could_prefer_is_shown_before_what_none_would(
    advisor: Advisor, workload: dict[str, object]
) -> None:
    decision = advisor.decide(workload, decided_at=MOMENT)
    margin = decision.outcome.objective.dominance_margin
    found = [could_be_preferred(plan, margin) for plan in as_shown(decision.to_dict())]
    assert any(found)
    assert not all(found)
    assert found == sorted(found, reverse=True)


def test_the_first_of_each_family_comes_before_its_other_counts(advisor: Advisor) -> None:
    decision = advisor.decide(WORKLOADS[1], decided_at=MOMENT)
    margin = decision.outcome.objective.dominance_margin
    families = [plan["family"] for plan in as_shown(decision.to_dict()) if could_be_preferred(plan, margin)]
    firsts = len(dict.fromkeys(families))
    assert len(families) > firsts > 3
    assert len(set(families[:firsts])) == firsts
