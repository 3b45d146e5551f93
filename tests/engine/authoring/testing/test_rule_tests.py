from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whichgpu.engine.authoring import TestResult, run_rule_tests
from whichgpu.engine.core.errors import InputError, Problem
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import Rulebook
from whichgpu.engine.rules.rulebook.model import Each


Load = Callable[[str], Rulebook]

RULE = """
- id: many
  title: T
  stage: prefer
  each: plan
  when:
    - training
    - plan.count > 8
    - param_count_b > 7
  then: {points: 1, reason: fit}
  because: B.
  tests:
    - given: {training: yes, param_count_b: 70}
      plan: {gpu: nvidia-l40s, count: 16}
      fires: true
    - near_miss: {plan.count: 8}
    - near_miss: {training: no}
    - near_miss: {param_count_b: unknown}
"""


class SettledFacts:
    """Stands in for resolving: plan facts by count, direct overrides, ``unknown`` removes."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
        self.asked.append((dict(given), dict(plan), each))
        if plan.get("gpu") == "nope":
            raise InputError(Problem("unknown-gpu", "no GPU is called nope"))
        facts: dict[str, Any] = dict(given)
        for name, value in plan.items():
            facts[{"gpu": "plan.gpu", "count": "plan.count"}.get(name, name)] = value
        return {name: value for name, value in facts.items() if value != "unknown"}


def run(book: Rulebook, vocabulary: Vocabulary, **more: Any) -> list[TestResult]:
    return run_rule_tests(book, SettledFacts(), vocabulary, **more)


def test_a_sound_rule_passes_and_each_near_miss_misses(load: Load, vocabulary: Vocabulary) -> None:
    results = run(load(RULE), vocabulary)
    assert [(result.number, result.near_miss, result.outcome, result.passed) for result in results] == [
        (1, False, "fired", True),
        (2, True, "not_fired", True),
        (3, True, "not_fired", True),
        (4, True, "undecided", True),
    ]
    assert {result.why for result in results} == {""}


def test_a_test_that_should_fire_says_which_condition_failed_with_its_value(load: Load, vocabulary: Vocabulary) -> None:
    (result, *_) = run(load(RULE.replace("count: 16", "count: 7")), vocabulary)
    assert not result.passed
    assert result.why.startswith("`plan.count > 8` fails: ")
    assert "7" in result.why.partition("fails: ")[2]
    assert (result.place.line if result.place else 0) == 13


def test_a_test_that_should_fire_says_what_is_missing(load: Load, vocabulary: Vocabulary) -> None:
    (result, *_) = run(load(RULE.replace("param_count_b: 70}", "run_hours: 1}")), vocabulary)
    assert (result.outcome, result.passed) == ("undecided", False)
    assert result.why == "`param_count_b > 7` is undecided: unknown: param_count_b"


def test_a_near_miss_that_fires_says_what_held(load: Load, vocabulary: Vocabulary) -> None:
    results = run(load(RULE.replace("near_miss: {plan.count: 8}", "near_miss: {plan.count: 9}")), vocabulary)
    assert [result.passed for result in results] == [True, False, True, True]
    assert results[1].why.startswith("all of it holds: ")
    assert results[1].why.count(";") == 2


def test_inputs_that_cannot_be_resolved_fail_the_test_with_the_reason(load: Load, vocabulary: Vocabulary) -> None:
    results = run(load(RULE.replace("nvidia-l40s", "nope")), vocabulary)
    assert {(result.outcome, result.passed, result.why) for result in results} == {
        ("error", False, "no GPU is called nope")
    }


def test_division_by_zero_is_undecided_and_says_so(load: Load, vocabulary: Vocabulary) -> None:
    book = load("""
    - id: ratio
      title: T
      stage: derive
      when: [share_pct / run_hours > 2]
      then: {set: {tier: low}}
      because: B.
      tests:
        - given: {share_pct: 8, run_hours: 0}
          fires: true
    """)
    (result,) = run(book, vocabulary)
    assert result.why == "`share_pct / run_hours > 2` is undecided: it divides by zero"


TABLE = """
- table: bands
  title: T
  stage: derive
  hit: first
  columns: [param_count_b]
  because: B.
  rows:
    - {id: low, if: ['< 7'], then: {set: {tier: low}}}
    - id: wide
      if: ['< 70']
      then: {set: {tier: middle}}
      tests:
        - {given: {param_count_b: 8}, fires: yes}
        - near_miss: {param_count_b: 3}
        - {given: {param_count_b: 6}, fires: yes}
        - {given: {}, fires: no}
"""


def test_a_row_of_a_first_table_yields_to_the_rows_above_it(load: Load, vocabulary: Vocabulary) -> None:
    results = run(load(TABLE), vocabulary)
    assert [(result.outcome, result.passed) for result in results] == [
        ("fired", True),
        ("overridden", True),
        ("overridden", False),
        ("undecided", True),
    ]
    assert results[2].why == "the row bands/low matches first"
    collected = run(load(TABLE.replace("hit: first", "hit: collect")), vocabulary)
    assert [result.outcome for result in collected] == ["fired", "fired", "fired", "undecided"]


def test_a_rule_without_conditions_fires_and_can_say_why(load: Load, vocabulary: Vocabulary) -> None:
    book = load("""
    - id: always
      title: T
      stage: derive
      when: []
      then: {set: {tier: low}}
      because: B.
      tests:
        - {given: {}, fires: no}
    """)
    assert [(result.outcome, result.why) for result in run(book, vocabulary)] == [("fired", "it has no conditions")]


def test_equal_inputs_are_resolved_once_and_true_is_not_one(load: Load, vocabulary: Vocabulary) -> None:
    twice = RULE + RULE.replace("id: many", "id: many-too")
    asked = SettledFacts()
    assert len(run_rule_tests(load(twice), asked, vocabulary)) == 8
    assert len(asked.asked) == 4


def test_rules_and_tables_can_be_picked(load: Load, vocabulary: Vocabulary) -> None:
    book = load(RULE + TABLE)
    assert {result.rule for result in run(book, vocabulary)} == {"many", "bands/wide"}
    assert {result.rule for result in run(book, vocabulary, rules=["bands"])} == {"bands/wide"}
    assert {result.rule for result in run(book, vocabulary, rules=["many"])} == {"many"}


def test_results_turn_into_json(load: Load, vocabulary: Vocabulary) -> None:
    (result, *_) = run(load(RULE), vocabulary)
    assert result.to_dict() == {
        "rule": "many",
        "number": 1,
        "near_miss": False,
        "expected": True,
        "outcome": "fired",
        "passed": True,
        "why": "",
        "path": "rules.yaml",
        "line": 13,
    }
