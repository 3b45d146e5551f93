"""Effects on facts: setting them, asking for them, and counts of GPUs to plan."""

from __future__ import annotations

from collections.abc import Iterable

from whichgpu.engine.core import MappingNode, Node, ScalarNode, WhichgpuError
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.parsing import parse_expression
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.rulebook.conditions import check_reads, one_line
from whichgpu.engine.rules.rulebook.effect_records import Ask, ConsiderCounts, SetFact
from whichgpu.engine.rules.rulebook.effects.kind import EffectKind
from whichgpu.engine.rules.rulebook.grammar import EffectKey
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.phases import late_complaint, latest, setting_complaint
from whichgpu.engine.rules.rulebook.reading import Context, Draft, is_empty, kind_of, whole_number


_SET_FORM = "write set: {fact: value}"


def _read_settings(node: Node, draft: Draft, context: Context) -> list[Effect]:
    """The facts a rule sets, sorted by name; those with problems are left out."""
    if not isinstance(node, MappingNode) or not node.entries:
        context.add("wrong-form", f"`set` is {kind_of(node)}", node, fix=_SET_FORM)
        return []
    found = {name: _read_setting(name, value, draft, context) for name, value in node.entries}
    effects = sorted((effect for effect in found.values() if effect is not None), key=lambda effect: effect.fact)
    if (draft.rule.stage, draft.rule.each) == ("derive", "workload"):
        beside = _facts_of(draft, effects, context)
        for name, effect in found.items():
            complaint = effect and late_complaint(context.vocabulary.facts[effect.fact], beside)
            if complaint:
                context.add("late-fact", complaint[0], name, fix=complaint[1], fact=name.text)
    return [*effects]


def _facts_of(draft: Draft, effects: Iterable[SetFact], context: Context) -> list[FactDef]:
    """The facts that a rule reads or sets."""
    read = [*(condition.expr for condition in draft.rule.when), *(effect.expr for effect in effects)]
    names = {name for expr in read for name in facts_read(expr)} | {effect.fact for effect in effects}
    return [context.vocabulary.facts[name] for name in names]


def _read_setting(name: ScalarNode, value: Node, draft: Draft, context: Context) -> SetFact | None:
    fact = context.fact(name, "`set`")
    if fact is None:
        return None
    complaint = setting_complaint(fact, draft.rule.stage, draft.rule.each)
    if complaint:
        message, fix = complaint
        context.add("unsettable-fact", message, name, fix=fix, fact=fact.name)
        return None
    if not isinstance(value, ScalarNode) or is_empty(value):
        context.add("wrong-form", f"`{fact.name}` is set to {kind_of(value)}", value, fix=_SET_FORM, fact=fact.name)
        return None
    try:
        expr = parse_expression(
            value.text, context.vocabulary, value, draft.rule.each, target=fact, known_gpus=context.known.gpus
        )
    except WhichgpuError as error:
        context.extend(error.problems)
        return None
    if not check_reads(expr, value, draft.rule.stage, draft.rule.each, context):
        return None
    return SetFact(fact.name, expr, one_line(value.text))


def _read_counts(node: Node, draft: Draft, context: Context) -> list[Effect]:
    counts: set[int] = set()
    last = latest(_facts_of(draft, (), context))
    if last is not None and last.available != "intake":
        message = f"counts are planned before `{last.name}` is known ({last.available}), which this rule waits for"
        context.add("late-fact", message, node, fix="read facts of the workload that are known at intake")
    for name in context.names(node, "`consider_counts`"):
        count = whole_number(name)
        if count is not None:
            counts.add(count)
        else:
            context.add("wrong-form", f"{name.text!r} is no number of GPUs", name, fix="write whole numbers from 1")
    return [ConsiderCounts(tuple(sorted(counts)))] if counts else []


def _read_ask(node: Node, _: Draft, context: Context) -> list[Effect]:
    facts = [context.fact(name, "`ask`") for name in context.names(node, "`ask`")]
    return [Ask(fact.name) for fact in facts if fact]


SET = EffectKind(EffectKey("set", "settings", "gives facts a value", stages=("derive", "advise")), _read_settings)
CONSIDER_COUNTS = EffectKind(
    EffectKey("consider_counts", "counts", "plan these GPU counts as well", stages=("derive",), each=("workload",)),
    _read_counts,
)
ASK = EffectKind(
    EffectKey(
        "ask", "names", "facts that belong to the open questions if they are unknown", stages=("derive", "advise")
    ),
    _read_ask,
)
