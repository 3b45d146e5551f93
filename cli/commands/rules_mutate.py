"""``whichgpu rules mutate``: would the tests of the rules notice a mistake?"""

from __future__ import annotations

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.ruletests import mutation_blocks
from whichgpu.engine.authoring import RuleTestFacts, mutate, worked_out_facts


FOUND_WANTING = 1


@click.command()
@click.argument("names", nargs=-1)
@click.option("--least", metavar="PERCENT", type=float, default=0.0, help="Exit with 1 below this score.")
@output_format("text", "json")
@rules_options
def mutate_rules(*, names: tuple[str, ...], least: float, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Make small mistakes in the rules, and say which ones their tests let pass, with a test that would not.

    Each limit is moved by a fifth, each comparison turned round, each condition and alternative left out. Mistakes
    that provably change nothing do not count.
    """
    advisor = load(rules, builtin=builtin)
    report = mutate(
        advisor.rulebook,
        RuleTestFacts(advisor).facts_for,
        advisor.vocabulary,
        computed=worked_out_facts(advisor),
        rules=names or None,
    )
    if form == "json":
        output.emit_json(report.to_dict())
    else:
        output.emit_blocks(mutation_blocks(report), form)
    return FOUND_WANTING if 100 * report.score < least else 0
