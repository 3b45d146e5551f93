"""The result over many jobs as a page: the text of the terminal, with cost then and now as bars."""

from __future__ import annotations

from whichgpu.cli.render.figures import usd
from whichgpu.cli.render.fleet import (
    about_blocks,
    largest,
    memory_blocks,
    opening,
    shift_blocks,
    spend_blocks,
    unjudged_blocks,
)
from whichgpu.cli.render.names import Names
from whichgpu.cli.report.charts import WIDTH, svg, words_above
from whichgpu.cli.report.document import document
from whichgpu.cli.report.html import to_html
from whichgpu.cli.report.markup import Markup, tag
from whichgpu.engine.fleet import FleetFigures, Sums


_ROW, _BAR = 52.0, 12.0


def fleet_page(found: FleetFigures, names: Names) -> str:
    """The page as text, UTF-8, with nothing to load from elsewhere."""
    title = "What the jobs should have run on"
    sections = [tag("section", _spend(found, name, names)) for name in found.by]
    rest = (shift_blocks(found, names), memory_blocks(found), unjudged_blocks(found), about_blocks(found))
    return document(
        title,
        tag("header", tag("h1", title), to_html(opening(found)), class_="page"),
        tag("main", *sections, *(tag("section", to_html(blocks)) for blocks in rest), id="main"),
    )


def _spend(found: FleetFigures, name: str, names: Names) -> Markup:
    blocks = spend_blocks(found, name, names)
    if not blocks:
        return Markup("")
    groups = [(names.gpus.get(word, word), sums) for word, sums in largest(found.by[name]) if sums.compared]
    caption = tag("figcaption", "Framed: what it cost then. Filled: what the recommended plans cost. In US dollars.")
    chart = tag("figure", money_chart(groups, name), caption) if groups else Markup("")
    return Markup(to_html(blocks[:1]) + chart + to_html(blocks[1:]))


def money_chart(groups: list[tuple[str, Sums]], name: str) -> Markup:
    """For each group what it cost (pale) and what the recommended plans cost (full), on one scale."""
    scale = (WIDTH - 4) / max([1e-9, *(max(sums.then, sums.now) for _, sums in groups)])
    rows: list[Markup] = []
    for number, (word, sums) in enumerate(groups):
        top = number * _ROW + 4
        says = f"{usd(sums.then)} then, {usd(sums.now)} recommended"
        rows += [
            *words_above(word, says, top),
            tag("rect", x=2.0, y=top + 17, width=max(sums.then * scale, 0), height=_BAR, class_="capacity"),
            tag("rect", x=2.0, y=top + 17 + _BAR, width=max(sums.now * scale, 0), height=_BAR, class_="total"),
        ]
    spoken = "; ".join(f"{word}: {usd(sums.then)} then, {usd(sums.now)} recommended" for word, sums in groups)
    return svg(
        f"money-{name.lower()}", f"Cost then and as recommended, by {name}", spoken, len(groups) * _ROW + 6, rows
    )
