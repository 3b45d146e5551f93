"""``whichgpu size``: memory, speed and fit on a configuration that the user has or names."""

from __future__ import annotations

from typing import Any

import click

from cli import output
from cli.batch import answer_lines
from cli.expertise import load
from cli.expertise import names_of
from cli.expertise import read
from cli.options import jsonl_option
from cli.options import output_format
from cli.options import set_option
from cli.render.size import size_blocks
from engine import Expertise
from engine import Workload
from engine.canonical import plain


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
    expertise = load()
    if jsonl:
        return answer_lines(file, lambda line: _sized(expertise, expertise.read(line, sets), gpu, count))
    workload = read(expertise, file, sets)
    reply = {"id": workload.id, **_sized(expertise, workload, gpu, count)}
    if form == "json":
        output.emit_json(plain(reply))
    else:
        output.emit_blocks(size_blocks(reply, names_of(expertise)), form)
    return 0 if reply["fits"] else 1


def _sized(expertise: Expertise, workload: Workload, gpu: str | None, count: int | None) -> dict[str, Any]:
    return expertise.size(workload, gpu=gpu, count=count)
