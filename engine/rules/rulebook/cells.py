"""Reading the cells of a table row: each becomes a condition on the fact of its column."""

from __future__ import annotations

from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import Sequence
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.cells import parse_cell
from whichgpu.engine.rules.rulebook.conditions import check_reads
from whichgpu.engine.rules.rulebook.model import Condition
from whichgpu.engine.rules.rulebook.model import Each
from whichgpu.engine.rules.rulebook.model import Stage
from whichgpu.engine.rules.rulebook.raw_rule import Context
from whichgpu.engine.rules.rulebook.reading import read_items
from whichgpu.engine.rules.rulebook.writing import written


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
        _read_cell(cell, fact, stage, each, context) for cell, fact in zip(cells, columns, strict=False) if fact
    )
    return tuple(condition for condition in conditions if condition is not None)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _read_cell(node: Node, fact: FactDef, stage: Stage, each: Each, context: Context) -> Condition | None:
    if isinstance(node, Mapping):
        fix = "write `-` (anything), a value, a list of values, 7..13, or a comparison such as `< 3` or `is known`"
        context.problems.add("wrong-form", "a cell is a mapping (key: value)", node, fix=fix)
        return None
    try:
        expr = parse_cell(node, fact, context.vocabulary, None, each, known_gpus=context.known.gpus)
    except WhichgpuError as error:
        context.problems.extend(error.problems)
        return None
    if expr is None or (isinstance(node, Scalar) and not check_reads(expr, node, stage, each, context)):
        return None
    return Condition(expr, written(expr), place_of(node), fact.name)
