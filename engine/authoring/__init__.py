"""Checks over a rulebook, the runners of its tests and scenarios, and how much those would notice."""

from engine.authoring.lint.checks import ALL_CHECKS
from engine.authoring.lint.finding import Check
from engine.authoring.lint.finding import Finding
from engine.authoring.lint.finding import StatedNumber
from engine.authoring.lint.linting import check_page
from engine.authoring.lint.linting import lint_rulebook
from engine.authoring.testing.coverage import Coverage
from engine.authoring.testing.coverage import coverage_of_tests
from engine.authoring.testing.mutation import MutationReport
from engine.authoring.testing.mutation import mutate
from engine.authoring.testing.rule_tests import FactsFor
from engine.authoring.testing.rule_tests import TestResult
from engine.authoring.testing.rule_tests import run_rule_tests
from engine.authoring.testing.scenarios import Scenario
from engine.authoring.testing.scenarios import ScenarioResult
from engine.authoring.testing.scenarios import load_scenarios
from engine.authoring.testing.scenarios import needs_all
from engine.authoring.testing.scenarios import run_scenarios


__all__ = [
    "ALL_CHECKS",
    "Check",
    "Coverage",
    "FactsFor",
    "Finding",
    "MutationReport",
    "Scenario",
    "ScenarioResult",
    "StatedNumber",
    "TestResult",
    "check_page",
    "coverage_of_tests",
    "lint_rulebook",
    "load_scenarios",
    "mutate",
    "needs_all",
    "run_rule_tests",
    "run_scenarios",
]
