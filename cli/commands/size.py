"""``whichgpu size``: memory, speed and fit on a configuration that the user has or names."""

from __future__ import annotations

from typing import Any

import click

from cli import output
from cli.batch import answer_lines
from cli.expertise import load
from cli.expertise import names_of
from cli.expertise import parse
from cli.inputs import facts_only
from cli.inputs import parse_pairs
from cli.options import jsonl_option
from cli.options import output_format
from cli.options import set_option
from cli.render.size import size_blocks


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--gpu", metavar="ID", help="The GPU, by id or any of its names.")
@click.option("--count", metavar="N", type=click.IntRange(1), help="How many of them.")
@set_option
@output_format("text", "json", "markdown")
@jsonl_option
def size(
    *,
    file: str,
    gpu: str | None,
    count: int | None,
    sets: tuple[str, ...],
    form: str,
    jsonl: bool,
) -> int:
    """Size the workload in FILE on N GPUs of one type: what it needs, what is there, how fast it runs.

    GPU and count come from the options, else from the keys gpu and count of the file, else from what it says of
    current_gpu and num_gpus. Where the count is not said, the smallest that fits is taken.
    """
    given = parse_pairs(sets)
    expertise = load()

    def answer(workload: dict[str, Any]) -> dict[str, Any]:
        facts = {**facts_only(workload), **given}
        return expertise.size(facts, gpu=gpu or workload.get("gpu"), count=count or workload.get("count")).to_dict()

    if jsonl:
        return answer_lines(file, answer)
    workload = parse(expertise, file)
    reply = {"id": workload.get("id"), **answer(workload)}
    if form == "json":
        output.emit_json(reply)
    else:
        output.emit_blocks(size_blocks(reply, names_of(expertise)), form)
    return 0 if reply["fits"] else 1
