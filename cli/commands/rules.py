"""``whichgpu rules``: for the people who edit rules."""

from __future__ import annotations

from typing import Any

import click

from cli import output
from cli.expertise import load
from cli.expertise import names_of
from cli.expertise import now
from cli.options import output_format
from cli.options import rules_options
from cli.render.blocks import Block
from cli.render.rules import cover_blocks
from cli.render.rules import finding_blocks
from cli.render.rules import github_findings
from cli.render.rules import github_results
from cli.render.rules import result_blocks
from cli.render.rules import rule_list
from cli.render.rules import rule_page
from cli.rulecover import cover_of
from engine import Expertise
from engine.inspection import inspect
from engine.problems import InputError
from engine.problems import Problem
from engine.problems import nearest_words
from engine.rehearsal import Rehearsal
from engine.rulebook import Rule
from engine.rulebook.model import Rulebook
from engine.verify import run_rule_tests


#: Something was checked and found wanting. A rulebook that cannot be read at all exits with 2.
FOUND_WANTING = 1


@click.group()
def rules() -> None:
    """Check, test and show the rules.

    lint and test exit with 0 when all is well, 1 when something is wrong, 2 when the rules cannot be read.
    """


@rules.command(name="list")
@click.option("--stage", type=click.Choice(["derive", "reject", "prefer", "advise"]), help="Only rules of this stage.")
@click.option("--topic", metavar="NAME", help="Only rules of this file.")
@output_format("text", "json", "markdown")
@rules_options
def list_rules(*, stage: str | None, topic: str | None, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """List the rules by topic."""
    rulebook = load(rules, builtin=builtin).rulebook
    if topic:
        _check_topic(rulebook, topic)
    found = [rule for rule in rulebook.rules if stage in (None, rule.stage) and topic in (None, rule.topic)]
    return _show([_brief(rule) for rule in found], rule_list(found), form)


@rules.command()
@click.argument("name")
@output_format("text", "json", "markdown")
@rules_options
def show(*, name: str, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Show the rule, or all rows of the decision table, called NAME."""
    expertise = load(rules, builtin=builtin)
    found = [rule for rule in expertise.rulebook.rules if name in (rule.id, rule.table)]
    if not found:
        raise InputError(_unknown_rule(expertise, name))
    names = names_of(expertise)
    blocks = [block for rule in found for block in rule_page(rule, names)]
    return _show([_full(rule) for rule in found], blocks, form)


@rules.command()
@output_format("text", "json", "github")
@click.option("--all", "everything", is_flag=True, help="Also what is only worth knowing.")
@rules_options
def lint(*, form: str, everything: bool, rules: tuple[str, ...], builtin: bool) -> int:
    """Check the rulebook: conflicts, rules that never fire, gaps in tables, missing sources and tests."""
    expertise = load(rules, builtin=builtin)
    findings = [entry for entry in inspect(expertise, now().date()) if everything or entry.severity != "info"]
    if form == "json":
        output.emit_json([finding.to_dict() for finding in findings])
    elif form == "github":
        output.emit(github_findings(findings))
    else:
        output.emit_blocks(finding_blocks(findings, len(expertise.rulebook.rules)), form)
    return FOUND_WANTING if any(finding.severity == "error" for finding in findings) else 0


@rules.command()
@click.argument("names", nargs=-1)
@output_format("text", "json", "github")
@rules_options
def test(*, names: tuple[str, ...], form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Run the tests inside the rules: all of them, or those of the rules and tables in NAMES."""
    expertise = load(rules, builtin=builtin)
    _check_names(expertise, names)
    results = run_rule_tests(
        expertise.rulebook, Rehearsal(expertise).facts_for, expertise.vocabulary, rules=names or None
    )
    if form == "json":
        output.emit_json([result.to_dict() for result in results])
    elif form == "github":
        output.emit(github_results(results))
    else:
        output.emit_blocks(result_blocks(results), form)
    return 0 if all(result.passed for result in results) else FOUND_WANTING


@rules.command()
@output_format("text", "json", "markdown")
@rules_options
def cover(*, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Say which heuristics no rule encodes, which rules have no test, and which workloads no rule speaks of."""
    report = cover_of(load(rules, builtin=builtin), now())
    return _show(report, cover_blocks(report), form)


def _show(value: Any, blocks: list[Block], form: str) -> int:
    if form == "json":
        output.emit_json(value)
    else:
        output.emit_blocks(blocks, form)
    return 0


def _check_topic(rulebook: Rulebook, topic: str) -> None:
    topics = sorted({rule.topic for rule in rulebook.rules})
    if topic not in topics:
        message = f"there is no topic {topic!r}; topics are {', '.join(topics)}"
        raise InputError(Problem("unknown-topic", message, nearest=nearest_words(topic, topics)))


def _check_names(expertise: Expertise, names: tuple[str, ...]) -> None:
    known = _rule_names(expertise)
    problems = [_unknown_rule(expertise, name) for name in names if name not in known]
    if problems:
        raise InputError(problems)


def _rule_names(expertise: Expertise) -> set[str]:
    return {rule.id for rule in expertise.rulebook.rules} | {table.id for table in expertise.rulebook.tables}


def _unknown_rule(expertise: Expertise, name: str) -> Problem:
    nearest = nearest_words(name, sorted(_rule_names(expertise)))
    return Problem("unknown-rule", f"there is no rule {name!r}", nearest=nearest, fix="whichgpu rules list names them")


def _brief(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "topic": rule.topic,
        "stage": rule.stage,
        "each": rule.each,
        "status": rule.status,
        "tests": len(rule.tests),
        "sources": list(rule.sources),
        "encodes": list(rule.encodes),
        "place": str(rule.place) if rule.place else None,
    }


def _full(rule: Rule) -> dict[str, Any]:
    return {
        **_brief(rule),
        "table": rule.table,
        "when": [condition.text for condition in rule.when],
        "text": rule.text,
        "because": rule.because,
        "overrides": list(rule.overrides),
        "valid_until": rule.valid_until,
        "reads": sorted(rule.reads),
        "writes": sorted(rule.writes),
    }
