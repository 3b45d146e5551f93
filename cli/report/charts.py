"""Charts as inline SVG, narrow enough for a phone: every row carries its words and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from whichgpu.cli.render.figures import gb, percent, usd
from whichgpu.cli.render.reasons import signed
from whichgpu.cli.report.markup import Markup, join, tag


WIDTH = 460.0
_LEFT, _RIGHT = 2.0, 458.0
_ROW = 40.0
_BAR = 16.0
#: Letters of 12 units, over a bar: so many have room beside each other.
_MOST_LETTERS = 58
#: Parts of the memory that have a colour of their own; all further ones share the last.
COLOURS = 6


class MemoryBar(Struct, frozen=True):
    """One plan: what a GPU of it holds, by part, against what can be used there. Decimal GB."""

    label: str
    parts: tuple[tuple[str, float], ...]
    needed_gb: float
    low_gb: float
    high_gb: float
    usable_gb: float | None


class Award(Struct, frozen=True):
    """Points of one reason."""

    label: str
    points: float


class Course(Struct, frozen=True):
    """What renting and owning have cost after some months, in US dollars."""

    points: tuple[tuple[float, float, float], ...]  # months, renting until then, owning until then
    horizon_months: float
    rent_usd: float  # at the horizon
    own_usd: float
    crossing_months: float | None  # 0 where owning costs less from the start


def words_above(left: str, right: str, top: float) -> list[Markup]:
    """The words above a bar: whose it is, cut where it would run into the figures, which are never cut."""
    room = _MOST_LETTERS - len(right)
    shown = left if len(left) <= room else f"{left[: max(room - 1, 1)]}\N{HORIZONTAL ELLIPSIS}"
    return [
        tag("text", shown, x=_LEFT, y=top + 11, class_="label"),
        tag("text", right, x=_RIGHT, y=top + 11, class_="label end"),
    ]


def memory_chart(bars: Sequence[MemoryBar], colours: dict[str, int]) -> Markup:
    """Bars against each GPU's capacity, all on one scale; the whisker is the band of the estimate."""
    scale = (_RIGHT - _LEFT) / max([bar.usable_gb or 0 for bar in bars] + [bar.high_gb for bar in bars] + [1e-9])
    rows = []
    for number, bar in enumerate(bars):
        top = number * _ROW + 4
        y, x = top + 17, _LEFT
        share = f", {percent(100 * bar.needed_gb / bar.usable_gb)}" if bar.usable_gb else ""
        says = f"{gb(bar.needed_gb)} of {gb(bar.usable_gb)}{share}"
        rows += words_above(bar.label, says, top)
        if bar.usable_gb:
            rows.append(tag("rect", x=_LEFT, y=y, width=bar.usable_gb * scale, height=_BAR, class_="capacity"))
        for name, value in bar.parts:
            rows.append(tag("rect", x=x, y=y, width=max(value * scale, 0), height=_BAR, class_=f"part{colours[name]}"))
            x += value * scale
        middle = y + _BAR / 2
        rows.append(
            tag(
                "line",
                x1=_LEFT + bar.low_gb * scale,
                x2=_LEFT + bar.high_gb * scale,
                y1=middle,
                y2=middle,
                class_="band",
            )
        )
    spoken = "; ".join(f"{b.label}: {gb(b.needed_gb)} needed of {gb(b.usable_gb)} usable on each GPU" for b in bars)
    return svg("memory", "Memory against capacity, per GPU", spoken, len(bars) * _ROW + 6, rows)


def waterfall(awards: Sequence[Award], total: float) -> Markup:
    """How the score adds up: each bar starts where the one before ended."""
    running, ends = 0.0, [0.0]
    for award in awards:
        running += award.points
        ends.append(running)
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    scale = (_RIGHT - _LEFT) / ((high - low) or 1.0)
    rows: list[Markup] = []
    start = 0.0
    for number, award in enumerate([*awards, Award("score", total)]):
        last = number == len(awards)
        begin, end = (0.0, total) if last else (start, start + award.points)
        top = number * _ROW + 4
        kind = "total" if last else "gain" if award.points >= 0 else "loss"
        rows += [
            *words_above(award.label, signed(award.points), top),
            tag(
                "rect",
                x=_LEFT + (min(begin, end) - low) * scale,
                y=top + 17,
                width=max(abs(end - begin) * scale, 1),
                height=_BAR,
                class_=kind,
            ),
        ]
        start = end
    zero = _LEFT - low * scale
    height = (len(awards) + 1) * _ROW + 6
    # Beside the bars alone: a line through the words could not be read past.
    ticks = range(len(awards) + 1)
    rows[:0] = [
        tag("line", x1=zero, x2=zero, y1=place * _ROW + 19, y2=place * _ROW + 39, class_="axis") for place in ticks
    ]
    spoken = "; ".join(f"{award.label} {signed(award.points)}" for award in awards) + f"; in all {signed(total)}"
    return svg("waterfall", "How the score adds up, in points", spoken, height, rows)


