"""The decision record: one decision with a digest that says whether it is intact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from whichgpu.engine.advisor.answer.formats import RECORD_FORMAT
from whichgpu.engine.core import InputError, Problem, canonical_json, digest, json_value


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer.answer_types import Decision


class Record(Struct, frozen=True):
    """A decision as it was saved."""

    sha256: str
    decision: Decision

    @property
    def intact(self) -> bool:
        """Whether the decision still has the digest that it was saved with."""
        return decision_digest(self.decision) == self.sha256

    def to_json(self) -> str:
        """The record as the text of its file."""
        return canonical_json({"format": RECORD_FORMAT, "sha256": self.sha256, "decision": self.decision}) + "\n"


class Saved(Struct, frozen=True):
    """A decision as it was found. ``record`` is None where the file holds a bare decision, without a digest."""

    name: str
    text: str
    decision: Decision
    record: Record | None


def decision_digest(decision: Mapping[str, object]) -> str:
    """SHA-256 over the canonical bytes of the decision without ``fired_by``."""
    # Which engine fired does not belong to the decision: both give the same one.
    return digest({key: value for key, value in decision.items() if key != "fired_by"})


def make_record(decision: Mapping[str, object]) -> Record:
    """Seal a decision."""
    value = json_value(decision)
    return Record(decision_digest(value), value)


def read_saved(text: str, name: str) -> Saved:
    """The decision in a file's text.

    A broken digest is not an error here: ``Record.intact`` tells of it.

    Raises:
        InputError: it is no JSON, or not a whole record or decision; with the first place that is at fault.
    """
    from whichgpu.engine.advisor.answer.check import check_saved  # noqa: PLC0415 - deciding does without the types.

    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        fix = "save one with: whichgpu recommend FILE --save RECORD"
        raise InputError(Problem("not-json", f"{name} is not a decision: {reason}", fix=fix)) from error
    found = check_saved(value, name)
    if found["format"] == RECORD_FORMAT:
        return Saved(name, text, found["decision"], Record(found["sha256"], found["decision"]))
    return Saved(name, text, found, None)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")
