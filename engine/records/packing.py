"""An answer without what its trace repeats, and back: a record holds every value once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.records.canonical import canonical_text


#: Keys of a trace entry, and of a value that it read, that are left out where they say nothing, with what that means.
_ENTRY: dict[str, Any] = {"rule": None, "calculator": None, "because": None, "sources": (), "matched": ()}
_READ: dict[str, Any] = {"condition": None, "seq": None}


def packed(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with a shorter trace.

    What an entry leaves open is left out, and so is a value that the entry which it came from (``seq``) states. Where
    two entries read the same, the later one names the earlier. ``unpacked`` puts all of it back.
    """
    effects: dict[int, Mapping[str, Any]] = {entry["seq"]: entry["effects"] for entry in answer["trace"]}
    trace = [_packed_entry(entry, effects) for entry in answer["trace"]]
    first: dict[str, int] = {}
    for entry in trace:  # The figures of one plan are made of the same.
        if "matched" in entry:
            seq = first.setdefault(canonical_text([entry["scope"], entry["matched"]]), entry["seq"])
            if seq != entry["seq"]:
                entry["matched"] = seq
    return {**answer, "trace": trace}


def _packed_entry(entry: Mapping[str, Any], effects: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    kept = {key: value for key, value in entry.items() if key not in _ENTRY or (value is not None and value != [])}
    if "matched" in kept:
        kept["matched"] = [_packed_read(item, effects) for item in entry["matched"]]
    return kept


def _packed_read(item: Mapping[str, Any], effects: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    kept = {key: value for key, value in item.items() if key not in _READ or value is not None}
    if _alike(kept["value"], _stated(item, effects)):
        del kept["value"]
    return kept


def unpacked(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with its whole trace. What is malformed is left as it is, for the check that follows."""
    trace = answer.get("trace")
    if not isinstance(trace, list):
        return dict(answer)
    effects: dict[int, Mapping[str, Any]] = {}
    for entry in trace:
        if isinstance(entry, dict) and isinstance(entry.get("seq"), int) and isinstance(entry.get("effects"), dict):
            effects[entry["seq"]] = entry["effects"]
    read = {entry.get("seq"): entry.get("matched") for entry in trace if isinstance(entry, dict)}
    return {**answer, "trace": [_unpacked_entry(_with_reads(entry, read), effects) for entry in trace]}


def _with_reads(entry: Any, read: Mapping[Any, Any]) -> Any:
    """An entry with what it read in place of the number of the entry that read the same."""
    seq = entry.get("matched") if isinstance(entry, dict) else None
    return {**entry, "matched": read[seq]} if seq.__class__ is int and isinstance(read.get(seq), list) else entry


def _unpacked_entry(entry: Any, effects: Mapping[int, Mapping[str, Any]]) -> Any:
    if not isinstance(entry, dict):
        return entry
    whole = {**{key: list(none) if none == () else none for key, none in _ENTRY.items()}, **entry}
    if isinstance(whole["matched"], list):
        whole["matched"] = [_unpacked_read(item, effects) for item in whole["matched"]]
    return whole


def _unpacked_read(item: Any, effects: Mapping[int, Mapping[str, Any]]) -> Any:
    if not isinstance(item, dict):
        return item
    return {**_READ, "value": _stated(item, effects), **item}


def _stated(item: Mapping[str, Any], effects: Mapping[int, Mapping[str, Any]]) -> Any:
    """What the entry that a value came from says of it; None where there is none."""
    seq, fact = item.get("seq"), item.get("fact")
    known = effects.get(seq) if isinstance(seq, int) else None
    return known.get(fact) if known is not None and isinstance(fact, str) else None


def _alike(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal in value and type: 1, 1.0 and true differ."""
    return one.__class__ is other.__class__ and one == other and repr(one) == repr(other)
