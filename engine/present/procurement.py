"""Rent or own, in words: the verdict, the guides' thresholds beside it, and what would turn it."""

from __future__ import annotations

from typing import Any

from engine.decide.model import Outcome
from engine.decide.procurement import Procurement
from engine.economics.procurement import YES_NO
from engine.present.wording import because
from engine.present.wording import say
from engine.rulebook.model import SetFact
from engine.vocabulary import Vocabulary


def procurement_dict(outcome: Outcome, vocabulary: Vocabulary) -> dict[str, Any]:
    """The verdict with the rules behind it. Without any rule that set it, it is undecided."""
    verdict = outcome.final.facts.get("procurement", "undecided")
    behind = [
        item
        for item in outcome.fired
        if any(isinstance(e, SetFact) and e.fact == "procurement" for e in item.rule.effects)
    ]
    reasons = [
        say(item.rule.text, item.facts, vocabulary) if item.rule.text else because(item.rule, item.facts, vocabulary)
        for item in behind
    ]
    flip = outcome.procurement.flip
    return {
        "verdict": verdict,
        "because": "; ".join(dict.fromkeys(reasons)) or "no rule decides between renting and buying on what is known",
        "rules": [item.rule.id for item in behind],
        "sources": list(dict.fromkeys(source for item in behind for source in item.rule.sources)),
        "thresholds": [
            {
                "id": t.id,
                "source": t.source,
                "fact": t.fact,
                "value": t.value,
                "limit": t.limit,
                "says": t.says,
                "scope": t.scope,
            }
            for t in outcome.procurement.thresholds
        ],
        "flip": {"fact": flip.fact, "now": flip.now, "needed": flip.needed, "verdict": flip.verdict} if flip else None,
    }


def procurement_figures_dict(procurement: Procurement) -> dict[str, Any]:
    """Every figure of the reckoning with its band and source."""
    return {
        name: {
            "value": bool(figure.value) if figure.unit == YES_NO else figure.value,
            "low": figure.low,
            "high": figure.high,
            "unit": figure.unit,
            "formula": figure.formula,
            "sources": [figure.source],
        }
        for name, figure in sorted(procurement.figures.items())
    }
