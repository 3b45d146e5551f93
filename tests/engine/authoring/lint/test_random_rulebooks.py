"""The logical checks against brute force, on a sample; ``benchmarks/lint.py`` runs 300 of each."""

from __future__ import annotations

import datetime
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from whichgpu.engine.authoring import Finding, lint_rulebook
from whichgpu.engine.rules.rulebook import KnownNames, Rulebook


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


made = _load("random_rulebooks")
LOGICAL = {
    "always-overridden",
    "always-true",
    "conflicting-sets",
    "contradicting-preference",
    "incomplete-table",
    "shadowed-row",
    "subsumed-rule",
    "unreachable-rule",
}


def certain_findings(rulebook: Rulebook) -> list[Finding]:
    found = lint_rulebook(rulebook, made.VOCABULARY, KnownNames(), datetime.date(2026, 6, 30))
    return [finding for finding in found if finding.check in LOGICAL and not finding.possible]


@pytest.mark.parametrize("seed", range(4))
def test_a_sound_rulebook_has_no_certain_finding(seed: int) -> None:
    rulebook, _ = made.sound_rulebook(seed)
    assert [finding.message for finding in certain_findings(rulebook)] == []


@pytest.mark.parametrize("seed", range(9))
def test_a_planted_defect_is_found_and_nothing_is_made_up(seed: int) -> None:
    rulebook, planted, judge = made.flawed_rulebook(seed)
    found = {(finding.check, finding.rule) for finding in certain_findings(rulebook)}
    assert planted in found
    assert found <= judge.defects()
