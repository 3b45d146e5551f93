"""Reading ``set: {fact: expression}``."""

from __future__ import annotations

from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.rules.language.parsing import parse_expression
from whichgpu.engine.rules.rulebook.conditions import check_reads
from whichgpu.engine.rules.rulebook.conditions import one_line
from whichgpu.engine.rules.rulebook.grammar import setting_complaint
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.model import SetFact
from whichgpu.engine.rules.rulebook.raw_rule import Context
from whichgpu.engine.rules.rulebook.raw_rule import Draft
from whichgpu.engine.rules.rulebook.reading import is_empty
from whichgpu.engine.rules.rulebook.reading import kind_of


_FORM = "write set: {fact: value}"


def read_settings(node: Node, draft: Draft, context: Context) -> list[Effect]:
    """The facts a rule sets, sorted by name; those with problems are left out."""
    if not isinstance(node, Mapping) or not node.entries:
        context.problems.add("wrong-form", f"`set` is {kind_of(node)}", node, fix=_FORM)
        return []
    found = (_read_setting(name, value, draft, context) for name, value in node.entries)
    return [*sorted((effect for effect in found if effect is not None), key=lambda effect: effect.fact)]


def _read_setting(name: Scalar, value: Node, draft: Draft, context: Context) -> SetFact | None:
    fact = context.fact(name, "`set`")
    if fact is None:
        return None
    complaint = setting_complaint(fact, draft.stage, draft.each)
    if complaint:
        message, fix = complaint
        context.problems.add("unsettable-fact", message, name, fix=fix, fact=fact.name)
        return None
    if not isinstance(value, Scalar) or is_empty(value):
        context.problems.add(
            "wrong-form", f"`{fact.name}` is set to {kind_of(value)}", value, fix=_FORM, fact=fact.name
        )
        return None
    try:
        expr = parse_expression(
            value.text, context.vocabulary, value, draft.each, target=fact, known_gpus=context.known.gpus
        )
    except WhichgpuError as error:
        context.problems.extend(error.problems)
        return None
    if not check_reads(expr, value, draft.stage, draft.each, context):
        return None
    return SetFact(fact.name, expr, one_line(value.text))
