"""Mistakes made on purpose: which ones the tests of a rule notice, and what they would need to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from whichgpu.engine.authoring import coverage_of_tests, mutate
from whichgpu.engine.authoring.testing.mutants import mutants_of, nudged
from whichgpu.engine.core import knowledge_in_use
from whichgpu.engine.core.errors import InputError, Problem
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import Rulebook
from whichgpu.engine.rules.rulebook.model import Each


Load = Callable[[str], Rulebook]


def facts_for(given: Mapping[str, object], plan: Mapping[str, object], each: Each) -> Facts:
    """What is stated, as it is."""
    if plan.get("gpu") == "nope":
        raise InputError(Problem("unknown-gpu", "no GPU is called nope"))
    facts: dict[str, Any] = {
        **given,
        **{{"count": "plan.count", "gpu": "plan.gpu"}.get(k, k): v for k, v in plan.items()},
    }
    return {name: value for name, value in facts.items() if value != "unknown"}


def rule(when: list[str], tests: str) -> str:
    lines = "".join(f"    - {line}\n" for line in when)
    return (
        f"- id: r\n  title: T\n  stage: derive\n  when:\n{lines}  then: {{set: {{tier: low}}}}\n  because: B.\n"
        f"  tests:\n{tests}"
    )


def changes(text: str, load: Load, vocabulary: Vocabulary) -> list[str]:
    (found,) = load(text).rules
    return [mutant.what for mutant in mutants_of(found, vocabulary)]


def test_every_condition_is_left_out_turned_and_moved(load: Load, vocabulary: Vocabulary) -> None:
    text = rule(
        ["training", "num_models > 8", "any:\n        - task == inference\n        - wishes has quiet"], "    []\n"
    )
    assert changes(text.replace("  tests:\n    []\n", ""), load, vocabulary) == [
        "`training` left out",
        "`training` turned into `not training`",
        "`num_models > 8` left out",
        "`num_models > 8` turned into `num_models <= 8`",
        "`num_models > 8` turned into `num_models > 7`",
        "`num_models > 8` turned into `num_models > 9`",
        "`(task == inference) or (wishes has quiet)` left out",
        "the alternative `task == inference` left out",
        "`task == inference` turned into `task != inference`",
        "the alternative `wishes has quiet` left out",
        "`wishes has quiet` turned into `not wishes has quiet`",
    ]


@pytest.mark.parametrize(
    ("limit", "whole", "expected"),
    [(8, True, (7, 9)), (60, True, (57, 63)), (1, True, (0, 2)), (8.0, False, (7.6, 8.4)), (0.0, False, (-1.0, 1.0))],
)
def test_limits_move_by_a_twentieth_and_whole_numbers_by_one_at_least(
    limit: float, whole: bool, expected: tuple[float, float]
) -> None:
    assert nudged(limit, whole=whole) == expected


def test_a_parameter_moves_by_a_fifth() -> None:
    assert nudged(70, whole=False, unit="%") == (56, 84)
    assert nudged(70, whole=False, unit="GB") == (66.5, 73.5)


GOOD = """\
    - {given: {num_models: 9, training: yes}, fires: yes}
    - near_miss: {num_models: 8}
    - near_miss: {training: no}
