"""Texts of rules rendered with the values of a case."""

from __future__ import annotations

from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language import render
from whichgpu.engine.rules.rulebook.model import Fallback
from whichgpu.engine.rules.rulebook.model import Reject
from whichgpu.engine.rules.rulebook.model import Rule


def say(template: str, facts: Facts, vocabulary: Vocabulary) -> str:
    """A template with its facts filled in, as one line."""
    return " ".join(render(template, facts, vocabulary).split())


def because(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """The general ground of a rule; it may name facts too."""
    return say(rule.because, facts, vocabulary)


def rejection_text(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """Why this rule rejects this plan."""
    return "; ".join(say(effect.text, facts, vocabulary) for effect in rule.effects if isinstance(effect, Reject))


def fallback_text(rule: Rule, facts: Facts, vocabulary: Vocabulary) -> str:
    """Why this rule lets this plan be chosen only where no other qualifies."""
    return "; ".join(say(effect.text, facts, vocabulary) for effect in rule.effects if isinstance(effect, Fallback))
