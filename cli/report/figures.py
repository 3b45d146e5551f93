"""What the charts are drawn from, and what is said where one cannot be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.alternatives import in_order_of_use
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.plan import part_name, short_name
from whichgpu.cli.report.charts import COLOURS, Award, Course, MemoryBar, cost_chart, memory_chart, waterfall
from whichgpu.cli.report.markup import Markup, join, tag


JsonObject = Mapping[str, Any]

SHOWN_PLANS = 8


def memory_figure(decision: JsonObject, names: Names) -> Markup:
    """The recommendation and the next plans, memory against what their GPUs have."""
    plans = [plan for plan in (decision["recommendation"], *in_order_of_use(decision)) if plan["memory"]][:SHOWN_PLANS]
    if not plans:
        return Markup("")
    bars = [_bar(plan, names) for plan in plans]
    weight: dict[str, float] = {}
    for bar in bars:
        for name, value in bar.parts:
            weight[name] = weight.get(name, 0.0) + value
    order = sorted(weight, key=lambda name: (-weight[name], name))
    colours = {name: min(position, COLOURS - 1) for position, name in enumerate(order)}
    swatches = [
        tag(
            "li",
            tag(
                "svg", tag("rect", width=10, height=10, class_=f"part{colour}"), viewBox="0 0 10 10", aria_hidden="true"
            ),
            words,
        )
        for colour, words in _legend(order)
    ]
    caption = (
        "Memory that the job needs on each GPU, against what can be used there (the frame). The thin line is the band "
        "of the estimate. The recommendation stands first."
    )
    return tag("figure", memory_chart(bars, colours), tag("ul", *swatches, class_="legend"), tag("figcaption", caption))


def _legend(order: list[str]) -> list[tuple[int, str]]:
    own = [(position, part_name(name)) for position, name in enumerate(order[: COLOURS - 1])]
    rest = [part_name(name) for name in order[COLOURS - 1 :]]
    return [*own, (COLOURS - 1, ", ".join(rest))] if rest else own


def _bar(plan: JsonObject, names: Names) -> MemoryBar:
    memory = plan["memory"]
    parts = tuple(sorted(memory["breakdown"].items(), key=lambda part: (-part[1], part[0])))
    return MemoryBar(
        label=short_name(plan, names),
        parts=parts,
        needed_gb=memory["per_gpu_gb"],
        low_gb=memory["low_gb"] / plan["count"],
        high_gb=memory["high_gb"] / plan["count"],
        usable_gb=memory["available_per_gpu_gb"],
    )


def points_figure(plan: JsonObject) -> Markup:
    """The waterfall of points that counted."""
    counted = [entry for entry in plan["points"] if entry.get("counted", True) and entry["points"]]
    if not counted or plan["score"] is None:
        return Markup("")
    counted.sort(key=lambda entry: (-entry["points"], entry["reason"]))
    awards = [
        Award(f"{entry['reason']} ({entry['rule']})" if entry["rule"] else entry["reason"], entry["points"])
        for entry in counted
    ]
    caption = (
        "In points: each bar goes on where the one before ended, from the line of no points on. Within one reason only "
        "the strongest rule counts; cost and speed are computed beside the best plan."
    )
    return tag("figure", waterfall(awards, plan["score"]), tag("figcaption", caption))


def cost_figure(decision: JsonObject) -> Markup:
    """Renting against owning over time; in words what is missing for it where it cannot be drawn."""
    comparison = decision["procurement"].get("comparison") or {}
    points = comparison.get("course") or []
    if not points:
        lacking = ", ".join(comparison.get("lacking") or ("the costs over time",))
        return tag("p", f"Cost over time cannot be drawn, because this is not known: {lacking}.", class_="faint")
    crossing = comparison.get("crossing_months")
    course = Course(
        points=tuple((point["months"], point["rent_usd"], point["own_usd"]) for point in points),
        horizon_months=comparison["horizon_years"] * 12,
        rent_usd=comparison["rent_usd"],
        own_usd=comparison["own_usd"],
        crossing_months=crossing,
    )
    if crossing is None:
        meet = "At this use renting costs less however long it goes on."
    elif crossing <= 0:
        meet = "Owning costs less from the start."
    else:
        meet = f"They cost the same after {crossing:.1f} months."
    caption = join(meet, " Owning is drawn at what it would have cost if the hardware were sold then.")
    return tag("figure", cost_chart(course), tag("figcaption", caption))
