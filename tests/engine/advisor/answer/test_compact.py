from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.answer.schema import schema_of
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.rules import probing


sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))
from decision_laws.generator import workloads


MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
OTHERS: list[dict[str, Any]] = [
    {},
    {"task": "inference", "model_name": "llama-3.1-8b", "budget_usd_per_hour": 0.01},
    {"task": "peft_finetuning", "param_count_b": 7, "trains_and_serves": True},
]


def decided(facts: dict[str, Any]) -> Decision:
    with probing():
        return shipped_advisor().decide(facts, decided_at=MOMENT)


def lines(amount: int) -> dict[str, bytes]:
    return {
        name: msgspec.json.encode({"id": name, **decided(facts).compact()})
        for name, facts in workloads(amount, 12).items()
    }


@pytest.mark.parametrize("facts", [*workloads(20, 12).values(), *OTHERS])
def test_it_says_what_the_full_answer_says(facts: dict[str, Any]) -> None:
    decision = decided(facts)
    short, full = decision.compact(), decision.to_dict()
    errors = Draft202012Validator(schema_of("compact_line", closed=True)).iter_errors(short)
    assert [error.message for error in errors] == []
    plan = full["recommendation"]
    assert (short["plan"] is None) == (plan is None)
    assert short["warnings"] == list(dict.fromkeys(entry["code"] for entry in full["warnings"]))
    assert short["procurement"] == full["procurement"]["verdict"]
    most = 3 if "owned" in short else 6
    assert set(full["procurement"]["rules"]) <= set(short["rules"]) or len(short["rules"]) == most
    assert short.get("phases", {}) == {
        entry["phase"]: entry["recommendation"] and entry["recommendation"]["id"] for entry in full["phases"]
    }
    if plan is None:
        assert short["no_answer"]
        assert full["no_answer"]
        assert short["no_answer"]["kind"] == full["no_answer"]["kind"]
        return
    assert short["plan"]
    assert short["price"]
    assert short["speed"] is not None
    for key in ("id", "gpu", "count", "nodes", "link", "precision"):
        assert short["plan"][key] == plan[key]  # type: ignore[literal-required]
    for key in ("usd_per_hour", "usd_per_month", "usd_per_run", "origin", "assumed"):
        assert short["price"][key] == plan["cost"][key]  # type: ignore[literal-required]
    assert short["price"]["provider"] == (plan["offer"] and plan["offer"]["provider"])
    for name, (value, low, high) in short["speed"].items():
        figures = [plan["speed"][key] for key in (name, f"{name}_low", f"{name}_high")]
        assert [value, low, high] == pytest.approx(figures, rel=6e-4)
    assert short["unverified"] == [gap["limit"] for gap in plan.get("unverified", [])]


def test_a_line_is_under_a_kilobyte() -> None:
    assert max(map(len, lines(60).values())) < 1024


@pytest.mark.slow
def test_two_hundred_lines_are_under_a_kilobyte() -> None:
    sizes = sorted(map(len, lines(200).values()))
    assert sizes[-1] < 1024
    assert sizes[190] < 960


def test_what_is_no_number_is_no_answer() -> None:
    decision = decided({"task": "inference", "model_name": "llama-3.1-8b"})
    chosen = decision.outcome.chosen
    assert chosen is not None
    cost = replace(chosen.ranked.plan.cost, usd_per_hour=float("nan"))
    broken = replace(chosen, ranked=replace(chosen.ranked, plan=replace(chosen.ranked.plan, cost=cost)))
    with pytest.raises(ValueError, match="nan"):
        replace(decision, outcome=replace(decision.outcome, chosen=broken)).compact()
