"""``whichgpu rules test``: the tests inside rules, and the scenarios beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.blocks import Paragraph
from whichgpu.cli.render.rules import github_results, result_blocks
from whichgpu.cli.render.ruletests import github_scenarios, scenario_blocks
from whichgpu.cli.rulefacts import check_rule_names
from whichgpu.cli.rulefolders import folders_of
from whichgpu.engine.authoring import (
    Outlined,
    RuleTestFacts,
    Scenario,
    ScenarioResult,
    TestResult,
    layers_below,
    load_scenarios,
    needs_all,
    needs_plans_alone,
    run_or_recall,
    run_rule_tests,
    run_scenarios,
)
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import InputError, Problem, collection_paused, locate
from whichgpu.engine.rules import probing


FOUND_WANTING = 1


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--filter", "pattern", metavar="PATTERN", help="Only rules and scenarios whose id matches, such as '*lora*'."
)
@click.option(
    "--guides/--no-guides",
    default=True,
    help="The cases read off the guides; decided anew where they can meet a change.",
)
@output_format("text", "json", "github")
@rules_options
def test_rules(
    *, names: tuple[str, ...], pattern: str | None, guides: bool, form: str, rules: tuple[str, ...], builtin: bool
) -> int:
    """Run the tests inside rules and the scenarios beside them: all, or those of the rules and tables in NAMES.

    Exits with 0 where all pass, 1 where one fails or there is nothing to run, 2 where the rules cannot be read.
    """
    advisor = load(rules, builtin=builtin)
    with output.working("running the tests of the rules"):
        folders = folders_of(rules, builtin=builtin)
        results, scenarios, kept = run_all(advisor, folders, now(), names, pattern, guides=guides)
    if not results and not scenarios:
        wanted = f" matches {pattern!r}" if pattern else " belongs to these rules" if names else " is there"
        raise InputError(
            Problem("nothing-to-test", f"no test or scenario{wanted}", fix="whichgpu rules list names the rules")
        )
    results, scenarios, touched = _judged(advisor, results, scenarios)
    if form == "json":
        output.emit_json(_value(results, scenarios))
    elif form == "github":
        output.emit(github_results(results) + github_scenarios(scenarios))
    else:
        note = f"{touched} tests and scenarios of the rules below come out otherwise under these layers."
        notes = [Paragraph(note)] if touched else []
        if kept:
            notes.append(Paragraph(f"{kept} cases of the guides as before: nothing that they can meet has changed."))
        blocks = [*result_blocks(results), *scenario_blocks(scenarios), *notes]
        output.emit_blocks(blocks, form)
    passed = all(result.passed for result in results) and all(result.passed for result in scenarios)
    return 0 if passed else FOUND_WANTING


def _judged(
    advisor: Advisor, results: list[TestResult], scenarios: list[ScenarioResult]
) -> tuple[list[TestResult], list[ScenarioResult], int]:
    """What counts, and how many tests of rules that lie below layers fail: a layer may well mean them to."""
    below = layers_below(advisor)
    shipped = locate("rules").resolve()
    moot = {id(each) for each in results if not each.passed and advisor.rules[each.rule].layer in below}
    if below:
        places = [(each, each.scenario.place) for each in scenarios if not each.passed]
        moot |= {id(each) for each, place in places if place and Path(place.path).resolve().is_relative_to(shipped)}
    kept = [each for each in results if id(each) not in moot]
    return kept, [each for each in scenarios if id(each) not in moot], len(moot)


def run_all(
    advisor: Advisor,
    folders: list[Path],
    moment: datetime,
    names: tuple[str, ...] = (),
    pattern: str | None = None,
    *,
    guides: bool = False,
) -> tuple[list[TestResult], list[ScenarioResult], int]:
    """The results of the tests inside rules and of the scenarios, and how many of these are of an earlier run.

    Names of rules leave the scenarios out. Cases of the guides are decided where anything changed since.
    """
    tests = run_tests(advisor, moment, names, pattern)
    if names:
        return tests, [], 0
    found = load_scenarios(folders, advisor.rulebook, advisor.knowledge, guides=guides)
    wanted = [scenario for scenario in found if pattern is None or fnmatchcase(scenario.id, pattern)]

    def decide(scenario: Scenario) -> Mapping[str, Any] | Outlined:
        if needs_plans_alone(scenario):
            return Outlined(advisor.choose(scenario.given))
        return advisor.decide(scenario.given, decided_at=moment).lazily(full=needs_all(scenario))

    def run(cases: Iterable[Scenario]) -> list[ScenarioResult]:
        with collection_paused(), probing():
            return run_scenarios(cases, decide, advisor.knowledge)

    cases = [each for each in wanted if each.guide]
    of_guides = run_or_recall(cases, run, advisor, moment)
    scenarios = [*run(each for each in wanted if not each.guide), *of_guides.results]
    return tests, sorted(scenarios, key=lambda each: each.scenario.id), of_guides.kept


def run_tests(
    advisor: Advisor, moment: datetime, names: tuple[str, ...] = (), pattern: str | None = None
) -> list[TestResult]:
    """The results of the tests inside all rules, or those that are named. Raises InputError for a name of none."""
    check_rule_names(advisor, names)

    def whole(given: Mapping[str, object]) -> tuple[Mapping[str, Any], Knowledge]:
        return advisor.decide(given, decided_at=moment).to_dict(), advisor.knowledge

    chosen, facts_for = _chosen(advisor, names, pattern), RuleTestFacts(advisor).facts_for
    return run_rule_tests(advisor.rulebook, facts_for, advisor.vocabulary, rules=chosen, decide=whole)


def _chosen(advisor: Advisor, names: tuple[str, ...], pattern: str | None) -> list[str] | None:
    """Ids of the rules to test; None for all."""
    if not names and pattern is None:
        return None
    rules = [rule for rule in advisor.rulebook.rules if not names or rule.id in names or rule.table in names]
    return [rule.id for rule in rules if pattern is None or fnmatchcase(rule.id, pattern)]


def _value(results: list[TestResult], scenarios: list[ScenarioResult]) -> list[dict[str, Any]]:
    return [*(result.to_dict() for result in results), *(result.to_dict() for result in scenarios)]
