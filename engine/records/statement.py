"""The statement of a record: an answer with all that it rests on."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import Any

from msgspec import Struct

from whichgpu.engine.advisor import Decision, formulas_of
from whichgpu.engine.core import VERSION, InputError, Problem, json_value
from whichgpu.engine.records.arithmetic import arithmetic_of, numbers_by_scope
from whichgpu.engine.records.canonical import canonical_text, sha256_of
from whichgpu.engine.records.data_slice import digests_of, slice_of
from whichgpu.engine.records.formulas import stated_formulas
from whichgpu.engine.records.packing import packed
from whichgpu.engine.records.plan_lines import plan_lines


#: The second form of a record.
FORMAT = "whichgpu.record/2"
_ID_DIGITS = 16
_ENGINE = Path(__file__).resolve().parents[1]
_META_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_LONGEST_META = 1000


class Asked(Struct, frozen=True):
    """What a decision was asked with, beside its facts: the file's name and bytes, changes, and who asked for what."""

    file: str | None = None
    content: bytes | None = None
    changes: tuple[str, ...] = ()
    meta: Mapping[str, str] = {}


def read_meta(texts: Iterable[str]) -> dict[str, str]:
    """``key=value`` texts as a mapping. Raises InputError with every one that is wrong."""
    found: dict[str, str] = {}
    problems = []
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not _META_KEY.match(key) or not value or len(value) > _LONGEST_META:
            fix = "write it as requested_by=NAME: small letters, digits and _, then = and up to 1000 characters"
            problems.append(Problem("bad-option", f"--meta {text!r} is not key=value", fix=fix))
        elif key in found:
            problems.append(Problem("bad-option", f"--meta states {key} twice"))
        found[key] = value
    if problems:
        raise InputError(problems)
    return found


def make_statement(decision: Decision, answer: Mapping[str, Any], asked: Asked) -> dict[str, Any]:
    """What a record of this decision states.

    Args:
        decision: what was decided.
        answer: the same under the keys of the contract, whole.
        asked: what with.
    """
    advisor, answer = decision.advisor, json_value(answer)
    data = slice_of(advisor, answer["facts"])
    plans = plan_lines(decision, answer)
    stated: dict[str, Any] = {
        "answer": packed(answer),
        "inputs": _inputs(decision, asked),
        "meta": dict(asked.meta),
        "plans": plans,
        "rules": digests_of(advisor.rulebook, answer["rules"]),
        "arithmetic": arithmetic_stated(decision, answer, plans),
        "data": data,
        "digests": {
            "rulebook": advisor.rulebook.digest,
            "knowledge": advisor.knowledge.digest,
            "vocabulary": sha256_of(vocabulary_in(data)),
            "engine": engine_digest(),
        },
        "versions": _versions(decision),
        "revision": source_revision(),
    }
    return {"id": id_of(stated), **stated}


def arithmetic_stated(
    decision: Decision, answer: Mapping[str, Any], plans: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """How the figures of a decision follow from each other, from inputs and constants.

    Args:
        decision: what was decided.
        answer: the same under the keys of the contract, whole.
        plans: the lines of all plans.
    """
    stated = numbers_by_scope(answer)
    formulas = stated_formulas(formulas_of(decision, stated), stated)
    return {**arithmetic_of(answer, plans), "formulas": formulas}


def id_of(statement: Mapping[str, Any]) -> str:
    """The id that a statement has by its content."""
    rest = {key: value for key, value in statement.items() if key != "id"}
    return f"D-{sha256_of(rest)[:_ID_DIGITS]}"


def vocabulary_in(data: Mapping[str, Any]) -> list[Any]:
    """The files of facts and codes in a slice, of the knowledge and then of each layer."""
    places = [data["knowledge"], *(layer["knowledge"] for layer in data["layers"])]
    return [files.get(name) for files in places for name in ("vocabulary.yaml", "codes.yaml")]


@cache
def engine_digest() -> str:
    """SHA-256 over the program's modules by name and content."""
    whole = hashlib.sha256()
    for path in sorted(_ENGINE.rglob("*.py")):
        content = path.read_bytes()
        whole.update(b"%b %d\n" % (path.relative_to(_ENGINE).as_posix().encode(), len(content)))
        whole.update(content)
    return whole.hexdigest()


def record_text(statement: Mapping[str, Any], signature: Mapping[str, Any] | None) -> str:
    """The record as the text of its file."""
    return respelt({"format": FORMAT, "sha256": sha256_of(statement), "signature": signature, "statement": statement})


def respelt(record: Mapping[str, Any]) -> str:
    """A record as its file must spell it."""
    return canonical_text(record) + "\n"


def _inputs(decision: Decision, asked: Asked) -> dict[str, Any]:
    written = decision.workload.as_written
    spelt = {"as_written": dict(written)} if written else {}
    return {"file": _file(asked), "changes": list(asked.changes), **spelt}


def _file(asked: Asked) -> dict[str, str] | None:
    if asked.file is None or asked.content is None:
        return None
    return {"name": asked.file, "sha256": hashlib.sha256(asked.content).hexdigest()}


def _versions(decision: Decision) -> dict[str, str]:
    found = {"whichgpu": VERSION, "python": sys.version.partition(" ")[0], "fired_by": decision.fired_by}
    for name in ("numpy", "durable-rules"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def source_revision() -> str | None:
    """The commit of the checkout that the program runs from, with ``+`` where files differ from it."""
    git, top = which("git"), _ENGINE.parent
    if git is None or not (top / ".git").exists():
        return None
    said = [
        subprocess.run([git, "-C", str(top), *words], capture_output=True, check=False)  # noqa: S603 - our own words.
        for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "engine", "rules", "knowledge"))
    ]
    if any(done.returncode for done in said):
        return None
    return said[0].stdout.decode().strip() + ("+" if said[1].stdout.strip() else "")
