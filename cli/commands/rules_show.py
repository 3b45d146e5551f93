"""``whichgpu rules show``: a rule in plain words, what it rests on, what depends on it, and what it fires on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of, now
from whichgpu.cli.commands.rules_diff import default_examples
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.rulepage import rule_page
from whichgpu.cli.rulefacts import full_rule, unknown_rule
from whichgpu.engine.authoring import Links, Named, answer_of, example_workloads, links_of, scenario_workloads
from whichgpu.engine.core import InputError, registered
from whichgpu.engine.rules import Rule, words


@click.command(name="show")
@click.argument("name")
@output_format("text", "json", "markdown")
@click.option(
    "--examples",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of workload files to try the rule on. May be repeated.",
)
@rules_options
def show_rules(*, name: str, form: str, examples: tuple[Path, ...], rules: tuple[str, ...], builtin: bool) -> int:
    """Show the rule, or all rows of the decision table, called NAME, in plain words."""
    advisor = load(rules, builtin=builtin)
    found = [rule for rule in advisor.rulebook.rules if name in (rule.id, rule.table)]
    if not found:
        raise InputError(unknown_rule(advisor, name))
    links = links_of(advisor.rulebook, advisor.vocabulary, registered().values())
    workloads = [named for folder in examples or default_examples() for named in example_workloads(folder)]
    workloads += scenario_workloads(advisor.folders)
    fired = _fired_on(advisor, found, workloads)
    if form == "json":
        output.emit_json([_plain(rule, advisor, links, fired[rule.id]) for rule in found])
        return 0
    names = names_of(advisor)
    blocks: list[Block] = []
    for rule in found:
        blocks += rule_page(rule, names, advisor.vocabulary, links, fired[rule.id], len(workloads))
    output.emit_blocks(blocks, form)
    return 0


def _fired_on(advisor: Advisor, rules: Sequence[Rule], workloads: Sequence[Named]) -> dict[str, list[str]]:
    """Of each rule, the workloads on which it fires."""
    moment = now()
    fired: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for workload in workloads:
        answer = answer_of(advisor, workload.facts, moment)
        for rule_id in sorted(fired.keys() & answer.fired):
            fired[rule_id].append(workload.name)
    return fired


def _plain(rule: Rule, advisor: Advisor, links: Links, fired: list[str]) -> dict[str, Any]:
    return {
        **full_rule(rule),
        "in_words": [words(condition.expr, advisor.vocabulary) for condition in rule.when],
        "fed_by": list(links.fed_by(rule)),
        "feeds": list(links.feeds(rule)),
        "overridden_by": list(links.overridden_by.get(rule.id, ())),
        "layer": rule.layer,
        "fires_on": fired,
    }
