"""``knowledge/vocabulary.yaml`` and ``knowledge/codes.yaml`` to a Vocabulary, every mistake with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from whichgpu.engine.core import (
    Document,
    KnowledgeError,
    Problem,
    RecordError,
    compiled_key,
    find,
    nearest_words,
    place_of,
    read_document,
    recall_compiled,
    record_of,
    remember_compiled,
)
from whichgpu.engine.rules.facts.coercion import read_value
from whichgpu.engine.rules.facts.model import RESERVED, Code, FactDef, Vocabulary


_EntryT = TypeVar("_EntryT", FactDef, Code)
_PREFIXES = ("plan", "gpu", "candidate")


def load_vocabulary(folder: Path, *, layers: Sequence[Path] = (), cached: bool = True) -> Vocabulary:
    """Read and check the vocabulary of a knowledge folder, with what layers add to it.

    Args:
        folder: the knowledge folder, with ``vocabulary.yaml`` and ``codes.yaml``.
        layers: folders that may hold the same two files. A layer adds facts and codes; to change one that is there
            already, it repeats the name, says ``because:``, and writes only the keys that differ.
        cached: keep what was read in the user's cache folder, and take it from there.

    Raises:
        KnowledgeError: with all problems of all files.
    """
    files = [(home / "vocabulary.yaml", home / "codes.yaml") for home in (folder, *layers)]
    needed = files[0]
    key = compiled_key(file for pair in files for file in pair if file in needed or file.is_file()) if cached else None
    kept = recall_compiled("vocabulary", key, _Kept)
    if kept is None:
        kept = _read(files, cached=cached)
        remember_compiled("vocabulary", key, kept)
    return Vocabulary(kept.facts, kept.codes, key)


class _Kept(Struct, frozen=True):
    """What is kept of a vocabulary between runs."""

    facts: dict[str, FactDef]
    codes: dict[str, Code]


def _read(files: Sequence[tuple[Path, Path]], *, cached: bool) -> _Kept:
    loaded = _Loaded([])
    for place, (fact_file, code_file) in enumerate(files):
        if place == 0 or fact_file.is_file():
            _read_facts(read_document(fact_file, error=KnowledgeError, cached=cached), loaded)
        if place == 0 or code_file.is_file():
            _read_codes(read_document(code_file, error=KnowledgeError, cached=cached), loaded)
    problems = [*loaded.problems, *_check_names(loaded)]
    if problems:
        raise KnowledgeError(problems)
    return _Kept(loaded.facts, loaded.codes)


@dataclass(slots=True)
class _Loaded:
    """What was read so far: entries as written and as checked, and the file that each stands in."""

    problems: list[Problem]
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, FactDef] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    homes: dict[str, Document] = field(default_factory=dict)


def _read_facts(document: Document, loaded: _Loaded) -> None:
    for name, entry in _entries(document, "facts", loaded):
        whole = {"scope": _scope_of(name), **entry, "name": name}
        if isinstance(whole.get("when_unstated"), dict):  # one assumption, without a list around it
            whole["when_unstated"] = (whole["when_unstated"],)
        fact = _validated(FactDef, whole, document, ("facts", name), loaded)
        if fact is not None:
            loaded.facts[name] = fact
            loaded.problems += _check(fact, document)


def _read_codes(document: Document, loaded: _Loaded) -> None:
    for name, entry in _entries(document, "codes", loaded):
        code = _validated(Code, {**entry, "code": name}, document, ("codes", name), loaded)
        if code is not None:
            loaded.codes[name] = code
            if not name.startswith(("A-", "W-")):
                loaded.problems.append(_at(document, ("codes", name), f"the code {name} must start with A- or W-"))


def _over(
    name: str, entry: dict[str, Any], path: tuple[str, ...], document: Document, loaded: _Loaded
) -> dict[str, Any] | None:
    """The entry, laid over the one of that name in a layer below if there is one and a reason is given."""
    below = loaded.written.get(name)
    if below is not None:
        if not str(entry.get("because") or "").strip():
            message = f"{name} is defined already, in {loaded.homes[name].source.name}"
            fix = "give it another name; or, to change it, add because: with the reason, and only the keys that differ"
            loaded.problems.append(Problem("duplicate-id", message, place_of(find(document.node, path)), fix=fix))
            return None
        entry = {**below, **{key: value for key, value in entry.items() if key != "because"}}
    loaded.written[name] = entry
    loaded.homes[name] = document
    return entry


def _entries(document: Document, key: str, loaded: _Loaded) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of a file, each laid over the one of its name in a layer below."""
    content = document.plain
    if not isinstance(content, dict) or set(content) != {key} or not isinstance(content[key], dict):
        loaded.problems.append(_at(document, (), f"the file must hold the one key '{key}:' with a mapping"))
        return
    for name, entry in content[key].items():
        if not isinstance(entry, dict):
            loaded.problems.append(_at(document, (key, name), f"{name} must be a mapping"))
        elif (whole := _over(name, entry, (key, name), document, loaded)) is not None:
            yield name, whole


