"""``whichgpu verdicts``: what became of every rule in a decision."""

from __future__ import annotations

import click
from msgspec import to_builtins

from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.records import mark_blocks, read_saved
from whichgpu.cli.render.rulings import ruling_blocks
from whichgpu.cli.rulings import rulings


@click.command()
@click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
@click.option(
    "--filter",
    "words",
    metavar="WORD",
    multiple=True,
    help="Only rules of this outcome (fired, overridden, undecided, not_fired), stage, topic or id. May be repeated.",
)
@output_format("text", "json", "markdown")
@rules_options
def verdicts(*, decision: str, words: tuple[str, ...], form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Show what became of every rule in DECISION.

    A rule that did not fire comes with its first condition that was false and the value that made it so, an undecided
    one with the facts that it lacks. Plan rules are shown on the recommended plan, candidate rules on the first
    candidate.
    """
    saved = read_saved(decision)
    found = rulings(saved.decision, load(rules, builtin=builtin, tests=False).rules, words)
    if form == "json":
        click.echo(saved.mark, err=True)  # A list has no room for it.
        output.emit_json([{k: v for k, v in to_builtins(ruling).items() if v not in (None, ())} for ruling in found])
    else:
        output.emit_blocks([*ruling_blocks(found), *mark_blocks(saved)], form)
    return 0
