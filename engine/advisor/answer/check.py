"""Whether a saved value is a whole record or decision, and if not, where it departs from the types of an answer."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from whichgpu.engine.advisor.answer.answer_types import Decision, Record
from whichgpu.engine.advisor.answer.formats import RECORD_FORMAT
from whichgpu.engine.core import InputError, Problem


#: Keys that every decision now has, and that records of the same format from before do not.
_ADDED_SINCE = frozenset({"outranked"})
_BULKY_BEFORE = frozenset({"trace", "rules", "rejected"})
#: What belongs in a place, by the kind of fault; pydantic's own words tell of the other kinds.
_EXPECTED = {
    "bool_type": "be true or false",
    "dict_type": "be an object",
    "float_type": "be a number",
    "int_type": "be a whole number",
    "is_instance_of": "be a list",
    "list_type": "be a list",
    "mapping_type": "be an object",
    "string_type": "be text",
    "union_tag_invalid": "be a kind of trace entry",
}
_MISSING = frozenset({"missing", "union_tag_not_found"})
#: Longer values are cut in a message.
_SHOWN = 60

Location = tuple[int | str, ...]


def check_saved(value: object, name: str) -> Record | Decision:
    """The record or the bare decision itself, once it is known to have every key that the explanations read.

    Raises:
        InputError: with the first place where it departs from the contract, what belongs there, and what stands there.
    """
    sealed = isinstance(value, dict) and (value.get("format") == RECORD_FORMAT or "decision" in value)
    _check(value, Record if sealed else Decision, name)
    checked = cast("Any", value)
    _check_answered(checked["decision"] if sealed else checked, name, "$.decision" if sealed else "$")
    return cast("Record | Decision", value)


_adapter = cache(TypeAdapter)


def _check(value: object, wanted: Any, name: str) -> None:
    try:
        _adapter(wanted).validate_python(value, strict=True)
    except ValidationError as error:
        faults: dict[str, list[str]] = {}
        found: dict[str, Any] = {}
        for fault in error.errors(include_url=False, include_context=False):
            # An entry of the trace that is of no known kind is at fault in its ``kind``.
            location = (*fault["loc"], "kind") if fault["type"].startswith("union_tag") else fault["loc"]
            if fault["type"] in _MISSING and location[-1] in _ADDED_SINCE:
                continue
            path, found[path] = _place(value, location)
            faults.setdefault(path, []).append(_expected(fault["type"], fault["msg"]))
        if faults:
            first = next(iter(faults))
            # A value that may be of several types is at fault where it comes nearest to one of them.
            path = max((path for path in faults if path.startswith((f"{first}.", f"{first}["))), key=len, default=first)
            said = " or ".join(dict.fromkeys(faults[path]))
            stands = f"should {said}; {_shown(found[path])} stands there" if said else "is missing"
            raise _refusal(value, wanted, name, f"{path} {stands}") from error


def _check_answered(decision: Any, name: str, path: str) -> None:
    """A decision recommends something, or says why it does not."""
    if (decision["recommendation"] is None) == (decision["no_answer"] is None):
        should = "be an object" if decision["recommendation"] is None else "be null"
        shown = _shown(decision["no_answer"])
        said = f"{path}.no_answer should {should} beside that recommendation; {shown} stands there"
        raise _refusal(decision, Decision, name, said)


def _place(value: Any, location: Location) -> tuple[str, Any]:
    """The path of a fault and what stands there. Steps that name one of several types are no part of the path."""
    path = "$"
    for last, step in enumerate(location, 1 - len(location)):
        inside = isinstance(value, dict) and step in value
        if inside or (isinstance(value, list) and isinstance(step, int)):
            path, value = path + _step(step), value[step]
        elif not last and isinstance(value, dict):
            return path + _step(step), None
    return path, value


def _step(step: int | str) -> str:
    return f".{step}" if str(step).isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"


def _expected(kind: str, message: str) -> str:
    """What belongs in the place, after "should"; nothing where a key is missing."""
    return "" if kind in _MISSING else _EXPECTED.get(kind) or message.rpartition(" should ")[2]


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]} ..."


def _refusal(value: object, wanted: Any, name: str, said: str) -> InputError:
    what = "record" if wanted is Record else "decision"
    return InputError(Problem(f"not-a-{what}", f"{name} is not a whole {what}: {said}", fix=_fix(value, name)))


def _fix(value: object, name: str) -> str:
    """How a decision would be had, by what was handed in instead."""
    if isinstance(value, dict) and str(value.get("format")).startswith("whichgpu.session/"):
        return f"it is an interview; end it with: whichgpu resume {name} --save RECORD"
    if isinstance(value, dict) and "recommendation" in value and not value.keys() >= _BULKY_BEFORE:
        return "--jsonl leaves the trace out; add --full"
    return "write one with: whichgpu recommend FILE --save RECORD"
