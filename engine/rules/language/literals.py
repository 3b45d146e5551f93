"""Words and numbers of an expression as values of the fact beside them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import read_value
from whichgpu.engine.rules.facts import yes_or_no
from whichgpu.engine.rules.facts.numbers import NumberProblem
from whichgpu.engine.rules.facts.numbers import read_literal
from whichgpu.engine.rules.language.grammar import RawLeaf
from whichgpu.engine.rules.language.tree import Const


def literal(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> Const | None:
    """The leaf as a value of the fact (of its items, for a list), or None where it is none."""
    kind = fact.items if fact.type == "list" else fact.type
    if kind in {"int", "number"}:
        return _number(fact, leaf)
    if kind == "bool":
        truth = yes_or_no(leaf.text)
        return None if truth is None else Const(truth)
    if kind == "enum":
        choice = fact.choice(leaf.text)
        return None if choice is None else Const(choice)
    if kind == "gpu":
        return _gpu(leaf, known_gpus)
    if leaf.text.casefold() == "unknown" and leaf.kind == "word":
        return None
    reading = read_value(fact if fact.type != "list" else fact.model_copy(update={"type": "text"}), leaf.text)
    return None if reading.value is None or isinstance(reading.value, tuple) else Const(reading.value)


def _number(fact: FactDef, leaf: RawLeaf) -> Const | None:
    if leaf.kind != "number":
        return None
    try:
        return Const(read_literal(leaf.text, fact))
    except NumberProblem:
        return None


def _gpu(leaf: RawLeaf, known_gpus: AbstractSet[str]) -> Const | None:
    name = leaf.text
    if name in known_gpus or (not known_gpus and name != "unknown"):
        return Const(name)
    folded = name.casefold()
    return Const(folded) if folded in known_gpus else None


def literal_error(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> tuple[str, str, str | None]:
    """Code, message and fix for a leaf that is no value of the fact."""
    text = leaf.text
    kind = fact.items if fact.type == "list" else fact.type
    if text == "unknown":
        return "unknown-compared", "unknown is not a value", f"write {fact.name} is unknown"
    if kind in {"int", "number"}:
        return _number_error(fact, leaf)
    if kind == "enum":
        return "unknown-choice", f"{text!r} is not a choice of {fact.name}", f"write one of {', '.join(fact.choices)}"
    if kind == "bool":
        return "type-mismatch", f"{fact.name} is yes or no, and {text!r} is neither", f"write {fact.name} alone"
    if kind == "gpu" and known_gpus:
        return "unknown-gpu", f"no GPU is called {text!r}", None
    return "wrong-value", f"{text!r} is not a value of {fact.name}", None


def _number_error(fact: FactDef, leaf: RawLeaf) -> tuple[str, str, str | None]:
    if leaf.kind == "number":
        try:
            read_literal(leaf.text, fact)
        except NumberProblem as problem:
            return problem.code, f"{fact.name}: {problem}", problem.fix
    return "type-mismatch", f"{fact.name} is a number, and {leaf.text!r} is not", None


def near_literals(fact: FactDef, leaf: RawLeaf, known_gpus: AbstractSet[str]) -> tuple[str, ...]:
    """Values of the fact that the leaf may have meant."""
    if fact.choices:
        near = nearest_words(leaf.text, (*fact.choices, *sorted(fact.synonyms)))
        return tuple(dict.fromkeys(fact.choice(word) or word for word in near))
    kind = fact.items if fact.type == "list" else fact.type
    return nearest_words(leaf.text, sorted(known_gpus)) if kind == "gpu" else ()
