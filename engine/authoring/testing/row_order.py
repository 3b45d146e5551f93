"""Would the tests of a table notice that two rows changed places? Where both match, the upper one counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whichgpu.engine.authoring.lint.formulas import Formula
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.authoring.testing.cases import FactsFor, TestCases
from whichgpu.engine.authoring.testing.mutation import MutationReport, Survivor
from whichgpu.engine.authoring.testing.rule_tests import chosen_rules
from whichgpu.engine.authoring.testing.suggesting import Suggestion
from whichgpu.engine.core import Facts, WhichgpuError
from whichgpu.engine.rules import UNKNOWN, Rule, Rulebook, Vocabulary


def mutate_order(
    rulebook: Rulebook,
    facts_for: FactsFor,
    vocabulary: Vocabulary,
    *,
    computed: Iterable[str] = (),
    rules: Iterable[str] | None = None,
) -> MutationReport:
    """As ``mutate``, for the order of rows: each row put above one before it, in tables where the first row counts.

    It changes nothing where no case has both match and no row above, or where both do the same.
    """
    cases, regions = TestCases(rulebook, facts_for), Regions(rulebook, vocabulary, computed)
    killed = equivalent = 0
    survivors: list[Survivor] = []
    for rule in chosen_rules(rulebook, rules):
        for above in cases.rows_above.get(rule.id, ()):
            wanted = (regions.where(above), regions.where(rule), *map(regions.outside, _taken(above, regions)))
            if (above.effects, above.text) == (rule.effects, rule.text) or regions.never(*wanted):
                equivalent += 1
            elif any(_shows(above, rule, facts, cases) for owner in (above, rule) for facts in cases.of(owner)):
                killed += 1
            else:
                what = f"the row {rule.id.rpartition('/')[2]} put above it"
                found = _suggestion(above, rule, wanted, regions, cases)
                survivors.append(Survivor(above.id, what, above.place, found))
    return MutationReport(killed, tuple(survivors), equivalent)


def _taken(rule: Rule, regions: Regions) -> Iterator[Formula]:
    """Where the rows above match."""
    return (regions.where(row) for row in regions.earlier(rule))


def _shows(above: Rule, rule: Rule, facts: Facts, cases: TestCases) -> bool:
    """Whether the upper row counts on a case on which the lower one matches too."""
    return cases.holds(rule, facts) and cases.fires(above, facts)


def _suggestion(
    above: Rule, rule: Rule, wanted: tuple[Formula, ...], regions: Regions, cases: TestCases
) -> Suggestion | None:
    """A test of the upper row on a case on which both match."""
    case = regions.find(*wanted)
    if case is None:
        return None
    stated = {name: UNKNOWN if value is None else value for name, value in case.example.items()}
    base = next((test.plan for test in reversed(above.tests) if test.fires), {})
    plan = {**base, **{name: value for name, value in stated.items() if "." in name}}
    given = {name: value for name, value in stated.items() if "." not in name}
    try:
        facts = cases.facts(given, plan, above.each)
    except WhichgpuError:
        return None
    return Suggestion(given, plan, fires=True) if _shows(above, rule, facts, cases) else None
