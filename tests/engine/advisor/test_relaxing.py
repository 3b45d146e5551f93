"""What would help where no plan qualifies: every fact that is named has been tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.options import relaxable_facts
from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import FactDef, Vocabulary


FACTS = [FactDef(name=name, type="number") for name in ("load", "limit", "wish", "deadline", "param_count_b")]
VOCABULARY = Vocabulary({fact.name: fact for fact in FACTS}, {})
GIVEN: dict[str, Value] = {"param_count_b": 70, "load": 1, "limit": 2, "wish": 3, "deadline": 4}

Qualifies = Callable[[Mapping[str, Value]], bool]


def without(*names: str) -> Qualifies:
    """Something qualifies as soon as all of these are gone."""
    return lambda facts: not set(names) & set(facts)


def test_each_fact_that_helps_alone_is_named() -> None:
    helps: Qualifies = lambda facts: "limit" not in facts or "deadline" not in facts  # noqa: E731
    assert set(relaxable_facts(GIVEN, [], VOCABULARY, helps)) == {("limit",), ("deadline",)}


def test_pairs_are_named_only_where_none_helps_alone() -> None:
    assert relaxable_facts(GIVEN, [], VOCABULARY, without("limit", "wish")) == (("limit", "wish"),)
    assert relaxable_facts(GIVEN, [], VOCABULARY, without("limit")) == (("limit",),)


def test_where_no_pair_helps_the_fewest_that_do_are_named() -> None:
    """None of them can be kept, however many it takes."""
    helps = without("limit", "wish", "deadline")
    assert relaxable_facts(GIVEN, [], VOCABULARY, helps) == (("deadline", "limit", "wish"),)


def test_the_order_in_which_facts_are_stated_tells_nothing() -> None:
    backwards = dict(reversed(GIVEN.items()))
    for helps in (lambda facts: len(facts) < len(GIVEN), without("limit", "wish")):
        assert relaxable_facts(backwards, [], VOCABULARY, helps) == relaxable_facts(GIVEN, [], VOCABULARY, helps)


def test_what_the_work_is_is_never_named() -> None:
    tried: list[frozenset[str]] = []

    def qualifies(facts: Mapping[str, Value]) -> bool:
        tried.append(frozenset(GIVEN) - frozenset(facts))
        return "param_count_b" not in facts

    assert relaxable_facts(GIVEN, [], VOCABULARY, qualifies) == ()
    assert not any("param_count_b" in gone for gone in tried)


def test_nothing_helps_where_nothing_does() -> None:
    assert relaxable_facts(GIVEN, [], VOCABULARY, lambda facts: False) == ()
    assert relaxable_facts({}, [], VOCABULARY, lambda facts: True) == ()


def test_the_other_facts_stay_as_they_are() -> None:
    seen: list[Mapping[str, Value]] = []
    relaxable_facts(GIVEN, [], VOCABULARY, lambda facts: bool(seen.append(facts)))
    assert all(GIVEN[name] == value for facts in seen for name, value in facts.items())
    expected = {frozenset(GIVEN) - set(pair) for pair in combinations(("load", "limit", "wish", "deadline"), 2)}
    assert expected <= {frozenset(facts) for facts in seen}


#: Each states something that nothing meets.
STUCK: dict[str, dict[str, Any]] = {
    "a budget of a cent": {"task": "inference", "param_count_b": 70, "budget_usd_per_hour": 0.01},
    "a card too small": {"task": "full_finetuning", "param_count_b": 70, "gpu_candidates": ["T4"], "num_gpus": 1},
    "CUDA on AMD": {"task": "inference", "param_count_b": 8, "gpu_candidates": ["MI300X"], "cuda_required": True},
    "an impossible time": {"task": "inference", "model_name": "llama-3.1-70b", "tpot_slo_ms": 0.01},
}


@pytest.mark.parametrize("name", STUCK)
def test_the_facts_that_an_answer_names_do_help(name: str, decide: Callable[..., Decision], advisor: Advisor) -> None:
    facts = STUCK[name]
    answer = decide(facts).to_dict()
    if answer["recommendation"] is not None:
        assert answer["recommendation"]["proven"] is False
        return
    relaxable = answer["no_answer"]["relaxable"]
    assert relaxable
    for names in relaxable:
        again = decide({fact: value for fact, value in facts.items() if fact not in names})
        assert again.to_dict()["recommendation"] is not None, names
