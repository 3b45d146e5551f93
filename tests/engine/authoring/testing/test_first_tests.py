"""A rule without tests gets one in which it fires."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring import FirstTests, RuleTestFacts, worked_out_facts, write_first_tests
from whichgpu.engine.authoring.testing.rule_tests import run_rule_tests


RULES = """\
- id: short-projects-of-ours
  title: Our short projects rent
  stage: advise
  each: workload
  when: [project_months < 5, training]
  then: {warn: W-EARLY-LOCK-IN}
  because: We change our minds.

- table: our-cards
  title: Our cards by size
  stage: prefer
  each: plan
  hit: first
  columns: [param_count_b, gpu.vram_gb]
  because: Our own guide.
  rows:
    - id: small
      if: ['<= 7', '>= 24']
      then: {points: 2, reason: fit}
    - {id: large, if: ['> 7', '>= 80'], then: {points: 3, reason: fit}}

- id: never
  title: What never fires
  stage: advise
  each: workload
  when: [project_months < 5, project_months > 6]
  then: {warn: W-EARLY-LOCK-IN}
  because: It cannot.
"""


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    (tmp_path / "ours.yaml").write_text(RULES)
    return tmp_path


def _written(advisor: Advisor) -> int:
    finder = FirstTests(
        advisor.rulebook,
        RuleTestFacts(advisor).facts_for,
        advisor.vocabulary,
        computed=worked_out_facts(advisor),
        cards=advisor.knowledge.gpu_facts,
    )
    bare = [rule for rule in advisor.rulebook.rules if rule.topic == "ours" and not rule.tests]
    found = {rule.id: test for rule in bare if (test := finder.of(rule)) is not None}
    assert set(found) == {"short-projects-of-ours", "our-cards/small", "our-cards/large"}
    return sum(each.tests for each in write_first_tests(found, advisor.rulebook))


def test_rules_with_lines_of_their_own_get_a_test_that_passes(layer: Path) -> None:
    before = load_advisor((layer,))
    assert _written(before) == 2  # The row in one line has no room for any.
    after = load_advisor((layer,))
    assert after.rulebook.digest == before.rulebook.digest
    tested = {rule.id for rule in after.rulebook.rules if rule.topic == "ours" and rule.tests}
    assert tested == {"short-projects-of-ours", "our-cards/small"}
    results = run_rule_tests(after.rulebook, RuleTestFacts(after).facts_for, after.vocabulary, rules=tested)
    assert [(result.outcome, result.passed) for result in results] == [("fired", True)] * 2
    text = (layer / "ours.yaml").read_text()
    assert "e-0" not in text  # No number that only a proof would choose.
    assert [line for line in text.split("\n") if "tests:" not in line and "given:" not in line] == RULES.split("\n")
