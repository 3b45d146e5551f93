"""``whichgpu rules mutate``: would the tests of the rules notice a mistake?"""

from __future__ import annotations

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.ruletests import mutation_blocks, written_blocks
from whichgpu.cli.rulefacts import check_rule_names
from whichgpu.engine.authoring import (
    FirstTests,
    RuleTestFacts,
    Written,
    mutate,
    mutate_effects,
    mutate_order,
    worked_out_facts,
    write_first_tests,
    write_tests,
)
from whichgpu.engine.rules import POLICY_TOPIC


FOUND_WANTING = 1


@click.command()
@click.argument("names", nargs=-1)
@click.option("--least", metavar="PERCENT", type=float, default=0.0, help="Exit with 1 where a score is below.")
@click.option("--write", "writes", is_flag=True, help="Put the tests that would notice them into the rule files.")
@output_format("text", "json")
@rules_options
def mutate_rules(
    *, names: tuple[str, ...], least: float, writes: bool, form: str, rules: tuple[str, ...], builtin: bool
) -> int:
    """Make small mistakes in the rules, and say which ones their tests let pass, with a test that would not.

    Conditions: limits are moved by a twentieth (parameters by a fifth), comparisons and quotients reversed, and
    conditions, alternatives and factors left out. Effects: points get another sign, amount or reason; codes, facts and
    figures another name; values and texts another content; overrides are left out. Sentences: a "not" is lost; facts,
    words and numbers are swapped; a sentence is added. Tables in which the first row counts: rows change places.
    Mistakes that provably change nothing do not count.

    With --write a rule without tests gets a first one, a case in which it fires: check what it says.
    """
    kinds = (("conditions", mutate), ("effects", mutate_effects), ("the order of rows", mutate_order))
    advisor = load(rules, builtin=builtin)
    check_rule_names(advisor, names)
    firsts = _first_tests(advisor, names) if writes else []
    advisor = load(rules, builtin=builtin) if firsts else advisor
    facts_for, computed = RuleTestFacts(advisor).facts_for, worked_out_facts(advisor)
    with output.working("making mistakes in the rules"):
        reports = {
            kind: judge(advisor.rulebook, facts_for, advisor.vocabulary, computed=computed, rules=names or None)
            for kind, judge in kinds
        }
    if form == "json":
        output.emit_json({kind.rpartition(" ")[2]: report.to_dict() for kind, report in reports.items()})
    else:
        output.emit_blocks([block for item in reports.items() for block in mutation_blocks(*item)], form)
    if writes:
        survivors = [survivor for report in reports.values() for survivor in report.survivors]
        written = write_tests(survivors, advisor.rulebook, lambda: load(rules, builtin=builtin).rulebook)
        if form != "json":
            output.emit_blocks(written_blocks(written, firsts), form)
    return FOUND_WANTING if any(100 * report.score < least for report in reports.values()) else 0


def _first_tests(advisor: Advisor, names: tuple[str, ...]) -> list[Written]:
    """Give rules without tests a first one, those in NAMES or all."""
    rules = [rule for rule in advisor.rulebook.rules if not names or {rule.id, rule.table} & set(names)]
    bare = [rule for rule in rules if not rule.tests and rule.topic != POLICY_TOPIC]
    if not bare:
        return []
    found = FirstTests(
        advisor.rulebook,
        RuleTestFacts(advisor).facts_for,
        advisor.vocabulary,
        computed=worked_out_facts(advisor),
        cards=advisor.knowledge.gpu_facts,
    )
    first = {rule.id: test for rule in bare if (test := found.of(rule)) is not None}
    return write_first_tests(first, advisor.rulebook)
