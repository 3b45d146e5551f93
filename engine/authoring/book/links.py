"""What depends on what: who sets a fact and who reads it, and which rules feed which, as nodes and edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from whichgpu.engine.core import Calculator
from whichgpu.engine.rules import Ask, FactDef, Rule, Rulebook, Vocabulary


class Origins(Struct, frozen=True):
    """What can give a fact its value: rules and calculators by id, people (asked or not), an assumption."""

    rules: tuple[str, ...] = ()
    calculators: tuple[str, ...] = ()
    stated: bool = False
    asked: bool = False
    assumed: bool = False


class Links(Struct, frozen=True):
    """The links of one rulebook. Every mapping is sorted."""

    setters: Mapping[str, tuple[str, ...]]  # fact -> rules that set it
    readers: Mapping[str, tuple[str, ...]]  # fact -> rules whose conditions or settings read it
    askers: Mapping[str, tuple[str, ...]]  # fact -> rules that ask for it
    calculators: Mapping[str, tuple[str, ...]]  # fact -> calculators that compute it
    computed_from: Mapping[str, tuple[str, ...]]  # fact -> calculators that need or use it
    overridden_by: Mapping[str, tuple[str, ...]]  # rule -> rules that override it
    facts: Mapping[str, FactDef]

    def origins(self, fact: str) -> Origins:
        """What can give this fact its value."""
        known = self.facts.get(fact)
        return Origins(
            rules=self.setters.get(fact, ()),
            calculators=self.calculators.get(fact, ()),
            stated=known is not None and known.role != "output" and known.scope == "workload",
            asked=known is not None and bool(known.question) and known.askable != "never",
            assumed=known is not None and bool(known.assumptions),
        )

    def feeds(self, rule: Rule) -> tuple[str, ...]:
        """The rules that read what this rule sets."""
        return tuple(sorted({name for fact in rule.writes for name in self.readers.get(fact, ())} - {rule.id}))

    def fed_by(self, rule: Rule) -> tuple[str, ...]:
        """The rules that set what this rule reads."""
        return tuple(sorted({name for fact in rule.reads for name in self.setters.get(fact, ())} - {rule.id}))


def links_of(rulebook: Rulebook, vocabulary: Vocabulary, calculators: Iterable[Calculator]) -> Links:
    """The links between the rules of a rulebook, the facts and the calculators."""
    rules, known = rulebook.rules, tuple(calculators)
    return Links(
        setters=turned_round((rule.id, rule.writes) for rule in rules),
        readers=turned_round((rule.id, rule.reads) for rule in rules),
        askers=turned_round((rule.id, [e.fact for e in rule.effects if isinstance(e, Ask)]) for rule in rules),
        calculators=turned_round((calculator.name, [calculator.output]) for calculator in known),
        computed_from=turned_round((calculator.name, (*calculator.needs, *calculator.uses)) for calculator in known),
        overridden_by=turned_round((rule.id, rule.overrides) for rule in rules),
        facts=vocabulary.facts,
    )


def turned_round(pairs: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """From names and what each of them names to what is named and who names it, all sorted."""
    found: dict[str, set[str]] = {}
    for name, keys in pairs:
        for key in keys:
            found.setdefault(key, set()).add(name)
    return {key: tuple(sorted(names)) for key, names in sorted(found.items())}


NodeKind = Literal["topic", "fact", "calculator", "derive", "reject", "prefer", "advise"]


class Node(Struct, frozen=True):
    """A topic, a fact, a calculator, or a rule (then its stage is the kind)."""

    id: str
    kind: NodeKind


class Edge(Struct, frozen=True):
    """What flows from one node to another; ``label`` names it where nodes are topics. Dotted: an override."""

    start: str
    end: str
    label: str = ""
    dotted: bool = False


class Graph(Struct, frozen=True):
    """Nodes and edges, sorted."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def topic_graph(rulebook: Rulebook, links: Links) -> Graph:
    """The topics, with the facts that rules of one set and rules of another read."""
    topic = {rule.id: rule.topic for rule in rulebook.rules}
    flows: dict[tuple[str, str], set[str]] = {}
    for fact, setters in links.setters.items():
        for setter in setters:
            for reader in links.readers.get(fact, ()):
                if topic[setter] != topic[reader]:
                    flows.setdefault((topic[setter], topic[reader]), set()).add(fact)
    nodes = tuple(Node(name, "topic") for name in sorted(set(topic.values())))
    edges = tuple(Edge(start, end, ", ".join(sorted(facts))) for (start, end), facts in sorted(flows.items()))
    return Graph(nodes, edges)


def neighbourhood(rulebook: Rulebook, links: Links, names: Iterable[str], *, depth: int = 2) -> Graph:
    """The rules, facts and calculators within so many steps of the named rules, tables and facts.

    Raises:
        KeyError: nothing has one of the names.
    """
    rules = {rule.id: rule for rule in rulebook.rules}
    tables = {table.id: table.rows for table in rulebook.tables}
    near: dict[str, int] = {}
    edges: set[Edge] = set()
    front: list[str] = []
    for name in names:
        if name not in rules and name not in tables and name not in links.facts:
            raise KeyError(name)
        front += tables.get(name, (name,))
    for step in range(depth + 1):
        fresh = [name for name in dict.fromkeys(front) if name not in near]
        near |= dict.fromkeys(fresh, step)
        front = []
        for name in fresh if step < depth else ():
            found = _edges(name, rules, links)
            edges.update(found)
            front += [end for edge in found for end in (edge.start, edge.end)]
    nodes = tuple(Node(name, _kind(name, rules, links)) for name in sorted(near))
    kept = sorted((e for e in edges if e.start in near and e.end in near), key=lambda e: (e.start, e.end, e.dotted))
    return Graph(nodes, tuple(kept))


def _edges(name: str, rules: dict[str, Rule], links: Links) -> list[Edge]:
    """What flows in and out of one node."""
    rule = rules.get(name)
    if rule is not None:
        return [
            *(Edge(fact, name) for fact in sorted(rule.reads)),
            *(Edge(name, fact) for fact in sorted(rule.writes)),
            *(Edge(name, other, dotted=True) for other in rule.overrides),
            *(Edge(other, name, dotted=True) for other in links.overridden_by.get(name, ())),
        ]
    if name not in links.facts:
        return []
    return [
        *(Edge(setter, name) for setter in (*links.setters.get(name, ()), *links.calculators.get(name, ()))),
        *(Edge(name, reader) for reader in links.readers.get(name, ())),
    ]


def _kind(name: str, rules: dict[str, Rule], links: Links) -> NodeKind:
    if name in rules:
        return rules[name].stage
    return "fact" if name in links.facts else "calculator"
