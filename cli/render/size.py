"""A size answer as blocks: does it fit, what it needs, how fast it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Bar, Block, Bullets, Heading, Item, Paragraph, Tone
from whichgpu.cli.render.figures import gb, gb_and_gib, percent
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.plan import band_sentence, breakdown_table, speed_blocks, split_words


JsonObject = Mapping[str, Any]

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
    if answer.get("tight"):
        blocks.append(Paragraph("It is tight: a recommendation would keep more room for what estimates miss.", "faint"))
    granted = answer.get("granted_per_gpu_gb")
    if there and granted and granted < 0.995 * there:
        said = f"The engine limits itself to {gb_and_gib(granted)} of each GPU unless it is configured otherwise."
        blocks.append(Paragraph(said, "faint"))
    if there:
        share = 100 * answer["per_gpu_gb"] / there
        blocks.append(Bar(share / 100, f"{percent(share)} of the memory of each GPU"))
    if count > 1:
        split = split_words(answer["parallelism"], count)
        says = f"All {count} together need {gb_and_gib(answer['needed_gb'])}"
        blocks.append(Paragraph(f"{says}, with {split}." if split else f"{says}."))
    blocks.append(Paragraph(band_sentence(answer, answer, count, answer.get("band_reason"))))
    blocks.append(breakdown_table(answer["breakdown"]))
    blocks += speed_blocks(answer, fits=fits is not False)
    return blocks + fit_suggestion_blocks(answer.get("fit_suggestions"), answer, names)


def fit_suggestion_blocks(suggestions: JsonObject | None, answer: JsonObject, names: Names) -> list[Block]:
    """What would make the job fit, or fit the next smaller GPU, each with what it costs."""
    if not suggestions or not suggestions["changes"]:
        return []
    here = suggestions["gpu"] == answer["gpu"]
    gpu = names.gpu(suggestions["gpu"])
    title = "What would make it fit" if here else f"What would make it fit the {gpu}"
    lead = f"{gb_and_gib(suggestions['available_per_gpu_gb'])} can be used there. One change at a time:"
    items = [_change(step) for step in suggestions["changes"]]
    blocks: list[Block] = [Heading(title, 2), Paragraph(lead), Bullets(tuple(items))]
    if suggestions["together"]:
        steps = suggestions["together"]
        names_of_steps = "; ".join(step["says"] for step in steps)
        blocks.append(Paragraph(f"Together these fit, with {gb(steps[-1]['per_gpu_gb'])} per GPU: {names_of_steps}."))
    elif not any(step["fits"] for step in suggestions["changes"]):
        blocks.append(Paragraph("Even all of them together are not enough; it takes more or larger GPUs.", "bad"))
    return blocks


def _change(step: JsonObject) -> Item:
    verdict = "fits" if step["fits"] else "not enough alone"
    facts = ", ".join(f"{name}: {_word(value)}" for name, value in sorted(step["facts"].items()))
    below = [f"cost: {step['costs']}"]
    ratio = step["speed_ratio"]
    if ratio is not None and abs(ratio - 1.0) >= 0.05:
        below.append(f"speed {percent(100 * ratio)} of what it was")
    below.append(f"write {facts}")
    text = f"{step['says'][:1].upper()}{step['says'][1:]}: {gb(step['per_gpu_gb'])} per GPU, {verdict}"
    return Item(text, tuple(below), "good" if step["fits"] else "plain")


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _need(answer: JsonObject) -> str:
    each = "on each GPU" if answer["count"] > 1 else "on the GPU"
    need = f"The job needs {gb_and_gib(answer['per_gpu_gb'])} {each}"
    there = answer["available_per_gpu_gb"]
    return f"{need}; {gb_and_gib(there)} can be used." if there else f"{need}; how much the GPU has is unknown."
