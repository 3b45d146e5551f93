"""Reading the nodes of a rule file by the tables of its grammar, collecting every problem on the way."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from msgspec import Struct

from whichgpu.engine.core import (
    MappingNode,
    Node,
    Place,
    Problem,
    ScalarNode,
    SequenceNode,
    is_number,
    nearest_words,
    place_of,
    typed,
)
from whichgpu.engine.rules.facts import FactDef, Vocabulary
from whichgpu.engine.rules.rulebook.grammar import DATE_PATTERN, ID_PATTERN, Key
from whichgpu.engine.rules.rulebook.model import KnownNames, Responsible, Rule


#: A mapping as read: key to (the key itself, its value).
Fields = dict[str, tuple[ScalarNode, Node]]

WordT = TypeVar("WordT", bound=str)


@dataclass
class Reader:
    """Reads nodes, and collects every problem on the way in the order found.

    The same problem at the same place counts once, since rows share their table's nodes.
    """

    _found: dict[tuple[str, str, str], Problem] = field(default_factory=dict, init=False)

    def add(
        self,
        code: str,
        message: str,
        where: Node | Place | None,
        *,
        nearest: tuple[str, ...] = (),
        fix: str | None = None,
        fact: str | None = None,
    ) -> None:
        """Note one problem."""
        place = where if where is None or isinstance(where, Place) else place_of(where)
        self.extend([Problem(code, message, place, fact, nearest, fix)])

    def unknown(
        self, code: str, message: str, node: Node, known: Iterable[str], *, asked: str | None = None, fix: str
    ) -> None:
        """Note a name or word that is not among the ``known`` ones: with the nearest of them, or else the fix."""
        word = asked or (node.text if isinstance(node, ScalarNode) else "")
        nearest = nearest_words(word, sorted(known), limit=1)
        self.add(code, message, node, nearest=nearest, fix=None if nearest else fix)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note problems that another reader found."""
        for problem in problems:
            self._found.setdefault((problem.code, str(problem.place), problem.message), problem)

    def sorted(self) -> tuple[Problem, ...]:
        """All problems by file, line and column; those without a place come first."""

        def key(problem: Problem) -> tuple[str, int, int, str, str]:
            place = problem.place or Place("", 0, 0)
            return (place.path, place.line, place.column, problem.code, problem.message)

        return tuple(sorted(self._found.values(), key=key))

    def __len__(self) -> int:
        return len(self._found)

    def fields(self, node: Node, keys: Sequence[Key], what: str, *, hint: str | None = None) -> Fields | None:
        """A mapping's entries by key; unknown and missing keys are problems and left out. None if it is no mapping."""
        if not isinstance(node, MappingNode):
            self.add("wrong-form", f"{what} is {kind_of(node)} and should be a mapping (key: value)", node, fix=hint)
            return None
        valid = [key.name for key in keys]
        fields: Fields = {}
        for name, value in node.entries:
            if name.text not in valid:
                fix = f"the keys of {what} are {', '.join(valid)}"
                self.unknown("unknown-key", f"{what} has no key {name.text!r}", name, valid, fix=fix)
            else:
                fields[name.text] = (name, value)
        for key in keys:
            if key.required and (key.name not in fields or is_empty(fields[key.name][1])):
                where = fields.pop(key.name)[0] if key.name in fields else node
                self.add("missing-key", f"{what} lacks `{key.name}`", where, fix=f"add `{key.name}:` ({key.says})")
        return fields

    def text(self, fields: Fields, key: str) -> str:
        """The text under a key; "" where there is none, and after a problem."""
        if key not in fields:
            return ""
        node = fields[key][1]
        if isinstance(node, ScalarNode) and not is_empty(node) and node.text.strip():
            return " ".join(node.text.split())
        self.add("wrong-form", f"`{key}` is {kind_of(node)} and should be text", node)
        return ""

    def word(self, fields: Fields, key: str, choices: Sequence[WordT]) -> WordT | None:
        """The one of ``choices`` that stands under a key; None where none does, and after a problem."""
        if key not in fields:
            return None
        node = fields[key][1]
        if isinstance(node, ScalarNode) and node.text in choices:
            return choices[choices.index(node.text)]
        fix = f"write one of {', '.join(choices)}"
        self.unknown("unknown-word", f"`{key}` cannot be {kind_of(node)}", node, choices, fix=fix)
        return None

    def flag(self, fields: Fields, key: str) -> bool:
        """The true or false under a key; False where there is none, and after a problem."""
        if key not in fields:
            return False
        node = fields[key][1]
        value = typed(node.text) if isinstance(node, ScalarNode) and not node.quoted else None
        if isinstance(value, bool):
            return value
        self.add("wrong-form", f"`{key}` is {kind_of(node)} and should be true or false", node)
        return False

    def items(self, node: Node, what: str) -> tuple[Node, ...]:
        """The items of a list."""
        if isinstance(node, SequenceNode):
            return node.items
        self.add("wrong-form", f"{what} is {kind_of(node)} and should be a list", node, fix="start each item with `- `")
        return ()

    def names(self, node: Node, what: str) -> tuple[ScalarNode, ...]:
        """One name or a list of names, each once."""
        items = node.items if isinstance(node, SequenceNode) else (node,)
        names: dict[str, ScalarNode] = {}
        for item in items:
            if not isinstance(item, ScalarNode) or is_empty(item) or not item.text.strip():
                self.add("wrong-form", f"{what} holds {kind_of(item)} and should hold names", item)
            elif item.text in names:
                self.add("named-twice", f"{what} names {item.text!r} twice", item, fix="keep one of them")
            else:
                names[item.text] = item
        return tuple(names.values())

    def number(self, node: Node, what: str) -> float | None:
        """A finite plain number."""
        value = typed(node.text) if isinstance(node, ScalarNode) else None
        if is_number(value) and abs(value) < float("inf"):
            return value
        self.add("wrong-form", f"{what} is {kind_of(node)} and should be a number", node)
        return None

    def id(self, node: Node, what: str) -> str | None:
        """A kebab-case name."""
        if isinstance(node, ScalarNode) and re.match(ID_PATTERN, node.text):
            return node.text
        fix = "write it in kebab-case: small letters and digits, joined by single hyphens"
        if isinstance(node, ScalarNode):
            kebab = re.sub(r"[^a-z0-9]+", "-", node.text.lower()).strip("-")
            fix = f"{fix}, such as {kebab}" if kebab else fix
        self.add("bad-id", f"{what} cannot be {kind_of(node)}", node, fix=fix)
        return None

    def date(self, node: Node, what: str) -> str | None:
        """A calendar day as ``2026-12-31``."""
        if isinstance(node, ScalarNode) and re.match(DATE_PATTERN, node.text):
            with suppress(ValueError):
                return datetime.date.fromisoformat(node.text).isoformat()
        self.add("wrong-form", f"{what} is {kind_of(node)} and should be a day such as 2026-12-31", node)
        return None


