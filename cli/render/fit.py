"""What runs on a machine, and which GPUs it has, as blocks."""

from __future__ import annotations

from collections.abc import Sequence

from whichgpu.cli.hardware import Group
from whichgpu.cli.render.blocks import Block, Heading, Paragraph, Table, Verbatim
from whichgpu.cli.render.figures import count_of, gb, gb_and_gib, number, percent
from whichgpu.engine.advisor import FittingModel
from whichgpu.engine.catalogue import Gpu


_BYTES_OF_MIB = 2**20 / 1e9
_KINDS = {
    "llm": "Text",
    "multimodal": "Text and pictures",
    "encoder": "Embeddings and reranking",
    "encoder_decoder": "Encoder-decoder",
    "diffusion_image": "Pictures",
    "diffusion_video": "Video",
    "speech": "Speech",
    "detection": "Detection",
    "vision": "Vision",
    "segmentation": "Segmentation",
}
_HEADERS = ("Model", "Parameters", "Weights", "Per GPU", "Longest context", "One at a time")
_NUMBERS = frozenset({1, 3, 4})
_COLUMNS = (
    "model",
    "kind",
    "params_b",
    "precision",
    "per_gpu_gb",
    "available_gb",
    "context_tokens",
    "longest_context_tokens",
    "speed",
    "speed_unit",
)


def here_blocks(groups: Sequence[Group]) -> list[Block]:
    """The GPUs of a machine, and how to state them."""
    rows = tuple(
        (
            str(group.count),
            group.devices[0].name,
            group.gpu.id if group.gpu is not None else "not in the catalogue",
            _memory(group.devices[0].memory_mib),
            _memory(group.devices[0].used_mib),
        )
        for group in groups
    )
    known = [f"{group.count} x {group.gpu.id}" for group in groups if group.gpu is not None]
    blocks: list[Block] = [
        Heading("GPUs here", 1),
        Table(("Count", "Name", "Entry", "Memory of each", "Used"), rows, frozenset({0, 3, 4})),
    ]
    if known:
        blocks.append(Paragraph("In a workload file:"))
        blocks.append(Verbatim(f"gpus_owned: [{', '.join(known)}]"))
    return blocks


def fit_blocks(
    found: Sequence[FittingModel], gpu: Gpu, count: int, used_gb: float, tried: int, others: Sequence[Group]
) -> list[Block]:
    """The models that fit, a table for each kind."""
    blocks: list[Block] = [Heading(f"What runs on {count} x {gpu.name}", 1)]
    taken = f"; other programs take {gb_and_gib(used_gb)}" if used_gb >= 0.05 else ""
    blocks.append(Paragraph(f"Each GPU has {gb_and_gib(gpu.usable_gb)} for jobs{taken}."))
    if others:
        rest = ", ".join(f"{group.count} x {group.devices[0].name}" for group in others)
        blocks.append(Paragraph(f"Not counted, since one model is spread over equal GPUs: {rest}.", "faint"))
    if not found:
        return [*blocks, Paragraph(f"None of {count_of(tried, 'model')} fits.", "bad")]
    for kind in dict.fromkeys(model.kind for model in found):
        rows = [_row(model) for model in found if model.kind == kind]
        shown = [place for place in range(len(_HEADERS)) if any(row[place] for row in rows)]
        table = Table(
            tuple(_HEADERS[place] for place in shown),
            tuple(tuple(row[place] for place in shown) for row in rows),
            frozenset(at for at, place in enumerate(shown) if place in _NUMBERS),
        )
        blocks += [Heading(_KINDS.get(kind, kind), 2), table]
    lead = (
        "Weights are in the best number format of those tried that fits. The speed is that of one request at a time; "
        "`whichgpu size` shows a model in full. --all lists every one, --sort and --kind choose."
    )
    return [*blocks, Paragraph(lead, "faint")]


def fit_rows(found: Sequence[FittingModel]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The same as columns and rows of a table for programs."""
    rows = []
    for model in found:
        speed, unit = _speed(model) or (None, None)
        values = {**{name: getattr(model, name, None) for name in _COLUMNS}, "speed": speed, "speed_unit": unit}
        rows.append(tuple(_cell(values[name]) for name in _COLUMNS))
    return _COLUMNS, rows


def _cell(value: object) -> object:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def _row(model: FittingModel) -> tuple[str, ...]:
    speed = _speed(model)
    context = model.longest_context_tokens
    full = percent(100 * model.per_gpu_gb / model.available_gb)
    return (
        model.model,
        f"{number(model.params_b)} B" if model.params_b else "",
        model.precision,
        f"{gb(model.per_gpu_gb)}, {full}",
        f"{context:,}" if context else "",
        f"{number(speed[0])} {speed[1]}" if speed else "",
    )


def _speed(model: FittingModel) -> tuple[float, str] | None:
    """The one figure that people ask of a kind of model."""
    speed = model.speed
    if speed.get("tpot_ms"):
        return 1000.0 / speed["tpot_ms"], "tokens/s"
    if model.kind == "diffusion_image" and speed.get("images_per_s"):
        return 1.0 / speed["images_per_s"], "s an image"
    if model.kind == "diffusion_video" and speed.get("samples_per_s"):
        return 1.0 / speed["samples_per_s"], "s a clip"
    for name, unit in (("audio_hours_per_hour", "h of audio an hour"), ("images_per_s", "images/s")):
        if speed.get(name):
            return speed[name], unit
    return (speed["requests_per_s"], "requests/s") if speed.get("requests_per_s") else None


def _memory(mib: float | None) -> str:
    return gb_and_gib(mib * _BYTES_OF_MIB) if mib is not None else ""
