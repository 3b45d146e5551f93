"""Checks over a rulebook, the runners of its tests and scenarios, and how much those would notice."""

from whichgpu.engine.authoring.inspection import lint_rulebook
from whichgpu.engine.authoring.lint.checks import ALL_CHECKS
from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import PrintedFinding
from whichgpu.engine.authoring.lint.finding import StatedNumber
from whichgpu.engine.authoring.testing.mutation import MutationReport
from whichgpu.engine.authoring.testing.mutation import mutate
from whichgpu.engine.authoring.testing.rule_tests import Coverage
from whichgpu.engine.authoring.testing.rule_tests import FactsFor
from whichgpu.engine.authoring.testing.rule_tests import TestResult
from whichgpu.engine.authoring.testing.rule_tests import coverage_of_tests
from whichgpu.engine.authoring.testing.rule_tests import run_rule_tests
from whichgpu.engine.authoring.testing.scenarios import Scenario
from whichgpu.engine.authoring.testing.scenarios import ScenarioResult
from whichgpu.engine.authoring.testing.scenarios import load_scenarios
from whichgpu.engine.authoring.testing.scenarios import needs_all
from whichgpu.engine.authoring.testing.scenarios import run_scenarios


__all__ = [
    "ALL_CHECKS",
    "Check",
    "Coverage",
    "FactsFor",
    "Finding",
    "MutationReport",
    "PrintedFinding",
    "Scenario",
    "ScenarioResult",
    "StatedNumber",
    "TestResult",
    "coverage_of_tests",
    "lint_rulebook",
    "load_scenarios",
    "mutate",
    "needs_all",
    "run_rule_tests",
    "run_scenarios",
]
