"""How the effects of rules are read. A new one is a class in ``effect_records``, its kind, and a line here."""

from whichgpu.engine.rules.rulebook.effect_records import (
    Ask,
    ConsiderCounts,
    Disagree,
    Fallback,
    Monitor,
    Points,
    Reject,
    Say,
    SetFact,
    ShowFigure,
)
from whichgpu.engine.rules.rulebook.effects import answer, facts, plans
from whichgpu.engine.rules.rulebook.effects.kind import EffectKind
from whichgpu.engine.rules.rulebook.grammar import EffectKey


__all__ = [
    "COMPANIONS",
    "EFFECT_KEYS",
    "KINDS",
    "Ask",
    "ConsiderCounts",
    "Disagree",
    "EffectKind",
    "Fallback",
    "Monitor",
    "Points",
    "Reject",
    "Say",
    "SetFact",
    "ShowFigure",
]

#: Every effect, in the order in which the effects of a rule stand.
KINDS: tuple[EffectKind, ...] = (
    facts.SET,
    facts.CONSIDER_COUNTS,
    plans.REJECT,
    plans.FALLBACK,
    plans.POINTS,
    answer.ADVISE,
    answer.WARN,
    facts.ASK,
    answer.MONITOR,
    answer.FIGURE,
    answer.DISAGREE,
)
_TEXT = EffectKey("text", "template", "this case in words", stages=("prefer", "advise"))
#: The words of ``then``, with those that do nothing alone.
EFFECT_KEYS: tuple[EffectKey, ...] = (*(key for kind in KINDS for key in (kind.key, *kind.companions)), _TEXT)
COMPANIONS = frozenset({_TEXT.name, *(key.name for kind in KINDS for key in kind.companions)})