def _validated(
    model: type[_EntryT], entry: dict[str, Any], document: Document, path: tuple[str, ...], loaded: _Loaded
) -> _EntryT | None:
    try:
        return record_of(model, entry)
    except RecordError as error:
        loaded.problems += error.problems(document.node, path, known=model.__struct_fields__)
        return None


def _scope_of(name: str) -> str:
    prefix, dot, _ = name.partition(".")
    return prefix if dot and prefix in _PREFIXES else "workload"


def _check(fact: FactDef, document: Document) -> list[Problem]:
    """What pydantic cannot see: how the fields of one fact fit together."""
    path = ("facts", fact.name)
    found = [
        _at(document, (*path, key), f"{fact.name}: {message}") for wrong, key, message in _conditions(fact) if wrong
    ]
    for assumption in fact.assumptions:
        reading = read_value(fact, assumption.assume, place_of(find(document.node, (*path, "when_unstated"))))
        found += reading.problems
        if reading.value is None and not reading.problems:
            found.append(_at(document, (*path, "when_unstated"), f"{fact.name}: the assumed value is unknown"))
    return found


def _conditions(fact: FactDef) -> list[tuple[bool, str, str]]:
    is_choice = fact.type == "enum" or fact.items == "enum"
    stray = sorted({*fact.choice_labels, *fact.synonyms.values()} - set(fact.choices))
    unspelt = sorted(word for word in fact.also_states if fact.choice(word) is None)
    return [
        (fact.scope != _scope_of(fact.name), "scope", f"the scope must be {_scope_of(fact.name)}, by its name"),
        (is_choice and not fact.choices, "type", "an enum needs choices"),
        (bool(fact.choices) and not is_choice, "choices", f"a fact of type {fact.type} has no choices"),
        (fact.type == "list" and fact.items is None, "type", "a list needs items"),
        (fact.type != "list" and fact.items is not None, "items", "only a list has items"),
        (bool(unspelt), "also_states", f"{', '.join(unspelt)} is no spelling of a choice"),
        (is_choice and bool(stray), "synonyms", f"{', '.join(stray)} is not among the choices"),
        (fact.open and "other" not in fact.choices, "open", "an open enum needs the choice 'other'"),
        (len(set(fact.choices)) < len(fact.choices), "choices", "a choice stands twice"),
        (not fact.numeric and (fact.min is not None or fact.max is not None), "type", "only numbers have min and max"),
        (fact.min is not None and fact.max is not None and fact.min > fact.max, "min", "min is more than max"),
        (fact.name in RESERVED, "name", "the name is reserved"),
    ]


def _check_names(loaded: _Loaded) -> list[Problem]:
    found: list[Problem] = []
    owners: dict[str, str] = {}
    for name, fact in sorted(loaded.facts.items()):
        document = loaded.homes[name]
        for alias in fact.aliases:
            path = ("facts", name, "aliases")
            if alias in RESERVED:
                found.append(_at(document, path, f"the alias {alias} is reserved"))
            if alias == name:
                found.append(_at(document, path, f"{name} is its own alias"))
            if alias in owners and fact.alias_when is None:
                found.append(_at(document, path, f"the alias {alias} belongs to {owners[alias]} already"))
            owners.setdefault(alias, name)
        if fact.otherwise is not None and fact.otherwise not in loaded.facts:
            found.append(_no_fact(fact.otherwise, loaded, document, ("facts", name, "otherwise")))
        for spelling, stated in fact.also_states.items():
            for other, value in stated.items():
                stands = ("facts", name, "also_states", spelling, other)
                if other not in loaded.facts:
                    found.append(_no_fact(other, loaded, document, stands))
                else:
                    found += read_value(loaded.facts[other], value, place_of(find(document.node, stands))).problems
    return found


def _no_fact(name: str, loaded: _Loaded, document: Document, path: tuple[str, ...]) -> Problem:
    near = nearest_words(name, loaded.facts)
    message = f"no fact is called {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")
    return _at(document, path, message)


def _at(document: Document, path: tuple[str, ...], message: str) -> Problem:
    return Problem("bad-vocabulary", message, place_of(find(document.node, path)))
