"""A whole decision as blocks: the answer first, then what it rests on, then what else to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whichgpu.cli.render.alternatives import alternative_blocks, candidate_blocks
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.choice import chosen_over_blocks, trade_off_blocks
from whichgpu.cli.render.cost import cost_blocks
from whichgpu.cli.render.figures import value_text
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
    "contradictory": "No recommendation: the stated facts contradict each other.",
}

#: What a section says that has nothing to show, where that wants a reason.
_NOTHING = {
    "launch": "No command is known for this: there are some for language models that are served by vLLM, SGLang or "
    "llama.cpp, and for training."
}


def decision_blocks(
    decision: JsonObject, names: Names, *, everything: bool = False, sections: Sequence[str] | None = None
) -> list[Block]:
    """The page for one decision.

    Args:
        decision: the answer as JSON.
        names: what things are called.
        everything: leave nothing out; otherwise the most important of each list.
        sections: names of ``SECTIONS``; all where None, though the plain tables of figures come with ``everything``.
    """
    if sections is None:
        shown = [name for name in SECTIONS if everything or name not in _WITH_EVERYTHING]
        return [block for name in shown for block in SECTIONS[name](decision, names, everything)] + _colophon(decision)
    blocks = []
    for name in sections:
        found = SECTIONS[name](decision, names, everything)
        blocks += found or [
            Heading(name.capitalize()),
            Paragraph(_NOTHING.get(name, "There is nothing to show here.")),
        ]
    return blocks


def _answer(decision: JsonObject, names: Names) -> list[Block]:
    plan = decision["recommendation"]
    blocks: list[Block] = [Heading("Recommendation", 1), Paragraph(plan_sentence(plan, names), "strong")]
    if not plan["proven"]:
        blocks.append(Paragraph(unproven_sentence(plan), "bad"))
    if owned := decision.get("owned"):
        blocks.append(Paragraph(f"You have: {owned['says']}"))
    return [*blocks, Paragraph(summary_sentence(plan, decision["procurement"]))]


def unproven_sentence(plan: JsonObject) -> str:
    """Which stated limits a plan was not held against, and why."""
    gaps = plan.get("unverified", [])
    if gaps:
        return f"Not proven: {'; '.join(gap['text'] for gap in gaps)}."
    return "Not proven: a hard limit could not be checked, because something is unknown. The open questions say what."


def no_answer_blocks(decision: JsonObject, names: Names) -> list[Block]:
    """Why there is no recommendation, and what would help."""
    gap = decision["no_answer"]
    blocks: list[Block] = [
        Heading(_NO_ANSWER[gap["kind"]], 1),
        Paragraph(f"{gap['why'][:1].upper()}{gap['why'][1:]}", "strong"),
    ]
    if gap["facts"]:
        questions = {entry["fact"]: entry["question"] for entry in decision["open_questions"]}
        groups = gap.get("relaxable") or [[fact] for fact in gap["facts"]]
        lead = {
            "facts_missing": "Please provide:",
            "nothing_fits": f"A plan would qualify without {'one of these' if len(groups) > 1 else 'this'}:",
            "contradictory": "These cannot all hold:",
        }[gap["kind"]]
        stated = {name: value_text(fact["value"]) for name, fact in decision["facts"].items()}
        asked = {
            fact: f"{fact}: {questions[fact]}" if questions.get(fact) else names.fact(fact, stated.get(fact))
            for fact in gap["facts"]
        }
        items = tuple(Item(" together with ".join(asked[fact] for fact in facts)) for facts in groups)
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
    prices = f" with prices up to {knowledge['prices_as_of']}, without taxes" if knowledge["prices_as_of"] else ""
    text = (
        f"Decided {decision['decided_at']} for {aim_of(decision)}, by rulebook "
        f"{rulebook['digest'][:12]} and knowledge {knowledge['digest'][:12]}{prices}; "
        f"rules fired by {decision['fired_by']}, whichgpu {decision['engine_version']}."
    )
    return [Heading("About this answer"), Paragraph(text, "faint")]


def aim_of(decision: JsonObject) -> str:
    """What the choice was made for."""
    if decision.get("objective_stated", True):  # Records of before do not say so, and had one.
        return shipped_objectives()[decision["objective"]].aim
    return "what the guides recommend for such work, since no objective was stated"


_Section = Callable[[JsonObject, Names, bool], list[Block]]


def _of_the_plan(make: Callable[[JsonObject], list[Block]]) -> _Section:
    """A section on the plan alone, empty where there is none."""
    return lambda d, _names, _all: make(d["recommendation"]) if d["recommendation"] else []


#: The sections of a page by the names under which they can be asked for, in their order.
SECTIONS: dict[str, _Section] = {
    "answer": lambda d, names, _all: _answer(d, names) if d["recommendation"] else no_answer_blocks(d, names),
    "memory": _of_the_plan(memory_blocks),
    "speed": _of_the_plan(speed_blocks),
    "cost": _of_the_plan(cost_blocks),
    "procurement": lambda d, names, _all: procurement_blocks(d, names),
    "reasons": lambda d, names, _all: reason_blocks(d, names, everything=_all) if d["recommendation"] else [],
    "passed-over": lambda d, names, _all: chosen_over_blocks(d, names, everything=_all) if d["recommendation"] else [],
    "changes": lambda d, _names, _all: trade_off_blocks(d, everything=_all),
    "warnings": lambda d, names, _all: warning_blocks(d, names, everything=_all),
    "candidates": lambda d, names, _all: candidate_blocks(d, names),
    "alternatives": lambda d, names, _all: alternative_blocks(d, names, everything=_all),
    "ruled-out": lambda d, names, _all: ruled_out_blocks(d, names, everything=_all),
    "phases": lambda d, names, _all: _phases(d, names),
    "launch": _of_the_plan(launch_blocks),
    "advice": lambda d, names, _all: advice_blocks(d, names, everything=_all),
    "monitoring": lambda d, names, _all: monitoring_blocks(d, names),
    "disagreements": lambda d, names, _all: disagreement_blocks(d, names, everything=_all),
    "assumptions": lambda d, _names, _all: assumption_blocks(d, everything=_all),
    "questions": lambda d, _names, _all: question_blocks(d, everything=_all),
    "figures": lambda d, names, _all: figure_blocks(d, names),
    "sizing": lambda d, _names, _all: sizing_blocks(d),
    "facts": lambda d, _names, _all: fact_blocks(d),
    "sources": lambda d, names, _all: source_blocks(d, names),
}
_WITH_EVERYTHING = frozenset({"figures", "sizing", "facts"})
