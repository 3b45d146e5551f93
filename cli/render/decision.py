"""A whole decision as blocks: the answer first, then what it rests on, then what else to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.alternatives import alternative_blocks, candidate_blocks
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.choice import chosen_over_blocks, trade_off_blocks
from whichgpu.cli.render.cost import cost_blocks
from whichgpu.cli.render.launch import launch_blocks
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.notes import (
    advice_blocks,
    assumption_blocks,
    disagreement_blocks,
    fact_blocks,
    figure_blocks,
    monitoring_blocks,
    question_blocks,
    sizing_blocks,
    source_blocks,
    warning_blocks,
)
from whichgpu.cli.render.plan import memory_blocks, plan_sentence, speed_blocks, summary_sentence
from whichgpu.cli.render.procurement import procurement_blocks
from whichgpu.cli.render.reasons import reason_blocks, ruled_out_blocks
from whichgpu.engine.advisor import shipped_objectives


JsonObject = Mapping[str, Any]

_NO_ANSWER = {
    "nothing_fits": "No recommendation: no plan in the catalogue qualifies.",
    "facts_missing": "No recommendation yet: too little is known.",
    "contradictory": "No recommendation: what was said contradicts itself.",
}


def decision_blocks(decision: JsonObject, names: Names, *, everything: bool = False) -> list[Block]:
    """The page for one decision. ``everything`` leaves nothing out; otherwise the most important of each list."""
    blocks = _answer(decision, names) if decision["recommendation"] else no_answer_blocks(decision)
    blocks += procurement_blocks(decision, names)
    if decision["recommendation"]:
        blocks += reason_blocks(decision, names, everything=everything)
        blocks += chosen_over_blocks(decision, names, everything=everything)
        blocks += trade_off_blocks(decision, everything=everything)
    blocks += warning_blocks(decision, names, everything=everything)
    blocks += candidate_blocks(decision, names)
    blocks += alternative_blocks(decision, names, everything=everything)
    blocks += ruled_out_blocks(decision, names, everything=everything)
    blocks += _phases(decision, names)
    if decision["recommendation"]:
        blocks += launch_blocks(decision["recommendation"])
    blocks += advice_blocks(decision, names, everything=everything)
    blocks += monitoring_blocks(decision, names)
    blocks += disagreement_blocks(decision, names, everything=everything)
    blocks += assumption_blocks(decision, everything=everything)
    blocks += question_blocks(decision, everything=everything)
    if everything:
        blocks += figure_blocks(decision, names) + sizing_blocks(decision) + fact_blocks(decision)
    return blocks + source_blocks(decision, names) + _colophon(decision)


def _answer(decision: JsonObject, names: Names) -> list[Block]:
    plan = decision["recommendation"]
    blocks: list[Block] = [Heading("Recommendation", 1), Paragraph(plan_sentence(plan, names), "strong")]
    if not plan["proven"]:
        blocks.append(Paragraph(unproven_sentence(plan), "bad"))
    blocks.append(Paragraph(summary_sentence(plan, decision["procurement"])))
    return [*blocks, *memory_blocks(plan), *speed_blocks(plan), *cost_blocks(plan)]


def unproven_sentence(plan: JsonObject) -> str:
    """Which stated limits a plan was not held against, and why."""
    gaps = plan.get("unverified", [])
    if gaps:
        return f"Not proven: {'; '.join(gap['text'] for gap in gaps)}."
    return "Not proven: a hard limit could not be checked, because something is unknown. The open questions say what."


def no_answer_blocks(decision: JsonObject) -> list[Block]:
    """Why there is no recommendation, and what would help."""
    gap = decision["no_answer"]
    blocks: list[Block] = [Heading(_NO_ANSWER[gap["kind"]], 1), Paragraph(gap["why"], "strong")]
    if gap["facts"]:
        questions = {entry["fact"]: entry["question"] for entry in decision["open_questions"]}
        lead = {
            "facts_missing": "Please provide:",
            "nothing_fits": "What stands in the way, and could be relaxed:",
            "contradictory": "These cannot all hold:",
        }[gap["kind"]]
        items = tuple(Item(f"{fact}: {questions[fact]}" if questions.get(fact) else fact) for fact in gap["facts"])
        blocks += [Paragraph(lead), Bullets(items)]
    return blocks


def _phases(decision: JsonObject, names: Names) -> list[Block]:
    items = []
    for phase in decision["phases"]:
        plan = phase["recommendation"]
        items.append(
            Item(f"{phase['phase'].replace('_', ' ')}: {plan_sentence(plan, names) if plan else 'no recommendation'}")
        )
    return [Heading("Phase by phase"), Bullets(tuple(items))] if items else []


def _colophon(decision: JsonObject) -> list[Block]:
    rulebook, knowledge = decision["rulebook"], decision["knowledge"]
    prices = f" with prices up to {knowledge['prices_as_of']}" if knowledge["prices_as_of"] else ""
    text = (
        f"Decided {decision['decided_at']} for {_aim(decision)}, by rulebook "
        f"{rulebook['digest'][:12]} and knowledge {knowledge['digest'][:12]}{prices}; "
        f"rules fired by {decision['fired_by']}, whichgpu {decision['engine_version']}."
    )
    return [Heading("About this answer"), Paragraph(text, "faint")]


def _aim(decision: JsonObject) -> str:
    """What the choice was made for."""
    if decision.get("objective_stated", True):  # Records of before do not say so, and had one.
        return shipped_objectives()[decision["objective"]].aim
    return "what the guides name for the case, since no objective was stated"