def kind_of(node: Node) -> str:
    """What a node is, in the words of an error."""
    if isinstance(node, MappingNode):
        return "a mapping (key: value)"
    if isinstance(node, SequenceNode):
        return "a list"
    return "nothing" if is_empty(node) else repr(node.text)


def whole_number(node: Node) -> int | None:
    """A whole number from 1, or None."""
    count = typed(node.text) if isinstance(node, ScalarNode) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None


def is_empty(node: Node) -> bool:
    """Whether a value was left out (``because:`` with nothing behind it)."""
    return isinstance(node, ScalarNode) and not node.quoted and typed(node.text) is None


class Draft(NamedTuple):
    """What a rule is made of. ``fields`` and ``then`` hold the row's nodes over the table's."""

    rule: Rule  # without its effects, reasons and sources
    node: Node
    fields: Fields
    then: Fields | None  # None where it cannot be read


class Removal(Struct, frozen=True):
    """A rule or table of a layer below that is disabled, or replaced ``by`` another."""

    name: ScalarNode
    because: str
    by: str | None = None


@dataclass
class Context(Reader):
    """What the reading of a rulebook shares: the vocabulary, outside names, and what was found so far."""

    vocabulary: Vocabulary
    known: KnownNames
    tests: bool = True  # whether the tests inside rules are read
    places: dict[str, list[Place]] = field(default_factory=dict)  # rule and table ids -> where they stand
    overrides: list[tuple[str, ScalarNode]] = field(default_factory=list)  # rule -> name it overrides, as written
    removals: list[Removal] = field(default_factory=list)  # what the layer being read takes from those below
    layer: str = ""  # the layer being read
    responsible: Responsible = field(default_factory=Responsible)  # who answers for it
    topmost: bool = True  # whether no layer lies over it, which may have changed what its tests speak of

    def claim(self, name: str, node: Node) -> None:
        """Note that ``name`` is defined at ``node``; a second definition is a problem that names both places."""
        place = place_of(node)
        seen = self.places.setdefault(name, [])
        if seen:
            message = f"{name!r} is defined twice, first at {seen[0]}"
            self.add("duplicate-id", message, node, fix="give one of them another id")
        seen.append(place)

    def fact(self, node: ScalarNode, what: str) -> FactDef | None:
        """The fact that is named at ``node``."""
        asked = node.text.strip()
        found = self.vocabulary.fact(asked)
        if found is None:
            nearest = self.vocabulary.nearest(asked, limit=1)
            fix = None if nearest else "use a fact of the vocabulary, or define it there"
            message = f"{what} names {asked!r}, which is no fact"
            self.add("unknown-fact", message, node, nearest=nearest, fix=fix, fact=asked)
        return found
