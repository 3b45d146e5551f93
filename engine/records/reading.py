"""The one reader of records: what stands in a file, and whether it can be believed."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.advisor import RECORD_FORMAT, check_saved
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.records.canonical import sha256_of
from whichgpu.engine.records.first_form import Record
from whichgpu.engine.records.packing import unpacked
from whichgpu.engine.records.signing import PublicKey, can_sign, key_ids, stated_subject, subject_of
from whichgpu.engine.records.statement import FORMAT, id_of, respelt


#: Bytes of a record, unpacked: a typical one has three million.
MAX_BYTES = 60_000_000
_GZIP = b"\x1f\x8b"
_SAVE = "save one with: whichgpu recommend FILE --save RECORD"

#: How far a file can be believed. ``bare``: a decision that was never made a record.
State = Literal["signed", "unknown key", "unsigned", "altered", "bare"]


class Standing(Struct, frozen=True):
    """Whether a record can be believed, in a word and in words."""

    state: State
    says: str
    findings: tuple[str, ...] = ()


class Saved(Struct, frozen=True):
    """A decision as it was found.

    ``record`` is None in a record of the first form, ``sha256`` also in a bare decision.
    """

    name: str
    decision: Mapping[str, Any]
    standing: Standing
    sha256: str | None = None
    record: Mapping[str, Any] | None = None  # of the second form, as its file holds it

    @property
    def statement(self) -> Mapping[str, Any] | None:
        """What a record of the second form states."""
        return self.record["statement"] if self.record else None

    @property
    def id(self) -> str | None:
        """The decision's id, where the record states one."""
        return self.statement["id"] if self.statement else None

    @property
    def plans(self) -> tuple[Mapping[str, Any], ...]:
        """A line for every plan that was evaluated; none where the record states none."""
        return tuple(self.statement["plans"]) if self.statement else ()

    @property
    def mark(self) -> str:
        """The line that every output about this record carries."""
        what = f"Record {self.id}" if self.id else "Record" if self.sha256 else "Decision"
        return f"{what}: {self.standing.says}."

    def believed(self) -> Saved:
        """Itself. Raises InputError where it was altered: nothing that it says is shown then."""
        if self.standing.state == "altered":
            found = "; ".join(self.standing.findings)
            fix = f"whichgpu audit {self.name} says what is wrong; go by another copy"
            raise InputError(Problem("altered-record", f"{self.name} is not what was saved: {found}", fix=fix))
        return self


def _no_json(error: ValueError | RecursionError, text: str) -> str:
    """Why a text is no JSON, and where."""
    if not text.strip():
        return "it is empty"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    return f"it is no JSON from line {error.lineno}, column {error.colno} on"


def read_saved(raw: bytes | str, name: str, trusted: Mapping[str, PublicKey] | None = None) -> Saved:
    """The decision in a file, verified.

    Args:
        raw: the content of the file: JSON, or that in gzip.
        name: what messages call it.
        trusted: the keys whose signatures count, by their ids.

    Raises:
        InputError: it is no JSON, or not a whole record or decision; with the first place that is at fault. A record
            that was altered raises nothing: its ``standing`` says so.
    """
    text = _text(raw, name)
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(
            Problem("not-json", f"{name} is not a decision: {_no_json(error, text)}", fix=_SAVE)
        ) from error
    _refuse_halves(value, name)
    if isinstance(value, dict) and (value.get("format") == FORMAT or "statement" in value):
        return _second_form(value, text, name, trusted or {})
    found: Any = check_saved(value, name)
    if found["format"] != RECORD_FORMAT:
        return Saved(name, found, Standing("bare", "not a record, so nothing vouches for it"))
    record = Record(found["sha256"], found["decision"])
    findings = () if record.intact else ("its SHA-256 is not that of the decision in it",)
    if not findings and record.to_json() != text:
        findings = ("it is not spelt as it was saved, to the byte",)
    standing = Standing("altered", "altered since it was saved", findings) if findings else _unsigned()
    return Saved(name, record.decision, standing, record.sha256)


