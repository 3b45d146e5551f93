"""A size answer as blocks: does it fit, what it needs, how fast it runs."""

from __future__ import annotations

from typing import Any

from cli.render.blocks import Bar
from cli.render.blocks import Block
from cli.render.blocks import Heading
from cli.render.blocks import Paragraph
from cli.render.blocks import Tone
from cli.render.figures import gb
from cli.render.figures import gb_and_gib
from cli.render.figures import percent
from cli.render.names import Names
from cli.render.plan import breakdown_table
from cli.render.plan import speed_blocks


JsonObject = dict[str, Any]

_VERDICTS = {True: "It fits.", False: "It does not fit.", None: "Whether it fits is unknown."}


def size_blocks(answer: JsonObject, names: Names) -> list[Block]:
    """The page for one size answer."""
    count, there = answer["count"], answer["available_per_gpu_gb"]
    fits = answer["fits"]
    tone: Tone = "good" if fits else "bad"
    blocks: list[Block] = [
        Heading(f"{count} x {names.gpu(answer['gpu'])}", 1),
        Paragraph(f"{_VERDICTS[fits]} {_need(answer)}", tone),
    ]
    if there:
        share = 100 * answer["per_gpu_gb"] / there
        blocks.append(Bar(share / 100, f"{percent(share)} of the memory of each GPU"))
    if count > 1:
        blocks.append(Paragraph(f"All {count} together need {gb_and_gib(answer['needed_gb'])}."))
    blocks.append(Paragraph(f"Likely between {gb(answer['low_gb'])} and {gb(answer['high_gb'])} over all GPUs."))
    blocks.append(breakdown_table(answer["breakdown"]))
    return blocks + speed_blocks(answer)


def _need(answer: JsonObject) -> str:
    each = "on each GPU" if answer["count"] > 1 else "on the GPU"
    need = f"The job needs {gb_and_gib(answer['per_gpu_gb'])} {each}"
    there = answer["available_per_gpu_gb"]
    return f"{need}; {gb_and_gib(there)} can be used." if there else f"{need}; how much the GPU has is unknown."
