"""One plan in words: the sentence, its memory, its speed and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Bar, Block, Heading, Pairs, Paragraph, Table
from whichgpu.cli.render.cost import run_price
from whichgpu.cli.render.figures import count_of, gb, gb_and_gib, joined, percent, usd
from whichgpu.cli.render.names import SHARDING, Names, link
from whichgpu.cli.render.procurement import WISHES, hour_of_work
from whichgpu.cli.render.speed import UNKNOWN, headline_speed, labels_of, speed_pairs
from whichgpu.cli.render.support import LEVELS, count_words, level_of, memory_withheld, support_blocks


JsonObject = Mapping[str, Any]

PARTS = {
    "weights": "model weights",
    "kv_cache": "key-value cache of the requests in flight",
    "activations": "activations",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "logits": "output logits",
    "adapters": "adapters (LoRA)",
    "optimizer_step": "optimizer step workspace",
    "optimizer_copy": "copy that is stepped",
    "buckets": "gradient buckets in transit",
    "frozen_components": "parts of the model that are not trained",
    "critic": "critic model, trained as well",
    "rollout_engine": "rollout engine",
    "gathered_layer": "layer gathered from the other GPUs",
    "dequantised_layer": "layer dequantised to compute with",
    "graphs": "captured GPU graphs",
    "allocator": "fragmentation in the allocator",
    "context": "driver context",
    "reserve": "driver, context and fragmentation",
}


_SHORT_VERDICTS = {
    "rent": "rent it",
    "buy": "buy it",
    "hybrid": "own the base load and rent the peaks",
    "undecided": "rent or buy is open",
}


_OWNED_VERDICTS = {
    "rent": "you have it already, but rent it",
    "buy": "you have it already",
    "hybrid": "you have it already; rent the peaks",
    "undecided": "you have it already",
}


_HOURS_OF = {"owned": "an hour for electricity", "purchase": "an hour if it is bought"}


def short_name(plan: JsonObject, names: Names) -> str:
    """``4 x NVIDIA L4``."""
    return f"{plan['count']} x {names.gpu(plan['gpu'])}"


def plan_sentence(plan: JsonObject, names: Names) -> str:
    """GPU, count, link, precision and split in one sentence."""
    count, nodes = plan["count"], plan["nodes"]
    parts = [short_name(plan, names) + count_words(plan)]
    if cut := plan.get("partition"):
        parts.append(f"cut into MIG slices {cut['profile']}, {cut['slices']} of them in use")
    if nodes > 1:
        parts.append(_over_nodes(plan, nodes))
    elif count > 1:
        parts.append(f"in one node, linked by {link(plan['link'])}")
    if plan["precision"]:
        parts.append(f"in {plan['precision']}")
    split = split_words(plan["parallelism"], count)
    return ", ".join([*parts, split] if split else parts) + "."


def _over_nodes(plan: JsonObject, nodes: int) -> str:
    """How several nodes are joined, and the GPUs inside each; replicas of a service need no link at all."""
    where = f"in {count_of(nodes, 'node')}"
    if plan["node_link"] not in (None, "none"):
        where = f"{where} joined by {link(plan['node_link'])}"
    if plan["count"] == nodes:
        return f"{where}, one GPU in each" if "joined" in where else f"{where} of one GPU each, which need no link"
    if plan["link"] not in (None, "none"):
        return f"{where}, {link(plan['link'])} inside each"
    return where if "joined" in where else f"{where}, which need no link"


def split_words(layout: JsonObject, count: int) -> str:
    """How a job is split over GPUs; empty of one GPU."""
    if count == 1:
        return ""
    says = []
    if layout["tensor"] > 1:
        says.append(f"each layer split over {layout['tensor']} GPUs (tensor parallel)")
    if layout["pipeline"] > 1:
        says.append(f"the layers split into {layout['pipeline']} stages (pipeline parallel)")
    if layout["data"] > 1:
        says.append(f"{layout['data']} replicas (data parallel)")
    sharding = SHARDING.get(layout["sharding"] or "none")
    if sharding:
        says.append(sharding)
    return joined(says)


def summary_sentence(plan: JsonObject, procurement: JsonObject) -> str:
    """Rent or buy, cost, memory and speed in one line, and what decided the count."""
    # Whether to rent or buy is no question of hardware that is there already.
    # Hardware that is there is no question of buying.
    owned = plan["cost"].get("origin") == "owned"
    parts = [(_OWNED_VERDICTS if owned else _SHORT_VERDICTS)[procurement["verdict"]]]
    if wish := procurement.get("price_of_wish"):
        parts.append(f"you asked to {WISHES[wish['asked']]}, which costs {usd(wish['usd_more'])} more")
    if plan["cost"]["usd_per_hour"] is not None:
        parts.append(f"about {', '.join([price_of_an_hour(plan['cost'], procurement), *run_price(plan)])}")
    if plan["memory"] and plan["memory"]["headroom_pct"] is not None:
        parts.append(f"{percent(plan['memory']['headroom_pct'])} of the memory stays free")
    speed = headline_speed(plan["speed"])
    if speed != UNKNOWN:
        parts.append(f"about {speed}")
    if plan.get("why_count") and plan["count"] > 1:
        parts.append(f"{plan['count']} GPUs: {_why_count(plan['why_count'])}")
    return f"In short: {'; '.join(parts)}."


def price_of_an_hour(cost: JsonObject, procurement: JsonObject) -> str:
    """What an hour costs, as the verdict has it: rented or bought."""
    comparison = procurement.get("comparison") or {}
    verdict, owning, of_work = procurement["verdict"], comparison.get("own_usd_per_hour"), hour_of_work(comparison)
    work = f", which is {of_work} for an hour of work" if of_work else ""
    origin, hour = cost.get("origin"), usd(cost["usd_per_hour"])
    rented = cost.get("rented_usd_per_hour")
    if verdict == "rent" and origin in {"purchase", "owned"} and rented is not None:
        if origin == "owned":
            return f"{usd(rented)} an hour, or {hour} for running what you have"
        # What follows, by the month or by the piece, is of the purchase.
        return f"{usd(rented)} an hour rented; bought, busy or idle, {hour} an hour{work}"
    if verdict == "buy" and origin in {"offer", "quote"} and owning is not None:
        return f"{usd(owning)} an hour of the horizon if it is bought{work}, or {hour} an hour rented"
    return f"{hour} {_HOURS_OF.get(origin or '', 'an hour')}"


def _why_count(why: str) -> str:
    if why.startswith("asked by "):
        return f"a count that rule {why.removeprefix('asked by ')} puts forward"
    return {"stated": "the count that was stated", "meets the target": "enough to meet the target"}.get(
        why, f"the {why}"
    )


def memory_blocks(plan: JsonObject) -> list[Block]:
    """Needed against available: sentence, bar, band and breakdown."""
    memory = plan["memory"]
    if memory is None:
        unknown = "The memory need could not be worked out; see the open questions."
        return [Heading("Memory"), Paragraph(memory_withheld(plan) or unknown)]
    there = memory["available_per_gpu_gb"]
    each = "on each GPU" if plan["count"] > 1 else "on the GPU"
    blocks: list[Block] = [Heading("Memory"), Paragraph(_need(memory, each))]
    if there:
        share = memory["per_gpu_gb"] / there
        blocks.append(Bar(share, f"{percent(share * 100)} used, {percent(memory['headroom_pct'])} free"))
    if plan["count"] > 1:
        total = f"All {plan['count']} GPUs together: {gb_and_gib(memory['needed_gb'])} needed"
        blocks.append(Paragraph(f"{total}, {gb_and_gib(there * plan['count'])} there." if there else f"{total}."))
    blocks.append(Paragraph(band_sentence(memory, plan, plan["count"])))
    blocks.append(breakdown_table(memory["breakdown"]))
    return blocks


def _need(memory: JsonObject, each: str) -> str:
    need = f"The job needs {gb_and_gib(memory['per_gpu_gb'])} {each}"
    if memory["available_per_gpu_gb"] is None:
        return f"{need}; how much the GPU has is unknown."
    return f"{need}; {gb_and_gib(memory['available_per_gpu_gb'])} can be used there."


def band_sentence(memory: JsonObject, plan: JsonObject, count: int, why: str | None = None) -> str:
    """Between what ends the need lies, how that is known, and where the band comes from."""
    of = " over all GPUs" if count > 1 else ""
    band = f"Likely between {gb(memory['low_gb'])} and {gb(memory['high_gb'])}{of}"
    level = level_of(plan, "memory")
    reason = plan["support"]["memory"]["reason"] if level == LEVELS["rule_of_thumb"] else None
    band = f"{band}, {level}" if level else band
    chance = memory.get("fit_probability")
    if chance is not None:
        band += f"; it fits with a probability of {_chance(chance)}"
    because = "; ".join(part for part in (reason, why) if part)
    return f"{band}: {because}." if because else f"{band}."


def _chance(share: float) -> str:
    """In percent; no run is certain, nor beyond hope, by a band alone."""
    if share > 0.99:
        return "over 99 %"
    return "under 1 %" if share < 0.01 else f"{round(100 * share)} %"


def breakdown_table(breakdown: dict[str, float]) -> Table:
    """What the memory of one GPU holds, the largest part first."""
    total = sum(breakdown.values()) or 1.0
    parts = sorted(breakdown.items(), key=lambda part: (-part[1], part[0]))
    rows = [(part_name(name), gb(value), percent(100 * value / total)) for name, value in parts]
    return Table(("Per GPU", "Memory", "Share"), tuple(rows), frozenset({1, 2}))


def part_name(name: str) -> str:
    """A part of the memory in words: ``kv_cache_gb`` or ``kv_cache``."""
    part = name.removesuffix("_gb")
    return PARTS.get(part, part.replace("_", " "))


def speed_blocks(plan: JsonObject, *, fits: bool = True) -> list[Block]:
    """The speed figures over all GPUs of the plan, how well each is founded, and those that are withheld.

    A plan that does not hold the job has the speed that it would have if it did: ``fits`` says so.
    """
    levels = {name: level for name in plan["speed"] if (level := level_of(plan, name))}
    alike = len(set(levels.values())) == 1
    rows = speed_pairs(plan["speed"], {} if alike else levels)
    why = support_blocks(plan, labels_of(plan.get("support", ())))
    if not rows:
        unknown = [] if why else [Paragraph("No speed can be worked out from what is known.")]
        return [Heading("Speed"), *unknown, *why]
    how = f" ({next(iter(levels.values()))})" if alike else ""
    lead = "Estimated" if fits else "Estimated as if the job fitted"
    return [Heading("Speed"), Paragraph(f"{lead}, over all GPUs of the plan{how}."), Pairs(rows), *why]
