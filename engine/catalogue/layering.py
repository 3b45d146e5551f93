"""Laying a layer's GPUs, models, sources, figures and prices over the knowledge below it.

A record with a new id is added. A record with an id that is there already changes that one: it says ``because:`` and
writes only the keys that differ. Offers replace those for the same shape and stand beside the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict, replace

from whichgpu.engine.catalogue.bundle import KnowledgeLayer, knowledge_digest
from whichgpu.engine.catalogue.folder import (
    BY_ID,
    PARTS,
    Part,
    cited_by,
    entries_of,
    names_of,
    read_prices,
    rows_of,
    unknown_source,
    unknown_sources,
    valid,
)
from whichgpu.engine.catalogue.model import Offer
from whichgpu.engine.catalogue.prices import merged
from whichgpu.engine.core import (
    CONSTANT_FILES,
    POLICY_FILE,
    RECORD_FORMS,
    Document,
    KnowledgeError,
    Place,
    Policy,
    Problem,
    find,
    knowledge_files,
    nearest_words,
    place_of,
    read_document,
    read_policy,
    record_of,
)


@dataclass(slots=True)
class _Overlay:
    """The content as it grows, what went wrong, and what the layer added."""

    content: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)
    added: dict[str, list[str]] = field(default_factory=dict)
    because: dict[str, str] = field(default_factory=dict)
    everything: dict[str, Any] = field(default_factory=dict)


def lay_over(content: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], KnowledgeLayer]:
    """The content with the files of a layer over it, and what the layer added.

    Args:
        content: checked content by kind, as ``whichgpu.engine.catalogue.loading`` keeps it.
        folder: the layer.

    Raises:
        KnowledgeError: with every problem of the layer's files.
    """
    overlay = _Overlay(dict(content))
    files = knowledge_files(folder)
    documents = {
        name: read_document(path, error=KnowledgeError, cached=True)
        for name, path in files.items()
        if path.suffix in RECORD_FORMS
    }
    overlay.everything |= {name: document.plain for name, document in documents.items()}
    for part in PARTS:
        for name in names_of(part, documents):
            _lay_records(documents[name], part, overlay)
    for key in BY_ID:
        if f"{key}.yaml" in documents:
            _lay_entries(documents[f"{key}.yaml"], key, overlay)
    policy = _lay_policy(folder, overlay)
    offers = _lay_prices(files["prices.csv"], overlay) if "prices.csv" in files and not overlay.problems else ()
    if not overlay.problems:
        known, single = _source_ids(overlay), [{name: document} for name, document in documents.items()]
        overlay.problems += (found for one in single for part in PARTS for found in unknown_sources(part, one, known))
    if policy is not None and not overlay.problems:
        rows = overlay.content["offers"]
        overlay.content["offers"] = [row for row in rows if policy.allows_offer(row["provider"], row.get("region"))]
    if overlay.problems:
        raise KnowledgeError(overlay.problems)
    layer = _layer(folder, documents, overlay, len(offers))
    if not layer.empty:
        overlay.content["digest"] = knowledge_digest({"below": content["digest"], "layer": layer.digest})
    return overlay.content, layer


def _lay_records(document: Document, part: Part, overlay: _Overlay) -> None:
    below = {_key(row): row for row in overlay.content[part.key]}
    for index, row in enumerate(rows_of(document, part, overlay.problems)):
        whole = _over(row, below.get(_key(row)), document, (part.key, index), overlay) if isinstance(row, dict) else row
        if whole is not None and valid(whole, document, part, index, overlay.problems):
            name = _key(whole)
            below[name] = whole
            overlay.added.setdefault(part.key, []).append(name)
    overlay.content[part.key] = [below[name] for name in sorted(below)]


def _key(row: object) -> str:
    """A record's id; a memory reserve goes by its vendor."""
    return str(row.get("id", row.get("vendor"))) if isinstance(row, Mapping) else ""


def _over(
    entry: dict[str, Any],
    below: Mapping[str, Any] | None,
    document: Document,
    path: tuple[str | int, ...],
    overlay: _Overlay,
) -> dict[str, Any] | None:
    """The entry whole: over the one below, where there is one and a reason is given."""
    if below is None:
        return entry
    name = str(entry.get("id", path[-1]))
    reason = str(entry.get("because") or "").strip()
    if not reason:
        fix = "give it another id; or, to change it, add because: with the reason, and only the keys that differ"
        place = place_of(find(document.node, (*path, "id")))
        overlay.problems.append(Problem("duplicate-id", f"{name!r} is there already, in a layer below", place, fix=fix))
        return None
    overlay.because[name] = reason
    return {**below, **{key: value for key, value in entry.items() if key != "because"}}


