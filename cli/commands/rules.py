"""``whichgpu rules``: for the people who edit rules."""

from __future__ import annotations

import importlib
from typing import ClassVar

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.groups import SuggestingGroup
from whichgpu.cli.guidecover import guide_blocks, guide_cover, update_manifest
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.layers import layer_blocks, layer_changes
from whichgpu.cli.render.rules import cover_blocks, rule_list
from whichgpu.cli.render.ruletests import coverage_blocks
from whichgpu.cli.rulecover import cover_of
from whichgpu.cli.rulefacts import brief_rule
from whichgpu.engine.authoring import RuleTestFacts, coverage_of_tests
from whichgpu.engine.core import InputError, Problem, nearest_words
from whichgpu.engine.rules import Rulebook


#: Something was checked and found wanting. A rulebook that cannot be read at all exits with 2.
FOUND_WANTING = 1


class LazyRules(SuggestingGroup):
    """A group whose larger commands lie in modules of their own, imported on first use.

    ``MODULES`` maps a command to its module and its line of help. The function there has the command's name, with
    ``_rules`` behind it.
    """

    MODULES: ClassVar[dict[str, tuple[str, str]]] = {
        "new": ("rules_new", "Write a commented template of a rule."),
        "fmt": ("rules_fmt", "Bring rule files into one form, comments and all."),
        "diff": ("rules_diff", "Say which rules differ, and which workloads get another answer."),
        "graph": ("rules_graph", "Draw which rules feed which, as Mermaid."),
        "docs": ("rules_docs", "Write the rulebook as a Markdown book."),
        "log": ("rules_log", "Tell a rule's history, from version control."),
        "show": ("rules_show", "Show a rule in plain words, and what depends on it."),
        "lint": ("rules_lint", "Check the rulebook: conflicts, dead rules, gaps, missing tests."),
        "test": ("rules_test", "Run the tests inside rules and the scenarios beside them."),
        "refresh": (
            "rules_refresh",
            "Regenerate the files that are made from rules and knowledge, and show the difference.",
        ),
        "mutate": ("rules_mutate", "Say which mistakes in rules their tests would let pass."),
        "watch": (
            "rules_watch",
            "Check, test and compare answers whenever a rule file is saved.",
        ),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands by name."""
        return sorted({*super().list_commands(ctx), *self.MODULES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in self.MODULES:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"whichgpu.cli.commands.{self.MODULES[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_rules")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing one."""
        rows = []
        for name in self.list_commands(ctx):
            own = self.commands.get(name)
            rows.append((name, own.get_short_help_str(80) if own else self.MODULES[name][1]))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(cls=LazyRules)
def rules() -> None:
    """Check, test and show the rules.

    lint and test exit with 0 when all is well, 1 when something is wrong, 2 when the rules cannot be read.
    """


@rules.command(name="list")
@click.option("--stage", type=click.Choice(["derive", "reject", "prefer", "advise"]), help="Only rules of this stage.")
@click.option("--topic", metavar="NAME", help="Only rules of this file.")
@click.option("--changed", is_flag=True, help="What the layers added, replaced and disabled, and why.")
@output_format("text", "json", "markdown")
@rules_options
def list_rules(
    *, stage: str | None, topic: str | None, changed: bool, form: str, rules: tuple[str, ...], builtin: bool
) -> int:
    """List the rules by topic, or what the layers changed."""
    advisor = load(rules, builtin=builtin)
    if changed:
        output.emit_as(form, layer_changes(advisor), layer_blocks(advisor))
        return 0
    rulebook = advisor.rulebook
    if topic:
        _check_topic(rulebook, topic)
    found = [rule for rule in rulebook.rules if stage in (None, rule.stage) and topic in (None, rule.topic)]
    output.emit_as(form, [brief_rule(rule) for rule in found], rule_list(found))
    return 0


@rules.command()
@click.option("--guides", is_flag=True, help="Where each heuristic of the guides stands, by guide and section.")
@click.option("--update", is_flag=True, help="Refresh knowledge/coverage.yaml from what rules and figures say.")
@output_format("text", "json", "markdown")
@rules_options
def cover(*, guides: bool, update: bool, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Say which heuristics no rule encodes, which rules have no test, and which workloads no rule covers."""
    advisor = load(rules, builtin=builtin)
    if update:
        output.emit(update_manifest(advisor))
    if guides or update:
        by_guide = guide_cover(advisor)
        output.emit_as(form, by_guide, guide_blocks(by_guide))
        return FOUND_WANTING if by_guide["faults"] else 0
    report = cover_of(advisor, now())
    tested = coverage_of_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for)
    output.emit_as(form, report | {"tests": tested.to_dict()}, [*cover_blocks(report), *coverage_blocks(tested)])
    return 0


def _check_topic(rulebook: Rulebook, topic: str) -> None:
    topics = sorted({rule.topic for rule in rulebook.rules})
    if topic not in topics:
        message = f"there is no topic {topic!r}; topics are {', '.join(topics)}"
        raise InputError(Problem("unknown-topic", message, nearest=nearest_words(topic, topics)))
