"""Laying rules over rules: what a layer adds, replaces and disables, and the digest over what rules say."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import Place, place_of
from whichgpu.engine.rules.rulebook.model import Change, Layer, Responsible, Rule, Table
from whichgpu.engine.rules.rulebook.reading import Context, Removal


#: Where a rule stands, how it is filed and tested decides nothing; the rest of these follows from other fields.
_LEFT_OUT = frozenset({"place", "topic", "tests", "reads", "writes", "mentions", "replaces", "layer", "responsible"})

#: The fields of each class that count; looked up once.
_FIELDS: dict[type, tuple[str, ...]] = {}


def rule_digest(rule: Rule) -> str:
    """SHA-256 over the canonical JSON of one rule. Tests are left out: they change no decision."""
    text = json.dumps(canonical(rule), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def combined(digests: Iterable[str]) -> str:
    """The digest of a set of rules from the digests of each."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def canonical(value: Any) -> Any:
    """A rule, or a part of one, as JSON values: trees are lists headed by their class, places are left out."""
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if kind is tuple or kind is list:
        return [canonical(item) for item in value]
    names = _FIELDS.get(kind)
    if names is None and issubclass(kind, Struct):
        names = _FIELDS[kind] = _counting(kind)
    if names is not None:
        return [kind.__name__, *[canonical(getattr(value, name)) for name in names]]
    return int(value) if kind is float and value.is_integer() else value


def _counting(kind: type[Struct]) -> tuple[str, ...]:
    """The fields that count. Where there is a tree, it says all that its text does."""
    names = [name for name in kind.__struct_fields__ if name not in _LEFT_OUT]
    return tuple(name for name in names if name != "text" or "expr" not in names)


@dataclass(slots=True)
class Stack:
    """The rules of the layers laid so far, by id, and what each layer changed."""

    rules: dict[str, Rule] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    responsible: dict[str, Responsible] = field(default_factory=dict)  # of each layer
    laid: dict[str, tuple[Rule, ...]] = field(default_factory=dict)  # layer -> its rules, whatever became of them
    removals: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # layer -> rules that it removed
    replaced_rows: dict[str, Rule] = field(default_factory=dict)  # rule -> the row whose place it takes
    places: dict[str, list[Place]] = field(default_factory=dict)  # all ids that were ever defined

    def lay(self, name: str, rules: Sequence[Rule], tables: Sequence[Table], context: Context) -> None:
        """Lay a layer on top. ``context`` holds what was noted while it was read, and gets the problems."""
        lowest = not self.names
        self.names.append(name)
        self.laid[name] = tuple(rules)
        self.responsible[name] = context.responsible
        self.removals[name] = []
        for removal in context.removals:
            self._remove(name, removal, context)
        self._refuse_duplicates(context)
        self.rules.update((rule.id, self._in_place_of_row(rule)) for rule in rules)
        self.tables.update((table.id, table) for table in tables)
        if not lowest:
            self.changes += [
                Change("added", rule.id, rule.title, name, rule.because, place=rule.place)
                for rule in rules
                if rule.replaces is None and (rule.table is None or not self._replaces(rule.table))
            ]
        self.places |= {key: places for key, places in context.places.items() if key not in self.places}
        context.removals = []
        context.places = {}

    def layers(self, known: Mapping[int, str]) -> tuple[Layer, ...]:
        """The layers, the lowest first, each with how many of its rules are in force.

        A digest covers what a layer says itself: the rules it adds, and what it takes away from those below.
        ``known`` are digests by the identity of the rule: computation one costs as much as reading half a rule.
        """
        made = []
        for name in self.names:
            digests = [known.get(id(rule)) or rule_digest(rule) for rule in self.laid[name]]
            in_force = sum(rule.layer == name for rule in self.rules.values())
            made.append(Layer(name, _digest(digests, self.removals[name]), in_force, self.responsible[name]))
        return tuple(made)

    def _replaces(self, table: str) -> bool:
        return table in self.tables and self.tables[table].replaces is not None

    def _remove(self, layer: str, removal: Removal, context: Context) -> None:
        name = removal.name.text
        table = self.tables.get(name)
        gone = [row for row in table.rows if row in self.rules] if table else [name] if name in self.rules else []
        if not gone:
            self._complain(layer, removal, context)
            return
        for rule_id in gone:
            rule = self.rules.pop(rule_id)
            kind: Literal["disabled", "replaced"] = "disabled" if removal.by is None else "replaced"
            place = place_of(removal.name)
            because, by = removal.because, removal.by
            self.changes.append(Change(kind, rule_id, rule.title, layer, because, by, rule.layer, place))
            self.removals[layer].append((rule_id, removal.because))
            if removal.by is not None and name == rule_id and rule.table in self.tables:
                self.replaced_rows[removal.by] = rule
            else:
                self._forget_row(rule)
        if table:
            self.tables.pop(name, None)

    def _in_place_of_row(self, rule: Rule) -> Rule:
        """The rule in the place of the row that it replaces, where it is one of the same stage and scope."""
        row = self.replaced_rows.pop(rule.id, None)
        if row is None:
            return rule
        if rule.table is not None or (rule.stage, rule.each) != (row.stage, row.each):
            self._forget_row(row)
            return rule
        table = self.tables[row.table or ""]
        rows = tuple(rule.id if name == row.id else name for name in table.rows)
        self.tables[table.id] = replace(table, rows=rows)
        return replace(rule, table=row.table, row=row.row, hit=row.hit)

    def _forget_row(self, rule: Rule) -> None:
        table = self.tables.get(rule.table or "")
        if table is not None:
            rows = tuple(row for row in table.rows if row != rule.id)
            self.tables[table.id] = replace(table, rows=rows)

    def _complain(self, layer: str, removal: Removal, context: Context) -> None:
        name = removal.name.text
        verb = "disables" if removal.by is None else "replaces"
        who = f"{removal.by} {verb}" if removal.by else f"the layer {layer} {verb}"
        below = [*self.rules, *self.tables]
        if any(change.rule == name for change in self.changes):
            first = next(change for change in self.changes if change.rule == name)
            message = f"{who} {name!r}, which {first.layer} took away already"
            context.add("unknown-rule", message, removal.name, fix="drop one of the two")
            return
        if name in context.places and removal.by != name:
            message = f"{who} {name!r}, which is a rule of the same layer"
            context.add("unknown-rule", message, removal.name, fix="change that rule itself")
            return
        fix = "name a rule or table of a layer below; `whichgpu rules list` names them"
        fix = fix if below else "leave it out: there is no layer below"
        context.unknown("unknown-rule", f"{who} {name!r}, which no rule below is called", removal.name, below, fix=fix)

    def _refuse_duplicates(self, context: Context) -> None:
        """A name that is taken already needs a word that it is meant to be taken."""
        for name, places in context.places.items():
            if name in self.rules or name in self.tables:
                first = self.places.get(name, [None])[0]
                fix = f"give it another id, or write `replaces: {name}` if it is to take the other's place"
                context.add("duplicate-id", f"{name!r} is defined twice, first at {first}", places[0], fix=fix)


def _digest(digests: list[str], removals: list[tuple[str, str]]) -> str:
    if not removals:
        return combined(digests)
    text = json.dumps(sorted(removals), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return combined([*digests, hashlib.sha256(text.encode()).hexdigest()])
