"""GPUs and models of the catalogue as blocks, each figure with its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import to_builtins

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph, Table
from whichgpu.cli.render.figures import count_of, gb_and_gib, number, size, usd, value_text
from whichgpu.engine.catalogue import Gpu, Knowledge, ModelSpec


#: Fields that other lines of the page already say, or that describe the record and not the thing.
_SAID = frozenset(
    {
        "id",
        "name",
        "aliases",
        "evidence",
        "notes",
        "sources",
        "disagreements",
        "tflops",
        "achieved",
        "facts",
        "usable_gb",
        "usable_assumed",
    }
)
_UNITS = {
    "mem_bw_tbs": "TB/s",
    "link_gbs": "GB/s, both directions",
    "tdp_w": "W",
    "params_b": "billion",
    "active_params_b": "billion",
    "resolution_px": "px",
    "sparse_tops": "TOPS (sparse)",
    "device_mib": "MiB",
    "cuda_mib": "MiB",
}


def cheapest_hour(gpu: Gpu, knowledge: Knowledge) -> float | None:
    """The lowest firm price of one for an hour, in US dollars."""
    offers = (offer for offer in knowledge.offers if offer.gpu in (gpu.id, gpu.family))
    return min((offer.usd_per_hour / offer.count for offer in offers), default=None)


def gpu_list(gpus: Sequence[Gpu], knowledge: Knowledge) -> list[Block]:
    """Accelerators in one table."""
    rows = tuple(_gpu_row(gpu, cheapest_hour(gpu, knowledge)) for gpu in gpus)
    headers = ("Id", "Usable GB", "Sold as", "Bandwidth", "TFLOPS", "Link", "Rent from", "To buy")
    lead = (
        f"{count_of(len(rows), 'accelerator')}. Usable is the memory a job can have, in GB of 10^9 bytes. Sellers "
        "count in GiB of 2^30 bytes and call them GB: what is sold as 24 holds 25.8 GB. TFLOPS are dense, at 16 bits. "
        "`whichgpu gpus NAME` shows one with its sources."
    )
    return [Heading("GPUs", 1), Paragraph(lead), Table(headers, rows, frozenset({1, 2, 3, 4, 6, 7}))]


def _gpu_row(gpu: Gpu, hour: float | None) -> tuple[str, ...]:
    compute = gpu.tflops.get("bf16") or gpu.tflops.get("fp16")
    return (
        gpu.id,
        size(gpu.usable_gb) if gpu.usable_gb else "",
        number(gpu.vram_gb) if gpu.vram_gb else "",
        f"{gpu.mem_bw_tbs:.2f} TB/s" if gpu.mem_bw_tbs else "",
        number(compute) if compute else "",
        gpu.link,
        usd(hour) if hour is not None else "",
        usd(gpu.buy_usd) if gpu.buy_usd else "",
    )


def gpu_page(gpu: Gpu, knowledge: Knowledge) -> list[Block]:
    """One accelerator in full."""
    blocks: list[Block] = [Heading(gpu.name, 1), Paragraph(_also(gpu.id, gpu.aliases))]
    if not gpu.plannable:
        blocks.append(Paragraph(f"Never recommended: {gpu.not_plannable_because or 'not obtainable'}.", "bad"))
    if gpu.usable_gb:
        assumed = (
            " (computed from the marketed figure: no reading of a device is at hand)" if gpu.usable_assumed else ""
        )
        blocks.append(Paragraph(f"A job can use {gb_and_gib(gpu.usable_gb)}{_of_what_is_sold(gpu)}{assumed}."))
    blocks.append(_figures(to_builtins(gpu), gpu.evidence))
    if gpu.tflops:
        blocks += [Heading("Arithmetic", 3), _compute(gpu)]
    if gpu.facts:
        rows = tuple(
            (name, value_text(value), ", ".join(gpu.evidence.get(name, ()))) for name, value in gpu.facts.items()
        )
        blocks += [Heading("Further facts", 3), Table(("Fact", "Value", "Sources"), rows)]
    blocks += _remarks(gpu.notes, gpu.disagreements, knowledge) + _offers(gpu, knowledge)
    return blocks + _legend([source for sources in gpu.evidence.values() for source in sources], knowledge)


def _of_what_is_sold(gpu: Gpu) -> str:
    """The marketed size, which counts in GiB as a rule, beside what a job has of it."""
    if not gpu.vram_gb:
        return ""
    sold = f" of the card that is sold as {number(gpu.vram_gb)} GB"
    return f"{sold}, by which sellers mean GiB" if gpu.usable_gb and gpu.usable_gb > gpu.vram_gb else sold


def _compute(gpu: Gpu) -> Table:
    rows = []
    for precision, peak in gpu.tflops.items():
        share = gpu.achieved.get(precision)
        reached = f"{number(100 * share)} %" if share else ""
        rows.append((precision, number(peak), reached, _cited(gpu.evidence, f"tflops.{precision}", "tflops")))
    return Table(("Precision", "Peak TFLOPS", "Reached in practice", "Sources"), tuple(rows), frozenset({1, 2}))


def _offers(gpu: Gpu, knowledge: Knowledge) -> list[Block]:
    offers = [offer for offer in knowledge.offers if offer.gpu in (gpu.id, gpu.family)]
    if not offers:
        return [Heading("Rent", 3), Paragraph("No offer in the price snapshot.")]
    cheapest = min(offers, key=lambda offer: (offer.usd_per_hour / offer.count, offer.provider))
    price = usd(cheapest.usd_per_hour / cheapest.count)
    text = (
        f"{count_of(len(offers), 'offer')}; the cheapest is {price} per GPU and hour "
        f"({cheapest.provider}, {cheapest.as_of}). whichgpu prices {gpu.id} lists them."
    )
    return [Heading("Rent", 3), Paragraph(text)]


def model_list(models: Sequence[ModelSpec]) -> list[Block]:
    """Models in one table."""
    rows = tuple(_model_row(model) for model in models)
    headers = ("Id", "Kind", "Parameters", "Layers", "Longest context")
    lead = f"{count_of(len(rows), 'model')}. `whichgpu models NAME` shows one with its sources."
    return [Heading("Models", 1), Paragraph(lead), Table(headers, rows, frozenset({2, 3, 4}))]


def _model_row(model: ModelSpec) -> tuple[str, ...]:
    return (
        model.id,
        model.kind.replace("_", " "),
        f"{number(model.params_b)} B" if model.params_b else "",
        str(model.layers or ""),
        f"{model.max_context:,}" if model.max_context else "",
    )


def model_page(model: ModelSpec, knowledge: Knowledge) -> list[Block]:
    """One model in full."""
    blocks: list[Block] = [Heading(model.name, 1), Paragraph(_also(model.id, model.aliases))]
    blocks.append(_figures(to_builtins(model), model.evidence))
    cited = [*model.sources, *(source for sources in model.evidence.values() for source in sources)]
    return blocks + _remarks(model.notes, model.disagreements, knowledge) + _legend(cited, knowledge)


def _also(record_id: str, aliases: tuple[str, ...]) -> str:
    return f"id {record_id}" + (f"; also called {', '.join(aliases)}" if aliases else "")


def _figures(record: dict[str, Any], evidence: Mapping[str, tuple[str, ...]]) -> Table:
    rows = []
    for field, value in record.items():
        if field in _SAID or value is None or value in ([], {}):
            continue
        unit = f" {_UNITS[field]}" if field in _UNITS else ""
        rows.append((field.replace("_", " "), f"{_shown(value)}{unit}", _cited(evidence, field, "*")))
    return Table(("Figure", "Value", "Sources"), tuple(rows))


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_shown(item)}" for name, item in value.items() if item is not None)
    return value_text(value)


def _cited(evidence: Mapping[str, tuple[str, ...]], field: str, wider: str) -> str:
    return ", ".join(evidence.get(field) or evidence.get(wider) or ())


def _legend(cited: list[str], knowledge: Knowledge) -> list[Block]:
    """Which source each id stands for."""
    known = knowledge.sources
    rows = tuple((source, known[source].title if source in known else source) for source in sorted(set(cited)))
    return [Heading("Sources", 3), Pairs(rows)] if rows else []


def _remarks(notes: tuple[str, ...], disagreements: tuple[str, ...], knowledge: Knowledge) -> list[Block]:
    items = [Item(note) for note in notes]
    for name in disagreements:
        title = knowledge.disagreements.get(name, {}).get("title", name)
        items.append(Item(f"The sources disagree: {title}"))
    return [Heading("Notes", 3), Bullets(tuple(items))] if items else []
