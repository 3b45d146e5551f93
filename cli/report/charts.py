"""Charts as inline SVG, narrow enough for a phone: every row carries its words and numbers as text."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from cli.render.figures import gb
from cli.render.figures import percent
from cli.render.figures import usd
from cli.render.reasons import signed
from cli.report.markup import Markup
from cli.report.markup import join
from cli.report.markup import tag


WIDTH = 460.0
_LEFT, _RIGHT = 2.0, 458.0
_ROW = 40.0
_BAR = 16.0
#: Parts of the memory that have a colour of their own; all further ones share the last.
COLOURS = 6


@dataclass(frozen=True, slots=True)
class MemoryBar:
    """One plan: what a GPU of it holds, by part, against what can be used there. Decimal GB."""

    label: str
    parts: tuple[tuple[str, float], ...]
    needed_gb: float
    low_gb: float
    high_gb: float
    usable_gb: float | None


@dataclass(frozen=True, slots=True)
class Award:
    """Points of one reason."""

    label: str
    points: float


@dataclass(frozen=True, slots=True)
class Course:
    """What renting and owning have cost after some months, in US dollars."""

    rent_usd_month: float
    purchase_usd: float
    running_usd_month: float
    horizon_months: float
    breakeven_months: float | None


def memory_chart(bars: Sequence[MemoryBar], colours: dict[str, int]) -> Markup:
    """Bars against each GPU's capacity, all on one scale; the whisker is the band of the estimate."""
    scale = (_RIGHT - _LEFT) / max([bar.usable_gb or 0 for bar in bars] + [bar.high_gb for bar in bars] + [1e-9])
    rows = []
    for number, bar in enumerate(bars):
        top = number * _ROW + 4
        y, x = top + 17, _LEFT
        share = f", {percent(100 * bar.needed_gb / bar.usable_gb)}" if bar.usable_gb else ""
        says = f"{gb(bar.needed_gb)} of {gb(bar.usable_gb)}{share}"
        rows += [
            tag("text", bar.label, x=_LEFT, y=top + 11, class_="label"),
            tag("text", says, x=_RIGHT, y=top + 11, class_="label end"),
        ]
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
    return _svg("memory", "Memory against capacity, per GPU", spoken, len(bars) * _ROW + 6, rows)


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
            tag("text", award.label, x=_LEFT + 4, y=top + 11, class_="label"),
            tag("text", signed(award.points), x=_RIGHT - 4, y=top + 11, class_="label end"),
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
    rows.insert(0, tag("line", x1=zero, x2=zero, y1=0, y2=height, class_="axis"))
    spoken = "; ".join(f"{award.label} {signed(award.points)}" for award in awards) + f"; in all {signed(total)}"
    return _svg("waterfall", "How the score adds up, in points", spoken, height, rows)


def cost_chart(course: Course) -> Markup:
    """Rent and own over time, with the horizon and the break-even."""
    months = course.horizon_months
    if course.breakeven_months is not None and course.breakeven_months <= 120:
        months = max(months, course.breakeven_months * 1.2)
    highest = max(course.rent_usd_month * months, course.purchase_usd + course.running_usd_month * months) or 1.0
    left, right, top, bottom = 4.0, 452.0, 34.0, 236.0

    def place(month: float, cost: float) -> tuple[float, float]:
        return left + (right - left) * month / months, bottom - (bottom - top) * cost / highest

    def path(start: float, slope: float) -> str:
        (x1, y1), (x2, y2) = place(0, start), place(months, start + slope * months)
        return f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"

    rows = [
        tag("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"),
        tag("line", x1=left, x2=left, y1=top, y2=bottom, class_="axis"),
        tag("path", d=path(0.0, course.rent_usd_month), class_="rent"),
        tag("path", d=path(course.purchase_usd, course.running_usd_month), class_="own"),
        tag("text", "renting: solid line", x=left, y=12, class_="label rent-text"),
        tag("text", "owning: dashed line", x=left, y=28, class_="label own-text"),
        tag("text", f"{usd(highest)} at the top", x=right, y=12, class_="label end"),
        tag("text", "now", x=left, y=bottom + 15, class_="label"),
        tag("text", f"{months:.0f} months", x=right, y=bottom + 15, class_="label end"),
    ]
    rows += _mark(place(course.horizon_months, 0)[0], "horizon", top, bottom, "horizon", right)
    crossing = course.breakeven_months
    says = "they do not meet: owning never becomes cheaper"
    if crossing is not None:
        x, y = place(crossing, course.rent_usd_month * crossing)
        says = f"they meet after {crossing:.1f} months"
        if crossing <= months:
            rows.append(tag("circle", cx=x, cy=y, r=5, class_="crossing"))
            rows += _mark(x, f"break-even, {crossing:.1f} months", top, bottom, "even", right)
    spoken = (
        f"renting costs {usd(course.rent_usd_month)} a month; owning costs {usd(course.purchase_usd)} at once and "
        f"{usd(course.running_usd_month)} a month; {says}; the horizon is {course.horizon_months:.0f} months"
    )
    return _svg("costs", "Cost over time", spoken, bottom + 38, rows)


def _mark(x: float, label: str, top: float, bottom: float, kind: str, right: float) -> list[Markup]:
    """A vertical mark with its words under the axis, the break-even's a line lower."""
    y = bottom + (32 if kind == "even" else 15)
    side = "middle" if 60 < x < right - 60 else "end" if x >= right - 60 else ""
    words = (
        tag("text", label, x=x, y=y, class_=f"label {side}") if 40 < x < right - 90 or kind == "even" else Markup("")
    )
    return [tag("line", x1=x, x2=x, y1=top, y2=bottom, class_=kind), words]


def _svg(name: str, title: str, spoken: str, height: float, rows: Iterable[Markup]) -> Markup:
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
