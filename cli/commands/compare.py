"""``whichgpu what-if``, ``diff`` and ``replay``: one view over two decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from msgspec import to_builtins

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of, now
from whichgpu.cli.options import all_option, output_format, rules_options, set_option
from whichgpu.cli.records import mark_blocks, read_saved
from whichgpu.cli.render.comparison import comparison_blocks
from whichgpu.engine.advisor import shipped_objectives
from whichgpu.engine.core import InputError, Problem, json_value
from whichgpu.engine.explain import Phrases, compare, with_changes
from whichgpu.engine.records import Saved, decide_again, unstated_objective


_decision = click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
_forms = output_format("text", "json", "markdown")


@click.command(name="what-if")
@_decision
@set_option
@click.option("--objective", type=click.Choice([*shipped_objectives()]), help="What to rank by.")
@all_option
@_forms
@rules_options
def what_if(
    *,
    decision: str,
    sets: tuple[str, ...],
    objective: str | None,
    everything: bool,
    form: str,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Decide DECISION's workload again with some facts changed, and compare.

    --set FACT=unknown takes a fact away. Both sides are decided by the present rulebook, so that only the facts differ.
    """
    if not sets and not objective:
        fix = "say what should differ: --set FACT=VALUE, or --objective"
        raise InputError(Problem("bad-option", "nothing differs without --set or --objective", fix=fix))
    saved = read_saved(decision)
    advisor = load(rules, builtin=builtin, tests=False)
    before = decide_again(saved.decision, advisor)
    changed = with_changes(before.workload.given, sets, advisor)
    kept = changed.get("objective") == before.workload.given.get("objective")
    wanted = objective or (unstated_objective(saved.decision, changed, advisor) if kept else None)
    after = decide_again(saved.decision, advisor, given=changed, objective=wanted)
    sides = ("as decided", "what if")
    return _show(before.to_dict(), after.to_dict(), sides, advisor, form, (saved,), everything=everything)


@click.command()
@click.argument("before", metavar="BEFORE", type=click.Path(allow_dash=True))
@click.argument("after", metavar="AFTER", type=click.Path(allow_dash=True))
@all_option
@_forms
def diff(*, before: str, after: str, everything: bool, form: str) -> int:
    """Compare two decisions as they were saved."""
    if before == after == "-":
        raise InputError(Problem("bad-option", "standard input holds one decision; name a file for the other"))
    old, new = read_saved(before), read_saved(after)
    sides = ("before", "after")
    return _show(old.decision, new.decision, sides, load(), form, (old, new), everything=everything)


@click.command()
@_decision
@all_option
@_forms
@rules_options
def replay(*, decision: str, everything: bool, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Decide DECISION's workload again by the present rulebook, knowledge and prices, and say what differs and why."""
    saved = read_saved(decision)
    advisor = load(rules, builtin=builtin, tests=False)
    again = decide_again(saved.decision, advisor, decided_at=now())
    sides = ("recorded", "today")
    return _show(saved.decision, again.to_dict(), sides, advisor, form, (saved,), everything=everything)


def _show(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    sides: tuple[str, str],
    advisor: Advisor,
    form: str,
    records: tuple[Saved, ...],
    *,
    everything: bool,
) -> int:
    found = compare(before, after)
    if form == "json":
        marks = [saved.mark for saved in records]
        output.emit_json({"same": found.same, **json_value(to_builtins(found)), "records": marks})
    else:
        phrases = Phrases(advisor.vocabulary)
        blocks = comparison_blocks(found, names_of(advisor), phrases, sides, everything=everything)
        output.emit_blocks([*blocks, *mark_blocks(*records)], form)
    return 0
