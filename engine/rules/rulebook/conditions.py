"""Reading conditions: the lines of ``when`` and the cells of table rows."""

from __future__ import annotations

import re

from whichgpu.engine.core import (
    MappingNode,
    Node,
    Place,
    ScalarNode,
    SequenceNode,
    WhichgpuError,
    place_of,
    place_within,
)
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.parsing import parse_cell, parse_condition
from whichgpu.engine.rules.language.tree import Expr, Or, facts_read, written
from whichgpu.engine.rules.rulebook.model import Condition, Each, Stage
from whichgpu.engine.rules.rulebook.phases import reading_complaint
from whichgpu.engine.rules.rulebook.reading import Context, is_empty, kind_of


_FORM = "write a condition such as `plan.count > 8`, or `any:` with a list of conditions"


def read_conditions(node: Node, stage: Stage, each: Each, context: Context) -> tuple[Condition, ...]:
    """The lines of a ``when``. Lines with problems are left out."""
    found: list[Condition] = []
    for item in context.items(node, "`when`"):
        condition = _read_line(item, stage, each, context)
        if condition is not None:
            found.append(condition)
    return tuple(found)


def _read_line(node: Node, stage: Stage, each: Each, context: Context) -> Condition | None:
    if isinstance(node, MappingNode) and node.keys() == ("any",):
        return _read_any(node, stage, each, context)
    if not isinstance(node, ScalarNode) or is_empty(node):
        context.add("wrong-form", f"a line of `when` is {kind_of(node)}", node, fix=_FORM)
        return None
    expr = read_condition(node, stage, each, context)
    return None if expr is None else Condition(expr, one_line(node.text), place_of(node))


def _read_any(node: MappingNode, stage: Stage, each: Each, context: Context) -> Condition | None:
    (name, alternatives), *_ = node.entries
    operands: list[Expr] = []
    texts: list[str] = []
    items = context.items(alternatives, "`any`")
    for item in items:
        if not isinstance(item, ScalarNode) or is_empty(item):
            context.add("wrong-form", f"an alternative of `any` is {kind_of(item)}", item, fix=_FORM)
            continue
        expr = read_condition(item, stage, each, context)
        if expr is not None:
            operands.append(expr)
            texts.append(f"({one_line(item.text)})")
    if not items:
        context.add("wrong-form", "`any` lists no condition and could never hold", name, fix=_FORM)
    if not operands:
        return None
    expr = operands[0] if len(operands) == 1 else Or(tuple(operands))
    return Condition(expr, " or ".join(texts), place_of(name))


def read_condition(node: ScalarNode, stage: Stage, each: Each, context: Context) -> Expr | None:
    """One condition as a tree, checked for what this stage and scope may read. None after a problem."""
    try:
        expr = parse_condition(node.text, context.vocabulary, node, each, known_gpus=context.known.gpus)
    except WhichgpuError as error:
        context.extend(error.problems)
        return None
    return expr if check_reads(expr, node, stage, each, context) else None


def check_reads(expr: Expr, node: ScalarNode, stage: Stage, each: Each, context: Context) -> bool:
    """Whether such a rule may read all that ``expr`` reads; if not, each such fact is a problem."""
    fine = True
    for name in sorted(facts_read(expr)):
        fact = context.vocabulary.fact(name)
        complaint = reading_complaint(fact, stage, each) if fact else None
        if complaint:
            message, fix = complaint
            context.add("unreadable-fact", message, spot_of(name, node), fix=fix, fact=name)
            fine = False
    return fine


def spot_of(name: str, node: ScalarNode) -> Place:
    """Where ``node`` names a fact; the whole node if it uses another spelling."""
    match = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", node.text)
    return place_within(node, match.start(), len(name)) if match else place_of(node)


def one_line(text: str) -> str:
    """Text without breaks and doubled spaces."""
    return " ".join(text.split())


def read_cells(
    node: Node, columns: tuple[FactDef | None, ...], stage: Stage, each: Each, context: Context
) -> tuple[Condition, ...]:
    """The conditions of a row, in the order of the columns; cells that say "anything" have none."""
    cells = context.items(node, "`if`")
    if isinstance(node, SequenceNode) and len(cells) != len(columns):
        message = f"the row has {_count(len(cells), 'cell')} for {_count(len(columns), 'column')}"
        context.add("wrong-form", message, node, fix="write one cell for each column, `-` where anything will do")
        return ()
    conditions = (
        _read_cell(cell, fact, stage, each, context) for cell, fact in zip(cells, columns, strict=False) if fact
    )
    return tuple(condition for condition in conditions if condition is not None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_cell(node: Node, fact: FactDef, stage: Stage, each: Each, context: Context) -> Condition | None:
    if isinstance(node, MappingNode):
        fix = "write `-` (anything), a value, a list of values, 7..13, or a comparison such as `< 3` or `is known`"
        context.add("wrong-form", "a cell is a mapping (key: value)", node, fix=fix)
        return None
    try:
        expr = parse_cell(node, fact, context.vocabulary, each, known_gpus=context.known.gpus)
    except WhichgpuError as error:
        context.extend(error.problems)
        return None
    if expr is None or (isinstance(node, ScalarNode) and not check_reads(expr, node, stage, each, context)):
        return None
    return Condition(expr, written(expr), place_of(node), fact.name)
