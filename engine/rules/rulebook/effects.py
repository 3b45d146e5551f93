"""Reading ``then``: what a rule does, checked against its stage and scope."""

from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import Sequence
from whichgpu.engine.core.yaml import typed
from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.language.texts import check_template
from whichgpu.engine.rules.language.texts import template_facts
from whichgpu.engine.rules.rulebook.conditions import read_settings
from whichgpu.engine.rules.rulebook.conditions import spot_of
from whichgpu.engine.rules.rulebook.grammar import COMPANIONS
from whichgpu.engine.rules.rulebook.grammar import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.grammar import reading_complaint
from whichgpu.engine.rules.rulebook.model import STAGE_RULE
from whichgpu.engine.rules.rulebook.model import Ask
from whichgpu.engine.rules.rulebook.model import ConsiderCounts
from whichgpu.engine.rules.rulebook.model import Disagree
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.model import Fallback
from whichgpu.engine.rules.rulebook.model import Monitor
from whichgpu.engine.rules.rulebook.model import Points
from whichgpu.engine.rules.rulebook.model import Reject
from whichgpu.engine.rules.rulebook.model import Say
from whichgpu.engine.rules.rulebook.model import ShowFigure
from whichgpu.engine.rules.rulebook.provenance import read_band
from whichgpu.engine.rules.rulebook.provenance import read_claim
from whichgpu.engine.rules.rulebook.reading import Context
from whichgpu.engine.rules.rulebook.reading import Draft
from whichgpu.engine.rules.rulebook.reading import kind_of


_KEYS = {key.name: key for key in EFFECT_KEYS}


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
        text = _read_template(allowed["text"][1], draft, context)
        mentions |= _mentions(allowed["text"][1], draft, context)
    if not any(name not in COMPANIONS for name in draft.then):
        wanted = ", ".join(key.name for key in EFFECT_KEYS if draft.stage in key.stages and key.name not in COMPANIONS)
        context.reader.add(
            "no-effect",
            f"`then` of {draft.id} does nothing",
            draft.then_node,
            fix=f"give {STAGE_RULE[draft.stage]} one of: {wanted}",
        )
    return tuple(effects), text, frozenset(mentions)


def _fits(name: str, where: Scalar, draft: Draft, context: Context) -> bool:
    """Whether the effect may stand in this rule, with what it needs beside it."""
    key = _KEYS[name]
    if draft.stage not in key.stages:
        context.reader.add(
            "misplaced-effect",
            f"`{name}` belongs to {_or(key.stages)} rules, and {draft.id} is {STAGE_RULE[draft.stage]}",
            where,
            fix=f"write stage: {_or(key.stages)}, or use {_or(_effects_of(draft))}",
        )
        return False
    if draft.each not in key.each:
        context.reader.add(
            "misplaced-effect",
            f"`{name}` belongs to rules for each: {_or(key.each)}, and {draft.id} is for each: {draft.each}",
            where,
            fix=f"write each: {_or(key.each)}",
        )
        return False
    for needed in key.needs:
        if needed not in (draft.then or {}):
            context.reader.add(
                "missing-key",
                f"`{name}` needs `{needed}` beside it",
                where,
                fix=f"add `{needed}:` ({_KEYS[needed].says})",
            )
    for other in key.excludes:
        if other in (draft.then or {}):
            context.reader.add(
                "two-kinds",
                f"{draft.id} has both `{other}` and `{name}`",
                where,
                fix="keep the one that says what the guide does: a comparison is a claim, a named case a band",
            )
    return True


def _effects_of(draft: Draft) -> tuple[str, ...]:
    return tuple(key.name for key in EFFECT_KEYS if draft.stage in key.stages and draft.each in key.each)


