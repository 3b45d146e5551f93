"""``whichgpu rules graph``: which rules feed which, as Mermaid."""

from __future__ import annotations

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load
from whichgpu.cli.options import rules_options
from whichgpu.cli.render.mermaid import to_mermaid
from whichgpu.engine.authoring import links_of, neighbourhood, topic_graph
from whichgpu.engine.core import InputError, Problem, nearest_words, registered


@click.command(name="graph")
@click.argument("names", nargs=-1)
@click.option("--depth", type=click.IntRange(0, 6), default=2, show_default=True, help="Steps away from NAMES.")
@rules_options
def graph_rules(*, names: tuple[str, ...], depth: int, rules: tuple[str, ...], builtin: bool) -> int:
    """Draw which rules feed which, as a Mermaid flowchart.

    NAMES are rules, tables or facts, whose surroundings are drawn; without one, the topics and what flows between them.
    """
    advisor = load(rules, builtin=builtin)
    links = links_of(advisor.rulebook, advisor.vocabulary, registered().values())
    known = _known(advisor)
    wrong = [name for name in names if name not in known]
    if wrong:
        raise InputError([_unknown(name, known) for name in wrong])
    graph = (
        neighbourhood(advisor.rulebook, links, names, depth=depth) if names else topic_graph(advisor.rulebook, links)
    )
    output.emit(to_mermaid(graph))
    return 0


def _known(advisor: Advisor) -> set[str]:
    rulebook = advisor.rulebook
    return {
        *(rule.id for rule in rulebook.rules),
        *(table.id for table in rulebook.tables),
        *advisor.vocabulary.facts,
    }


def _unknown(name: str, known: set[str]) -> Problem:
    near = nearest_words(name, sorted(known))
    return Problem(
        "unknown-rule",
        f"there is no rule, table or fact {name!r}",
        nearest=near,
        fix="whichgpu rules list and whichgpu facts name them",
    )
