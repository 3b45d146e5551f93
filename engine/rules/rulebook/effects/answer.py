"""Effects on the answer: advice, warnings, targets to watch, figures and disagreements to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from whichgpu.engine.core import MappingNode, Node, SequenceNode
from whichgpu.engine.rules.rulebook.effect_records import Disagree, Monitor, Say, ShowFigure
from whichgpu.engine.rules.rulebook.effects.kind import EffectKind
from whichgpu.engine.rules.rulebook.grammar import EffectKey
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.reading import Context, Draft, kind_of


_LETTERS: dict[Literal["advise", "warn"], str] = {"advise": "A-", "warn": "W-"}


def _codes(kind: Literal["advise", "warn"]) -> Callable[[Node, Draft, Context], list[Effect]]:
    letter = _LETTERS[kind]

    def read(node: Node, _: Draft, context: Context) -> list[Effect]:
        effects: list[Effect] = []
        codes = [code for code in context.vocabulary.codes if code.startswith(letter)]
        for name in context.names(node, f"`{kind}`"):
            if name.text in codes:
                effects.append(Say(kind, name.text))
                continue
            message = f"`{kind}` takes {letter} codes of the vocabulary, not {name.text!r}"
            if name.text in context.vocabulary.codes:
                fix = f"write it under `{'warn' if kind == 'advise' else 'advise'}`"
                context.add("unknown-code", message, name, fix=fix)
            else:
                context.unknown("unknown-code", message, name, codes, fix="define the code in the vocabulary")
        return effects

    return read


def _read_monitor(node: Node, _: Draft, context: Context) -> list[Effect]:
    if not isinstance(node, MappingNode) or not node.entries:
        context.add("wrong-form", f"`monitor` is {kind_of(node)}", node, fix="write {figure: [low, high]}")
        return []
    effects: list[Effect] = []
    for name, value in node.entries:
        items = value.items if isinstance(value, SequenceNode) else (value,)
        if isinstance(value, SequenceNode) and len(items) != 2:
            context.add(
                "wrong-form", f"the target of {name.text!r} has {len(items)} numbers", value, fix="write [low, high]"
            )
            continue
        numbers = [context.number(item, f"the target of {name.text!r}") for item in items]
        low, high = numbers[0], numbers[1] if len(numbers) == 2 else None
        if low is not None and high is not None and low > high:
            context.add(
                "wrong-form", f"the target of {name.text!r} runs from high to low", value, fix="write [low, high]"
            )
        elif low is not None and (high is not None or len(numbers) == 1):
            effects.append(Monitor(name.text, low, high))
    return effects


def _known_names(node: Node, key: str, home: str, known: frozenset[str], context: Context) -> list[str]:
    """Names of ``knowledge/<home>.yaml``; those that it does not have are problems."""
    names: list[str] = []
    for name in context.names(node, f"`{key}`"):
        names.append(name.text)
        if known and name.text not in known:
            file = f"knowledge/{home}.yaml"
            context.unknown(
                f"unknown-{home[:-1]}", f"{file} has no {name.text!r}", name, known, fix=f"add it to {file}"
            )
    return names


def _read_figures(node: Node, _: Draft, context: Context) -> list[Effect]:
    return [ShowFigure(name) for name in _known_names(node, "figure", "figures", context.known.figures, context)]


def _read_disagreements(node: Node, _: Draft, context: Context) -> list[Effect]:
    known = context.known.disagreements
    return [Disagree(name) for name in _known_names(node, "disagree", "disagreements", known, context)]


ADVISE = EffectKind(EffectKey("advise", "names", "A- codes of the vocabulary", stages=("advise",)), _codes("advise"))
WARN = EffectKind(EffectKey("warn", "names", "W- codes of the vocabulary", stages=("advise",)), _codes("warn"))
MONITOR = EffectKind(
    EffectKey("monitor", "targets", "figures to watch, with their target", stages=("advise",)), _read_monitor
)
FIGURE = EffectKind(
    EffectKey("figure", "names", "figures of knowledge/figures.yaml to report", stages=("advise",)), _read_figures
)
DISAGREE = EffectKind(
    EffectKey(
        "disagree", "names", "disagreements of knowledge/disagreements.yaml that concern the case", stages=("advise",)
    ),
    _read_disagreements,
)