"""


def test_tests_at_the_limit_notice_every_mistake(load: Load, vocabulary: Vocabulary) -> None:
    report = mutate(load(rule(["training", "num_models > 8"], GOOD)), facts_for, vocabulary)
    assert (report.score, report.survivors, report.killed) == (1.0, (), 6)


def test_a_mistake_that_survives_comes_with_a_test_that_notices_it(load: Load, vocabulary: Vocabulary) -> None:
    tests = "    - {given: {num_models: 20, training: yes}, fires: yes}\n"
    text = rule(["training", "num_models > 8"], tests)
    report = mutate(load(text), facts_for, vocabulary)
    assert {survivor.what: survivor.suggestion.text for survivor in report.survivors if survivor.suggestion} == {
        "`training` left out": "- near_miss: {training: false}",
        "`num_models > 8` left out": "- near_miss: {num_models: 8}",
        "`num_models > 8` turned into `num_models > 7`": "- near_miss: {num_models: 8}",
        "`num_models > 8` turned into `num_models > 9`": "- {given: {num_models: 9, training: true}, fires: true}",
    }
    assert report.score == pytest.approx(2 / 6)
    places = {survivor.place.line for survivor in report.survivors if survivor.place}
    assert places == {5, 6}
    mended = text + "".join(
        f"    {s.suggestion.text}\n" for s in report.survivors if s.suggestion and s.what != "`num_models > 8` left out"
    )
    assert mutate(load(mended), facts_for, vocabulary).score == 1.0


def test_mistakes_that_change_nothing_do_not_count(load: Load, vocabulary: Vocabulary) -> None:
    tests = GOOD + "    - near_miss: {training: unknown}\n"
    report = mutate(load(rule(["training is known", "training", "num_models > 8"], tests)), facts_for, vocabulary)
    assert report.equivalent == 1
    assert report.survivors == ()


def test_rows_below_notice_what_a_row_takes_from_them(load: Load, vocabulary: Vocabulary) -> None:
    book = load("""
    - table: t
      title: T
      stage: derive
      hit: first
      columns: [num_models]
      because: B.
      rows:
        - id: many
          if: ['> 8']
          then: {set: {tier: high}}
          tests: [{given: {num_models: 9}, fires: yes}]
        - id: few
          if: ['-']
          then: {set: {tier: low}}
          tests: [{given: {num_models: 8}, fires: yes}]
    """)
    report = mutate(book, facts_for, vocabulary)
    assert [survivor.what for survivor in report.survivors] == []
    assert mutate(book, facts_for, vocabulary, rules=["t/few"]).killed == 0
    assert mutate(book, facts_for, vocabulary, rules=["t"]).killed == report.killed == 4


def test_a_limit_of_a_plan_is_tested_by_the_plan(load: Load, vocabulary: Vocabulary) -> None:
    text = rule(
        ["plan.count > 8", "plan.link == pcie"], "    - {plan: {gpu: x, count: 16, plan.link: pcie}, fires: yes}\n"
    )
    text = text.replace("stage: derive\n", "stage: prefer\n  each: plan\n").replace(
        "{set: {tier: low}}", "{points: 1, reason: fit}"
    )
    book = load(text)
    report = mutate(book, facts_for, vocabulary)
    texts = {survivor.suggestion.text for survivor in report.survivors if survivor.suggestion}
    assert texts >= {"- near_miss: {plan.link: nvlink}", "- near_miss: {plan.count: 8}"}
    assert "- {plan: {gpu: x, count: 9, plan.link: pcie}, fires: true}" in texts


def test_a_test_that_cannot_be_resolved_notices_nothing(load: Load, vocabulary: Vocabulary) -> None:
    text = rule(["training"], "    - {given: {training: yes}, plan: {gpu: nope, count: 1}, fires: yes}\n")
    text = text.replace("stage: derive\n", "stage: reject\n  each: plan\n").replace(
        "{set: {tier: low}}", "{reject: no}"
    )
    report = mutate(load(text), facts_for, vocabulary)
    assert (report.killed, {survivor.suggestion for survivor in report.survivors}) == (0, {None})
    assert coverage_of_tests(load(text), facts_for).rules[0].missing == "never fires"


def test_a_rule_without_tests_has_no_suggestion(load: Load, vocabulary: Vocabulary) -> None:
    report = mutate(load(rule(["training"], "    []\n").replace("  tests:\n    []\n", "")), facts_for, vocabulary)
    assert report.score == 0
    assert [survivor.suggestion for survivor in report.survivors] == [None, None]
    value = report.to_dict()
    assert (value["score"], value["survived"], value["survivors"][0]["suggestion"]) == (0.0, 2, None)
    assert mutate(load(rule(["training"], GOOD)), facts_for, vocabulary, rules=[]).score == 1.0


def test_coverage_says_what_no_test_shows(load: Load, vocabulary: Vocabulary) -> None:
    text = rule(["training", "num_models > 8"], GOOD.replace("    - near_miss: {training: no}\n", ""))
    found = coverage_of_tests(load(text), facts_for)
    assert [(gap.what, gap.missing) for gap in found.gaps] == [("training", "is always met")]
    assert found.to_dict()["rules"] == {"total": 1, "both_ways": 1}
    assert found.to_dict()["conditions"] == {"total": 2, "both_ways": 1}
    assert found.to_dict()["gaps"][0]["line"] == 5


def test_coverage_of_tests_that_never_fire_or_cannot_be_resolved(load: Load, vocabulary: Vocabulary) -> None:
    never = coverage_of_tests(load(rule(["training"], "    - {given: {training: no}, fires: no}\n")), facts_for)
    assert [(gap.what, gap.missing) for gap in never.gaps] == [("", "never fires"), ("training", "is never met")]
    unconditional = coverage_of_tests(
        load(
            rule(["training"], "    - {given: {}, fires: yes}\n").replace("  when:\n    - training\n", "  when: []\n")
        ),
        facts_for,
    )
    assert unconditional.gaps == ()


@pytest.mark.parametrize(
    ("condition", "given", "noticing"),
    [
        ("wishes has quiet", "wishes: [quiet]", "- near_miss: {wishes: []}"),
        ("model_name == llama", "model_name: llama", "- near_miss: {model_name: unknown}"),
        ("model_name != llama", "model_name: phi", "- near_miss: {model_name: llama}"),
        ("task == inference", "task: inference", "- near_miss: {task: pretraining}"),
        ("run_hours is unknown", "task: inference", "- near_miss: {run_hours: 1}"),
        ("run_hours <= 10", "run_hours: 1", "- near_miss: {run_hours: 11}"),
        ("not (wishes has quiet)", "wishes: []", "- near_miss: {wishes: [quiet]}"),
        ("run_hours > deadline_hours", "run_hours: 9, deadline_hours: 8", "- near_miss: {deadline_hours: 10}"),
    ],
)
def test_suggestions_fit_the_kind_of_the_fact(
    condition: str, given: str, noticing: str, load: Load, vocabulary: Vocabulary
) -> None:
    text = rule([f'"{condition}"'], f"    - {{given: {{{given}}}, fires: yes}}\n")
    report = mutate(load(text), facts_for, vocabulary)
    (left_out,) = (survivor for survivor in report.survivors if survivor.what.endswith("left out"))
    assert left_out.suggestion is not None
    assert left_out.suggestion.text == noticing


def test_an_alternative_is_distinguished_by_two_changes(load: Load, vocabulary: Vocabulary) -> None:
    text = rule(
        ["any:\n        - training\n        - cuda_required"],
        "    - {given: {training: yes, cuda_required: yes}, fires: yes}\n",
    )
    report = mutate(load(text), facts_for, vocabulary)
    found = {survivor.what: survivor.suggestion.text for survivor in report.survivors if survivor.suggestion}
    assert (
        found["the alternative `training` left out"] == "- {given: {training: true, cuda_required: false}, fires: true}"
    )
    assert (
        found["`(training) or (cuda_required)` left out"]
        == "- {given: {training: false, cuda_required: false}, fires: false}"
    )


def test_a_limit_that_is_a_parameter_is_taken_for_its_neighbours(load: Load, vocabulary: Vocabulary) -> None:
    """What stands in a line where the wrong name of a parameter was written."""
    values = sorted({each.value for each in knowledge_in_use().parameters.values() if each.unit == "%"})
    limit = values[-1]
    tests = "    - {given: {share_pct: 99}, fires: true}\n"
    (named,) = load(rule([f"share_pct >= {limit:g}"], tests)).rules
    (plain,) = load(rule([f"share_pct >= {limit + 1:g}"], tests)).rules
    other = f"`share_pct >= {limit:g}` turned into `share_pct >= {values[-2]:g}`"
    assert other in {mutant.what for mutant in mutants_of(named, vocabulary)}
    assert not any(f">= {values[-2]:g}" in mutant.what for mutant in mutants_of(plain, vocabulary))


def test_two_facts_that_are_equal_are_a_case_of_their_own(load: Load, vocabulary: Vocabulary) -> None:
    tests = "    - {given: {run_hours: 9, deadline_hours: 4}, fires: true}\n    - near_miss: {run_hours: 3}\n"
    rules = load(rule(["run_hours > deadline_hours"], tests))
    what = "`run_hours > deadline_hours` turned into `run_hours >= deadline_hours`"
    assert what in {mutant.what for mutant in mutants_of(rules.rules[0], vocabulary)}
    (survivor,) = [each for each in mutate(rules, facts_for, vocabulary).survivors if each.what == what]
    assert survivor.suggestion is not None
    assert survivor.suggestion.text == "- near_miss: {deadline_hours: 9}"
    better = load(rule(["run_hours > deadline_hours"], tests + "    - near_miss: {deadline_hours: 9}\n"))
    assert what not in {each.what for each in mutate(better, facts_for, vocabulary).survivors}
