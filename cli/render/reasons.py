"""Why this plan: the points that counted, and what was ruled out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import count_of, joined, number
from whichgpu.cli.render.names import Names
from whichgpu.engine.advisor import better_words


JsonObject = Mapping[str, Any]

SHOWN_REASONS = 5
SHOWN_RULED_OUT = 4


def sources_by_rule(decision: JsonObject) -> dict[str, tuple[str, ...]]:
    """The sources of every rule that the decision cites anywhere."""
    found: dict[str, tuple[str, ...]] = {}
    for key in ("trace", "advice", "warnings", "monitoring"):
        for entry in decision.get(key) or ():
            if entry.get("rule"):
                found.setdefault(entry["rule"], tuple(entry.get("sources") or ()))
    return found


def origin(rule: str | None, sources: tuple[str, ...], names: Names) -> str:
    """``rule x; source: y``: where a statement comes from."""
    parts = [f"rule {rule}"] if rule else []
    if sources:
        parts.append(f"{'source' if len(sources) == 1 else 'sources'}: {'; '.join(names.source(s) for s in sources)}")
    return "; ".join(parts)


def reason_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """The strongest points for and against the recommendation; all of them as a sum when ``everything``."""
    points = [entry for entry in decision["recommendation"]["points"] if entry["points"] or entry["because"]]
    if not points:
        return []
    known = sources_by_rule(decision)
    counted = [entry for entry in points if entry.get("counted", True)]
    strongest = sorted(counted, key=lambda entry: (-abs(entry["points"]), entry["rule"] or "", entry["reason"]))
    shown = strongest if everything else strongest[:SHOWN_REASONS]
    items = [Item(_reason(entry), _below(entry, known, names)) for entry in shown]
    blocks: list[Block] = [
        Heading("Why this plan"),
        *stand_in_blocks(decision, names),
        Bullets(tuple(items)),
        *claim_blocks(decision),
    ]
    if everything:
        blocks.append(_waterfall(points, decision["recommendation"]["score"]))
    return blocks


def stand_in_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """The plan that rules and evidence put first, where the answer stands in for it."""
    first = decision["recommendation"].get("stands_in_for")
    if not first:
        return []
    name = f"{first['count']} x {names.gpu(first['gpu'])}"
    rules = f" (rules {joined(first['rules'])})" if first["rules"] else ""
    in_time = " and as soon as is asked" if first.get("as_soon_as_asked") else ""
    beside = f"This plan stands in for it, {better_words(first)}{in_time}."
    says = f"The guides and the evidence put {name} first{rules}. {beside}"
    return [Paragraph(says)]


def claim_blocks(decision: JsonObject) -> list[Block]:
    """What guides claim of the answer's card, beside what is computed of it."""
    found = decision["recommendation"].get("claims") or []
    # That a card is costlier than others says nothing that the table does not.
    claims = [entry for entry in found if entry["over"] or entry["claimed_ratio"] is not None]
    if not claims:
        return []
    items = [Item(f"{entry['text'][:1].upper()}{entry['text'][1:]}.", (f"rule {entry['rule']}",)) for entry in claims]
    lead = "What guides say of its speed and cost gives no points where it can be computed:"
    return [Paragraph(lead), Bullets(tuple(items))]


def _reason(entry: JsonObject) -> str:
    if entry["rule"] is None and not round(entry["points"], 2):
        return f"For ({entry['reason']}): {entry['because']}"
    side = "For" if entry["points"] > 0 else "Against" if entry["points"] < 0 else "Neutral"
    words = entry["because"] or entry["reason"]
    return f"{side} ({entry['reason']}, {signed(entry['points'])}): {words}"


def _below(entry: JsonObject, known: dict[str, tuple[str, ...]], names: Names) -> tuple[str, ...]:
    sources = tuple(entry.get("sources") or known.get(entry["rule"] or "", ()))
    words = origin(entry["rule"], sources, names)
    return (words,) if words else ()


def signed(points: float) -> str:
    """Points with their sign, two decimals at most."""
    rounded = round(points, 2)
    return f"+{number(rounded)}" if rounded > 0 else number(rounded) if rounded else "0"


def _waterfall(points: list[JsonObject], score: float | None) -> Table:
    rows = []
    running = 0.0
    for entry in points:
        counts = entry.get("counted", True)
        running += entry["points"] if counts else 0.0
        checked = "checked: the computed figure counts instead"
        uncounted = checked if entry.get("checked") else "a stronger rule of this reason counts"
        note = signed(running) if counts else uncounted
        rows.append((entry["rule"] or "computed", entry["reason"], signed(entry["points"]), note))
    if score is not None:
        rows.append(("score", "", "", signed(score)))
    return Table(("Rule", "Reason", "Points", "Sum"), tuple(rows), frozenset({2, 3}))


def ruled_out_blocks(decision: JsonObject, names: Names, *, everything: bool) -> list[Block]:
    """Which GPUs the hard limits ruled out, by rule."""
    rejected = [entry for entry in decision.get("rejected") or [] if entry["rule"]]
    if not rejected:
        return []
    by_rule: dict[str, list[JsonObject]] = defaultdict(list)
    for entry in rejected:
        by_rule[entry["rule"]].append(entry)
    order = sorted(by_rule, key=lambda rule: (-len(by_rule[rule]), rule))
    gpus = len({entry["gpu"] for entry in rejected})
    lead = f"Hard limits ruled out some or all counts of {count_of(gpus, 'GPU type')}."
    shown = order if everything else order[:SHOWN_RULED_OUT]
    items = [_ruled_out(rule, by_rule[rule], names, everything=everything) for rule in shown]
    if len(shown) < len(order):
        items.append(Item(f"and {count_of(len(order) - len(shown), 'more rule')}; --all shows them"))
    return [Heading("What was ruled out"), Paragraph(lead), Bullets(tuple(items))]


def _ruled_out(rule: str, entries: list[JsonObject], names: Names, *, everything: bool) -> Item:
    if everything:
        below = tuple(
            f"{names.gpu(e['gpu'])} x {joined([str(c) for c in e['counts']], 'or')}: {e['reason']}" for e in entries
        )
        return Item(f"rule {rule}: {count_of(len(entries), 'GPU type')}", below)
    first, *others = entries
    listed = [names.gpu(entry["gpu"]) for entry in others[:3]]
    if len(others) > 3:
        listed.append(f"{len(others) - 3} more")
    likewise = f" Likewise {joined(listed)}." if listed else ""
    return Item(f"{names.gpu(first['gpu'])}: {first['reason'].rstrip('.')}.{likewise}", (f"rule {rule}",))