def _second_form(value: dict[str, Any], text: str, name: str, trusted: Mapping[str, PublicKey]) -> Saved:
    _check(value, name)
    statement = value["statement"]
    decision = unpacked(statement["answer"])
    check_saved(decision, name)
    standing = _standing(value, text, trusted)
    return Saved(name, decision, standing, value["sha256"], value)


def _standing(value: Mapping[str, Any], text: str, trusted: Mapping[str, PublicKey]) -> Standing:
    statement, signature = value["statement"], value["signature"]
    digest = sha256_of(statement)
    findings = []
    if digest != value["sha256"]:
        findings.append("its SHA-256 is not that of the statement in it")
    if id_of(statement) != statement["id"]:
        findings.append("its id is not that of the statement in it")
    if not findings and respelt(value) != text:
        findings.append("it is not spelt as it was saved, to the byte")
    keys = [trusted[key] for key in key_ids(signature or {}) if key in trusted]
    vouched = [key for key in keys if signature and can_sign() and subject_of(signature, key) == digest]
    if keys and not vouched and can_sign():
        findings.append(f"the signature in the name of {keys[0].name} is not over this statement")
    if signature and not key_ids(signature):
        findings.append("the signature is no envelope that names a key")
    elif signature and not keys and stated_subject(signature) != digest:  # This needs no key.
        findings.append("the signature is over another statement")
    if findings:
        return Standing("altered", "altered since it was saved", tuple(findings))
    if not signature:
        return _unsigned()
    if vouched:
        return Standing("signed", f"signed by {vouched[0].name} (key {vouched[0].id[:16]}), and unchanged since")
    if not can_sign():
        says = "signed, which cannot be checked here without the package cryptography; checksum intact"
        return Standing("unknown key", says)
    named = ", ".join(key[:16] for key in key_ids(signature))
    return Standing("unknown key", f"signed by a key that is not trusted here ({named}); checksum intact")


def _unsigned() -> Standing:
    return Standing("unsigned", "unsigned, checksum intact")


def _text(raw: bytes | str, name: str) -> str:
    if isinstance(raw, str):
        return raw
    if raw.startswith(_GZIP):
        raw = _unzipped(raw, name)
    if len(raw) > MAX_BYTES:
        raise InputError(Problem("too-large", f"{name} is larger than {MAX_BYTES // 1_000_000} MB"))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1}"
        raise InputError(Problem("not-text", f"{name} is not UTF-8 text ({where})")) from error


def _unzipped(raw: bytes, name: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=BytesIO(raw)) as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{name} begins like a gzip file and is damaged: {error}"
        raise InputError(Problem("damaged-gzip", message, fix="copy it again from where it was saved")) from error


def _refuse_halves(value: Any, name: str) -> None:
    """Refuse halves of surrogate pairs: they are no text, and have no bytes."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"{name} holds half a surrogate pair, which is no text, at {_first_broken(value, '$')}"
        raise InputError(Problem("not-text", message, fix=_SAVE)) from error


def _first_broken(value: Any, path: str) -> str | None:
    if isinstance(value, str):
        return path if any("\ud800" <= character <= "\udfff" for character in value) else None
    if isinstance(value, dict):
        if any(_first_broken(key, path) for key in value):
            return f"a key of {path}"
        items = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, list):
        items = ((f"{path}[{place}]", item) for place, item in enumerate(value))
    else:
        return None
    return next((found for below, item in items if (found := _first_broken(item, below))), None)


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter  # noqa: PLC0415 - a fifth of a second that records of the first form do without.

    from whichgpu.engine.records.record_types import SignedRecord  # noqa: PLC0415

    return TypeAdapter(SignedRecord)


def _check(value: dict[str, Any], name: str) -> None:
    from pydantic import ValidationError  # noqa: PLC0415 - as above.

    try:
        _adapter().validate_python(value, strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_context=False)[0]
        path = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
        said = "is missing" if fault["type"] == "missing" else fault["msg"][:1].lower() + fault["msg"][1:]
        message = f"{name} is not a whole record: {path} {'' if said == 'is missing' else 'is wrong: '}{said}"
        raise InputError(Problem("not-a-record", message, fix=_SAVE)) from error


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")
