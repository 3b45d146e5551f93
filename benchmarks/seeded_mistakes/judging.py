"""What finds a mistake: loading, the tests of the rules, or a check that says what it did not say before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set as AbstractSet
from datetime import date

from msgspec import Struct

from whichgpu import Advisor
from whichgpu.engine.authoring import FactsFor, RuleTestFacts, run_rule_tests
from whichgpu.engine.authoring.inspection import inspect
from whichgpu.engine.core import KnowledgeError, RulebookError


TODAY = date(2026, 11, 20)
#: Tests that were taken out for the mistake are missing, which is no discovery.
OF_TESTS = frozenset({"missing-tests", "missing-near-miss"})

#: Check, rule and message of a finding.
Said = tuple[str, str | None, str]


class Found(Struct, frozen=True):
    """What finds a mistake (None: nothing does), and what it says."""

    by: str | None
    says: str = ""


class Seeded(Struct, frozen=True):
    """A mistake that was made, where, and what found it; twice where it was looked for without the rule's tests too."""

    kind: str
    where: str
    found: tuple[Found, ...]


def said(advisor: Advisor) -> list[Said]:
    """What lint warns of."""
    findings = (each for each in inspect(advisor, TODAY) if each.severity != "info" and each.check not in OF_TESTS)
    return [(each.check, each.rule, each.message) for each in findings]


def looked_for(
    load: Callable[[], Advisor],
    before: AbstractSet[Said],
    *,
    tested: Collection[str] | None = None,
    facts_for: FactsFor | None = None,
) -> Found:
    """What finds the mistake in what is loaded.

    Args:
        load: loads rules and knowledge with the mistake in them.
        before: what lint said without it.
        tested: ids of the rules or tables whose tests are run; None for all.
        facts_for: resolves the facts of tests, where the mistake leaves the vocabulary alone.
    """
    try:
        advisor = load()
    except (RulebookError, KnowledgeError) as error:
        return Found("loading", str(error))
    facts_for = facts_for or RuleTestFacts(advisor).facts_for
    results = run_rule_tests(advisor.rulebook, facts_for, advisor.vocabulary, rules=tested)
    failed = next((result for result in results if not result.passed), None)
    if failed:
        return Found("the rules' tests", f"{failed.rule}: {failed.why}")
    new = next((each for each in said(advisor) if each not in before), None)
    return Found(new[0], new[2]) if new else Found(None)
