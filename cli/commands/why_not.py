"""``whichgpu why-not``: what stands against a GPU, and the nearest change that would turn it."""

from __future__ import annotations

import click
from msgspec import to_builtins

from whichgpu.cli import completing, output
from whichgpu.cli.advisor import load, names_of
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.records import mark_blocks, marked, read_saved
from whichgpu.cli.render.whynot import why_not_blocks
from whichgpu.engine.core import json_value
from whichgpu.engine.explain import WHY_NOT_DECISIONS, Phrases, to_dict, why_not as find_why_not


@click.command(name="why-not")
@click.argument("decision", metavar="DECISION", type=click.Path(allow_dash=True))
@click.argument("gpu", metavar="GPU", shell_complete=completing.gpu_names)
@click.option(
    "--limit",
    type=click.IntRange(1, 3000),
    default=WHY_NOT_DECISIONS,
    show_default=True,
    help="Decisions that the search for the nearest change may make.",
)
@output_format("text", "json", "markdown")
@rules_options
def why_not(*, decision: str, gpu: str, limit: int, form: str, rules: tuple[str, ...], builtin: bool) -> int:
    """Say why GPU is not the answer in DECISION, and which change would make it qualify or win.

    GPU is an id, a family or a name. The search tries the facts that the deciding rules and calculators read, single
    facts before pairs. It is not exhaustive; what it names was decided again and holds.
    """
    saved = read_saved(decision)
    advisor = load(rules, builtin=builtin, tests=False)
    phrases = Phrases(advisor.vocabulary)
    with output.progress(limit, "deciding again, at most") as decided:
        found = find_why_not(saved.decision, gpu, advisor, limit=limit, phrases=phrases, watch=decided)
    if form == "json":
        payload = to_builtins(found)
        payload["rejections"] = [to_dict(step) for step in found.rejections]
        output.emit_json(marked(json_value(payload), saved))
    else:
        output.emit_blocks([*why_not_blocks(found, gpu, names_of(advisor, saved), phrases), *mark_blocks(saved)], form)
    return 0
