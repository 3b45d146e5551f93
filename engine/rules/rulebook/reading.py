"""Reading the nodes of a rule file by the tables of ``forms``, collecting every problem on the way."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from collections.abc import Sequence as AbstractSequence

from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml.node import Mapping
from whichgpu.engine.core.yaml.node import Node
from whichgpu.engine.core.yaml.node import Scalar
from whichgpu.engine.core.yaml.node import Sequence
from whichgpu.engine.core.yaml.node import place_of
from whichgpu.engine.core.yaml.plain import typed
from whichgpu.engine.rules.rulebook.grammar import DATE_PATTERN
from whichgpu.engine.rules.rulebook.grammar import ID_PATTERN
from whichgpu.engine.rules.rulebook.grammar import EffectKey
from whichgpu.engine.rules.rulebook.grammar import Key


#: A mapping as read: key to (the key itself, its value).
Fields = dict[str, tuple[Scalar, Node]]


class Problems:
    """Problems in the order found. The same problem at the same place counts once (rows share their table's nodes)."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Problem] = {}

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


def kind_of(node: Node) -> str:
    """What a node is, in the words of an error."""
    if isinstance(node, Mapping):
        return "a mapping (key: value)"
    if isinstance(node, Sequence):
        return "a list"
    return "nothing" if is_empty(node) else repr(node.text)


def is_empty(node: Node) -> bool:
    """Whether a value was left out (``because:`` with nothing behind it)."""
    return isinstance(node, Scalar) and not node.quoted and typed(node.text) is None


def read_fields(
    node: Node, keys: AbstractSequence[Key | EffectKey], what: str, problems: Problems, *, hint: str | None = None
) -> Fields | None:
    """The mapping's entries by key; unknown and missing keys are problems and left out. None if it is no mapping."""
    if not isinstance(node, Mapping):
        problems.add("wrong-form", f"{what} is {kind_of(node)} and should be a mapping (key: value)", node, fix=hint)
        return None
    valid = [key.name for key in keys]
    fields: Fields = {}
    for name, value in node.entries:
        if name.text not in valid:
            nearest = nearest_words(name.text, valid, limit=1)
            fix = None if nearest else f"the keys of {what} are {', '.join(valid)}"
            problems.add("unknown-key", f"{what} has no key {name.text!r}", name, nearest=nearest, fix=fix)
        else:
            fields[name.text] = (name, value)
    for key in keys:
        if isinstance(key, Key) and key.required and (key.name not in fields or is_empty(fields[key.name][1])):
            where = fields.pop(key.name)[0] if key.name in fields else node
            problems.add("missing-key", f"{what} lacks `{key.name}`", where, fix=f"add `{key.name}:` ({key.says})")
    return fields


def read_text(node: Node, what: str, problems: Problems) -> str:
    """One text; "" after a problem."""
    if isinstance(node, Scalar) and not is_empty(node) and node.text.strip():
        return " ".join(node.text.split())
    problems.add("wrong-form", f"{what} is {kind_of(node)} and should be text", node)
    return ""


def read_word(node: Node, what: str, choices: AbstractSequence[str], problems: Problems) -> str | None:
    """One of ``choices``."""
    if isinstance(node, Scalar) and node.text in choices:
        return node.text
    asked = node.text if isinstance(node, Scalar) else ""
    nearest = nearest_words(asked, choices, limit=1) if asked else ()
    fix = None if nearest else f"write one of {', '.join(choices)}"
    problems.add("unknown-word", f"{what} cannot be {kind_of(node)}", node, nearest=nearest, fix=fix)
    return None


def read_flag(node: Node, what: str, problems: Problems) -> bool:
    """True or false; False after a problem."""
    value = typed(node.text) if isinstance(node, Scalar) and not node.quoted else None
    if isinstance(value, bool):
        return value
    problems.add("wrong-form", f"{what} is {kind_of(node)} and should be true or false", node)
    return False


def read_items(node: Node, what: str, problems: Problems) -> tuple[Node, ...]:
    """The items of a list."""
    if isinstance(node, Sequence):
        return node.items
    problems.add("wrong-form", f"{what} is {kind_of(node)} and should be a list", node, fix="start each item with `- `")
    return ()


def read_names(node: Node, what: str, problems: Problems) -> tuple[Scalar, ...]:
    """One name or a list of names, each once."""
    items = node.items if isinstance(node, Sequence) else (node,)
    names: dict[str, Scalar] = {}
    for item in items:
        if not isinstance(item, Scalar) or is_empty(item) or not item.text.strip():
            problems.add("wrong-form", f"{what} holds {kind_of(item)} and should hold names", item)
        elif item.text in names:
            problems.add("named-twice", f"{what} names {item.text!r} twice", item, fix="keep one of them")
        else:
            names[item.text] = item
    return tuple(names.values())


def read_number(node: Node, what: str, problems: Problems) -> float | None:
    """A finite plain number."""
    value = typed(node.text) if isinstance(node, Scalar) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf"):
        return value
    problems.add("wrong-form", f"{what} is {kind_of(node)} and should be a number", node)
    return None


def read_id(node: Node, what: str, problems: Problems) -> str | None:
    """A kebab-case name."""
    if isinstance(node, Scalar) and re.match(ID_PATTERN, node.text):
        return node.text
    fix = "write it in kebab-case: small letters and digits, joined by single hyphens"
    if isinstance(node, Scalar):
        kebab = re.sub(r"[^a-z0-9]+", "-", node.text.lower()).strip("-")
        fix = f"{fix}, such as {kebab}" if kebab else fix
    problems.add("bad-id", f"{what} cannot be {kind_of(node)}", node, fix=fix)
    return None


def read_date(node: Node, what: str, problems: Problems) -> str | None:
    """A calendar day as ``2026-12-31``."""
    if isinstance(node, Scalar) and re.match(DATE_PATTERN, node.text):
        try:
            return datetime.date.fromisoformat(node.text).isoformat()
        except ValueError:
            pass
    problems.add("wrong-form", f"{what} is {kind_of(node)} and should be a day such as 2026-12-31", node)
    return None
