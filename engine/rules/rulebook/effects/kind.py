"""What a kind of effect brings: its word under ``then``, the words beside it, and how it is read."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from whichgpu.engine.core import Node, ScalarNode
from whichgpu.engine.rules.language.templates import check_template
from whichgpu.engine.rules.rulebook.grammar import EffectKey
from whichgpu.engine.rules.rulebook.model import Effect
from whichgpu.engine.rules.rulebook.reading import Context, Draft, kind_of


class EffectKind(Struct, frozen=True):
    """One word of ``then``. ``companions`` are words that do nothing alone and stand beside it."""

    key: EffectKey
    read: Callable[[Node, Draft, Context], list[Effect]]
    companions: tuple[EffectKey, ...] = ()


def read_template(node: Node, draft: Draft, context: Context) -> str:
    """A text with facts in it, checked; "" after a problem."""
    if not isinstance(node, ScalarNode) or not node.text.strip():
        context.add("wrong-form", f"a text of {draft.rule.id} is {kind_of(node)} and should be text", node)
        return ""
    context.extend(check_template(node.text, context.vocabulary, node, draft.rule.each))
    return " ".join(node.text.split())
