"""Why a GPU is not the answer, and the nearest change that helps it."""

from __future__ import annotations

import re

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Line, Outline, Paragraph, Table
from whichgpu.cli.render.derivation import outline
from whichgpu.cli.render.figures import count_of, joined
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.reasons import signed
from whichgpu.engine.explain import FactChange, Nearest, Phrases, Search, WhyNot, read_back


_PLAN_ID = re.compile(r"(?P<gpu>.+)x(?P<count>\d+)(?:-(?P<split>[a-z].*))?")


def why_not_blocks(found: WhyNot, asked: str, names: Names, phrases: Phrases) -> list[Block]:
    """Its standing, what it lost where, what rejects it, and the nearest change."""
    name = names.gpu(found.gpus[0]) if len(found.gpus) == 1 else asked
    says = f"{found.says[:1].upper()}{found.says[1:]}."
    blocks: list[Block] = [Heading(f"{name}: {found.standing}", 1), Paragraph(says, "strong")]
    if found.recommendation and found.standing != "recommended":
        stands_in = ""
        if found.compared_with not in (None, found.recommendation):
            first = plan_name(found.compared_with, names)
            stands_in = f" It stands in for {first}, which the evidence puts first."
        blocks.append(Paragraph(f"Recommended is {plan_name(found.recommendation, names)}.{stands_in}"))
    if not found.same_rulebook:
        blocks.append(Paragraph("The rulebook or the knowledge has changed since this decision; this is by today's."))
    if found.missing:
        blocks.append(Paragraph(f"Unknown, and needed for the proof: {joined(list(found.missing))}."))
    blocks += _waterfall(found, names)
    if found.rejections:
        lines: list[Line] = []
        for step in found.rejections:
            lines += outline(step, names)
        some = "Counts of it that are rejected" if found.plan else "What rejects it"
        blocks += [Heading(some), Outline(tuple(lines))]
    if found.search is not None:
        blocks += _search(found, found.search, names, phrases)
    return blocks


def plan_name(plan: str, names: Names) -> str:
    """``nvidia-l4x2`` as 2 x L4, ``nvidia-l4x4-tp2-dp2`` as 4 x L4 (tp2-dp2)."""
    found = _PLAN_ID.fullmatch(plan)
    if found is None:
        return plan
    split = f" ({found['split']})" if found["split"] else ""
    return f"{found['count']} x {names.gpu(found['gpu'])}{split}"


def _waterfall(found: WhyNot, names: Names) -> list[Block]:
    if not found.waterfall or found.plan is None or found.compared_with is None:
        return []
    best, other = plan_name(found.compared_with, names), plan_name(found.plan, names)
    rows = [
        (
            row.reason,
            signed(row.recommended),
            signed(row.other),
            signed(-row.lost),
            _rules(row.recommended_rules, row.other_rules),
        )
        for row in found.waterfall
    ]
    sums = [sum(side) for side in zip(*((r.recommended, r.other, -r.lost) for r in found.waterfall), strict=True)]
    rows.append(("sum", signed(sums[0]), signed(sums[1]), signed(sums[2]), ""))
    lead = ""
    if found.behind is not None:
        side = "behind" if found.behind >= 0 else "ahead of"
        lead = f"{other} is {abs(found.behind):.2f} points of evidence {side} {best}."
        if found.lost_at != "score":
            lead += " That did not decide: points choose only among plans of the same standing."
    table = Table(("Reason", best, other, "Difference", "Rules"), tuple(rows), frozenset({1, 2, 3}))
    return [Heading("Where the points differ"), Paragraph(lead), table]


def _rules(best: tuple[str, ...], other: tuple[str, ...]) -> str:
    if best == other:
        return ", ".join(best)
    return " / ".join(", ".join(side) or "none" for side in (best, other))


def _search(found: WhyNot, search: Search, names: Names, phrases: Phrases) -> list[Block]:
    blocks: list[Block] = [Heading("The nearest change")]
    if found.standing == "rejected" or search.fits:
        blocks += _goal("It would get past every limit", search.fits, names, phrases)
    blocks += _goal("It would be recommended", search.wins, names, phrases)
    limits = "" if search.complete else f" It ended at its limit of {search.limit} decisions or left some values out."
    tried = f"{count_of(search.decisions, 'decision')} over {count_of(len(search.facts), 'fact')}"
    note = (
        f"Searched: {tried} that the deciding rules and calculators read, at the rules' thresholds a step either way "
        "and at the ends of their ranges, one fact at a time, then two. Each change named here was decided again."
        f"{limits}"
    )
    return [*blocks, Paragraph(note, "faint")]


def _goal(lead: str, found: tuple[Nearest, ...], names: Names, phrases: Phrases) -> list[Block]:
    if not found:
        return [Paragraph(f"{lead}: none found within this search.")]
    items = tuple(
        Item(_changes(nearest.changes, phrases), (_then(nearest, names), _command(nearest))) for nearest in found
    )
    return [Paragraph(f"{lead} with:"), Bullets(items)]


def _changes(changes: tuple[FactChange, ...], phrases: Phrases) -> str:
    return joined(
        [
            f"{phrases.label(c.fact)}: {phrases.value(c.fact, c.after)} instead of {phrases.value(c.fact, c.before)}"
            for c in changes
        ]
    )


def _then(nearest: Nearest, names: Names) -> str:
    then = plan_name(nearest.recommendation, names) if nearest.recommendation else "nothing"
    return f"its plan is then {plan_name(nearest.plan, names)}; recommended is {then}"


def _command(nearest: Nearest) -> str:
    return " ".join(f'--set {change.fact}="{read_back(change.after)}"' for change in nearest.changes)
