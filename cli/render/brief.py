"""A decision on one screen: the answer, what it rests on, what else was near, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whichgpu.cli.render.alternatives import VERDICTS, against, in_order_of_use
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Row, Summary, Tone
from whichgpu.cli.render.choice import (
    CHANGES_WITHOUT_ANSWER,
    how_to_ask,
    is_service,
    main_trade_offs,
    passed_over,
    standing_words,
)
from whichgpu.cli.render.cost import basis_sentence, month_price, run_price, work_prices
from whichgpu.cli.render.decision import aim_of, no_answer_blocks, unproven_sentence
from whichgpu.cli.render.figures import gb, joined, percent, size, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.notes import warnings_by_weight
from whichgpu.cli.render.plan import plan_sentence, price_of_an_hour, short_name
from whichgpu.cli.render.procurement import flip_sentence, procurement_sentence
from whichgpu.cli.render.screen import PLAIN_WIDTH, Screen
from whichgpu.cli.render.support import level_of, memory_withheld
from whichgpu.cli.render.targets import speed_rows
from whichgpu.cli.render.text import to_text


JsonObject = Mapping[str, Any]

#: So many lines fit on one screen, at the width that a pipe has.
MOST_LINES = 50
#: How many alternatives, trade-offs, warnings and next steps are shown: the first row whose page fits.
_AMOUNTS = ((3, 3, 3, 4), (3, 2, 3, 4), (3, 2, 3, 3), (3, 1, 2, 2), (2, 1, 2, 1), (1, 1, 1, 1), (0, 0, 1, 1))
#: Less free memory than this is worth a second look: what estimates miss may take it.
_LITTLE_FREE_PCT = 10.0
#: Ratios of cost are printed to a percent: what is further off than this is another comparison.
_AS_PRINTED = 0.02


def brief_blocks(decision: JsonObject, names: Names, closing: Sequence[Block] = ()) -> list[Block]:
    """The page for one decision, at most ``MOST_LINES`` long at ``PLAIN_WIDTH``; what is left out is counted.

    Args:
        decision: the answer as JSON.
        names: what things are called.
        closing: blocks that belong to it and stand before the next steps; they count.
    """
    blocks: list[Block] = []
    for amounts in _AMOUNTS:
        blocks = _page(decision, names, closing, amounts)
        if to_text(blocks, Screen(PLAIN_WIDTH)).count("\n") <= MOST_LINES:
            break
    return blocks


def _page(
    decision: JsonObject, names: Names, closing: Sequence[Block], amounts: tuple[int, int, int, int]
) -> list[Block]:
    others, changes, warnings, steps = amounts
    plan = decision["recommendation"]
    head = _answer(decision, plan, names) if plan else [*no_answer_blocks(decision, names), *_summary(_owned(decision))]
    return [
        *head,
        *(_others(decision, plan, names, others, elsewhere=_as_it_is(decision, changes)) if plan else ()),
        *_trade_offs(decision, changes),
        *_warnings(decision, names, warnings),
        *closing,
        *_next_steps(decision, names, steps),
    ]


def _answer(decision: JsonObject, plan: JsonObject, names: Names) -> list[Block]:
    blocks: list[Block] = [Heading("Recommendation", 1), Paragraph(plan_sentence(plan, names), "strong")]
    if not plan["proven"]:
        blocks.append(Paragraph(unproven_sentence(plan), "bad"))
    rows = [*_owned(decision), _price(plan, decision), _memory(plan), *speed_rows(decision)]
    rows.append(_rent_or_buy(decision, names))
    if named := _named(decision, names):
        rows.append(Row("You named", named))
    phases = [f"{p['phase'].replace('_', ' ')} {_short(p['recommendation'], names)}" for p in decision["phases"]]
    if phases:
        rows.append(Row("Phases", f"{'; '.join(phases)}."))
    return [*blocks, Summary(tuple(rows))]


def _summary(rows: Sequence[Row]) -> list[Block]:
    return [Summary(tuple(rows))] if rows else []


def _owned(decision: JsonObject) -> list[Row]:
    """What hardware that is owned could do, where it is not the answer."""
    owned = decision.get("owned")
    return [Row("You have", " ".join((owned["says"], *(f"({how})" for how in how_to_ask(owned)))))] if owned else []


def _short(plan: JsonObject | None, names: Names) -> str:
    return short_name(plan, names) if plan else "no recommendation"


def _price(plan: JsonObject, decision: JsonObject) -> Row:
    """The price and what it rests on."""
    cost = plan["cost"]
    if cost["usd_per_hour"] is None:
        return Row("Price", "No price in the snapshot covers this plan, so its cost is unknown.", "warn")
    parts = [
        price_of_an_hour(cost, decision["procurement"]),
        *run_price(plan),
        *month_price(decision, plan),
        *(f"{usd(price)} {per}" for per, price in work_prices(plan)),
    ]
    if cost["origin"] == "purchase" and (bought := decision["figures"].get("purchase_usd")):
        number = cost.get("gpus_bought") or plan["count"]
        more = f" {number}, for they are sold on whole boards" if number > plan["count"] else ""
        parts.append(f"{usd(bought['value'])} to buy{more}, with servers and network")
    return Row("Price", f"{', '.join(parts)}. {basis_sentence(plan)}", "warn" if cost.get("assumed") else "plain")


def _memory(plan: JsonObject) -> Row:
    memory = plan["memory"]
    if memory is None:
        unknown = "The memory need could not be worked out; see the open questions."
        return Row("Memory", memory_withheld(plan) or unknown, "bad")
    where = f"on each of {plan['count']} GPUs" if plan["count"] > 1 else "on the GPU"
    there = memory["available_per_gpu_gb"]
    if not there:
        return Row("Memory", f"{gb(memory['per_gpu_gb'])} {where}; how much the GPU has is unknown.", "warn")
    free = memory["headroom_pct"]
    tone: Tone = "bad" if free < 0 else "warn" if free < _LITTLE_FREE_PCT else "good"
    band = f"likely {size(memory['low_gb'] / plan['count'])} to {gb(memory['high_gb'] / plan['count'])}"
    level = level_of(plan, "memory")
    says = f"{size(memory['per_gpu_gb'])} of {gb(there)} {where}, {percent(free)} free; {band}"
    return Row("Memory", f"{says}{f', {level}' if level else ''}.", tone, memory["per_gpu_gb"] / there)


def _rent_or_buy(decision: JsonObject, names: Names) -> Row:
    """The verdict with its ground, and what would turn it."""
    says = [procurement_sentence(decision)]
    comparison = decision["procurement"].get("comparison")
    if decision["procurement"].get("flip"):
        says.append(flip_sentence(decision["procurement"]["flip"], comparison, names))
    return Row("Rent or buy", " ".join(says))


def _named(decision: JsonObject, names: Names) -> str:
    """What became of the GPUs that were named, where that is not all that is answered."""
    found: dict[str, list[str]] = {}
    for entry in decision["candidates"]:
        found.setdefault(VERDICTS[entry["verdict"]], []).append(names.gpu(entry["gpu"]))
    return f"{'; '.join(f'{joined(gpus)}: {verdict}' for verdict, gpus in found.items())}." if found else ""


def _others(
    decision: JsonObject, plan: JsonObject, names: Names, most: int, elsewhere: frozenset[str] = frozenset()
) -> list[Block]:
    """The plans that matter beside the answer: those cheaper or faster that were passed over, then the alternatives.

    What stands ``elsewhere`` on the page, by the ids of plans, is not said again.
    """
    items = passed_over(decision, names)
    said = {item.text.partition(" (")[0] for item in items}
    amount = len(items)
    for other in in_order_of_use(decision):
        name = short_name(other, names)
        if name in said:
            continue
        said.add(name)
        amount += 1
        if other.get("id") in elsewhere:
            continue
        words = [against(other, plan), standing_words(other, names, plan) or _ranked_lower(other, decision)]
        items.append(Item(f"{name}{_its_price(other, plan)}: {'; '.join(word for word in words if word)}."))
    return _section(f"Alternatives{_compared_by(decision)}", items, most, "alternatives", amount)


def _ranked_lower(other: JsonObject, decision: JsonObject) -> str:
    """By what a plan that nothing is against comes after the answer."""
    if other.get("below_for") == "merit":
        return f"further from {aim_of(decision)}"
    return "ranked lower by the evidence"


def _compared_by(decision: JsonObject) -> str:
    """What costlier and slower mean for a job: an hour of the cheaper plan may cost more."""
    return "" if is_service(decision) else ", by cost and time of the same work"


def _its_price(other: JsonObject, plan: JsonObject) -> str:
    """By what a plan costs, as far as it is known: a run before an hour of it, where runs are what is compared.

    Hardware that is bought for a share of its time is compared by what it costs while the next run comes in.
    """
    (hour, run), its = ((of["cost"]["usd_per_hour"], of["cost"].get("usd_per_run")) for of in (other, plan))
    if hour is None:
        return ""
    ratio = other.get("cost_ratio")
    by_runs = run and (not its[1] or ratio is None or math.isclose(run / its[1], ratio, rel_tol=_AS_PRINTED))
    return f" at {usd(run)} for the run ({usd(hour)} an hour)" if by_runs else f" at {usd(hour)} an hour"


def _trade_offs(decision: JsonObject, most: int) -> list[Block]:
    found = _trade_offs_of(decision)
    items = [Item(entry["says"]) for entry in main_trade_offs(found, most)]
    title = f"What would change it{_compared_by(decision)}" if decision["recommendation"] else CHANGES_WITHOUT_ANSWER
    return _section(title, items, most, "changes", len(found))


def _trade_offs_of(decision: JsonObject) -> list[JsonObject]:
    said = (decision.get("owned") or {}).get("id")  # What is owned stands at the head.
    return [entry for entry in decision.get("trade_offs") or [] if said is None or entry["plan"]["id"] != said]


def _as_it_is(decision: JsonObject, most: int) -> frozenset[str]:
    """The plans among so many trade-offs that need no other workload: the cheapest, or one that meets more."""
    shown = main_trade_offs(_trade_offs_of(decision), most)
    return frozenset(entry["plan"]["id"] for entry in shown if set(entry["change"] or ()) <= {"objective"})


def _warnings(decision: JsonObject, names: Names, most: int) -> list[Block]:
    items = [Item(words, tone="warn") for words in warnings_by_weight(decision, names)]
    return _section("Warnings", items, most, "warnings")


def _section(title: str, items: Sequence[Item], most: int, section: str, there: int | None = None) -> list[Block]:
    """A title with its first items; how many there are stands in the title."""
    shown = tuple(items[:most])
    if not shown:
        return []
    amount = len(items) if there is None else there
    more = f" ({len(shown)} of {amount}; --show {section} has all)" if amount > len(shown) else ""
    return [Heading(f"{title}{more}", 3), Bullets(shown)]


def _next_steps(decision: JsonObject, names: Names, most: int) -> list[Block]:
    items = [Item(step) for step in list(_steps(decision, names))[:most]]
    footer = f"Decided {decision['decided_at'][:10]} for {aim_of(decision)}"
    if decision["knowledge"]["prices_as_of"]:
        footer += f", with prices up to {decision['knowledge']['prices_as_of']}, without taxes"
    more = "More: --show memory,cost,reasons,advice,sources (or another section), --all, --save FILE for why and audit."
    return [Heading("What to do next", 3), Bullets((*items, Item(more))), Paragraph(f"{footer}.", "faint")]


def _steps(decision: JsonObject, names: Names) -> Iterator[str]:
    """The first open question, then the weightiest advice, then ordering."""
    for entry in decision["open_questions"][:1]:
        yield f"Find out: {entry['question'] or entry['fact']} Then add --set {entry['fact']}=..."
    verdict = procurement_sentence(decision)  # What is said of renting and owning stands there.
    advice = [entry for entry in decision["advice"] if (entry["text"] or entry["because"]) not in verdict]
    for entry in sorted(advice, key=lambda entry: names.priority(entry["code"]))[:1]:
        yield str(entry["text"] or entry["because"])
    plan = decision["recommendation"]
    if plan and plan.get("launch"):
        yield f"Start it with {plan['launch']['program']}: --show launch has the command."
    if plan and plan["offer"] and plan["offer"]["as_of"]:
        seen = f"Check the price, which dates from {plan['offer']['as_of']}"
        yield f"{seen}, and measure an hour of your own load before you commit."