def _lay_entries(document: Document, key: str, overlay: _Overlay) -> None:
    whole = dict(overlay.content[key])
    for name, entry in entries_of(document, key, overlay.problems).items():
        laid = _over(entry, whole.get(name), document, (key, name), overlay)
        if laid is not None:
            whole[name] = laid
            overlay.added.setdefault(key, []).append(name)
    overlay.content[key] = whole


def _lay_prices(path: Path, overlay: _Overlay) -> tuple[Offer, ...]:
    read, known = read_prices(path, str(path), overlay.content["gpus"], overlay.problems), _source_ids(overlay)
    unknown = (source for source in cited_by(read) if source not in known)
    overlay.problems += (unknown_source(source, known, _line_with(path, source)) for source in unknown)
    offers = tuple(replace(offer, own=True) for offer in read)
    below = (record_of(Offer, row) for row in overlay.content["offers"])
    overlay.content["offers"] = [to_builtins(offer) for offer in merged(below, offers)]
    overlay.everything["prices.csv"] = [asdict(offer) for offer in offers]
    return offers


def _lay_policy(folder: Path, overlay: _Overlay) -> Policy | None:
    """The policy of the layer, with its names of providers and regions held against the offers."""
    found = read_policy(folder, KnowledgeError)
    if found is None:
        return None
    policy, document = found
    providers = {row["provider"] for row in overlay.content["offers"]}
    regions = {str(row["region"]).casefold() for row in overlay.content["offers"] if row.get("region")}
    for kind, names in (("approved", policy.approved), ("forbidden", policy.forbidden)):
        for at, name in enumerate(names.providers):
            if name not in providers:
                _unknown(name, "provider", providers, place_of(find(document.node, (kind, "providers", at))), overlay)
        for at, name in enumerate(names.regions):
            if not any(region == name.casefold() or region.startswith(name.casefold() + "-") for region in regions):
                _unknown(name, "region", regions, place_of(find(document.node, (kind, "regions", at))), overlay)
    overlay.because[POLICY_FILE] = policy.because
    return policy


def _unknown(name: str, what: str, known: set[str], place: Place, overlay: _Overlay) -> None:
    near = nearest_words(name, sorted(known), limit=1)
    fix = None if near else "prices.csv names them"
    message = f"the policy names {name!r}, which is no {what} of the price list"
    overlay.problems.append(Problem(f"unknown-{what}", message, place, nearest=near, fix=fix))


def _line_with(path: Path, word: str) -> Place | None:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        column = line.rfind(word)
        if number > 1 and column >= 0:
            return Place(str(path), number, column + 1, len(word), line)
    return None


def _source_ids(overlay: _Overlay) -> set[str]:
    return {row["id"] for row in overlay.content["sources"]}


def _layer(folder: Path, documents: Mapping[str, Document], overlay: _Overlay, offers: int) -> KnowledgeLayer:
    def names(file: str, key: str) -> tuple[str, ...]:
        plain = documents[file].plain if file in documents else {}
        entries = plain.get(key) if isinstance(plain, dict) else None
        if not isinstance(entries, dict):
            return ()
        for name, entry in entries.items():
            if isinstance(entry, dict) and entry.get("because"):
                overlay.because[name] = str(entry["because"])
        return tuple(sorted(entries))

    facts, codes = names("vocabulary.yaml", "facts"), names("codes.yaml", "codes")
    policy = [POLICY_FILE] if POLICY_FILE in documents else []
    constants = [name for name in CONSTANT_FILES if name in documents]
    for name in constants:
        plain = documents[name].plain
        overlay.because[name] = str(plain.get("because", "")) if isinstance(plain, dict) else ""
    added = {key: tuple(sorted(found)) for key, found in overlay.added.items()}
    named = {key: added.get(key, ()) for key in ("gpus", "models", "sources")}
    laid = sorted(name for key in ("costs", "reserves", *BY_ID) for name in added.get(key, ()))
    return KnowledgeLayer(
        folder=str(folder),
        digest=knowledge_digest(overlay.everything),
        facts=facts,
        codes=codes,
        **named,
        others=(*names("parameters.yaml", "parameters"), *constants, *policy, *laid),
        offers=offers,
        because=dict(sorted(overlay.because.items())),
    )
