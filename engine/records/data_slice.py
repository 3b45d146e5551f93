"""The rules, knowledge and offers that a decision was made with, as JSON values, and laid out again as folders.

A record carries them so that it can be decided again anywhere, without network and without a checkout of its day. Left
out is what decides nothing: comments, the tests inside rules, models that the workload does not name, and files that
only authors of rules read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from whichgpu.engine.advisor import Advisor, model_read
from whichgpu.engine.catalogue import Knowledge, Offer, SourceRecord
from whichgpu.engine.core import (
    RECORD_FORMS,
    InputError,
    KnowledgeError,
    Problem,
    RecordError,
    is_rule_file,
    knowledge_files,
    read_document,
    record_of,
)
from whichgpu.engine.rules import Rulebook, rule_digest


#: What no decision reads: what guides say in full and where it is encoded, where prices are had from, other currencies.
_NOT_READ = frozenset({"heuristics.yaml", "coverage.yaml", "price_feeds.yaml", "currencies.yaml"})
_PRICES = "prices.csv"
#: Keys that decide nothing: of rules their tests, of facts what helps a person to answer.
_OF_RULES = frozenset({"tests"})
_OF_FACTS = frozenset({"also_states", "encodes", "help", "meaning", "synonyms", "unknown_help"})
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)?\Z")
_OFFER = tuple(Offer.__struct_fields__)

JsonObject = dict[str, Any]


def slice_of(advisor: Advisor, facts: Mapping[str, Any]) -> JsonObject:
    """What an advisor decides with.

    Args:
        advisor: its folders are read again, so that the record holds what its author wrote.
        facts: the ``facts`` of the answer; of models only the one is kept that they name, or that a configuration
            describes which they name.
    """
    given = {name: fact["value"] for name, fact in facts.items() if fact["origin"] == "given"}
    named = _model_named(advisor.knowledge, given)
    read = model_read(str(given["model_name"]), advisor.knowledge) if "model_name" in given else None
    home = Path(advisor.knowledge.folder)
    paths = sorted(path for path in home.rglob("*") if path.suffix in RECORD_FORMS and path.name not in _NOT_READ)
    carried = {"models": {str(given["model_name"]): to_builtins(read)}} if read is not None else {}
    return carried | {
        "knowledge": {path.relative_to(home).as_posix(): _knowledge_of(path, named) for path in paths},
        "layers": list(_layers(advisor)),
        "offers": _offers_of(advisor.knowledge),
    }


def _model_named(knowledge: Knowledge, given: Mapping[str, Any]) -> str | None:
    """The id of the model that the workload names, found as deciding finds it: people spell names in many ways."""
    if "model_name" not in given:
        return None
    spec = knowledge.find_model(str(given["model_name"]), given.get("param_count_b")).spec
    return spec.id if spec else None


def digests_of(rulebook: Rulebook, verdicts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The digest of every rule that fired, was overridden or stayed undecided, by its id."""
    known = {rule.id: rule for rule in rulebook.rules}
    listed = sorted({entry["id"] for entry in verdicts if entry["verdict"] != "not_fired"} & known.keys())
    return {name: rule_digest(known[name]) for name in listed}


def _layers(advisor: Advisor) -> Iterator[JsonObject]:
    own = Path(advisor.knowledge.folder)
    for layer, folder in zip(advisor.rulebook.layers, advisor.folders, strict=False):
        rules = {path.name: _rules_of(path) for path in sorted(folder.iterdir()) if is_rule_file(path)}
        entry: JsonObject = {"name": layer.name, "rules": rules}
        more = {} if folder == own else knowledge_files(folder)
        entry["knowledge"] = {name: _plain(path) for name, path in more.items() if name != _PRICES}
        yield entry


def _plain(path: Path) -> Any:
    return read_document(path, error=KnowledgeError, cached=True).plain


def _knowledge_of(path: Path, named: str | None) -> Any:
    content = _plain(path)
    if path.parent.name == "models" and isinstance(content, dict) and isinstance(content.get("models"), list):
        return {**content, "models": [row for row in content["models"] if row.get("id") == named]}
    return _without(content, _OF_FACTS) if path.name == "vocabulary.yaml" else content


def _rules_of(path: Path) -> Any:
    return _without(_plain(path), _OF_RULES)


def _without(value: Any, keys: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, keys) for key, item in value.items() if key not in keys}
    return [_without(item, keys) for item in value] if isinstance(value, list) else value


def _offers_of(knowledge: Knowledge) -> JsonObject:
    """All offers, a list for each column: a plan's price is a median over many of them."""
    rows = knowledge.all_offers
    return {name: [to_builtins(getattr(offer, name)) for offer in rows] for name in _OFFER}


def lay_out(data: Mapping[str, Any], root: Path) -> list[Path]:
    """Write a slice as folders: ``knowledge``, and one for each layer of rules. JSON is YAML, so engines read it.

    Returns:
        The folders of the layers, the lowest first.

    Raises:
        InputError: the slice is malformed.
    """
    try:
        _write(root / "knowledge", data["knowledge"])
        folders = []
        for number, layer in enumerate(data["layers"]):
            folder = root / "layers" / str(number) / _checked(layer["name"])
            _write(folder, {**layer["rules"], **layer["knowledge"]})
            folders.append(folder)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(Problem("bad-slice", f"what the record was decided with is malformed: {error!r}")) from error
    return folders


def offers_in(data: Mapping[str, Any]) -> list[JsonObject]:
    """The offers of a slice, a mapping each. Raises InputError."""
    try:
        columns = data["offers"]
        rows = zip(*(columns[name] for name in _OFFER if name in columns), strict=True)
        names = [name for name in _OFFER if name in columns]
        return [dict(zip(names, row, strict=True)) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(Problem("bad-slice", f"the offers of the record are malformed: {error!r}")) from error


def sources_in(data: Mapping[str, Any]) -> list[SourceRecord]:
    """The sources of a slice, those of its layers last. What another version wrote in another form is left out."""
    found = []
    for files in (data["knowledge"], *(layer.get("knowledge") for layer in data["layers"])):
        content = files.get("sources.yaml") if isinstance(files, dict) else None
        rows = content.get("sources") if isinstance(content, dict) else None
        for row in rows if isinstance(rows, list) else ():
            with suppress(RecordError):
                found.append(record_of(SourceRecord, row))
    return found


def _write(folder: Path, files: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / _checked(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _checked(name: Any) -> str:
    """A file name that stays inside its folder: the record may come from anyone."""
    if not isinstance(name, str) or not _FILE.match(name):
        raise InputError(Problem("bad-slice", f"the record names a file {name!r}, which is no plain file name"))
    return name