def _or(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _read_template(node: Node, draft: Draft, context: Context) -> str:
    if not isinstance(node, Scalar) or not node.text.strip():
        context.reader.add("wrong-form", f"a text of {draft.id} is {kind_of(node)} and should be text", node)
        return ""
    context.reader.extend(check_template(node.text, context.vocabulary, node, draft.each))
    return " ".join(node.text.split())


def _mentions(node: Node, draft: Draft, context: Context) -> set[str]:
    """The facts a template shows. They have to be there when the rule fires, as those that it reads."""
    mentioned: set[str] = set()
    if not isinstance(node, Scalar):
        return mentioned
    for name in template_facts(node.text):
        fact = context.vocabulary.fact(name)
        if fact is None:
            continue  # the template's own check has said so
        complaint = reading_complaint(fact, draft.stage, draft.each)
        if complaint and fact.scope in READABLE[draft.each]:
            message, fix = complaint
            context.reader.add("unreadable-fact", message, spot_of(name, node), fix=fix, fact=fact.name)
        mentioned.add(fact.name)
    return mentioned


def _read_points(node: Node, draft: Draft, context: Context) -> list[Effect]:
    points = context.reader.number(node, "`points`")
    if points == 0:
        context.reader.add("wrong-form", "`points: 0` changes nothing", node, fix="give points above or below 0")
    reason = (draft.then or {}).get("reason")
    word = context.reader.word(reason[1], "`reason`", _KEYS["reason"].choices) if reason else None
    claim = read_claim(draft, context)
    return [Points(points, word, claim, None if claim else read_band(draft, context))] if points and word else []


def _read_codes(kind: str) -> Callable[[Node, Draft, Context], list[Effect]]:
    letter = {"advise": "A-", "warn": "W-"}[kind]

    def read(node: Node, _: Draft, context: Context) -> list[Effect]:
        effects: list[Effect] = []
        codes = [code for code in context.vocabulary.codes if code.startswith(letter)]
        for name in context.reader.names(node, f"`{kind}`"):
            if name.text in codes:
                effects.append(Say("advise" if kind == "advise" else "warn", name.text))
                continue
            other = name.text in context.vocabulary.codes
            fix = f"write it under `{'warn' if kind == 'advise' else 'advise'}`" if other else None
            nearest = () if other else nearest_words(name.text, codes, limit=1)
            context.reader.add(
                "unknown-code",
                f"`{kind}` takes {letter} codes of the vocabulary, not {name.text!r}",
                name,
                nearest=nearest,
                fix=fix or (None if nearest else "define the code in the vocabulary"),
            )
        return effects

    return read


def _read_ask(node: Node, _: Draft, context: Context) -> list[Effect]:
    facts = [context.fact(name, "`ask`") for name in context.reader.names(node, "`ask`")]
    return [Ask(fact.name) for fact in facts if fact]


def _read_monitor(node: Node, _: Draft, context: Context) -> list[Effect]:
    if not isinstance(node, Mapping) or not node.entries:
        context.reader.add("wrong-form", f"`monitor` is {kind_of(node)}", node, fix="write {figure: [low, high]}")
        return []
    effects: list[Effect] = []
    for name, value in node.entries:
        items = value.items if isinstance(value, Sequence) else (value,)
        if isinstance(value, Sequence) and len(items) != 2:
            context.reader.add(
                "wrong-form", f"the target of {name.text!r} has {len(items)} numbers", value, fix="write [low, high]"
            )
            continue
        numbers = [context.reader.number(item, f"the target of {name.text!r}") for item in items]
        low, high = numbers[0], numbers[1] if len(numbers) == 2 else None
        if low is not None and high is not None and low > high:
            context.reader.add(
                "wrong-form", f"the target of {name.text!r} runs from high to low", value, fix="write [low, high]"
            )
        elif low is not None and (high is not None or len(numbers) == 1):
            effects.append(Monitor(name.text, low, high))
    return effects


def _known_names(node: Node, key: str, context: Context) -> list[str]:
    """Names of figures or disagreements; those that the knowledge does not have are problems."""
    names: list[str] = []
    home, known = (
        ("figures", context.known.figures) if key == "figure" else ("disagreements", context.known.disagreements)
    )
    for name in context.reader.names(node, f"`{key}`"):
        names.append(name.text)
        if known and name.text not in known:
            nearest = nearest_words(name.text, sorted(known), limit=1)
            context.reader.add(
                f"unknown-{home[:-1]}",
                f"knowledge/{home}.yaml has no {name.text!r}",
                name,
                nearest=nearest,
                fix=None if nearest else f"add it to knowledge/{home}.yaml",
            )
    return names


def _read_counts(node: Node, _: Draft, context: Context) -> list[Effect]:
    counts: set[int] = set()
    for name in context.reader.names(node, "`consider_counts`"):
        count = typed(name.text)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            counts.add(count)
        else:
            context.reader.add(
                "wrong-form", f"{name.text!r} is no number of GPUs", name, fix="write whole numbers from 1"
            )
    return [ConsiderCounts(tuple(sorted(counts)))] if counts else []


_READERS: dict[str, Callable[[Node, Draft, Context], list[Effect]]] = {
    "set": read_settings,
    "consider_counts": _read_counts,
    "reject": lambda node, draft, context: [Reject(_read_template(node, draft, context))],
    "fallback": lambda node, draft, context: [Fallback(_read_template(node, draft, context))],
    "points": _read_points,
    "advise": _read_codes("advise"),
    "warn": _read_codes("warn"),
    "ask": _read_ask,
    "monitor": _read_monitor,
    "figure": lambda node, _, context: [ShowFigure(name) for name in _known_names(node, "figure", context)],
    "disagree": lambda node, _, context: [Disagree(name) for name in _known_names(node, "disagree", context)],
}
