"""The decision record: one decision with a digest that says whether it is intact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whichgpu.engine.core.canonical import canonical_json
from whichgpu.engine.core.canonical import digest
from whichgpu.engine.core.canonical import plain
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Problem


FORMAT = "whichgpu.record/1"
#: Which engine fired does not belong to the decision: both give the same one.
NOT_DIGESTED = ("fired_by",)


@dataclass(frozen=True, slots=True)
class Record:
    """A decision as it was saved."""

    sha256: str
    decision: dict[str, Any]

    @property
    def intact(self) -> bool:
        """Whether the decision still has the digest that it was saved with."""
        return decision_digest(self.decision) == self.sha256

    def to_json(self) -> str:
        """The record as the text of its file."""
        return canonical_json({"format": FORMAT, "sha256": self.sha256, "decision": self.decision}) + "\n"


def decision_digest(decision: Mapping[str, Any]) -> str:
    """SHA-256 over the canonical bytes of the decision without ``fired_by``."""
    return digest({key: value for key, value in decision.items() if key not in NOT_DIGESTED})


def make_record(decision: Mapping[str, Any]) -> Record:
    """Seal a decision."""
    value = plain(decision)
    return Record(decision_digest(value), value)


def read_record(text: str, name: str) -> Record:
    """The record in a file's text. Raises InputError where it is no record; a broken digest is not an error here."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise InputError(Problem("not-json", f"{name} is not a decision record: {error}")) from error
    except RecursionError as error:
        raise InputError(Problem("not-json", f"{name} is not a decision record: it is nested too deeply")) from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        message = f"{name} is not a decision record: its format is not {FORMAT!r}"
        raise InputError(Problem("not-a-record", message, fix="save one with: whichgpu recommend FILE --save RECORD"))
    decision, sha256 = value.get("decision"), value.get("sha256")
    if not isinstance(decision, dict) or not isinstance(sha256, str):
        raise InputError(Problem("not-a-record", f"{name} lacks its decision or its sha256"))
    return Record(sha256, decision)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")
