"""For every check a rulebook that it complains about, and a twin that it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whichgpu.cli.render.checkpage import check_page
from whichgpu.engine.authoring import ALL_CHECKS, Finding
from whichgpu.engine.authoring.lint.checks import models
from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.rules.rulebook import KnownNames


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


LOW, HIGH = "{set: {tier: low}}", "{set: {tier: high}}"


HERE = Path(__file__).parent / "rulebooks"
DOCS = Path(__file__).parents[4] / "docs" / "checks"
#: Their pages say how to mend or silence them elsewhere.
UNSILENCED = {"bad-silence", "cyclic-derivation", "uncarried-heuristic", "unneeded-question", "unsaid-code"}
UNSILENCED |= {check.id for check in vars(models).values() if isinstance(check, Check)}
BAD = sorted(HERE.glob("*/*.bad.yaml"))


@pytest.mark.parametrize("bad", BAD, ids=lambda path: f"{path.parent.name}-{path.name.partition('.')[0]}")
def test_a_check_complains_about_the_bad_and_not_about_the_good(
    bad: Path, complaints: Callable[[str, str], str]
) -> None:
    check, name = bad.parent.name, bad.name.removesuffix(".bad.yaml")
    said = complaints(bad.read_text(), check)
    assert said, "nothing is complained about"
    assert said == (bad.parent / f"{name}.txt").read_text()
    assert complaints((bad.parent / f"{name}.good.yaml").read_text(), check) == ""


def test_every_check_is_tried() -> None:
    of_models = {check.id for check in vars(models).values() if isinstance(check, Check)}  # See test_model_checks.
    assert {path.parent.name for path in BAD} == {check.id for check in ALL_CHECKS} - of_models
    assert len(BAD) >= 60


def test_sources_and_heuristics_that_do_not_exist_are_named_with_the_nearest(findings: Lint) -> None:
    text = rule("r", "training", LOW, more="  sources: [fpt/3.4, runpood/a/b, zzz]\n  encodes: [slow-sink]\n")
    known = KnownNames(sources=frozenset({"fpt", "runpod"}), heuristics=frozenset({"slow-sync"}))
    found = findings(text, "dead-source", known=known)
    assert [(finding.message, finding.nearest, finding.fix) for finding in found] == [
        ("r names the heuristic 'slow-sink', which does not exist", ("slow-sync",), None),
        ("r names the source 'runpood/a/b', which does not exist", ("runpod",), None),
        ("r names the source 'zzz', which does not exist", (), "add the source, or name another"),
    ]
    assert findings(text, "dead-source") == []


def test_a_figure_reaches_from_its_lower_end_to_its_upper(findings: Lint) -> None:
    text = rule("r", "training", LOW)
    found = findings(text, "exchanged-ends", figures={"share": {"value": [95, 85]}, "hours": {"value": [1, 2]}})
    assert [(finding.rule, finding.message) for finding in found] == [
        ("share", "the figure share reaches from 95 to 85")
    ]


def test_certain_conflicts_are_errors_and_possible_ones_warnings(findings: Lint) -> None:
    certain = rule("a", "param_count_b <= 7", LOW) + rule("b", "param_count_b >= 7", HIGH)
    possible = rule("a", "training", LOW) + rule("b", "run_hours * param_count_b > 7", HIGH)
    assert [finding.severity for finding in findings(certain, "conflicting-sets")] == ["error"]
    assert [finding.severity for finding in findings(possible, "conflicting-sets")] == ["warning"]


def test_overrides_resolve_a_conflict_through_a_third_rule(findings: Lint) -> None:
    rules = (
        rule("a", "training", LOW)
        + rule("b", "cuda_required", "{set: {run_hours: 3}}", more="  overrides: [a]\n")
        + rule("c", "share_pct is known", HIGH, more="  overrides: [b]\n")
    )
    assert findings(rules, "conflicting-sets") == []


def test_facts_that_calculators_read_or_give_count(findings: Lint) -> None:
    setter, reader = rule("r", "training", LOW), rule("r", "tier == low", "{set: {run_hours: 3}}")
    assert findings(setter, "never-read", consumed=frozenset({"tier"})) == []
    assert [finding.message for finding in findings(reader, "never-set", produced=frozenset({"grade"}))] != []
    assert findings(reader, "never-set", produced=frozenset({"tier"})) == []


def test_a_fact_shown_in_a_text_counts_as_read(findings: Lint) -> None:
    shown = rule("s", "training", '{warn: W-X, text: "tier {tier}"}', stage="advise")
    assert findings(rule("r", "training", LOW) + shown, "never-read") == []


def test_a_large_table_is_proved_or_its_gap_is_shown(findings: Lint) -> None:
    columns = "param_count_b, share_pct, num_models, run_hours, task, framework"
    rows = "".join(row(f"r{n}", f"{n}..{n + 1}, {n}, {n}, {n}, -, -") for n in range(1, 20))
    (finding,) = findings(table(rows, complete=True, columns=columns), "incomplete-table")
    assert (finding.severity, finding.rule, finding.possible) == ("error", "t", False)
    assert set(finding.example or {}) == {name.strip() for name in columns.split(",")}
    assert (
        findings(table(rows + row("rest", "-, -, -, -, -, -"), complete=True, columns=columns), "incomplete-table")
        == []
    )


def test_a_table_beyond_the_search_says_so(findings: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whichgpu.engine.authoring.lint.search.MOST_STEPS", 1)
    rows = row("a", "< 7, yes") + row("b", "'>= 7', yes") + row("c", "'> 1', no") + row("d", "'<= 1', no")
    (finding,) = findings(table(rows, complete=True, columns="param_count_b, training"), "incomplete-table")
    assert (finding.severity, finding.message) == ("info", "t has too many cases to prove that its rows cover all")


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
    (finding,) = findings(text.replace("  # lint: allow always-true", ""), "always-true")
    assert finding.place is not None
    assert finding.place.line == 7


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
        "possible": False,
        "example": None,
    }
    assert Finding("x", "info", "no place").to_dict()["path"] is None


@pytest.mark.parametrize("check", [check.id for check in ALL_CHECKS])
def test_every_check_has_a_page_with_all_its_parts(check: str) -> None:
    page = check_page(check)
    parts = ["\nWhy:", "\nBad", "\nGood", "\nSilence:"]
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert page.count("```yaml") == page.count("```\n") >= 1
    assert f"`# lint: allow {check}: why`" in page or check in UNSILENCED
    committed = DOCS / f"{check}.md"
    assert committed.read_text() == page, f"whichgpu rules lint --explain {check} > docs/checks/{check}.md"


def test_no_page_is_left_over() -> None:
    assert {path.stem for path in DOCS.glob("*.md")} == {check.id for check in ALL_CHECKS}


def test_checks_are_sorted_and_unique() -> None:
    ids = [check.id for check in ALL_CHECKS]
    assert ids == sorted(set(ids))
