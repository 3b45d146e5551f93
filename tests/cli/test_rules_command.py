from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from whichgpu.cli.advisor import names_of
from whichgpu.cli.render.markdown import to_markdown
from whichgpu.cli.render.rulepage import rule_page
from whichgpu.cli.rulecover import typical_workloads
from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.answer.schema import type_schema
from whichgpu.engine.authoring import PrintedFinding
from whichgpu.engine.authoring.book.links import links_of
from whichgpu.engine.core.calculators import registered
from whichgpu.engine.rules import Difference, keep_differences

from .conftest import HOUSE_RULE


Whichgpu = Callable[..., Any]


@pytest.fixture
def house(tmp_path: Path) -> Callable[[str], list[str]]:
    """Options that use a folder with this rule file alone."""

    def write(text: str) -> list[str]:
        folder = tmp_path / "house"
        folder.mkdir()
        (folder / "house.yaml").write_text(text)
        return ["--rules", str(folder), "--no-builtin-rules"]

    return write


def test_the_shipped_rules_are_listed_by_topic(whichgpu: Whichgpu) -> None:
    listed = json.loads(whichgpu("rules", "list", "--format", "json").out)
    assert len(listed) > 100
    assert {"derive", "reject", "prefer", "advise"} == {rule["stage"] for rule in listed}
    topic = json.loads(whichgpu("rules", "list", "--topic", listed[0]["topic"], "--format", "json").out)
    assert {rule["topic"] for rule in topic} == {listed[0]["topic"]}
    rejects = whichgpu("rules", "list", "--stage", "reject").out
    assert "does-not-fit" in rejects


def test_an_unknown_topic(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "list", "--topic", "memmory")
    assert ran.code == 2
    assert "did you mean memory?" in ran.err


def test_one_rule_in_full(whichgpu: Whichgpu, house: Callable[[str], list[str]]) -> None:
    ran = whichgpu("rules", "show", "house-rule", *house(HOUSE_RULE))
    assert ran.code == 0
    for words in (
        "gpu.vram_gb < 40",
        "rule the plan out: {gpu.name} is too small for this house",
        "The house decided so.",
        "house.yaml:1:7",
        "2 tests, 1 near miss among them.",
    ):
        assert words in ran.out


def test_a_whole_table_can_be_shown(whichgpu: Whichgpu, advisor: Advisor) -> None:
    table = next(rule.table for rule in advisor.rulebook.rules if rule.table)
    shown = json.loads(whichgpu("rules", "show", table, "--format", "json").out)
    assert {rule["table"] for rule in shown} == {table}
    assert len(shown) == sum(rule.table == table for rule in advisor.rulebook.rules)


def test_every_shipped_rule_can_be_shown(advisor: Advisor) -> None:
    """The page alone; on which examples a rule fires is shown for one rule at a time."""
    kinds = {
        "set ",
        "rule the plan out",
        "points for",
        "points against",
        "warn: ",
        "advise: ",
        "ask for",
        "watch ",
        "name the",
    }
    names = names_of(advisor)
    links = links_of(advisor.rulebook, advisor.vocabulary, registered().values())
    pages = [to_markdown(rule_page(rule, names, advisor.vocabulary, links, (), 0)) for rule in advisor.rulebook.rules]
    assert [kind for kind in kinds if not any(kind in page for page in pages)] == []
    for rule, page in zip(advisor.rulebook.rules, pages, strict=True):
        assert page.startswith(f"# {rule.id}\n")
        assert "\n### Ground\n" in page


def test_an_unknown_rule_gets_the_nearest(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "show", "does-not-fitt")
    assert ran.code == 2
    assert "did you mean does-not-fit?" in ran.err
    assert whichgpu("rules", "test", "does-not-fitt").code == 2


def test_the_shipped_rules_pass_their_tests(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "test")
    assert ran.code == 0, ran.out
    assert "passed." in ran.out


def test_the_shipped_rules_have_no_error(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "lint")
    assert ran.code == 0, ran.out
    assert "rules checked" in ran.out


def test_one_rule_can_be_tested_alone(whichgpu: Whichgpu) -> None:
    results = json.loads(whichgpu("rules", "test", "does-not-fit", "--format", "json").out)
    assert {result["rule"] for result in results} == {"does-not-fit"}
    assert all(result["passed"] for result in results)


def test_a_failing_test_says_where_and_why(whichgpu: Whichgpu, house: Callable[[str], list[str]]) -> None:
    options = house(HOUSE_RULE.replace("< 40", "< 4"))
    ran = whichgpu("rules", "test", *options)
    assert ran.code == 1
    said = " ".join(ran.out.split())
    assert "house-rule, test 1: should fire, and was not fired" in said
    assert "`gpu.vram_gb < 4` fails: " in said
    assert "1 of 2 tests of 1 rule passed." in ran.out
    annotation = whichgpu("rules", "test", "--format", "github", *options).out
    assert annotation.startswith("::error file=")
    assert ",title=rule-test::" in annotation


