"""``rules lint``, ``test``, ``cover``, ``mutate`` and ``watch`` as an author of rules sees them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli.rulewatch import stamps
from whichgpu.engine.core import locate

from .conftest import HOUSE_RULE


Whichgpu = Callable[..., Any]

RULE = HOUSE_RULE.replace("house-rule\n", "house-rule  # lint: allow missing-encodes: the house's own\n")

SCENARIO = """\
- id: small-chat
  says: A chat of an 8B model
  given: {task: inference, model_family: llm, param_count_b: 8}
  expect: {min_vram_gb: 40}
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with one rule and one scenario."""
    folder = tmp_path / "house"
    (folder / "scenarios").mkdir(parents=True)
    (folder / "house.yaml").write_text(RULE)
    (folder / "scenarios" / "house.yaml").write_text(SCENARIO)
    return folder


def alone(folder: Path) -> tuple[str, ...]:
    return "--rules", str(folder), "--no-builtin-rules"


def test_scenarios_run_with_the_tests_of_the_rules(whichgpu: Whichgpu, house: Path) -> None:
    ran = whichgpu("rules", "test", *alone(house))
    assert ran.code == 0, ran.out
    assert "2 of 2 tests of 1 rule passed." in ran.out
    assert "1 of 1 scenario passed." in ran.out


def test_a_scenario_that_fails_says_what_the_answer_has_instead(whichgpu: Whichgpu, house: Path) -> None:
    (house / "scenarios" / "house.yaml").write_text(
        SCENARIO.replace("{min_vram_gb: 40}", "{fires: [house-rule], gpu_count: [9, 9]}")
    )
    ran = whichgpu("rules", "test", *alone(house))
    assert ran.code == 1
    said = " ".join(ran.out.split())
    assert "scenario small-chat (A chat of an 8B model)" in said
    assert "1 GPUs are recommended, not 9 to 9" in said
    github = whichgpu("rules", "test", "--format", "github", *alone(house)).out
    assert github.startswith("::error file=")
    assert ",title=scenario::small-chat: " in github
    value = json.loads(whichgpu("rules", "test", "--format", "json", *alone(house)).out)
    assert [entry["passed"] for entry in value] == [True, True, False]


def test_a_filter_picks_rules_and_scenarios_and_nothing_at_all_is_an_error(whichgpu: Whichgpu, house: Path) -> None:
    ran = whichgpu("rules", "test", "--filter", "small-*", *alone(house))
    assert (ran.code, "scenario passed" in ran.out, "house-rule" in ran.out) == (0, True, False)
    ran = whichgpu("rules", "test", "--filter", "house-*", *alone(house))
    assert (ran.code, "scenario" in ran.out) == (0, False)
    ran = whichgpu("rules", "test", "--filter", "zzz", *alone(house))
    assert (ran.code, "no test or scenario matches 'zzz'" in ran.err) == (2, True)


def test_a_broken_scenario_is_wrong_input(whichgpu: Whichgpu, house: Path) -> None:
    (house / "scenarios" / "house.yaml").write_text(SCENARIO.replace("min_vram_gb", "min_vram_bg"))
    ran = whichgpu("rules", "test", *alone(house))
    assert ran.code == 2
    assert "scenarios/house.yaml:4:12" in ran.err
    assert "did you mean min_vram_gb?" in ran.err


def test_one_check_can_be_asked_for_and_explained(whichgpu: Whichgpu, house: Path) -> None:
    findings = json.loads(
        whichgpu("rules", "lint", "--check", "missing-near-miss", "--format", "json", *alone(house)).out
    )
    assert {finding["check"] for finding in findings} <= {"missing-near-miss"}
    page = whichgpu("rules", "lint", "--explain", "shadowed-row").out
    assert page.startswith("# shadowed-row\n")
    ran = whichgpu("rules", "lint", "--explain", "shadowed-rows")
    assert (ran.code, "did you mean shadowed-row?" in ran.err) == (2, True)


def test_rules_that_cannot_be_read_are_annotated_too(whichgpu: Whichgpu, house: Path) -> None:
    (house / "house.yaml").write_text(RULE.replace("gpu.vram_gb <", "gpu.vramm_gb <"))
    ran = whichgpu("rules", "lint", "--format", "github", *alone(house))
    assert ran.code == 2
    assert ran.out.startswith("::error file=")
    assert "line=6,col=7,title=unknown-fact" in ran.out
    (finding,) = json.loads(whichgpu("rules", "lint", "--format", "json", *alone(house)).out)
    assert (finding["check"], finding["line"], finding["nearest"][0]) == ("unknown-fact", 6, "gpu.vram_gb")
    assert "gpu.vramm_gb" in whichgpu("rules", "lint", *alone(house)).err


@pytest.mark.usefixtures("fewer_typical_workloads")
def test_coverage_by_tests(whichgpu: Whichgpu, house: Path) -> None:
    report = json.loads(whichgpu("rules", "cover", "--format", "json", *alone(house)).out)
    assert report["tests"]["conditions"] == {"total": 1, "both_ways": 1}
    assert "Seen both ways: 1 of 1 rule" in whichgpu("rules", "cover", *alone(house)).out


def test_mutants_that_survive_come_with_a_test(whichgpu: Whichgpu, house: Path) -> None:
    ran = whichgpu("rules", "mutate", *alone(house))
    assert ran.code == 0
    assert "The tests notice 2 of 4 mistakes made on purpose in conditions (50.0 %)" in ran.out
    assert "- near_miss: {gpu.vram_gb: 40}" in " ".join(ran.out.split())
    assert whichgpu("rules", "mutate", "--least", "90", *alone(house)).code == 1
    value = json.loads(whichgpu("rules", "mutate", "house-rule", "--format", "json", *alone(house)).out)
    assert (value["conditions"]["score"], len(value["conditions"]["survivors"])) == (0.5, 2)
    assert (value["effects"]["score"], value["effects"]["survivors"][0]["what"]) == (0.0, "the reason of another rule")


def test_mistakes_are_made_in_rules_that_there_are(whichgpu: Whichgpu, house: Path) -> None:
    ran = whichgpu("rules", "mutate", "house-rul", "--least", "90", *alone(house))
    assert (ran.code, ran.out) == (2, "")
    assert "there is no rule 'house-rul'" in ran.err
    assert "did you mean house-rule?" in ran.err


def test_suggested_tests_are_written_and_the_rules_stay_as_they_are(whichgpu: Whichgpu, house: Path) -> None:
    ran = whichgpu("rules", "mutate", "--write", *alone(house))
    assert (ran.code, "tests written" in " ".join(ran.out.split())) == (0, True)
    assert "says: {title: This house does not use small cards" in (house / "house.yaml").read_text()
    again = whichgpu("rules", "mutate", "--least", "100", "--write", *alone(house))
    assert (again.code, "Nothing was written" in again.out) == (0, True)


def test_a_rule_without_tests_is_given_some_and_lint_says_how(whichgpu: Whichgpu, house: Path) -> None:
    bare = RULE.partition("  tests:\n")[0]
    (house / "house.yaml").write_text(bare)
    lint = whichgpu("rules", "lint", *alone(house))
    assert "whichgpu rules mutate house-rule --write" in " ".join(lint.out.split())
    ran = whichgpu("rules", "mutate", "house-rule", "--write", *alone(house))
    assert "1 rule without tests got a first one" in " ".join(ran.out.split())
    text = (house / "house.yaml").read_text()
    assert text.startswith(bare)
    assert "near_miss" in text
    assert whichgpu("rules", "test", "house-rule", *alone(house)).code == 0
    assert "missing-tests" not in whichgpu("rules", "lint", *alone(house)).out


def test_watching_tells_what_a_save_changed(whichgpu: Whichgpu, house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule is widened, then broken, then mended, each time the command waits."""
    file = house / "house.yaml"
    edits = iter((RULE.replace("< 40", "< 100"), RULE.replace("< 40", "< tree"), RULE))

    def sleep(seconds: float) -> None:
        assert seconds == 0.25
        file.write_text(next(edits))
        later = file.stat().st_mtime_ns + 10**9
        os.utime(file, ns=(later, later))

    monkeypatch.setattr("whichgpu.cli.commands.rules_watch.time.sleep", sleep)
    ran = whichgpu("rules", "watch", "--every", "0.25", "--rounds", "4", *alone(house))
    assert ran.code == 0
    said = " ".join(ran.out.split())
    assert "house-rule, near miss 2: should not fire, and was fired" in said
    assert "1 scenario answered otherwise" in said
    assert "recommended: 1 x " in said
    assert "house.yaml:6:" in ran.err


def test_stamps_follow_files(house: Path) -> None:
    before = stamps([house])
    assert len(before) == 2
    (house / "more.yaml").write_text("[]\n")
    assert len(stamps([house])) == 3
    assert stamps([house]) != before


def test_the_scenario_of_the_guide_passes(whichgpu: Whichgpu, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
    (tmp_path / "scenarios").mkdir()
    example = next(block for block in guide.split("```yaml\n")[1:] if "qlora-of-7b" in block).partition("```")[0]
    (tmp_path / "scenarios" / "guide.yaml").write_text(example.replace("qlora-of-7b", "of-the-guide"))
    ran = whichgpu("rules", "test", "--rules", str(tmp_path), "--filter", "of-the-guide")
    assert (ran.code, ran.out) == (0, "1 of 1 scenario passed.\n")


@pytest.mark.skipif(not (locate("rules").parent / "docs").is_dir(), reason="what follows is kept in a checkout alone")
def test_what_follows_from_the_rules_is_as_they_say(whichgpu: Whichgpu) -> None:
    ran = whichgpu("rules", "refresh", "--check", "--no-answers")
    assert (ran.code, ran.out) == (0, "0 files differ.\n")
