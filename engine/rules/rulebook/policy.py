"""The GPUs that a layer's policy approves or forbids, as reject rules."""

from __future__ import annotations

from whichgpu.engine.core import Document, Node, Policy, find, place_of
from whichgpu.engine.rules.language.tree import Expr, FactRef, Member, Or, written
from whichgpu.engine.rules.rulebook.effect_records import Reject
from whichgpu.engine.rules.rulebook.model import Condition, Rule
from whichgpu.engine.rules.rulebook.reading import Context


#: The topic of the rules that a policy comes to. Nobody writes tests for them: they are lists.
POLICY_TOPIC = "policy"

_NAMES = ("gpu.id", "gpu.family", "gpu.series")


def policy_rules(policy: Policy, document: Document, context: Context) -> list[Rule]:
    """A rule for the GPUs that are approved and one for those that are forbidden; none for a list that is empty."""
    rules = []
    for kind, names in (("approved", policy.approved.gpus), ("forbidden", policy.forbidden.gpus)):
        node = find(document.node, (kind, "gpus"))
        _check(names, node, context)
        if names:
            rules.append(_rule(kind, names, node, policy, context))
    return rules


def _check(names: tuple[str, ...], node: Node, context: Context) -> None:
    for at, name in enumerate(names):
        if context.known.gpus and name not in context.known.gpus:
            item = find(node, (at,))
            message = f"the policy names {name!r}, which is no GPU, family or series of the catalogue"
            context.unknown("unknown-gpu", message, item, context.known.gpus, asked=name, fix="see: whichgpu gpus")


def _rule(kind: str, names: tuple[str, ...], node: Node, policy: Policy, context: Context) -> Rule:
    approved = kind == "approved"
    members = tuple(Member(FactRef(fact), names, negated=approved) for fact in _NAMES)
    lines: tuple[Expr, ...] = members if approved else (Or(members),)
    place = place_of(node)
    name = f"{kind}-gpus-of-{context.layer}".lower().replace("/", "-").replace("_", "-")
    said = "is not among the approved GPUs" if approved else "is among the forbidden GPUs"
    return Rule(
        id=name,
        title=f"Only approved GPUs: {', '.join(names)}" if approved else f"Forbidden GPUs: {', '.join(names)}",
        stage="reject",
        each="plan",
        when=tuple(Condition(expr, written(expr), place) for expr in lines),
        effects=(Reject(f"{{gpu.name}} {said}: {policy.because}"),),
        text="",
        because=policy.because,
        sources=policy.sources,
        topic=POLICY_TOPIC,
        place=place,
        reads=frozenset(_NAMES),
        mentions=frozenset({"gpu.name"}),
        layer=context.layer,
    )