def test_a_finding_says_where_and_how_to_mend_it(whichgpu: Whichgpu, house: Callable[[str], list[str]]) -> None:
    text = HOUSE_RULE.partition("  tests:")[0] + "  tests: []\n"
    options = house(text)
    ran = whichgpu("rules", "lint", "--all", *options)
    findings = json.loads(whichgpu("rules", "lint", "--all", "--format", "json", *options).out)
    assert "missing-tests" in {finding["check"] for finding in findings}
    for finding in findings:
        Draft202012Validator(type_schema(PrintedFinding, closed=True)).validate(finding)
    assert "[missing-tests]" in ran.out
    assert "^^^" in ran.out
    assert "fix:" in ran.out
    github = whichgpu("rules", "lint", "--all", "--format", "github", *options).out
    assert "title=missing-tests::" in github
    assert ran.code == (1 if any(finding["severity"] == "error" for finding in findings) else 0)


def test_a_broken_rule_file_is_wrong_input(whichgpu: Whichgpu, house: Callable[[str], list[str]]) -> None:
    options = house(HOUSE_RULE.replace("gpu.vram_gb <", "gpu.vramm_gb <"))
    for command in ("lint", "test", "list", "cover"):
        ran = whichgpu("rules", command, *options)
        assert ran.code == 2
        assert "house.yaml:6:" in ran.err
        assert "gpu.vram_gb" in ran.err


@pytest.mark.usefixtures("fewer_typical_workloads")
def test_coverage_names_what_is_missing(whichgpu: Whichgpu, house: Callable[[str], list[str]]) -> None:
    ran = whichgpu("rules", "cover", "--format", "json", *house(HOUSE_RULE))
    report = json.loads(ran.out)
    assert ran.code == 0
    assert report["rules"] == {"total": 1, "tested": 1, "untested": []}
    heuristics = report["heuristics"]
    assert heuristics["total"] == heuristics["encoded"] + heuristics["set_aside"] + len(heuristics["missing"])
    shipped = json.loads(whichgpu("rules", "cover", "--format", "json").out)["heuristics"]
    assert heuristics["encoded"] < shipped["encoded"] <= shipped["total"]
    workloads = report["workloads"]
    assert workloads["total"] == workloads["covered"] + len(workloads["silent"]) + len(workloads["unanswered"])
    assert workloads["covered"] == 0


@pytest.mark.usefixtures("fewer_typical_workloads")
def test_coverage_in_words(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "cover")
    assert ran.code == 0
    assert "typical workloads" in ran.out


def test_typical_workloads_are_of_every_task_and_family(advisor: Advisor) -> None:
    facts = advisor.vocabulary.facts
    typical = [(workload["task"], workload["model_family"]) for workload in typical_workloads(advisor)]
    assert set(typical) == set(product(facts["task"].choices, facts["model_family"].choices))
    assert len(typical) > 2 * len(facts["task"].choices)


def test_doctor(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = whichgpu("doctor")
    assert ran.code == 0
    assert "rules fired by:" in ran.out
    report = json.loads(whichgpu("doctor", "--format", "json").out)
    assert report["rulebook"]["rules"] == sum(layer["rules"] for layer in report["rulebook"]["layers"])
    assert all(entry["oldest"] <= entry["newest"] for entry in report["prices"])
    assert sum(entry["offers"] for entry in report["prices"]) == report["knowledge"]["offers"]
    listed = json.loads(whichgpu("prices", "--format", "json").out)
    assert report["knowledge"]["offers"] == len(listed)
    assert report["knowledge"]["spot_only"] == sum(offer["spot_only"] for offer in listed)
    monkeypatch.setenv("WHICHGPU_ENGINE", "generated")
    report = json.loads(whichgpu("doctor", "--format", "json").out)
    assert report["fired_by"] == "generated"
    assert report["because"] == "WHICHGPU_ENGINE=generated is set"


def test_doctor_lists_where_the_engines_differ(
    whichgpu: Whichgpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert json.loads(whichgpu("doctor", "--format", "json").out)["engines_differ"] == []
    assert "Where the engines differ" not in whichgpu("doctor").out
    difference = Difference("durable-rules fired no-fit on 1 x t4", "no-fit", "1 x t4", {"plan.fits": True})
    keep_differences([difference], decided_at="2026-11-20")
    (entry,) = json.loads(whichgpu("doctor", "--format", "json").out)["engines_differ"]
    assert (entry["rule"], entry["facts"]) == ("no-fit", {"plan.fits": True})
    text = " ".join(whichgpu("doctor").out.split())
    assert "2026-11-20: durable-rules fired no-fit on 1 x t4 (plan.fits = True)" in text


def test_a_layer_that_holds_nothing_is_no_layer(whichgpu: Whichgpu, tmp_path: Path) -> None:
    empty, edition = tmp_path / "empty", tmp_path / "edition"
    empty.mkdir()
    (edition / "rulez").mkdir(parents=True)
    (edition / "rulez" / "mine.yaml").write_text("[]\n")
    for folder, fix in ((empty, "whichgpu rules new ID --in DIR"), (edition, "name a folder inside it: rulez")):
        ran = whichgpu("recommend", "--set", "task=inference", "--rules", str(folder))
        assert (ran.code, ran.out) == (2, "")
        assert "there are no rules, facts, GPUs or prices in it" in ran.err
        assert fix in ran.err
