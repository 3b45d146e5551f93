"""Checks over a rulebook, the runners of its tests and scenarios, and how much those would notice."""

from engine.verify.checks import ALL_CHECKS
from engine.verify.coverage import Coverage
from engine.verify.coverage import coverage
from engine.verify.finding import Check
from engine.verify.finding import Finding
from engine.verify.finding import StatedNumber
from engine.verify.linting import check_page
from engine.verify.linting import lint
from engine.verify.mutation import MutationReport
from engine.verify.mutation import mutate
from engine.verify.scenarios import Scenario
from engine.verify.scenarios import ScenarioResult
from engine.verify.scenarios import load_scenarios
from engine.verify.scenarios import needs_all
from engine.verify.scenarios import run_scenarios
from engine.verify.trials import FactsFor
from engine.verify.trials import TestResult
from engine.verify.trials import run_rule_tests


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
    "coverage",
    "lint",
    "load_scenarios",
    "mutate",
    "needs_all",
    "run_rule_tests",
    "run_scenarios",
]
