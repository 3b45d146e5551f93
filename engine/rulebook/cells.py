"""Reading the cells of a table row: each becomes a condition on the fact of its column."""

from __future__ import annotations

import re
from typing import Literal

from engine.language.tree import And
from engine.language.tree import Compare
from engine.language.tree import Const
from engine.language.tree import Expr
from engine.language.tree import FactRef
from engine.language.tree import Has
from engine.language.tree import Member
from engine.language.tree import Not
from engine.language.tree import Or
from engine.rulebook.conditions import one_line
from engine.rulebook.conditions import read_condition
from engine.rulebook.drafts import Context
from engine.rulebook.model import Condition
from engine.rulebook.model import Each
from engine.rulebook.model import Stage
from engine.rulebook.reading import is_empty
from engine.rulebook.reading import kind_of
from engine.rulebook.reading import read_items
from engine.source import Node
from engine.source import Scalar
from engine.source import Sequence
from engine.source import place_of
from engine.values import Scalar as ScalarValue
from engine.vocabulary import FactDef
from engine.vocabulary import read_value


_ANYTHING = "-"
_OPERATOR = re.compile(r"(?:==|!=|<=|>=|<|>|(?:is|in|has)\b|not\s+in\b)")
_JOINT = re.compile(r"\s+(and|or)\s+(?![^\[(]*[\])])")
_PLAIN_WORD = re.compile(r"[A-Za-z_][\w./-]*")
_RANGE = re.compile(r"(.+?)\s*\.\.\s*(.+)")
_FORMS = "write `-` (anything), a value, a list of values, 7..13, or a comparison such as `< 3` or `is known`"


def read_cells(
    node: Node, columns: tuple[FactDef | None, ...], stage: Stage, each: Each, context: Context
) -> tuple[Condition, ...]:
    """The conditions of a row, in the order of the columns; cells that say "anything" have none."""
    cells = read_items(node, "`if`", context.problems)
    if isinstance(node, Sequence) and len(cells) != len(columns):
        context.problems.add(
            "wrong-form",
            f"the row has {_count(len(cells), 'cell')} for {_count(len(columns), 'column')}",
            node,
            fix="write one cell for each column, `-` where anything will do",
        )
        return ()
    conditions = (
        _read_cell(cell, fact, stage, each, context) for cell, fact in zip(cells, columns, strict=True) if fact
    )
    return tuple(condition for condition in conditions if condition is not None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_cell(node: Node, fact: FactDef, stage: Stage, each: Each, context: Context) -> Condition | None:
    if isinstance(node, Sequence):
        return _read_choices(node, fact, context)
    if not isinstance(node, Scalar) or is_empty(node):
        context.problems.add("wrong-form", f"a cell is {kind_of(node)}", node, fix=_FORMS)
        return None
    text = one_line(node.text)
    if text == _ANYTHING:
        return None
    span = _RANGE.fullmatch(text)
    if span:
        return _read_range(node, span.group(1), span.group(2), fact, context)
    if _OPERATOR.match(text):
        return _read_comparison(node, fact, stage, each, context)
    value = _read_constant(node, text, fact, context)
    return None if value is None else _equal(value, fact, node)


def _read_comparison(node: Scalar, fact: FactDef, stage: Stage, each: Each, context: Context) -> Condition | None:
    """``> 3 and <= 30``: the fact is put before each part."""
    expr = read_condition(node, stage, each, context, subject=fact.name)
    if expr is None:
        return None
    parts = _JOINT.split(one_line(node.text))
    full = " ".join(part if index % 2 else f"{fact.name} {part}" for index, part in enumerate(parts))
    return Condition(expr, full, place_of(node), fact.name)


def _read_range(node: Scalar, low: str, high: str, fact: FactDef, context: Context) -> Condition | None:
    if not fact.numeric:
        context.problems.add(
            "wrong-type", f"`{fact.name}` is no number and has no ranges", node, fix=_FORMS, fact=fact.name
        )
        return None
    first = _read_constant(node, low, fact, context)
    last = _read_constant(node, high, fact, context)
    if first is None or last is None:
        return None
    if not isinstance(first, str) and not isinstance(last, str) and first > last:
        context.problems.add(
            "wrong-form",
            f"the range {node.text} runs from high to low",
            node,
            fix=f"write {high}..{low}",
            fact=fact.name,
        )
        return None
    expr = And((Compare(">=", FactRef(fact.name), Const(first)), Compare("<=", FactRef(fact.name), Const(last))))
    text = f"{fact.name} >= {_written(first)} and {fact.name} <= {_written(last)}"
    return Condition(expr, text, place_of(node), fact.name)


def _read_choices(node: Sequence, fact: FactDef, context: Context) -> Condition | None:
    values: list[ScalarValue] = []
    for item in node.items:
        if not isinstance(item, Scalar) or is_empty(item):
            context.problems.add("wrong-form", f"a cell's list holds {kind_of(item)}", item, fix="list plain values")
            continue
        value = _read_constant(item, one_line(item.text), fact, context)
        if value is not None:
            values.append(value)
    if not node.items:
        context.problems.add("wrong-form", "a cell's list is empty and could never match", node, fix=_FORMS)
    if not values:
        return None
    if fact.type == "list":
        parts = tuple(Has(FactRef(fact.name), value) for value in values)
        expr: Expr = parts[0] if len(parts) == 1 else Or(parts)
        return Condition(
            expr, " or ".join(f"{fact.name} has {_written(value)}" for value in values), place_of(node), fact.name
        )
    if fact.type == "bool":
        context.problems.add("wrong-form", f"`{fact.name}` is yes or no; a list says nothing", node, fix=_FORMS)
        return None
    listed = ", ".join(_written(value) for value in values)
    return Condition(Member(FactRef(fact.name), tuple(values)), f"{fact.name} in [{listed}]", place_of(node), fact.name)


def _equal(value: ScalarValue, fact: FactDef, node: Scalar) -> Condition:
    ref = FactRef(fact.name)
    if fact.type == "bool":
        return Condition(
            ref if value else Not(ref), fact.name if value else f"not {fact.name}", place_of(node), fact.name
        )
    operator: Literal["has", "=="] = "has" if fact.type == "list" else "=="
    expr = Has(ref, value) if operator == "has" else Compare("==", ref, Const(value))
    return Condition(expr, f"{fact.name} {operator} {_written(value)}", place_of(node), fact.name)


def _read_constant(node: Scalar, text: str, fact: FactDef, context: Context) -> ScalarValue | None:
    """A value of the fact, or of one item of a list. In a rule, an unknown choice is a mistake even where users may."""
    reading = read_value(fact, [text] if fact.type == "list" else text, place_of(node), known_gpus=context.known.gpus)
    context.problems.extend((*reading.problems, *reading.warnings))
    if reading.problems or reading.warnings:
        return None
    value = reading.value
    if value is None or value == ():
        context.problems.add("wrong-form", f"{text!r} is no value", node, fix="write `is unknown` to ask for that")
        return None
    return value[0] if isinstance(value, tuple) else value


def _written(value: ScalarValue) -> str:
    """A constant as the rule language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value) if not isinstance(value, str) or _PLAIN_WORD.fullmatch(value) else f'"{value}"'
