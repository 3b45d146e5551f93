"""Reading ``then``: what a rule does, checked against its stage and scope."""

from __future__ import annotations

from whichgpu.engine.core import Node, ScalarNode
from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.language.texts import template_facts
from whichgpu.engine.rules.rulebook.conditions import spot_of
from whichgpu.engine.rules.rulebook.effects import COMPANIONS, EFFECT_KEYS, KINDS
from whichgpu.engine.rules.rulebook.effects.kind import read_template
from whichgpu.engine.rules.rulebook.model import STAGE_RULE, Effect
from whichgpu.engine.rules.rulebook.phases import reading_complaint
from whichgpu.engine.rules.rulebook.reading import Context, Draft


_KEYS = {key.name: key for key in EFFECT_KEYS}
_READERS = {kind.key.name: kind.read for kind in KINDS}


def read_effects(draft: Draft, context: Context) -> tuple[tuple[Effect, ...], str, frozenset[str]]:
    """Effects in a fixed order, the rule's ``text``, and the facts its templates mention."""
    effects: list[Effect] = []
    mentions: set[str] = set()
    if draft.then is None:
        return (), "", frozenset()
    allowed = {name: entry for name, entry in draft.then.items() if _fits(name, entry[0], draft, context)}
    for key in EFFECT_KEYS:
        if key.name in allowed and key.name not in COMPANIONS:
            effects += _READERS[key.name](allowed[key.name][1], draft, context)
            if key.kind == "template":
                mentions |= _mentions(allowed[key.name][1], draft, context)
    text = ""
    if "text" in allowed:
        text = read_template(allowed["text"][1], draft, context)
        mentions |= _mentions(allowed["text"][1], draft, context)
    if not any(name not in COMPANIONS for name in draft.then):
        wanted = ", ".join(
            key.name for key in EFFECT_KEYS if draft.rule.stage in key.stages and key.name not in COMPANIONS
        )
        where = draft.fields["then"][1] if "then" in draft.fields else draft.node
        fix = f"give {STAGE_RULE[draft.rule.stage]} one of: {wanted}"
        context.add("no-effect", f"`then` of {draft.rule.id} does nothing", where, fix=fix)
    return tuple(effects), text, frozenset(mentions)


def _fits(name: str, where: ScalarNode, draft: Draft, context: Context) -> bool:
    """Whether the effect may stand in this rule, with what it needs beside it."""
    key = _KEYS[name]
    if draft.rule.stage not in key.stages:
        context.add(
            "misplaced-effect",
            f"`{name}` belongs to {_or(key.stages)} rules, and {draft.rule.id} is {STAGE_RULE[draft.rule.stage]}",
            where,
            fix=f"write stage: {_or(key.stages)}, or use {_or(_effects_of(draft))}",
        )
        return False
    if draft.rule.each not in key.each:
        said = f"belongs to rules for each: {_or(key.each)}, and {draft.rule.id} is for each: {draft.rule.each}"
        context.add("misplaced-effect", f"`{name}` {said}", where, fix=f"write each: {_or(key.each)}")
        return False
    for needed in key.needs:
        if needed not in (draft.then or {}):
            fix = f"add `{needed}:` ({_KEYS[needed].says})"
            context.add("missing-key", f"`{name}` needs `{needed}` beside it", where, fix=fix)
    for other in key.excludes:
        if other in (draft.then or {}):
            fix = "keep the one that says what the guide does: a comparison is a claim, a named case a band"
            context.add("two-kinds", f"{draft.rule.id} has both `{other}` and `{name}`", where, fix=fix)
    return True


def _effects_of(draft: Draft) -> tuple[str, ...]:
    return tuple(key.name for key in EFFECT_KEYS if draft.rule.stage in key.stages and draft.rule.each in key.each)


def _or(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _mentions(node: Node, draft: Draft, context: Context) -> set[str]:
    """The facts a template shows. They have to be there when the rule fires, as those that it reads."""
    mentioned: set[str] = set()
    if not isinstance(node, ScalarNode):
        return mentioned
    for name in template_facts(node.text):
        fact = context.vocabulary.fact(name)
        if fact is None:
            continue  # the template's own check has said so
        complaint = reading_complaint(fact, draft.rule.stage, draft.rule.each)
        if complaint and fact.scope in READABLE[draft.rule.each]:
            message, fix = complaint
            context.add("unreadable-fact", message, spot_of(name, node), fix=fix, fact=fact.name)
        mentioned.add(fact.name)
    return mentioned
