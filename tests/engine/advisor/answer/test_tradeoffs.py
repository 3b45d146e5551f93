"""Trade-offs under the keys of the contract, and in words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.core.canonical import canonical_json
from whichgpu.engine.explain.auditing import check_true_then
from whichgpu.engine.records.first_form import make_record
from whichgpu.engine.records.reading import read_saved


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
RUN = {
    "task": "full_finetuning",
    "model_name": "llama-3.1-8b",
    "train_tokens_b": 1,
    "deadline_hours": 20,
    "objective": "cheapest",
    "regions_allowed": ["eu"],
}


def test_an_answer_has_them_only_where_asked(advisor: Advisor) -> None:
    decision = advisor.decide(RUN, decided_at=MOMENT)
    assert "trade_offs" not in decision.to_dict()
    assert decision.to_dict(trade_offs=True)["trade_offs"]


def test_they_say_what_to_change_and_what_it_brings(advisor: Advisor) -> None:
    answer = advisor.decide(RUN, decided_at=MOMENT).to_dict(trade_offs=True)
    hour = answer["recommendation"]["cost"]["usd_per_hour"]
    place = next(entry for entry in answer["trade_offs"] if entry["kind"] == "place")
    assert place["change"] == {"regions_allowed": None}
    lead = "If regions allowed (regions_allowed) were not stated"
    assert place["says"].startswith(f"{lead}: {place['plan']['count']} x ")
    assert place["usd_per_hour_delta"] == pytest.approx(place["plan"]["usd_per_hour"] - hour, rel=1e-5)
    spot = next(entry for entry in answer["trade_offs"] if entry["kind"] == "spot")
    assert spot["says"].endswith("It can be taken away at any time.")
    fastest = next(entry for entry in answer["trade_offs"] if entry["kind"] == "objective")
    assert fastest["says"].startswith("If only speed counted: ")


def test_a_record_with_them_is_reproducible(advisor: Advisor) -> None:
    answer = advisor.decide(RUN, decided_at=MOMENT).to_dict(trade_offs=True)
    saved = read_saved(make_record(answer).to_json(), "r.json")
    assert check_true_then(saved, advisor).holds
    again = advisor.decide(RUN, decided_at=MOMENT).to_dict(trade_offs=True)
    assert canonical_json(again["trade_offs"]) == canonical_json(answer["trade_offs"])
