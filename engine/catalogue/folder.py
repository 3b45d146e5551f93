"""The files of a knowledge folder as checked plain content. Every problem of every file is reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic import ValidationError

from whichgpu.engine.catalogue.gpu_names import GpuNames
from whichgpu.engine.catalogue.model import CostItem
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.catalogue.model import MemoryReserve
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.model import Offer
from whichgpu.engine.catalogue.model import SourceRecord
from whichgpu.engine.catalogue.prices import Resolve
from whichgpu.engine.catalogue.prices import parse_prices
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml import Document
from whichgpu.engine.core.yaml import find
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.core.yaml import problems_from_pydantic
from whichgpu.engine.core.yaml import read_document


@dataclass
class Content:
    """What a folder holds, as plain values that have passed their checks."""

    gpus: list[dict[str, Any]] = field(default_factory=list)
    models: list[dict[str, Any]] = field(default_factory=list)
    offers: tuple[Offer, ...] = ()
    sources: list[dict[str, Any]] = field(default_factory=list)
    costs: list[dict[str, Any]] = field(default_factory=list)
    reserves: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    disagreements: dict[str, Any] = field(default_factory=dict)
    everything: dict[str, Any] = field(default_factory=dict)  # for the digest: topic to content


@dataclass(frozen=True)
class Part:
    """Which files hold records of a kind: in one file or a folder of that name, under one key."""

    name: str
    key: str
    record: type[BaseModel]


PARTS = (
    Part("gpus", "gpus", Gpu),
    Part("models", "models", ModelSpec),
    Part("sources", "sources", SourceRecord),
    Part("costs", "costs", CostItem),
    Part("memory_reserve", "reserves", MemoryReserve),
)


class _Line(BaseModel):
    """One line of products in generations.yaml."""

    vendor: str
    newest_first: list[list[str]]
    sources: list[str]


def read_folder(folder: Path, files: Mapping[str, Path]) -> Content:
    """Read and check every file.

    Raises:
        KnowledgeError: with all problems.
    """
    content, problems = Content(), []
    documents: dict[str, Document] = {}
    for name, path in files.items():
        if path.suffix == ".yaml":
            documents[name] = read_document(path, error=KnowledgeError, name=f"{folder.name}/{name}", cached=True)
    sections = {part.key: content_of(content, part.key) for part in PARTS}
    for part in PARTS:
        for name in _names(part.name, documents):
            problems += _read_records(documents[name], part, sections[part.key])
    problems += _read_lines(documents.get("generations.yaml"), content)
    content.figures = _by_id(documents.get("figures.yaml"), "figures", problems)
    content.disagreements = _by_id(documents.get("disagreements.yaml"), "disagreements", problems)
    problems += _twins(documents)
    if not problems:
        problems += _read_prices(folder, files, content)
        problems += _unknown_sources(documents, content)
    if problems:
        raise KnowledgeError(problems)
    content.everything = _everything(documents, content)
    return content


def content_of(content: Content, key: str) -> list[dict[str, Any]]:
    """The list that collects the records of a part."""
    section: list[dict[str, Any]] = getattr(content, key)
    return section


def _names(part: str, documents: Mapping[str, Document]) -> list[str]:
    return [name for name in documents if name == f"{part}.yaml" or name.startswith(f"{part}/")]


def _plain(document: Document, problems: list[Problem]) -> Any:
    try:
        return document.plain
    except WhichgpuError as error:
        problems.extend(error.problems)
        return None


def section(document: Document, key: str, problems: list[Problem]) -> Any:
    """What a file holds under ``key``; a problem when that is missing."""
    plain = _plain(document, problems)
    if isinstance(plain, dict) and key in plain:
        return plain[key]
    if plain is not None:
        message = f"{document.source.name} has no key {key!r}"
        problems.append(
            Problem("missing-key", message, document.source.place(1, 1), fix=f"put the records under '{key}:'")
        )
    return None


def _read_records(document: Document, part: Part, into: list[dict[str, Any]]) -> list[Problem]:
    problems: list[Problem] = []
    rows = section(document, part.key, problems)
    if rows is None:
        return problems
    if not isinstance(rows, list):
        place = place_of(find(document.node, (part.key,)))
        return [Problem("not-a-list", f"{part.key} must be a list of records", place, fix="begin each record with '-'")]
    for index, row in enumerate(rows):
        try:
            part.record.model_validate(row)
        except ValidationError as error:
            known = tuple(part.record.model_fields)
            problems += problems_from_pydantic(error, document.node, (part.key, index), known=known)
        else:
            into.append(row)
            if part.record is Gpu and row.get("plannable") is False and not row.get("not_plannable_because"):
                place = place_of(find(document.node, (part.key, index, "plannable")))
                message = f"{row['id']} is not plannable, and nothing says why"
                problems.append(Problem("missing-reason", message, place, fix="add not_plannable_because"))
    return problems


def _read_lines(document: Document | None, content: Content) -> list[Problem]:
    problems: list[Problem] = []
    if document is None:
        return problems
    for index, row in enumerate(section(document, "lines", problems) or []):
        try:
            _Line.model_validate(row)
        except ValidationError as error:
            problems += problems_from_pydantic(error, document.node, ("lines", index))
        else:
            content.lines.append(row)
    return problems


def _by_id(document: Document | None, key: str, problems: list[Problem]) -> dict[str, Any]:
    if document is None:
        return {}
    found = section(document, key, problems)
    return found if isinstance(found, dict) else {}


def _twins(documents: Mapping[str, Document]) -> list[Problem]:
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
    for name in _names(part.name, documents):
        plain = _plain(documents[name], [])
        rows = plain.get(part.key) if isinstance(plain, dict) else None
        for index, row in enumerate(rows if isinstance(rows, list) else []):
            if isinstance(row, dict):
                yield name, index, row


def _read_prices(folder: Path, files: Mapping[str, Path], content: Content) -> list[Problem]:
    path = files.get("prices.csv")
    if path is None:
        return []
    try:
        text = path.read_text(encoding="utf-8")
        resolve = resolver(map(Gpu.model_validate, content.gpus))
        content.offers = parse_prices(text, f"{folder.name}/prices.csv", resolve=resolve)
    except UnicodeDecodeError:
        return [Problem("not-utf8", f"{folder.name}/prices.csv is not UTF-8 text", fix="save the file as UTF-8")]
    except KnowledgeError as error:
        return list(error.problems)
    return []


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


def _unknown_sources(documents: Mapping[str, Document], content: Content) -> list[Problem]:
    """Source ids that sources.yaml does not know."""
    known = {row["id"] for row in content.sources}
    problems: list[Problem] = []
    for part in PARTS:
        for name, index, row in _rows(part, documents):
            for path, source in cited(row):
                if source.partition("/")[0] not in known:
                    place = place_of(find(documents[name].node, (part.key, index, *path)))
                    problems.append(unknown_source(source, known, place))
    for source in sorted({source for offer in content.offers for source in offer.cites}):
        if source not in known:
            problems.append(unknown_source(source, known, None))
    return problems[:40]


def unknown_source(source: str, known: set[str], place: Any) -> Problem:
    """The problem of a source that nothing lists."""
    near = nearest_words(source, sorted(known))
    return Problem("unknown-source", f"sources.yaml has no source {source!r}", place, nearest=near, fix="add it there")


def cited(row: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The sources that a record cites, each with the path of keys to it."""
    for index, source in enumerate(row.get("sources") or ()):
        yield ("sources", index), str(source)
    evidence = row.get("evidence") or {}
    for key, sources in evidence.items():
        for index, source in enumerate(sources):
            yield ("evidence", key, index), str(source)


def _everything(documents: Mapping[str, Document], content: Content) -> dict[str, Any]:
    """All content by topic: records of one kind are one topic, whichever file they stand in."""
    topics: dict[str, Any] = {part.key: content_of(content, part.key) for part in PARTS}
    topics["offers"] = [offer.model_dump() for offer in content.offers]
    read: set[str] = {name for part in PARTS for name in _names(part.name, documents)}
    topics.update({name: document.plain for name, document in documents.items() if name not in read})
    return topics
