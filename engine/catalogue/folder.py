"""The files of a knowledge folder as checked plain content. Every problem of every file is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from whichgpu.engine.catalogue.bundle import knowledge_digest
from whichgpu.engine.catalogue.gpu_names import GpuNames
from whichgpu.engine.catalogue.model import CostItem, Gpu, MemoryReserve, ModelSpec, Offer, SourceRecord
from whichgpu.engine.catalogue.prices import Resolve, parse_prices
from whichgpu.engine.core import (
    RECORD_FORMS,
    Document,
    FrozenModel,
    KnowledgeError,
    Problem,
    RecordError,
    WhichgpuError,
    find,
    nearest_words,
    place_of,
    read_document,
    record_of,
)


@dataclass(frozen=True)
class Part:
    """Which files hold records of a kind: in one file or a folder of that name, under one key."""

    name: str
    key: str
    record: type[FrozenModel]


PARTS = (
    Part("gpus", "gpus", Gpu),
    Part("models", "models", ModelSpec),
    Part("sources", "sources", SourceRecord),
    Part("costs", "costs", CostItem),
    Part("memory_reserve", "reserves", MemoryReserve),
)


class _Line(FrozenModel, forbid_unknown_fields=False):
    """One line of products in generations.yaml."""

    vendor: str
    newest_first: list[list[str]]
    sources: list[str]


_LINES = Part("generations", "lines", _Line)
#: Content by id, taken as its file states it.
BY_ID = ("figures", "disagreements")


def read_folder(folder: Path, files: Mapping[str, Path]) -> dict[str, Any]:
    """Read and check every file.

    Returns:
        What the folder holds by the key that it stands under, with the ``digest`` over all of it: one JSON value.

    Raises:
        KnowledgeError: with all problems.
    """
    problems: list[Problem] = []
    documents = {
        name: read_document(path, error=KnowledgeError, name=f"{folder.name}/{name}", cached=True)
        for name, path in files.items()
        if path.suffix in RECORD_FORMS
    }
    content: dict[str, Any] = {
        part.key: [row for name in names_of(part, documents) for row in _read_records(documents[name], part, problems)]
        for part in (*PARTS, _LINES)
    }
    for key in BY_ID:
        content[key] = entries_of(documents[f"{key}.yaml"], key, problems) if f"{key}.yaml" in documents else {}
    problems += _duplicates(documents)
    offers: tuple[Offer, ...] = ()
    if not problems:
        if "prices.csv" in files:
            offers = read_prices(files["prices.csv"], f"{folder.name}/prices.csv", content["gpus"], problems)
        known = {row["id"] for row in content["sources"]}
        unknown = [problem for part in PARTS for problem in unknown_sources(part, documents, known)]
        unknown += [unknown_source(source, known, None) for source in cited_by(offers) if source not in known]
        problems += unknown[:40]
    if problems:
        raise KnowledgeError(problems)
    content["offers"] = [to_builtins(offer) for offer in offers]
    content["digest"] = knowledge_digest(_everything(documents, content, offers))
    return content


def names_of(part: Part, documents: Mapping[str, Document]) -> list[str]:
    """The files that hold records of a kind."""
    return [name for name in documents if name == f"{part.name}.yaml" or name.startswith(f"{part.name}/")]


def section(document: Document, key: str, problems: list[Problem]) -> Any:
    """What a file holds under ``key``; a problem when that is missing."""
    try:
        plain = document.plain
    except WhichgpuError as error:
        problems.extend(error.problems)
        return None
    if isinstance(plain, dict) and key in plain:
        return plain[key]
    if plain is not None:
        message, fix = f"{document.source.name} has no key {key!r}", f"put the records under '{key}:'"
        problems.append(Problem("missing-key", message, document.source.place(1, 1), fix=fix))
    return None


def rows_of(document: Document, part: Part, problems: list[Problem]) -> list[Any]:
    """The records of a file, unchecked; a problem and none of them where they are no list."""
    rows = section(document, part.key, problems)
    if rows is None or isinstance(rows, list):
        return rows or []
    place = place_of(find(document.node, (part.key,)))
    fix = "begin each record with '-'"
    problems.append(Problem("not-a-list", f"{part.key} must be a list of records", place, fix=fix))
    return []


def entries_of(document: Document, key: str, problems: list[Problem]) -> dict[str, dict[str, Any]]:
    """The entries of a file by id, unchecked; a problem where they are none, and for each that is no mapping."""
    found = section(document, key, problems)
    if found is None:
        return {}
    if not isinstance(found, dict):
        place = place_of(find(document.node, (key,)))
        problems.append(Problem("not-a-mapping", f"{key} must be entries by id", place, fix="write 'id:' before each"))
        return {}
    for name, entry in found.items():
        if not isinstance(entry, dict):
            place = place_of(find(document.node, (key, name)))
            problems.append(Problem("not-a-mapping", f"{name!r} should be a mapping (key: value)", place))
    return {name: entry for name, entry in found.items() if isinstance(entry, dict)}


def valid(row: object, document: Document, part: Part, index: int, problems: list[Problem]) -> bool:
    """Whether the record at ``index`` of a file is sound as ``row``; every fault is noted."""
    try:
        record_of(part.record, row)
    except RecordError as error:
        known = part.record.__struct_fields__
        problems += error.problems(document.node, (part.key, index), known=known)
        return False
    return True


def _read_records(document: Document, part: Part, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    for index, row in enumerate(rows_of(document, part, problems)):
        if not valid(row, document, part, index, problems):
            continue
        yield row
        if part.record is Gpu and row.get("plannable") is False and not row.get("not_plannable_because"):
            place = place_of(find(document.node, (part.key, index, "plannable")))
            message = f"{row['id']} is not plannable, and nothing says why"
            problems.append(Problem("missing-reason", message, place, fix="add not_plannable_because"))


def _duplicates(documents: Mapping[str, Document]) -> list[Problem]:
    """Ids that two records of one kind share."""
    problems: list[Problem] = []
    for part in PARTS:
        field_name = "vendor" if part.record is MemoryReserve else "id"
        first: dict[str, str] = {}
        for name, index, row in _rows(part, documents):
            key = str(row.get(field_name))
            place = place_of(find(documents[name].node, (part.key, index, field_name))) if key in first else None
            if place is not None:
                problems.append(Problem("duplicate-id", f"{key!r} is used already, at {first[key]}", place))
            else:
                first[key] = name
    return problems


def _rows(part: Part, documents: Mapping[str, Document]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    for name in names_of(part, documents):
        for index, row in enumerate(rows_of(documents[name], part, [])):
            if isinstance(row, dict):
                yield name, index, row


def read_prices(path: Path, name: str, gpus: Iterable[Any], problems: list[Problem]) -> tuple[Offer, ...]:
    """The offers of a price list that calls the GPUs of these records; ``name`` is what places call the file."""
    try:
        text = path.read_text(encoding="utf-8")
        return parse_prices(text, name, resolve=resolver(record_of(Gpu, gpu) for gpu in gpus))
    except UnicodeDecodeError:
        problems.append(Problem("not-utf8", f"{name} is not UTF-8 text", fix="save the file as UTF-8"))
    except KnowledgeError as error:
        problems += error.problems
    return ()


def resolver(gpus: Iterable[Gpu]) -> Resolve:
    """A resolver of GPU names for price lists: ids and families as they are, other spellings to an id or family."""
    catalogue = {gpu.id: gpu for gpu in gpus}
    names = GpuNames(catalogue.values())
    families = {gpu.family for gpu in catalogue.values()}
    known: dict[str, tuple[str | None, tuple[str, ...]]] = {key: (key, ()) for key in (*catalogue, *families)}

    def resolve(name: str) -> tuple[str | None, tuple[str, ...]]:
        if name not in known:
            match = names.find(name)
            shared = {catalogue[key].family for key in match.ids}
            found = match.ids[0] if len(match.ids) == 1 else next(iter(shared)) if len(shared) == 1 else None
            known[name] = (found, match.nearest or match.ids)
        return known[name]

    return resolve


def unknown_sources(part: Part, documents: Mapping[str, Document], known: set[str]) -> Iterator[Problem]:
    """Source ids in records of a kind that sources.yaml does not know."""
    for name, index, row in _rows(part, documents):
        for path, source in _cited(row):
            if source.partition("/")[0] not in known:
                place = place_of(find(documents[name].node, (part.key, index, *path)))
                yield unknown_source(source, known, place)


def cited_by(offers: Iterable[Offer]) -> list[str]:
    """The sources that offers cite, sorted."""
    return sorted({source for offer in offers for source in offer.cites})


def unknown_source(source: str, known: set[str], place: Any) -> Problem:
    """The problem of a source that nothing lists."""
    near = nearest_words(source, sorted(known))
    return Problem("unknown-source", f"sources.yaml has no source {source!r}", place, nearest=near, fix="add it there")


def _cited(row: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The sources that a record cites, each with the path of keys to it."""
    for index, source in enumerate(row.get("sources") or ()):
        yield ("sources", index), str(source)
    for key, sources in (row.get("evidence") or {}).items():
        for index, source in enumerate(sources):
            yield ("evidence", key, index), str(source)


def _everything(
    documents: Mapping[str, Document], content: Mapping[str, Any], offers: Iterable[Offer]
) -> dict[str, Any]:
    """All content by topic: records of one kind are one topic, whichever file they stand in."""
    topics = {part.key: content[part.key] for part in PARTS}
    read = {name for part in PARTS for name in names_of(part, documents)}
    others = {name: document.plain for name, document in documents.items() if name not in read}
    return {**topics, "offers": [asdict(offer) for offer in offers], **others}
