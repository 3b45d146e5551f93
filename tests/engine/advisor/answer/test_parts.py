"""The parts of an answer that are made when they are read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu import Advisor


MOMENT = datetime(2026, 11, 22, 12, tzinfo=UTC)
WORKLOADS = [
    {"task": "inference", "model_name": "llama-3.1-8b", "peak_qps": 5},
    {"task": "pretraining", "param_count_b": 7, "train_tokens_b": 100},
    {"task": "inference", "param_count_b": 70, "budget_usd_per_month": 1},
]


@pytest.mark.parametrize("given", WORKLOADS, ids=lambda given: given["task"])
@pytest.mark.parametrize("full", [True, False])
def test_each_part_is_that_of_the_whole(given: dict[str, object], full: bool, advisor: Advisor) -> None:
    decision = advisor.decide(given, decided_at=MOMENT)
    whole, parts = decision.to_dict(full=full), decision.lazily(full=full)
    for key in whole.keys() & set(parts):
        assert parts[key] == whole[key], key
    assert whole.keys() - {"format", "support_reasons"} <= set(parts)


def test_trade_offs_are_a_part_where_they_are_asked_for(advisor: Advisor) -> None:
    decision = advisor.decide({**WORKLOADS[0], "gpus_owned": ["nvidia-t4:1"]}, decided_at=MOMENT)
    whole, parts = decision.to_dict(trade_offs=True), decision.lazily(trade_offs=True)
    assert parts["trade_offs"] == whole["trade_offs"] != []
    assert parts["owned"] == whole["owned"]
    assert "trade_offs" not in set(decision.lazily())


def test_what_is_not_read_is_not_made(advisor: Advisor) -> None:
    lazy = advisor.decide(WORKLOADS[0], decided_at=MOMENT).lazily()
    assert lazy["sizing"]
    assert "alternatives" not in vars(lazy._parts)
    assert "_alternatives" not in vars(lazy._parts)
    with pytest.raises(KeyError):
        lazy["nonsense"]


@pytest.mark.parametrize("given", WORKLOADS, ids=lambda given: given["task"])
def test_the_outline_is_that_of_the_whole_and_makes_no_plan(given: dict[str, object], advisor: Advisor) -> None:
    decision = advisor.decide(given, decided_at=MOMENT)
    lazy = decision.lazily(full=False)
    first, others = lazy.outline()
    assert lazy.rejecting() == {plan["rule"] for plan in decision.to_dict()["rejected"] if plan["rule"]}
    assert "_others" not in vars(lazy._parts)
    whole = decision.to_dict(full=False)
    assert [first, *others] == [
        plan and {"gpu": plan["gpu"], "count": plan["count"]}
        for plan in (whole["recommendation"], *whole["alternatives"])
    ]
