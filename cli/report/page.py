"""The whole page: what a committee reads and signs, and folded below it what an auditor checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from whichgpu.cli.render.alternatives import alternative_blocks, candidate_blocks
from whichgpu.cli.render.blocks import Block, Heading
from whichgpu.cli.render.choice import CHANGES_WITHOUT_ANSWER, chosen_over_blocks, trade_off_blocks
from whichgpu.cli.render.cost import cost_blocks, run_price
from whichgpu.cli.render.decision import no_answer_blocks, unproven_sentence
from whichgpu.cli.render.figures import gb, percent
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.notes import (
    advice_blocks,
    assumption_blocks,
    disagreement_blocks,
    fact_blocks,
    figure_blocks,
    monitoring_blocks,
    question_blocks,
    warning_blocks,
)
from whichgpu.cli.render.plan import (
    memory_blocks,
    plan_sentence,
    price_of_an_hour,
    short_name,
    speed_blocks,
    summary_sentence,
)
from whichgpu.cli.render.procurement import procurement_blocks, procurement_sentence
from whichgpu.cli.render.reasons import reason_blocks
from whichgpu.cli.render.speed import UNKNOWN, headline_speed
from whichgpu.cli.report.committee import committee_pages
from whichgpu.cli.report.document import document
from whichgpu.cli.report.figures import cost_figure, memory_figure, points_figure
from whichgpu.cli.report.html import slug, to_html
from whichgpu.cli.report.markup import Markup, join, tag
from whichgpu.cli.report.sections import provenance, rejected_section, source_section, tree_section
from whichgpu.engine.explain import Explainer, Sensitivity, quick_checks
from whichgpu.engine.records import Saved


JsonObject = Mapping[str, Any]
Section = tuple[str, Callable[[], Markup]]


def report_page(
    saved: Saved, names: Names, explainer: Explainer, flips: Sensitivity | None, owned: Mapping[str, int]
) -> str:
    """The page as text, UTF-8, with nothing to load from elsewhere.

    Args:
        saved: the decision as it was read, and how far it can be believed.
        names: of GPUs and sources.
        explainer: gives derivations from the decision's trace.
        flips: what came of varying what is not stated; None where today's rules do not decide as the decision does.
        owned: how many of each GPU the person has.
    """
    decision = saved.decision
    plan = decision["recommendation"]
    title = f"{short_name(plan, names)}: GPU decision" if plan else "GPU decision without a recommendation"
    sections = [(name, content()) for name, content in _sections(saved, names, explainer)]
    shown = [(name, content) for name, content in sections if content]
    links = (tag("li", tag("a", name, href=f"#{slug(name)}")) for name, _ in shown)
    return document(
        title,
        _opening(saved, names),
        tag(
            "main",
            committee_pages(saved, names, explainer, quick_checks(saved), flips, owned),
            tag(
                "details",
                tag("summary", "Appendix: everything behind this answer"),
                tag("nav", tag("ul", *links), aria_label="Contents"),
                *(tag("section", content, aria_labelledby=slug(name)) for name, content in shown),
                class_="appendix",
            ),
            id="main",
        ),
    )


def _opening(saved: Saved, names: Names) -> Markup:
    decision = saved.decision
    plan = decision["recommendation"]
    mark = tag("p", saved.mark, class_="good" if saved.standing.state == "signed" else "mark")
    if plan is None:
        return tag("header", to_html(no_answer_blocks(decision, names)), mark, class_="page")
    verdict = decision["procurement"]["verdict"]
    parts = [
        tag("h1", short_name(plan, names)),
        tag("p", plan_sentence(plan, names), class_="lead"),
        tag("p", summary_sentence(plan, decision["procurement"])),
    ]
    if not plan["proven"]:
        parts.append(tag("p", unproven_sentence(plan), class_="bad"))
    tiles = [("Rent or buy", verdict), *_tiles(plan, decision["procurement"])]
    parts.append(tag("dl", *(tag("div", tag("dt", label), tag("dd", value)) for label, value in tiles), class_="facts"))
    parts += [tag("p", procurement_sentence(decision)), mark]
    return tag("header", *parts, class_="page")


def _tiles(plan: JsonObject, procurement: JsonObject) -> list[tuple[str, str]]:
    tiles = []
    if plan["cost"]["usd_per_hour"] is not None:
        tiles.append(("Cost", ", ".join([price_of_an_hour(plan["cost"], procurement), *run_price(plan)])))
    memory = plan["memory"]
    if memory:
        free = "" if memory["headroom_pct"] is None else f", {percent(memory['headroom_pct'])} free"
        tiles.append(("Memory per GPU", f"{gb(memory['per_gpu_gb'])}{free}"))
    speed = headline_speed(plan["speed"])
    return [*tiles, ("Speed", speed)] if speed != UNKNOWN else tiles


def _sections(saved: Saved, names: Names, explainer: Explainer) -> list[Section]:
    decision = saved.decision
    plan = decision["recommendation"]

    def rendered(build: Callable[[], list[Block]]) -> Callable[[], Markup]:
        return lambda: to_html(build())

    sections: list[Section] = []
    if plan:
        sections = [
            ("Memory", lambda: _with_figure(memory_blocks(plan), memory_figure(decision, names))),
            ("Speed", rendered(lambda: speed_blocks(plan))),
            ("Cost", rendered(lambda: cost_blocks(plan))),
        ]
    sections.append(("Rent or buy", lambda: _with_figure(procurement_blocks(decision, names), cost_figure(decision))))
    if plan:
        reasons = reason_blocks(decision, names, everything=True)
        sections.append(("Why this plan", lambda: _with_figure(reasons, points_figure(plan))))
        sections.append(("Chosen over", rendered(lambda: chosen_over_blocks(decision, names, everything=True))))
        sections.append(("What would change it", rendered(lambda: trade_off_blocks(decision, everything=True))))
        sections.append(("Derivation", lambda: tree_section(explainer, names)))
    else:
        sections.append((CHANGES_WITHOUT_ANSWER, rendered(lambda: trade_off_blocks(decision, everything=True))))
    return [
        *sections,
        ("Warnings", rendered(lambda: warning_blocks(decision, names, everything=True))),
        ("Alternatives", rendered(lambda: alternative_blocks(decision, names, everything=True))),
        ("The GPUs you named", rendered(lambda: candidate_blocks(decision, names))),
        ("Rejected GPUs", lambda: rejected_section(decision, names)),
        ("Advice", rendered(lambda: advice_blocks(decision, names, everything=True))),
        ("What to watch", rendered(lambda: monitoring_blocks(decision, names))),
        ("Where the sources disagree", rendered(lambda: disagreement_blocks(decision, names, everything=True))),
        ("Assumed, because it is not stated", rendered(lambda: assumption_blocks(decision, everything=True))),
        ("Open questions", rendered(lambda: question_blocks(decision, everything=True))),
        ("Figures", rendered(lambda: figure_blocks(decision, names))),
        ("Facts", rendered(lambda: fact_blocks(decision))),
        ("Sources", lambda: source_section(decision, names)),
        ("About this decision", lambda: provenance(saved)),
    ]


def _with_figure(blocks: list[Block], figure: Markup) -> Markup:
    """A section with its chart right under the heading."""
    heading = [block for block in blocks[:1] if isinstance(block, Heading)]
    return join(to_html(heading), figure, to_html(blocks[len(heading) :]))
