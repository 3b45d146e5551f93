"""The choice in words: what the answer was chosen over, at what price, and what would change if more were allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of, joined, percent, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.plan import short_name
from whichgpu.cli.render.reasons import origin
from whichgpu.engine.advisor import ratio_words, shipped_objectives
from whichgpu.engine.catalogue import task_profiles


JsonObject = Mapping[str, Any]

SHOWN_CHOSEN_OVER = 4
SHOWN_TRADE_OFFS = 4
#: Ratios nearer to one than this are called the same.
_SAME = 0.01
_PLAN_ID = re.compile(r"^(?P<gpu>.+)x(?P<count>\d+)(?:-[tpd]p\d+)*$")
#: Where the rule speaks of the answer and not of the plan that was passed over.
_OF_THE_ANSWER = {
    "guide_cards": "A guide recommends the answer's card for such work, and not this one",
    "guide_counts": "A guide recommends the answer's number of GPUs for such work, and not this one",
}
#: The same, where the answer stands in for the plan that guides and evidence put first.
_OF_ITS_FIRST = {
    "guide_cards": "A guide recommends another card for such work; the answer takes its place, and not this plan",
    "guide_counts": (
        "A guide recommends another number of GPUs for such work; the answer takes its place, and not this plan"
    ),
}
#: Where it is the answer's card in another number or split.
_SAME_CARD = "In this number or split, the same card beats the guide's plan by less"
#: Where both have as many GPUs: a guide asks for the smallest number of a card that fits, which differs by card.
_SAME_COUNT = "What a guide says of the count here fits the answer, and not this one"
_KEPT_BACK = {
    "unverified": "a stated limit is not verified",
    "fallback": "chosen only where nothing else does the work",
    "guide_cards": "no guide recommends its card for such work",
    "guide_counts": "no guide recommends its number of GPUs for such work",
    "larger": "larger than the stated work needs",
    "sooner": "the answer is as soon as is asked",
    "late": "its answers come later than people tolerate",
    "room": "it only just meets a stated target",
}
#: The same, where guides name neither that card or number nor the answer's, which stands in for what they do name.
_KEPT_BACK_BEHIND_A_STAND_IN = {
    "guide_cards": "a guide recommends another card, whose place the answer takes",
    "guide_counts": "a guide recommends another number of GPUs, whose place the answer takes",
}


def chosen_over_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """The plans that would have been cheaper or faster, the reason against each, and what preferences cost."""
    plan = decision["recommendation"]
    entries = plan.get("chosen_over") or []
    preference = _preference(decision, names)
    if not entries and not preference:
        return []
    shown = entries if everything else entries[:SHOWN_CHOSEN_OVER]
    items = _chosen_over(shown, names, decision, by_the_hour=is_service(decision))
    if len(shown) < len(entries):
        items.append(Item(f"and {count_of(len(entries) - len(shown), 'more plan')}; --all shows them"))
    blocks: list[Block] = [Heading("Chosen over"), Paragraph(_measured(decision), "faint")]
    if preference:
        blocks.append(preference)
    return [*blocks, Bullets(tuple(items))] if items else blocks


def passed_over(decision: JsonObject, names: Names) -> list[Item]:
    """The plans that the answer has to be defended against, each with the reason against it.

    What costs less and is faster first, then the cheapest and the fastest.
    """
    plan = decision["recommendation"]
    entries = plan.get("chosen_over") or []
    cheapest = sorted((e for e in entries if (e["cost_ratio"] or 1.0) < 1 - _SAME), key=lambda e: e["cost_ratio"])
    fastest = sorted((e for e in entries if (e["speed_ratio"] or 1.0) > 1 + _SAME), key=lambda e: -e["speed_ratio"])
    both = sorted((e for e in cheapest if e in fastest), key=lambda e: e["cost_ratio"] / e["speed_ratio"])
    kept = [*both[:1], *cheapest[:1], *fastest[:1]]
    order = [entry for entry in entries if any(entry is each for each in kept)]
    return [Item(item.text) for item in _chosen_over(order, names, decision)]


def _chosen_over(
    entries: list[JsonObject], names: Names, decision: JsonObject, *, by_the_hour: bool | None = None
) -> list[Item]:
    """One line a plan; a reason is said in full where it is met first, the price unless ``by_the_hour`` is None."""
    plan, items, said = decision["recommendation"], [], set()
    for entry in entries:
        line = f"{short_name(entry, names)} ({_beside(entry)})"
        cost = "" if by_the_hour is None else _price(entry, by_the_hour=by_the_hour)
        same_count = entry["reason"] == "guide_counts" and entry["count"] == plan["count"]
        reason = (entry["rule"], entry["reason"], same_count)
        if entry["rule"] and reason in said:
            items.append(Item(f"{line}: likewise.{cost}"))
            continue
        said.add(reason)
        items.append(
            Item(f"{line}: {_ground(entry, decision, names, same_count=same_count)}.{cost}", _below(entry, names))
        )
    return items


def _price(entry: JsonObject, *, by_the_hour: bool) -> str:
    """What the answer costs more than the plan: in an hour, or for the same work, where faster plans need fewer."""
    price, ratio = entry["price_usd_per_hour"], entry["cost_ratio"]
    if by_the_hour:
        return f" That costs {usd(price)} an hour." if price is not None and price > 0 else ""
    return f" That makes the work {percent(100 * (1 / ratio - 1))} costlier." if ratio and ratio < 1 - _SAME else ""


def _ground(entry: JsonObject, decision: JsonObject, names: Names, *, same_count: bool) -> str:
    """The reason against a plan, with the facts that it rests on."""
    plan = decision["recommendation"]
    because = entry["because"].strip().rstrip(".")
    of_the_answer = _OF_ITS_FIRST if plan.get("stands_in_for") else _OF_THE_ANSWER
    ground = _SAME_COUNT if same_count else of_the_answer.get(entry["reason"], because)
    if entry["reason"] == "guide_cards" and plan.get("stands_in_for") and entry["gpu"] == plan["gpu"]:
        ground = _SAME_CARD
    unnamed = [name for name in entry.get("waits_for") or () if name not in because]
    if entry["facts"] and (entry["rule"] or entry["reason"] in {"larger", "room", "late", "sooner"}):
        return "; ".join([ground, *_rests_on(entry["facts"], decision["facts"], names)])
    if unnamed and len(unnamed) == len(entry.get("waits_for") or ()):
        return f"{ground}; not stated: {joined([names.fact(fact) for fact in unnamed])}"
    return ground


def _rests_on(facts: list[str], known: JsonObject, names: Names) -> list[str]:
    """``stated: task``, ``assumed: time to first token that people tolerate``; what follows from these is left out."""
    origins = {fact: known.get(fact, {}).get("origin", "given") for fact in facts}
    found = []
    for word, where in (("stated", "given"), ("assumed", "assumed")):
        if these := [names.fact(fact) for fact in facts if origins[fact] == where]:
            found.append(f"{word}: {joined(these)}")
    return found


def _below(entry: JsonObject, names: Names) -> tuple[str, ...]:
    where = origin(entry["rule"], tuple(entry["sources"]), names)
    more = entry["because"] if entry["reason"] in _OF_THE_ANSWER else ""
    return tuple(words for words in (more, where) if words)


def _preference(decision: JsonObject, names: Names) -> Paragraph | None:
    """What preferences cost, and the plan that would be the answer without them."""
    cost = decision["recommendation"].get("preference_cost")
    if not cost:
        return None
    objective = shipped_objectives()[decision["objective"]]
    price, share = cost["price_usd_per_hour"], percent(100 * (cost["share"] or 0))
    by_the_hour = price is not None and price > 0 and is_service(decision)
    if not objective.cost_exponent:
        says = f"costs {share} of the time" + (f" and saves {usd(-price)} an hour" if price and price < 0 else "")
    elif not objective.time_exponent:
        says = f"costs {usd(price)} an hour ({share})" if by_the_hour else f"makes the work {share} costlier"
    else:
        says = f"makes cost x time {share} higher" + (f" and costs {usd(price)} an hour" if by_the_hour else "")
    sides = [("for it: ", cost.get("rules_for")), ("against the other: ", cost.get("rules_against"))]
    rules = "; ".join(side + joined(ids) for side, ids in sides if ids)
    what = f"What the rules prefer ({rules})" if rules else "What the evidence prefers"
    return Paragraph(f"{what} {says}; without it: {short_name(cost, names)} ({_beside(cost)}).")


def _beside(entry: JsonObject) -> str:
    """``$0.38, 14 % cheaper, 3 x as fast``: a plan beside the answer."""
    parts = [usd(entry["usd_per_hour"]) + " an hour"] if entry["usd_per_hour"] is not None else []
    parts += [
        words
        for words in (
            ratio_words(entry["cost_ratio"], of_cost=True),
            ratio_words(entry["speed_ratio"], of_cost=False),
        )
        if words
    ]
    return ", ".join(parts) or "no figures"


#: The heading of trade-offs where no plan qualifies.
CHANGES_WITHOUT_ANSWER = "What would make one possible"


def trade_off_blocks(decision: JsonObject, *, everything: bool) -> list[Block]:
    """What would be cheaper or faster, or possible at all, if one thing were allowed; each was decided again."""
    found = decision.get("trade_offs") or []
    shown = found if everything else main_trade_offs(found, SHOWN_TRADE_OFFS)
    if not shown:
        return []
    items = [Item(entry["says"], how_to_ask(entry)) for entry in shown]
    if len(shown) < len(found):
        items.append(Item(f"and {len(found) - len(shown)} more; --all shows them"))
    lead = "Each was decided anew, with this one thing changed."
    if not decision["recommendation"]:
        return [Heading(CHANGES_WITHOUT_ANSWER), Paragraph(lead, "faint"), Bullets(tuple(items))]
    return [Heading("What would change it"), Paragraph(f"{lead} {_measured(decision)}", "faint"), Bullets(tuple(items))]


def _measured(decision: JsonObject) -> str:
    """What cost and speed mean where plans are compared."""
    if is_service(decision):
        return "Cost is that of a month at these hours, speed the time of one answer at this load."
    return "Cost and time are those of the same work."


def is_service(decision: JsonObject) -> bool:
    """Whether plans are compared by the month and the time of an answer, and not by the piece of work."""
    facts = decision["facts"]
    task, mode = (facts.get(name, {}).get("value") for name in ("task", "serving_mode"))
    profile = task_profiles().get(task)
    return profile is not None and profile.serves and mode != "batch"


def main_trade_offs(found: list[JsonObject], most: int) -> list[JsonObject]:
    """So many of them: the largest gain of each kind first, what is owned before all; in the order of the list."""
    ranks: dict[str, int] = {}
    order = []
    for position, entry in enumerate(found):
        rank = ranks[entry["kind"]] = ranks.get(entry["kind"], -1) + 1
        order.append((0 if entry["kind"] == "owned" else 1, rank, position))
    kept = sorted(position for _, _, position in sorted(order)[:most])
    return [found[position] for position in kept]


def how_to_ask(entry: JsonObject) -> tuple[str, ...]:
    """What to state for a change: ``--set cpu_offload=yes``."""
    change = entry["change"] or {}
    stated = [f"--set {name}={_spelt(value)}" for name, value in sorted(change.items())]
    return (" ".join(stated),) if stated else ()


def _spelt(value: object) -> str:
    if value is None:
        return "unknown"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def standing_words(plan: JsonObject, names: Names, answer: JsonObject | None = None) -> str:
    """Why an alternative is not the answer: what beats it, or for what it stands below."""
    by = plan.get("dominated_by")
    if by:
        beats = plan_name(by, names)
        if beats == short_name(plan, names):  # The same cards in another split, or on other machines.
            beats += " split or placed otherwise"
        return f"{beats} is better value" if plan.get("below_for") == "outweighed" else f"beaten by {beats}"
    below = plan.get("below_for") or ""
    kept = _KEPT_BACK.get(below)
    if answer is not None and answer.get("stands_in_for"):
        kept = _KEPT_BACK_BEHIND_A_STAND_IN.get(below, kept)
    return f"kept back: {kept}" if kept else ""


def plan_name(plan_id: str, names: Names) -> str:
    """``2 x L4`` from the id of a plan."""
    match = _PLAN_ID.match(plan_id)
    return f"{match['count']} x {names.gpu(match['gpu'])}" if match else plan_id
