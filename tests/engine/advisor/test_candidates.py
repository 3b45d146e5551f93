"""Every GPU that the user names is judged, recommended or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.candidates import named_gpus
from whichgpu.engine.advisor.decision import Decision


Decide = Callable[..., Decision]
SERVING = {"task": "inference", "model_name": "llama-3.1-8b", "weight_precision": "bf16", "peak_qps": 0.5}


def verdicts(decision: Decision) -> dict[str, str]:
    return {candidate.gpu_id: candidate.verdict for candidate in decision.outcome.candidates}


def test_each_candidate_has_a_verdict_and_one_of_them_is_recommended(decide: Decide) -> None:
    found = verdicts(decide(SERVING, gpu_candidates=["T4", "L4", "L40S", "MI300X"]))
    assert set(found) == {"nvidia-t4", "nvidia-l4", "nvidia-l40s", "amd-mi300x"}
    assert sorted(found.values()).count("recommended") == 1
    assert set(found.values()) <= {"recommended", "alternative", "outranked", "rejected"}


def test_a_family_is_judged_card_by_card(decide: Decide) -> None:
    found = verdicts(decide(SERVING, gpu_candidates=["nvidia-a100-80gb"]))
    assert set(found) == {"nvidia-a100-80gb-pcie", "nvidia-a100-80gb-sxm"}


def test_a_card_that_cannot_be_planned_with_is_rejected_with_the_reason(decide: Decide) -> None:
    decision = decide(SERVING, gpu_candidates=["B100", "L4"])
    entry = next(e for e in decision.to_dict()["candidates"] if e["gpu"] == "nvidia-b100")
    assert entry["verdict"] == "rejected"
    assert entry["plan"] is None
    assert len(entry["reason"]) > 10


def test_a_candidate_that_does_not_fit_is_rejected_by_a_rule_in_words(decide: Decide) -> None:
    decision = decide(SERVING, model_name="llama-3.1-70b", gpu_candidates=["T4", "H200"], num_gpus=1)
    entry = next(e for e in decision.to_dict()["candidates"] if e["gpu"] == "nvidia-t4")
    assert (entry["verdict"], entry["rule"]) == ("rejected", "does-not-fit")
    assert "T4" in entry["reason"]


def test_the_card_in_use_is_judged_alone_and_marked(decide: Decide) -> None:
    decision = decide(SERVING, current_gpu="T4")
    (candidate,) = decision.outcome.candidates
    assert candidate.is_current
    assert candidate.plan is not None
    assert candidate.plan.count == 1
    assert candidate.facts["candidate.is_current"] is True
    assert candidate.facts["candidate.fits_one"] is False
    assert candidate.verdict == "rejected"


def test_a_stated_count_is_the_count_judged(decide: Decide) -> None:
    decision = decide(SERVING, gpu_candidates=["L4"], num_gpus=4)
    (candidate,) = decision.outcome.candidates
    assert candidate.plan is not None
    assert candidate.plan.count == 4


def test_candidates_are_judged_even_where_nothing_can_be_recommended(decide: Decide) -> None:
    decision = decide({"param_count_b": 8, "gpu_candidates": ["T4", "H200"]})
    assert decision.outcome.no_answer is not None
    assert {c.gpu_id for c in decision.outcome.candidates} == {"nvidia-t4", "nvidia-h200-sxm"}


def test_an_outranked_candidate_says_where_it_lost(decide: Decide) -> None:
    decision = decide(SERVING, gpu_candidates=["nvidia-a100-80gb"])
    answer: dict[str, Any] = decision.to_dict()
    behind = [entry for entry in answer["candidates"] if entry["verdict"] == "outranked"]
    assert behind
    words = (
        "points of evidence",
        "times as fast",
        "that a guide names",
        "chosen only where",
        "by the stated objective",
    )
    assert any(word in behind[0]["reason"] for word in words)


@pytest.mark.parametrize(
    ("facts", "ids"),
    [
        ({}, []),
        ({"gpu_candidates": ("nvidia-t4",), "current_gpu": "nvidia-t4"}, [("nvidia-t4", True)]),
        ({"gpu_candidates": "nvidia-t4"}, [("nvidia-t4", False)]),
        ({"gpu_candidates": ("nvidia-l4",), "current_gpu": "nvidia-t4"}, [("nvidia-l4", False), ("nvidia-t4", True)]),
    ],
)
def test_named_gpus(advisor: Advisor, facts: dict[str, Any], ids: list[tuple[str, bool]]) -> None:
    assert [(gpu.id, current) for gpu, current in named_gpus(facts, advisor.knowledge)] == ids
