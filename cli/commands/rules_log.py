"""``whichgpu rules log``: what became of a rule, and who says so."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.blocks import Block, Heading, Pairs, Paragraph, Verbatim
from whichgpu.cli.rulefacts import unknown_rule
from whichgpu.cli.rulehistory import Revision, history_of
from whichgpu.engine.core import InputError
from whichgpu.engine.rules import Rule, Table


@click.command(name="log")
@click.argument("name")
@output_format("text", "json", "markdown")
@rules_options
def log_rules(*, name: str, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Show each commit that touched the rule, table or row called NAME, the newest first, with the lines it changed."""
    advisor = load(rules, builtin=builtin)
    found: list[Rule | Table] = [each for each in advisor.rulebook.rules if each.id == name]
    found += [each for each in advisor.rulebook.tables if each.id == name]
    places = [each.place for each in found if each.place is not None]
    if not places:
        raise InputError(unknown_rule(advisor, name))
    stated = found[0].responsible.stated() if isinstance(found[0], Rule) else {}
    revisions = history_of(name, Path(places[0].path).resolve())
    if form == "json":
        output.emit_json({"id": name, **stated, "revisions": [each._asdict() for each in revisions]})
        return 0
    output.emit_blocks(_blocks(name, stated, revisions), form)
    return 0


def _blocks(name: str, stated: dict[str, str], revisions: list[Revision]) -> list[Block]:
    blocks: list[Block] = [Heading(name, 1)]
    if stated:
        blocks.append(Pairs(tuple((key.replace("_", " "), value) for key, value in stated.items())))
    for each in revisions:
        blocks += [
            Heading(f"{each.day} {each.commit}", 3),
            Paragraph(f"{each.author}: {each.subject}"),
            Verbatim("\n".join(each.lines) or "only spaces and empty lines"),
        ]
    return blocks
