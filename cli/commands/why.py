"""``whichgpu why``: how a conclusion of a decision came about."""

from __future__ import annotations

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.options import output_format
from whichgpu.cli.records import mark_blocks, marked, read_saved
from whichgpu.cli.render.derivation import derivation_blocks
from whichgpu.engine.explain import Explainer, Phrases, cut_at, gather, to_dict


@click.command()
@click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
@click.argument("what", metavar="[WHAT]", default="recommendation")
@click.option("--depth", type=click.IntRange(min=0), help="Levels of the tree to print; all by default.")
@output_format("text", "json", "markdown")
def why(decision: str, what: str, depth: int | None, form: str) -> int:
    """Show how WHAT came about in DECISION, as a tree from the conclusion to inputs and sources.

    DECISION is a saved record or the JSON of a decision (- reads standard input). WHAT is recommendation (the default),
    count, memory, speed, cost, score, procurement, power, a fact, a GPU, a rule or a code such as W-....

    The tree is read from the trace of the decision alone, so it holds for old records too.
    """
    saved = read_saved(decision)
    advisor = load()
    names = names_of(advisor, saved)
    explainer = Explainer(gather(saved.decision, saved.plans), Phrases(advisor.vocabulary), names.gpus)
    step = explainer.why(what)
    if depth is not None:
        step = cut_at(step, depth)
    if form == "json":
        output.emit_json(marked(to_dict(step), saved))
    else:
        output.emit_blocks([*derivation_blocks(step, names), *mark_blocks(saved)], form)
    return 0
