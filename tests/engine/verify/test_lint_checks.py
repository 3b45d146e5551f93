"""For every check a rulebook that it complains about, and a twin that it does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.rulebook import Known
from engine.verify import ALL_CHECKS
from engine.verify import Finding
from engine.verify import check_page


Lint = Callable[..., list[Finding]]


def rule(rule_id: str, when: str, then: str, *, more: str = "", stage: str = "derive", note: str = "") -> str:
    each = {"reject": "plan", "prefer": "plan"}.get(stage, "workload")
    return (
        f"- id: {rule_id}{note}\n  title: T\n  stage: {stage}\n  each: {each}\n  when: [{when}]\n"
        f"  then: {then}\n  because: B.\n{more}"
    )


def table(
    rows: str, *, hit: str = "first", complete: bool = False, columns: str = "param_count_b", when: str = ""
) -> str:
    return (
        f"- table: t\n  title: T\n  stage: derive\n  hit: {hit}\n  complete: {'true' if complete else 'false'}\n"
        f"  when: [{when}]\n  columns: [{columns}]\n  because: B.\n  rows:\n{rows}"
    )


def row(row_id: str, cells: str, value: str = "low") -> str:
    return f"    - {{id: {row_id}, if: [{cells}], then: {{set: {{tier: {value}}}}}}}\n"


TWO = "num_models, training"
LOW, HIGH = "{set: {tier: low}}", "{set: {tier: high}}"
TESTS = "  tests:\n    - given: {training: yes}\n      fires: true\n"
MISS = TESTS + "    - near_miss: {training: no}\n"

#: Check, what it complains about, the message, and the twin it is content with.
CASES = [
    (
        "missing-tests",
        rule("r", "training", LOW),
        "r has no test in which it fires",
        rule("r", "training", LOW, more=TESTS),
    ),
    (
        "missing-near-miss",
        rule("r", "training", LOW, more=TESTS),
        "r has no test in which it just misses",
        rule("r", "training", LOW, more=MISS),
    ),
    (
        "missing-source",
        rule("r", "training", LOW),
        "r names no source",
        rule("r", "training", LOW, more="  sources: [fpt]\n"),
    ),
    (
        "missing-encodes",
        rule("r", "training", LOW),
        "r encodes no heuristic of the catalogue",
        rule("r", "training", LOW, more="  encodes: [h]\n"),
    ),
    (
        "expired",
        rule("r", "training", LOW, more="  valid_until: 2026-06-29\n"),
        "r was valid until 2026-06-29",
        rule("r", "training", LOW, more="  valid_until: 2026-06-30\n"),
    ),
    (
        "draft",
        rule("r", "training", LOW, more="  status: draft\n"),
        "r is a draft",
        rule("r", "training", LOW, more="  status: stable\n"),
    ),
    (
        "draft",
        rule("r", "training", LOW, more="  status: deprecated\n"),
        "r is deprecated",
        rule("r", "training", LOW),
    ),
    (
        "unreachable-rule",
        rule("r", "training, param_count_b > 70, param_count_b < 7", LOW),
        "r can never fire: `param_count_b < 7` contradicts `param_count_b > 70`",
        rule("r", "training, param_count_b > 7, param_count_b < 70", LOW),
    ),
    (
        "unreachable-rule",
        rule("r", "share_pct > 100", LOW),
        "r can never fire: `share_pct > 100` never holds",
        rule("r", "share_pct >= 100", LOW),
    ),
    (
        "unreachable-rule",
        rule("r", '"task in [pretraining, finetuning]", task != pretraining, task != finetuning', LOW),
        "r can never fire: its conditions together leave no case",
        rule("r", '"task in [pretraining, finetuning]", task != pretraining', LOW),
    ),
    (
        "unreachable-rule",
        rule("r", "run_hours is unknown, run_hours > 3", LOW),
        "r can never fire: `run_hours > 3` contradicts `run_hours is unknown`",
        rule("r", "run_hours is known, run_hours > 3", LOW),
    ),
    (
        "duplicate-rule",
        rule("a", "training, run_hours > 3", LOW) + rule("b", "run_hours > 3, training", LOW),
        "b has the conditions and effects of a (rules.yaml:1:7)",
        rule("a", "training, run_hours > 3", LOW) + rule("b", "run_hours > 4, training", LOW),
    ),
    (
        "conflicting-sets",
        rule("a", "param_count_b <= 7", LOW) + rule("b", "param_count_b >= 7", HIGH),
        "b sets `tier` to high and a (rules.yaml:1:7) to low, where both fire",
        rule("a", "param_count_b <= 7", LOW) + rule("b", "param_count_b > 7", HIGH),
    ),
    (
        "conflicting-sets",
        rule("a", "training", LOW) + rule("b", "run_hours * 2 > 7", HIGH),
        "b sets `tier` to high and a (rules.yaml:1:7) to low, possibly on the same facts",
        rule("a", "training", LOW) + rule("b", "run_hours * 2 > 7", HIGH, more="  overrides: [a]\n"),
    ),
    (
        "conflicting-sets",
        rule("a", "training", "{set: {run_hours: 3}}") + rule("b", "training", "{set: {run_hours: num_models}}"),
        "b sets `run_hours` to num_models and a (rules.yaml:1:7) to 3, possibly on the same facts",
        rule("a", "training", "{set: {run_hours: 3}}") + rule("b", "training", "{set: {run_hours: 3}}"),
    ),
    (
        "conflicting-sets",
        table(row("a", "< 7") + row("b", "-", "high"), hit="collect"),
        "t/b sets `tier` to high and t/a (rules.yaml:10:12) to low, where both fire",
        table(row("a", "< 7") + row("b", "-", "high")),
    ),
    (
        "shadowed-row",
        table(row("a", "-") + row("b", "'>= 70'", "high")),
        "t/b is never reached: t/a matches wherever it does",
        table(row("a", "'>= 70'", "high") + row("b", "-")),
    ),
    (
        "shadowed-row",
        table(row("a", "7..70, -") + row("b", "'8..12', yes", "high"), columns="param_count_b, training"),
        "t/b is never reached: t/a matches wherever it does",
        table(row("a", "7..70, -") + row("b", "'8..71', yes", "high"), columns="param_count_b, training"),
    ),
    (
        "always-true",
        rule("r", "training, param_count_b > 0", LOW),
        "`param_count_b > 0` in r holds for every value",
        rule("r", "training, param_count_b > 1", LOW),
    ),
    (
        "always-true",
        rule("r", '"task in [pretraining, finetuning, inference]"', LOW),
        "`task in [pretraining, finetuning, inference]` in r holds for every value",
        rule("r", '"task in [pretraining, finetuning]"', LOW),
    ),
    ("always-true", rule("r", "", LOW), "r has no condition and always fires", rule("r", "task is known", LOW)),
    (
        "always-true",
        rule("r", "cuda_required or not cuda_required", LOW),
        "`cuda_required or not cuda_required` in r holds for every value",
        rule("r", "run_hours is known or run_hours is unknown", LOW),
    ),
    (
        "never-read",
        rule("r", "training", LOW),
        "r sets `tier`, which nothing reads",
        rule("r", "training", LOW) + rule("s", "tier == low", "{warn: W-X}", stage="advise"),
    ),
    (
        "never-set",
        rule("r", "tier == low", "{set: {run_hours: 3}}"),
        "r reads `tier`, which nothing sets",
        rule("r", "tier == low", "{set: {run_hours: 3}}") + rule("s", "training", LOW),
    ),
    (
        "never-set",
        rule("r", "verdict == rent", "{warn: W-X}", stage="advise"),
        "r reads `verdict`, which nothing sets",
        rule("r", "grade == a", "{warn: W-X}", stage="advise"),
    ),
    (
        "incomplete-table",
        table(row("a", "< 7") + row("b", "'> 7'", "high"), complete=True),
        "no row of t matches param_count_b = 7",
        table(row("a", "< 7") + row("b", "'>= 7'", "high"), complete=True),
    ),
    (
        "incomplete-table",
        table(row("a", "pretraining, -") + row("b", "'!= pretraining', quiet"), complete=True, columns="task, wishes"),
        "no row of t matches task = finetuning, wishes = []",
        table(row("a", "pretraining, -") + row("b", "'!= pretraining', -"), complete=True, columns="task, wishes"),
    ),
    (
        "incomplete-table",
        table(row("a", "1..3, -") + row("b", "'> 4', yes"), complete=True, columns=TWO, when="training"),
        "no row of t matches num_models = 4, training = False",
        table(row("a", "1..3, -") + row("b", "'> 3', -"), complete=True, columns=TWO, when="training"),
    ),
    (
        "incomplete-table",
        table(row("a", "llama") + row("b", "[phi, gpt]"), complete=True, columns="model_name"),
        "no row of t matches model_name = anything else",
        table(row("a", "llama") + row("b", "'!= llama'"), complete=True, columns="model_name"),
    ),
]


@pytest.mark.parametrize(
    ("check", "bad", "message", "good"), CASES, ids=[f"{case[0]}-{at}" for at, case in enumerate(CASES)]
)
def test_a_check_complains_about_the_bad_and_not_about_the_good(
    check: str, bad: str, message: str, good: str, findings: Lint
) -> None:
    assert [finding.message for finding in findings(bad, check)] == [message]
    assert findings(good, check) == []


def test_every_check_is_tried() -> None:
    tried = {case[0] for case in CASES} | {"dead-source"}
    assert tried == {check.id for check in ALL_CHECKS}


def test_sources_and_heuristics_that_do_not_exist_are_named_with_the_nearest(findings: Lint) -> None:
    text = rule("r", "training", LOW, more="  sources: [fpt/3.4, runpood/a/b, zzz]\n  encodes: [slow-sink]\n")
    known = Known(sources=frozenset({"fpt", "runpod"}), heuristics=frozenset({"slow-sync"}))
    found = findings(text, "dead-source", known=known)
    assert [(finding.message, finding.nearest, finding.fix) for finding in found] == [
        ("r names the heuristic 'slow-sink', which does not exist", ("slow-sync",), None),
        ("r names the source 'runpood/a/b', which does not exist", ("runpod",), None),
        ("r names the source 'zzz', which does not exist", (), "add the source, or name another"),
    ]
    assert findings(text, "dead-source") == []


def test_certain_conflicts_are_errors_and_possible_ones_warnings(findings: Lint) -> None:
    certain = rule("a", "param_count_b <= 7", LOW) + rule("b", "param_count_b >= 7", HIGH)
    possible = rule("a", "training", LOW) + rule("b", "run_hours * 2 > 7", HIGH)
    assert [finding.severity for finding in findings(certain, "conflicting-sets")] == ["error"]
    assert [finding.severity for finding in findings(possible, "conflicting-sets")] == ["warning"]


def test_overrides_settle_a_conflict_through_a_third_rule(findings: Lint) -> None:
    rules = (
        rule("a", "training", LOW)
        + rule("b", "cuda_required", "{set: {run_hours: 3}}", more="  overrides: [a]\n")
        + rule("c", "share_pct is known", HIGH, more="  overrides: [b]\n")
    )
    assert findings(rules, "conflicting-sets") == []


def test_facts_that_calculators_read_or_give_count(findings: Lint) -> None:
    setter, reader = rule("r", "training", LOW), rule("r", "tier == low", "{set: {run_hours: 3}}")
    assert findings(setter, "never-read", consumed=["tier"]) == []
    assert [finding.message for finding in findings(reader, "never-set", produced=["grade"])] != []
    assert findings(reader, "never-set", produced=["tier"]) == []


def test_a_fact_shown_in_a_text_counts_as_read(findings: Lint) -> None:
    shown = rule("s", "training", '{warn: W-X, text: "tier {tier}"}', stage="advise")
    assert findings(rule("r", "training", LOW) + shown, "never-read") == []


def test_a_table_too_large_to_prove_says_so(findings: Lint) -> None:
    columns = "param_count_b, share_pct, num_models, run_hours, task, framework"
    rows = "".join(row(f"r{n}", f"{n}..{n + 1}, {n}, {n}, {n}, -, -") for n in range(1, 20))
    (finding,) = findings(table(rows, complete=True, columns=columns), "incomplete-table")
    assert (finding.severity, finding.rule) == ("info", "t")
    assert "too many cases" in finding.message


def test_a_comment_on_the_line_silences_one_check_for_one_rule(findings: Lint) -> None:
    noisy, quiet = (
        rule("a", "training", LOW),
        rule("b", "cuda_required", LOW, note="  # lint: allow missing-tests, draft"),
    )
    assert [finding.rule for finding in findings(noisy + quiet, "missing-tests")] == ["a"]
    assert [finding.rule for finding in findings(noisy + quiet, "missing-source")] == ["a", "b"]


def test_a_comment_on_a_condition_silences_what_is_said_of_it(findings: Lint) -> None:
    text = """
    - id: r
      title: T
      stage: derive
      when:
        - training
        - param_count_b > 0  # lint: allow always-true
      then: {set: {tier: low}}
      because: B.
    """
    assert findings(text, "always-true") == []
    assert findings(text.replace("  # lint: allow always-true", ""), "always-true")[0].place.line == 7


def test_findings_come_by_place_and_turn_into_json(findings: Lint) -> None:
    text = rule("z", "training", LOW) + rule("a", "cuda_required", LOW)
    first, second = findings(text, "missing-source")
    assert [first.rule, second.rule] == ["z", "a"]
    assert first.to_dict() == {
        "check": "missing-source",
        "severity": "error",
        "message": "z names no source",
        "rule": "z",
        "path": "rules.yaml",
        "line": 1,
        "column": 7,
        "nearest": [],
        "fix": "add `sources:` with ids of knowledge/sources.yaml",
    }
    assert Finding("x", "info", "no place").to_dict()["path"] is None


@pytest.mark.parametrize("check", [check.id for check in ALL_CHECKS])
def test_every_check_has_a_page_with_all_its_parts(check: str) -> None:
    page = check_page(check)
    parts = ["Why:", "Bad", "Good", "Silence:"]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert f"``# lint: allow {check}``" in page
    assert len(page.splitlines()[0]) < 80


def test_checks_are_sorted_and_unique() -> None:
    ids = [check.id for check in ALL_CHECKS]
    assert ids == sorted(set(ids))
