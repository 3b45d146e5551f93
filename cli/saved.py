"""A decision that was saved: a record, or the JSON that ``recommend`` prints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from whichgpu.cli.inputs import read_text
from whichgpu.engine.advisor.answer.shape import check_decision
from whichgpu.engine.advisor.record import FORMAT
from whichgpu.engine.advisor.record import Record
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Problem


_FIX = "save one with: whichgpu recommend FILE --save RECORD"


@dataclass(frozen=True, slots=True)
class Saved:
    """A decision as it was found. ``record`` is None where the file holds a bare decision, without a digest."""

    name: str
    text: str
    decision: dict[str, Any]
    record: Record | None


def read_saved(file: str) -> Saved:
    """The decision in a file or on standard input. Raises InputError where there is none, or only a part of one."""
    text, name = read_text(file)
    value = parsed(text, name)
    record = None
    if isinstance(value, dict) and value.get("format") == FORMAT:
        if not isinstance(value.get("sha256"), str) or "decision" not in value:
            raise InputError(Problem("not-a-record", f"{name} lacks its decision or its sha256", fix=_FIX))
        record = Record(value["sha256"], value["decision"])
        value = value["decision"]
    return Saved(name, text, check_decision(value, name), record)


def parsed(text: str, name: str) -> Any:
    """The JSON value of a text. Raises InputError."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(Problem("not-json", f"{name} is not a decision: {reason}", fix=_FIX)) from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
