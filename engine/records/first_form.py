"""The first form of a record, ``whichgpu.record/1``: one decision with a checksum that anyone can make anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import RECORD_FORMAT
from whichgpu.engine.core import canonical_json, digest, json_value


class Record(Struct, frozen=True):
    """A decision as it was saved."""

    sha256: str
    decision: Mapping[str, Any]

    @property
    def intact(self) -> bool:
        """Whether the decision still has the digest that it was saved with."""
        return decision_digest(self.decision) == self.sha256

    def to_json(self) -> str:
        """The record as the text of its file."""
        return canonical_json({"format": RECORD_FORMAT, "sha256": self.sha256, "decision": self.decision}) + "\n"


def decision_digest(decision: Mapping[str, object]) -> str:
    """SHA-256 over the canonical bytes of the decision without ``fired_by``."""
    # Which engine fired does not belong to the decision: both give the same one.
    return digest({key: value for key, value in decision.items() if key != "fired_by"})


def make_record(decision: Mapping[str, object]) -> Record:
    """Seal an answer alone, without what it rests on."""
    value = json_value(decision)
    return Record(decision_digest(value), value)
