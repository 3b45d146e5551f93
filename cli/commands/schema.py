"""``whichgpu schema``: the JSON Schemas of what the program hands out."""

from __future__ import annotations

import click

from cli import output
from engine.contract import schema_of
from engine.contract import schema_text


_SHAPES = ["decision", "decision_line", "record", "size_answer", "refused_line"]


@click.command()
@click.argument("shape", type=click.Choice(_SHAPES), default="decision")
def schema(shape: str) -> int:
    """Print the JSON Schema (draft 2020-12) of SHAPE, a decision unless given."""
    if shape == "decision":
        output.emit(schema_text())
    else:
        output.emit_json(schema_of(shape))
    return 0
