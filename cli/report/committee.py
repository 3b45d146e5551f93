"""What a committee reads and signs: a few pages, from the requirement to the sign-off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whichgpu.cli.render.alternatives import in_order_of_use
from whichgpu.cli.render.blocks import Block, Bullets, Item, Table
from whichgpu.cli.render.choice import trade_off_blocks
from whichgpu.cli.render.figures import gb, joined, percent, usd
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.notes import warning_blocks
from whichgpu.cli.render.plan import short_name
from whichgpu.cli.render.sensitivity import turn_item
from whichgpu.cli.render.speed import headline_speed
from whichgpu.cli.report.html import slug, to_html
from whichgpu.cli.report.markup import Markup, join, tag
from whichgpu.engine.explain import Check, Explainer, Sensitivity
from whichgpu.engine.records import Saved


JsonObject = Mapping[str, Any]

#: Alternatives, flips, trade-offs and assumptions that a committee is shown; the appendix has all.
_ALTERNATIVES = 3
_FLIPS = 6
_LABELS = 8
_CHANGES = 4
_ASSUMED = 6
_CHECKED = {True: "yes", False: "NO", None: "not vouched for"}


def committee_pages(
    saved: Saved,
    names: Names,
    explainer: Explainer,
    checks: tuple[Check, ...],
    flips: Sensitivity | None,
    owned: Mapping[str, int],
) -> Markup:
    """The sections, each under its heading.

    Args:
        saved: the decision as it was read.
        names: of GPUs and sources.
        explainer: says why plans stand where they stand.
        checks: what was checked of the record while the page was made.
        flips: what came of varying what is not stated; None where today's rules do not decide as the record does.
        owned: how many of each GPU the person has.
    """
    decision = saved.decision
    sections = (
        ("What was asked", _asked(saved, explainer)),
        ("The best alternatives", _alternatives(saved, names, explainer)),
        ("What would change the answer", _changes(decision, flips, names, explainer, owned)),
        ("Risks and bands", _risks(decision, flips, names, explainer)),
        ("Which sources it rests on", _sources(decision, names)),
        ("Signature and audit", _evidence(saved, checks)),
        ("Sign-off", _sign_off()),
    )
    return join(
        *(
            tag("section", tag("h2", name, id=slug(name)), content, aria_labelledby=slug(name))
            for name, content in sections
            if content
        )
    )


def _asked(saved: Saved, explainer: Explainer) -> Markup:
    phrases, decision = explainer.phrases, saved.decision
    given = {name: fact["value"] for name, fact in decision["facts"].items() if fact["origin"] == "given"}
    pairs = [(phrases.label(name), phrases.value(name, value)) for name, value in given.items()]
    if "objective" not in given:
        stated = decision.get("objective_stated", True)
        pairs.append(("objective", decision["objective"] if stated else "none stated; the guides decide"))
    noted = saved.statement["meta"] if saved.statement else {}
    pairs += [(key.replace("_", " "), value) for key, value in noted.items()]
    pairs.append(("decided", decision["decided_at"][:10]))
    return _pairs(pairs)


def _pairs(pairs: list[tuple[str, str]]) -> Markup:
    return tag("dl", *(join(tag("dt", label), tag("dd", value)) for label, value in pairs))


def _alternatives(saved: Saved, names: Names, explainer: Explainer) -> Markup:
    decision = saved.decision
    best = decision["recommendation"]
    if best is None:
        return Markup("")
    decided = {line["id"]: line["because"] for line in saved.plans}
    rows = [_plan_row(best, names, "the answer")]
    for plan in in_order_of_use(decision)[:_ALTERNATIVES]:
        name = plan.get("id") or f"{plan['gpu']}x{plan['count']}"
        rows.append(_plan_row(plan, names, decided.get(name) or explainer.standing(plan)))
    head = ("Plan", "An hour", "A month", "Speed", "Memory free", "What decided")
    return to_html([Table(head, tuple(rows), frozenset({1, 2}))])


def _plan_row(plan: JsonObject, names: Names, why: str) -> tuple[str, ...]:
    cost, memory = plan["cost"], plan["memory"] or {}
    return (
        short_name(plan, names),
        usd(cost["usd_per_hour"]),
        usd(cost.get("usd_per_month")),
        headline_speed(plan["speed"]),
        percent(memory.get("headroom_pct")),
        why,
    )


def _changes(
    decision: JsonObject, flips: Sensitivity | None, names: Names, explainer: Explainer, owned: Mapping[str, int]
) -> Markup:
    parts = [to_html(_trade_offs(decision))]
    if flips is None:
        parts.append(tag("p", "What is not stated was not varied: today's rules and prices do not give this answer."))
        return join(*parts)
    first = {turn.change.fact: turn for turn in reversed(flips.turns)}
    turns = sorted(first.values(), key=lambda turn: (turn.change.distance, turn.change.fact))
    if turns:
        items = tuple(turn_item(turn, names, explainer.phrases, owned) for turn in turns[:_FLIPS])
        parts += [tag("p", "Not stated, and able to change it, each decided anew:"), to_html([Bullets(items)])]
    if turns[_FLIPS:]:
        parts.append(tag("p", f"Others that can: {_labels([turn.change.fact for turn in turns[_FLIPS:]], explainer)}."))
    if flips.steady:
        steady = _labels([entry.fact for entry in flips.steady], explainer)
        limits = "" if flips.complete else " Not all could be tried."
        parts.append(tag("p", f"No flip was found at the values tried for {steady}.{limits}", class_="faint"))
    return join(*parts)


def _labels(facts: list[str], explainer: Explainer) -> str:
    labels = [explainer.phrases.label(fact) for fact in facts]
    more = [f"{len(labels) - _LABELS} more"] if len(labels) > _LABELS else []
    return joined([*labels[:_LABELS], *more])


def _trade_offs(decision: JsonObject) -> list[Block]:
    """The ones that say most, without the line that says how many more there are."""
    blocks = trade_off_blocks(decision, everything=False)[1:]
    return [Bullets(block.items[:_CHANGES]) if isinstance(block, Bullets) else block for block in blocks]


def _risks(decision: JsonObject, flips: Sensitivity | None, names: Names, explainer: Explainer) -> Markup:
    plan = decision["recommendation"]
    parts = [to_html(warning_blocks(decision, names, everything=False)[1:])] if decision["warnings"] else []
    rows = tuple(_bands(plan, explainer)) if plan else ()
    if rows:
        parts.append(to_html([Table(("Figure", "Low", "Estimate", "High"), rows, frozenset({1, 2, 3}))]))
    turning = {turn.change.fact for turn in flips.turns} if flips else set()
    # First those of which another value was found to flip the answer.
    taken = sorted(decision["assumptions"], key=lambda entry: entry["fact"] not in turning)[:_ASSUMED]
    if taken:
        phrases = explainer.phrases
        items = tuple(
            Item(f"{phrases.says(entry['fact'], entry['value'])}. {entry.get('because') or ''}") for entry in taken
        )
        parts += [tag("p", "Assumed, because it is not stated:"), to_html([Bullets(items)])]
    return join(*parts)


def _bands(plan: JsonObject, explainer: Explainer) -> Iterator[tuple[str, ...]]:
    memory, phrases = plan["memory"], explainer.phrases
    ends = (memory["low_gb"], memory["high_gb"]) if memory else (None, None)
    if memory and memory["needed_gb"] and memory["per_gpu_gb"] is not None and None not in ends:
        share = memory["per_gpu_gb"] / memory["needed_gb"]  # The band is that of all GPUs together.
        values = (ends[0] * share, memory["per_gpu_gb"], ends[1] * share)
        yield "memory per GPU", *(gb(_short(value)) for value in values)
    speed = plan["speed"]
    for name in _BANDED:
        values = (speed.get(f"{name}_low"), speed.get(name), speed.get(f"{name}_high"))
        if None not in values:
            fact = f"plan.{name}"
            yield phrases.label(fact), *(phrases.value(fact, _short(value)) for value in values)


#: Figures of speed whose bands a committee is shown.
_BANDED = ("tokens_per_s", "samples_per_s", "ttft_ms", "tpot_ms", "latency_ms", "hours")


def _short(value: float) -> float:
    """Three digits are enough for a band."""
    return float(f"{value:.3g}")


def _sources(decision: JsonObject, names: Names) -> Markup:
    """The sources behind the answer itself: what the rules cite that spoke for it, and that set renting or buying."""
    plan = decision["recommendation"]
    scope = (plan.get("id") or f"{plan['gpu']}x{plan['count']}") if plan else "workload"
    cited = {
        source.partition("/")[0]
        for entry in decision["trace"]
        if entry["scope"] in (scope, "workload") and entry.get("rule")
        for source in entry["sources"]
    }
    known = sorted({names.source(source) for source in cited if source in names.citations}, key=str.casefold)
    lead = "Rules that spoke for or against the answer cite: "
    return tag("p", lead, f"{joined(known)}. The appendix cites everything in full.") if known else Markup("")


def _evidence(saved: Saved, checks: tuple[Check, ...]) -> Markup:
    pairs = [("Record", saved.mark), ("SHA-256", saved.sha256 or "none: this was never saved as a record")]
    questions = {"authentic": "Authentic", "complete": "Complete"}
    pairs += [(questions[check.name], f"{_CHECKED[check.holds]}: {check.says}") for check in checks]
    note = "Whether it was true on its day, and would be decided the same today: whichgpu audit RECORD."
    return join(_pairs(pairs), tag("p", note, class_="faint"))


def _sign_off() -> Markup:
    head = tag("tr", *(tag("th", title, scope="col") for title in ("", "Name", "Date", "Signature")))
    rows = (
        tag("tr", tag("th", who, scope="row"), *(tag("td", "\u00a0") for _ in range(3)))
        for who in ("Proposed by", "Reviewed by", "Approved by")
    )
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="signoff")
