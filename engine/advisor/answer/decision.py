"""A decision as the one JSON value of the output contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whichgpu.engine.advisor.answer.formats import BULKY_KEYS, DECISION_FORMAT
from whichgpu.engine.advisor.answer.parts import AnswerParts
from whichgpu.engine.core import json_value


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import answer_types


def decision_dict(parts: AnswerParts, *, full: bool = True) -> answer_types.Decision | answer_types.DecisionLine:
    """The decision under the contract's keys, figures rounded to six significant digits.

    Args:
        parts: what stands under the keys.
        full: with the keys that a line of many answers leaves out.
    """
    head = parts.head
    decision: answer_types.Decision = {
        "format": DECISION_FORMAT,
        "fired_by": head["fired_by"],
        "engine_version": head["engine_version"],
        "decided_at": head["decided_at"],
        "rulebook": head["rulebook"],
        "knowledge": head["knowledge"],
        "objective": parts.objective,
        "objective_stated": parts.objective_stated,
        "facts": parts.facts,
        "recommendation": parts.recommendation,
        "no_answer": parts.no_answer,
        "alternatives": parts.alternatives,
        "outranked": parts.outranked,
        "candidates": parts.candidates,
        "rejected": parts.rejected,
        "phases": parts.phases,
        "sizing": parts.sizing,
        "figures": parts.figures,
        "procurement": parts.procurement,
        "advice": parts.advice,
        "warnings": parts.warnings,
        "monitoring": parts.monitoring,
        "disagreements": parts.disagreements,
        "assumptions": parts.assumptions,
        "open_questions": parts.open_questions,
        "trace": parts.trace,
        "rules": parts.rules,
    }
    if parts.several:
        decision["support_reasons"] = parts.support_reasons
    if parts.refused:
        decision["refused"] = parts.refused
    rounded: answer_types.Decision = json_value(decision)
    if full:
        return rounded
    return cast("answer_types.DecisionLine", {key: value for key, value in rounded.items() if key not in BULKY_KEYS})
