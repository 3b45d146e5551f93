"""``whichgpu sensitivity``: which facts flip a decision, and at which value."""

from __future__ import annotations

import click
from msgspec import to_builtins

from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.options import all_option, output_format, rules_options
from whichgpu.cli.records import mark_blocks, marked, read_saved
from whichgpu.cli.render.answered import owned_in
from whichgpu.cli.render.sensitivity import sensitivity_blocks
from whichgpu.engine.core import json_value
from whichgpu.engine.explain import SENSITIVITY_DECISIONS, Phrases, sensitivity as find_turns


@click.command()
@click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
@click.option(
    "--limit",
    type=click.IntRange(1, 5000),
    default=SENSITIVITY_DECISIONS,
    show_default=True,
    help="Decisions that may be made.",
)
@all_option
@output_format("text", "json", "markdown")
@rules_options
def sensitivity(
    *, decision: str, limit: int, everything: bool, form: str, rules: tuple[str, ...], builtin: bool
) -> int:
    """Show which facts of DECISION flip its GPU, count or procurement verdict, and at which value, nearest first.

    Facts that were stated, assumed or are still open are varied one at a time. Every flip named was decided.
    """
    saved = read_saved(decision)
    advisor = load(rules, builtin=builtin, tests=False)
    with output.progress(limit, "deciding again, at most") as decided:
        found = find_turns(saved.decision, advisor, limit=limit, watch=decided)
    if form == "json":
        output.emit_json(marked(json_value(to_builtins(found)), saved))
    else:
        phrases = Phrases(advisor.vocabulary)
        blocks = sensitivity_blocks(
            found, names_of(advisor), phrases, owned_in(saved.decision, advisor), everything=everything
        )
        output.emit_blocks([*blocks, *mark_blocks(saved)], form)
    return 0
