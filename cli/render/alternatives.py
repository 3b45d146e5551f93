"""The other plans, and what became of the GPUs that the user named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.choice import is_service, standing_words
from whichgpu.cli.render.figures import count_of, gb, milliseconds, number, size, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.plan import short_name
from whichgpu.cli.render.speed import headline_speed
from whichgpu.engine.advisor import ratio_words


JsonObject = Mapping[str, Any]

SHOWN_ALTERNATIVES = 6

VERDICTS = {
    "recommended": "recommended",
    "alternative": "a good alternative",
    "outranked": "works, but others rank higher",
    "rejected": "ruled out",
    "unproven": "not proven to work",
}


def in_order_of_use(decision: JsonObject) -> list[JsonObject]:
    """The alternatives as a page shows them: those that a buyer could prefer first. Older records have ranks alone."""
    return sorted(decision["alternatives"], key=lambda plan: plan.get("shown_rank", 0))


def alternative_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """The next best plans beside the recommendation, in one table."""
    others = in_order_of_use(decision)
    if not others:
        return []
    shown = others if everything else others[:SHOWN_ALTERNATIVES]
    best = decision["recommendation"]
    timed, runs = is_service(decision), bool(best and best["cost"].get("usd_per_run"))
    rows = (
        [_row(best, names, _joined("the answer", _standing(best, names, None)), timed=timed, runs=runs)] if best else []
    ) + [
        _row(plan, names, _joined(against(plan, best), _standing(plan, names, best)), timed=timed, runs=runs)
        for plan in shown
    ]
    timing = ("Answer in",) if timed else ()
    headers = ("Plan", "Memory per GPU", "The run" if runs else "Speed", *timing, "Per hour", "Score", "vs. the answer")
    figures = frozenset(range(1, len(headers) - 1))
    blocks: list[Block] = [Heading("Alternatives"), Table(headers, tuple(rows), figures)]
    if len(shown) < len(others):
        blocks.append(Paragraph(f"{count_of(len(others) - len(shown), 'more plan')} with --all.", "faint"))
    return blocks


def _row(plan: JsonObject, names: Names, beside: str, *, timed: bool, runs: bool) -> tuple[str, ...]:
    memory = plan["memory"]
    used = "unknown" if memory is None else f"{size(memory['per_gpu_gb'])} of {gb(memory['available_per_gpu_gb'])}"
    cost = plan["cost"]
    latency = plan["speed"].get("latency_ms")
    timing = ("unknown" if latency is None else milliseconds(latency),) if timed else ()
    speed = headline_speed(plan["speed"])
    if runs:
        length = plan["speed"].get("hours")
        speed = f"{number(length)} h, {usd(cost.get('usd_per_run'))}" if length else "unknown"
    score = "" if plan["score"] is None else number(round(plan["score"], 2))
    return (
        short_name(plan, names),
        used,
        speed,
        *timing,
        usd(cost["usd_per_hour"]),
        score,
        beside,
    )


def _joined(*words: str) -> str:
    return "; ".join(word for word in words if word)


def _standing(plan: JsonObject, names: Names, best: JsonObject | None) -> str:
    words = standing_words(plan, names, best)
    return words if plan["proven"] or plan.get("below_for") == "unverified" else f"not proven; {words}".rstrip("; ")


def against(plan: JsonObject, best: JsonObject | None) -> str:
    """Cost and speed beside the recommendation's."""
    if best is None:
        return ""
    if "cost_ratio" in plan and "speed_ratio" in plan:
        cost = ratio_words(plan["cost_ratio"], of_cost=True)
        speed = ratio_words(plan["speed_ratio"], of_cost=False)
        return ", ".join(words for words in (cost, speed) if words)
    says = []  # A record of before the ratios were in it.
    mine, its = plan["cost"]["usd_per_hour"], best["cost"]["usd_per_hour"]
    if mine is not None and its:
        says.append(ratio_words(mine / its, of_cost=True))
    for name in ("tokens_per_s", "samples_per_s", "images_per_s"):
        if plan["speed"].get(name) and best["speed"].get(name):
            says.append(ratio_words(plan["speed"][name] / best["speed"][name], of_cost=False))
            break
    return ", ".join(says)


def candidate_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """Every GPU that the user named, with its verdict."""
    candidates = decision["candidates"]
    if not candidates:
        return []
    items = []
    for entry in candidates:
        has_reason = entry["reason"] and entry["verdict"] != "recommended"
        reason = f". {entry['reason'][:1].upper()}{entry['reason'][1:]}" if has_reason else ""
        rule = (f"rule {entry['rule']}",) if entry["rule"] else ()
        tried = f" ({short_name(entry['plan'], names)})" if entry["plan"] else ""
        items.append(Item(f"{names.gpu(entry['gpu'])}{tried}: {VERDICTS[entry['verdict']]}{reason}", rule))
    return [Heading("The GPUs you named"), Bullets(tuple(items))]
