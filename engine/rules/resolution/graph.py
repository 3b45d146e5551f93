"""The graph of producers: calculators, derive rules and defaults, ordered so that each runs after all that it reads."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

from whichgpu.engine.core.calculators import Calculator
from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.language import facts_read
from whichgpu.engine.rules.language.tree import Expr
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.order import Node
from whichgpu.engine.rules.rulebook.order import rule_nodes
from whichgpu.engine.rules.rulebook.order import topological_levels


@dataclass(frozen=True, slots=True)
class Default:
    """A value to assume for a fact that nothing else settles. ``when`` None: always."""

    fact: str
    value: Value
    because: str
    when: Expr | None = None


@dataclass(frozen=True, slots=True)
class Level:
    """Producers that may run together, and the facts that are settled once they have."""

    calculators: tuple[Calculator, ...]
    rules: tuple[Rule, ...]
    defaults: tuple[Default, ...]
    closes: tuple[str, ...]


def build_levels(
    calculators: Iterable[Calculator], rules: Iterable[Rule], defaults: Iterable[Default]
) -> tuple[Level, ...]:
    """Order the producers.

    Raises:
        RulebookError: producers feed each other in a circle; the message shows the path.
    """
    rules = tuple(rules)
    by_calculator = {f"calculator {item.output}": item for item in calculators}
    by_default: dict[str, Default] = {}
    for item in defaults:
        by_default[f"default {item.fact} {len(by_default)}"] = item
    by_rule = {rule.id: rule for rule in rules}
    nodes: dict[str, Node] = dict(rule_nodes(rules))
    nodes |= {name: (frozenset(c.needs + c.uses), frozenset((c.output,))) for name, c in by_calculator.items()}
    nodes |= {name: (_default_reads(d), frozenset((d.fact,))) for name, d in by_default.items()}
    order = topological_levels(nodes, {rule.id: rule.place for rule in rules})
    closing = _closing_level(order, nodes)
    return tuple(
        Level(
            calculators=tuple(by_calculator[name] for name in names if name in by_calculator),
            rules=tuple(by_rule[name] for name in names if name in by_rule),
            defaults=tuple(by_default[name] for name in names if name in by_default),
            closes=tuple(sorted(fact for fact, level in closing.items() if level == depth)),
        )
        for depth, names in enumerate(order)
    )


def _default_reads(default: Default) -> frozenset[str]:
    return frozenset() if default.when is None else frozenset(facts_read(default.when)) - {default.fact}


def _closing_level(order: tuple[tuple[str, ...], ...], nodes: Mapping[str, Node]) -> dict[str, int]:
    """For each produced fact, the level of its last producer."""
    closing: dict[str, int] = {}
    for depth, names in enumerate(order):
        for name in names:
            for fact in nodes[name][1]:
                closing[fact] = depth
    return closing
