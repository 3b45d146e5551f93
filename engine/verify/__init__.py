"""Checks over a rulebook, and the runner of the tests inside rules."""

from engine.verify.checks import ALL_CHECKS
from engine.verify.finding import Check
from engine.verify.finding import Finding
from engine.verify.finding import StatedNumber
from engine.verify.linting import check_page
from engine.verify.linting import lint
from engine.verify.trials import FactsFor
from engine.verify.trials import TestResult
from engine.verify.trials import run_rule_tests


__all__ = [
    "ALL_CHECKS",
    "Check",
    "FactsFor",
    "Finding",
    "StatedNumber",
    "TestResult",
    "check_page",
    "lint",
    "run_rule_tests",
]
