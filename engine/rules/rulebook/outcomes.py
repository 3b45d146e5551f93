"""Reading what the test of a rule says that follows: facts, the words of ``then``, plans preferred, whole answers."""

from __future__ import annotations

import re

from whichgpu.engine.core import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Value,
    nearest_words,
    place_of,
    plain,
    typed,
    untyped,
)
from whichgpu.engine.rules.facts import read_value
from whichgpu.engine.rules.rulebook.effects import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.grammar import EffectKey
from whichgpu.engine.rules.rulebook.model import STAGE_RULE, Each, Expected, Preference, Stage
from whichgpu.engine.rules.rulebook.provenance import read_claim
from whichgpu.engine.rules.rulebook.reading import Context, Fields, kind_of, whole_number


#: The keys of a test that say what follows where the rule fires.
SAYS_WHAT_FOLLOWS = ("then", "warns", "advises", "rejects", "prefers", "silent", "says", "answers")

_SHORT = {"warns": "warn", "advises": "advise", "rejects": "reject"}
_KEYS: dict[str, EffectKey] = {key.name: key for key in EFFECT_KEYS}
_PREFERENCE = re.compile(
    r"(?:(?P<more>\d+) x )?(?P<better>\S+) over (?:(?P<fewer>\d+) x )?(?P<worse>\S+)(?: by (?P<by>\d+(?:\.\d+)?))?"
)


def read_expected(fields: Fields, stage: Stage, each: Each, context: Context) -> Expected:
    """What a test expects. Parts with problems are left out."""
    facts: dict[str, Value] = {}
    effects: dict[str, object] = {}
    for short, word in _SHORT.items():
        if short in fields and _belongs(word, fields[short][0], stage, context):
            effects[word] = "" if word == "reject" else _names(fields[short][1], short, context)
    if "then" in fields:
        _read_then(fields["then"][1], facts, effects, stage, context)
    prefers = _read_preference(fields["prefers"][1], each, context) if "prefers" in fields else None
    silent = _names(fields["silent"][1], "silent", context) if "silent" in fields else ()
    answers = plain(fields["answers"][1]) if "answers" in fields else {}
    if not isinstance(answers, dict):
        context.add("wrong-form", f"`answers` is {kind_of(fields['answers'][1])}", fields["answers"][1], fix=_ANSWERS)
        answers = {}
    says = _sentences(fields["says"][1], context) if "says" in fields else {}
    return Expected(facts, effects, silent, prefers, answers, says)


#: What of a rule is a sentence.
SENTENCES = ("title", "text", "reject", "fallback", "because")


def _sentences(node: Node, context: Context) -> dict[str, str]:
    """Whole sentences by the key under which the rule says them."""
    if not isinstance(node, MappingNode) or not node.entries:
        fix = f"write {{key: sentence}}; the keys are {', '.join(SENTENCES)}"
        context.add("wrong-form", f"`says` is {kind_of(node)}", node, fix=fix)
        return {}
    found = {}
    for name, value in node.entries:
        if name.text not in SENTENCES:
            near = nearest_words(name.text, SENTENCES, limit=1)
            known = None if near else f"the keys are {', '.join(SENTENCES)}"
            context.add("unknown-key", f"`says` has no {name.text!r}", name, nearest=near, fix=known)
        elif isinstance(value, ScalarNode):
            found[name.text] = value.text
        else:
            context.add("wrong-form", f"`{name.text}` is {kind_of(value)}", value, fix="write the sentence")
    return found


_ANSWERS = "write {expectation: value}, such as {procurement: [rent]}"


def _names(node: Node, key: str, context: Context) -> tuple[str, ...]:
    return tuple(name.text for name in context.names(node, f"`{key}`"))


def _belongs(word: str, where: ScalarNode, stage: Stage, context: Context) -> bool:
    if stage in _KEYS[word].stages:
        return True
    message = f"`{where.text}` speaks of `{word}`, which {STAGE_RULE[stage]} cannot do"
    words = [key.name for key in EFFECT_KEYS if stage in key.stages]
    context.add("misplaced-effect", message, where, fix=f"say what it does: {', '.join(words)}")
    return False


def _read_then(node: Node, facts: dict[str, Value], effects: dict[str, object], stage: Stage, context: Context) -> None:
    if not isinstance(node, MappingNode) or not node.entries:
        fix = "write {fact: value}, or a word of `then` with what the rule does, such as {points: 4, reason: cost}"
        context.add("wrong-form", f"`then` is {kind_of(node)}", node, fix=fix)
        return
    for name, value in node.entries:
        if name.text == "set":
            _read_then(value, facts, effects, stage, context)
        elif name.text in _KEYS:
            if _belongs(name.text, name, stage, context):
                effects[name.text] = _effect(_KEYS[name.text], name, value, context)
        else:
            _read_fact(name, value, facts, context)


def _read_fact(name: ScalarNode, value: Node, facts: dict[str, Value], context: Context) -> None:
    fact = context.vocabulary.fact(name.text)
    if fact is None:
        near = nearest_words(name.text, [*_KEYS, *context.vocabulary.facts], limit=1)
        fix = None if near else "name a fact, or a word of `then` of rules"
        context.add("unknown-fact", f"`then` of a test has no {name.text!r}", name, nearest=near, fix=fix)
        return
    reading = read_value(fact, untyped(value), place_of(value), known_gpus=context.known.gpus)
    context.extend(reading.problems)
    if reading.value is not None:
        facts[fact.name] = reading.value


def _effect(key: EffectKey, name: ScalarNode, node: Node, context: Context) -> object:  # noqa: PLR0911
    """What a rule does under one word, in the form in which it is compared."""
    match key.kind:
        case "number":
            return context.number(node, f"`{key.name}`")
        case "word":
            return context.word({key.name: (name, node)}, key.name, key.choices)
        case "counts":
            return tuple(whole_number(item) for item in _items(node))
        case "claim":
            return read_claim({"claim": (name, node)}, context)
        case "targets":
            entries = node.entries if isinstance(node, MappingNode) else ()
            return {figure.text: _target(target) for figure, target in entries}
        case "template":
            return context.text({key.name: (name, node)}, key.name)
        case _:
            return _names(node, key.name, context)


def _target(node: Node) -> tuple[object, ...]:
    return tuple(typed(item.text) for item in _items(node) if isinstance(item, ScalarNode))


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, SequenceNode) else (node,)


def _read_preference(node: Node, each: Each, context: Context) -> Preference | None:
    match = _PREFERENCE.fullmatch(" ".join(node.text.split())) if isinstance(node, ScalarNode) else None
    if match is None or each != "plan":
        said = "a rule for each: workload sees no plan" if each != "plan" else f"`prefers` is {kind_of(node)}"
        context.add("wrong-form", said, node, fix="write `prefers: nvidia-h100 over nvidia-l4`, in a rule of plans")
        return None
    for name in (match["better"], match["worse"]):
        if context.known.gpus and name not in context.known.gpus:
            message, fix = f"`prefers` names {name!r}, which is no GPU of the catalogue", "see: whichgpu gpus"
            near = sorted(known for known in context.known.gpus if known.endswith(f"-{name}"))
            nearest = tuple(near[:3]) or tuple(nearest_words(name, sorted(context.known.gpus)))
            context.add("unknown-gpu", message, node, nearest=nearest, fix=fix)
    more, fewer = (int(match[key]) if match[key] else None for key in ("more", "fewer"))
    return Preference(match["better"], match["worse"], more, fewer, float(match["by"]) if match["by"] else None)
