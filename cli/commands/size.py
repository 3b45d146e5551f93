"""``whichgpu size``: memory, speed and fit on a configuration that the user has or names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whichgpu import Workload
from whichgpu.cli import completing, output
from whichgpu.cli.advisor import load, names_of, read
from whichgpu.cli.batch import answer_lines
from whichgpu.cli.inputs import file_or_settings
from whichgpu.cli.options import here_option, jsonl_option, output_format, set_option
from whichgpu.cli.render.size import size_blocks
from whichgpu.engine.advisor import size_workload


if TYPE_CHECKING:
    from whichgpu.engine.advisor import SizeAnswer


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(allow_dash=True))
@click.option("--gpu", metavar="ID", shell_complete=completing.gpu_names, help="The GPU, by id or any of its names.")
@click.option("--count", metavar="N", type=click.IntRange(1), help="How many of them.")
@set_option
@here_option
@output_format("text", "json", "markdown")
@jsonl_option
def size(
    *,
    file: str | None,
    gpu: str | None,
    count: int | None,
    sets: tuple[str, ...],
    here: bool,
    form: str,
    jsonl: bool,
) -> int:
    """Size the workload in FILE, or of --set, on N GPUs of one type: what it needs, what is there, how fast it runs.

    GPU and count come from the options or, with --here, from this machine, else from the keys gpu and count of the
    file, else from its current_gpu (or its only candidate) and num_gpus; the count is 1 where nothing says it.
    Exits with 1 where the job does not fit.
    """
    file, empty = file_or_settings(file, stated=bool(sets) and not jsonl)
    advisor = load(tests=False)
    if here:
        from whichgpu.cli.hardware import groups_here  # noqa: PLC0415 - it starts programs, as few commands do.

        first = groups_here(advisor.knowledge)[0]
        gpu = gpu or (first.gpu.id if first.gpu is not None else first.devices[0].name)
        count = count or first.count

    def answer(workload: Workload) -> SizeAnswer:
        return size_workload(advisor, workload, gpu=gpu, count=count)

    if jsonl:
        return answer_lines(file, lambda line: answer(advisor.read(line, sets)))
    reply = answer(read(advisor, file, sets, empty, to_size=True))
    if form == "json":
        output.emit_json(reply)
    else:
        output.emit_blocks(size_blocks(reply, names_of(advisor)), form)
    return 0 if reply["fits"] else 1
