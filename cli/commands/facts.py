"""``whichgpu facts``: what a workload can state, and how each fact is resolved when it is not stated."""

from __future__ import annotations

from typing import Any

import click
from msgspec import to_builtins

from whichgpu.cli import completing, output
from whichgpu.cli.layers import load_facts
from whichgpu.cli.options import layers_option, output_format
from whichgpu.cli.render.facts import fact_list, fact_page
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.rules import FactDef, Vocabulary


_SEE = "whichgpu facts lists them, with --derived those that are worked out too"


@click.command()
@click.argument("name", required=False, shell_complete=completing.fact_names)
@output_format("text", "json", "markdown")
@click.option("--derived", is_flag=True, help="Also facts that are computed or derived, not stated.")
@layers_option
def facts(*, name: str | None, form: str, derived: bool, rules: tuple[str, ...]) -> int:
    """List the facts that a workload can state, or show the one called NAME."""
    vocabulary = load_facts(rules)
    if name:
        fact = _found(vocabulary, name)
        output.emit_as(form, _plain(fact), fact_page(fact))
        return 0
    listed = [
        fact for fact in vocabulary.facts.values() if derived or (fact.role == "input" and fact.scope == "workload")
    ]
    output.emit_as(form, [_plain(fact) for fact in listed], fact_list(listed))
    return 0


def _found(vocabulary: Vocabulary, name: str) -> FactDef:

    fact = vocabulary.fact(name)
    if fact is None:
        raise InputError(
            Problem("unknown-fact", f"there is no fact {name!r}", nearest=vocabulary.nearest(name), fix=_SEE)
        )
    return fact


def _plain(fact: FactDef) -> dict[str, Any]:
    return {
        name: stated for name, stated in to_builtins(fact).items() if name not in {"synonyms", "also_states", "encodes"}
    }