def cost_chart(course: Course) -> Markup:
    """Rent and own over time, with the sums at the horizon and where they meet."""
    months = course.points[-1][0] or 1.0
    highest = max(max(rent, own) for _, rent, own in course.points) or 1.0
    left, right, top, bottom = 4.0, 452.0, 34.0, 236.0

    def place(month: float, cost: float) -> tuple[float, float]:
        return left + (right - left) * month / months, bottom - (bottom - top) * cost / highest

    def path(costs: Iterable[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (place(month, cost) for month, cost in costs))

    rows = [
        tag("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"),
        tag("line", x1=left, x2=left, y1=top, y2=bottom, class_="axis"),
        tag("path", d=path((month, rent) for month, rent, _ in course.points), class_="rent"),
        tag("path", d=path((month, own) for month, _, own in course.points), class_="own"),
        tag("text", f"renting, solid: {usd(course.rent_usd)}", x=left, y=12, class_="label rent-text"),
        tag("text", f"owning, dashed: {usd(course.own_usd)}", x=left, y=28, class_="label own-text"),
        tag("text", f"{usd(highest)} at the top", x=right, y=12, class_="label end"),
        tag("text", "now", x=left, y=bottom + 15, class_="label"),
        tag("text", f"{months:.0f} months", x=right, y=bottom + 15, class_="label end"),
    ]
    rows += _mark(place(course.horizon_months, 0)[0], "horizon", top, bottom, "horizon", right)
    crossing = course.crossing_months
    says = "they do not meet: renting costs less however long it goes on"
    if crossing is not None and crossing <= 0:
        says = "owning costs less from the start"
    elif crossing is not None:
        says = f"they meet after {crossing:.1f} months"
        if crossing <= months:
            x, y = place(crossing, _rent_at(course.points, crossing))
            rows.append(tag("circle", cx=x, cy=y, r=5, class_="crossing"))
            rows += _mark(x, f"the same, {crossing:.1f} months", top, bottom, "even", right)
    spoken = (
        f"after the horizon of {course.horizon_months:.0f} months renting has cost {usd(course.rent_usd)} and owning "
        f"{usd(course.own_usd)}; {says}"
    )
    return svg("costs", "Cost over time", spoken, bottom + 38, rows)


def _rent_at(points: Sequence[tuple[float, float, float]], months: float) -> float:
    """What renting has cost by a month, on the line that is drawn."""
    for (before, low, _), (after, high, _) in pairwise(points):
        if before <= months <= after:
            return low + (high - low) * (months - before) / ((after - before) or 1.0)
    return points[-1][1]


def _mark(x: float, label: str, top: float, bottom: float, kind: str, right: float) -> list[Markup]:
    """A vertical mark with its words under the axis, the break-even's a line lower."""
    y = bottom + (32 if kind == "even" else 15)
    side = "middle" if 60 < x < right - 60 else "end" if x >= right - 60 else ""
    words = (
        tag("text", label, x=x, y=y, class_=f"label {side}") if 40 < x < right - 90 or kind == "even" else Markup("")
    )
    return [tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=kind), words]


def svg(name: str, title: str, spoken: str, height: float, rows: Iterable[Markup]) -> Markup:
    """A chart of ``WIDTH`` with its title, and the words for whoever does not see it."""
    head = join(tag("title", title, id=f"{name}-title"), tag("desc", spoken, id=f"{name}-words"))
    return tag(
        "svg",
        head,
        *rows,
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
        role="img",
        aria_labelledby=f"{name}-title {name}-words",
        class_="chart",
    )
