"""Loading a knowledge folder: files to checked records, with the parsed content kept between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pydantic import TypeAdapter

from whichgpu.engine.catalogue.bundle import Knowledge
from whichgpu.engine.catalogue.bundle import KnowledgeLayer
from whichgpu.engine.catalogue.digest import knowledge_digest
from whichgpu.engine.catalogue.gpu_facts import gpu_facts
from whichgpu.engine.catalogue.memory import usable_assumed
from whichgpu.engine.catalogue.memory import usable_from_reading
from whichgpu.engine.catalogue.model import CostItem
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.catalogue.model import MemoryReserve
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.model import Offer
from whichgpu.engine.catalogue.model import SourceRecord
from whichgpu.engine.catalogue.prices import offer_order
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import cache


if TYPE_CHECKING:
    from whichgpu.engine.catalogue.folder import Content

_GPUS = TypeAdapter(list[Gpu])
_MODELS = TypeAdapter(list[ModelSpec])
_OFFERS = TypeAdapter(list[Offer])
_SOURCES = TypeAdapter(list[SourceRecord])
_COSTS = TypeAdapter(list[CostItem])
_RESERVES = TypeAdapter(list[MemoryReserve])

#: Raised when the cached form changes in a way that the records' fields do not show.
_FORMAT = "1"


def load_knowledge(folder: Path | None = None, *, layers: Sequence[Path] = ()) -> Knowledge:
    """All knowledge of a folder, checked; by default of the one that comes with the program.

    Args:
        folder: holds gpus/, models/, prices.csv, sources.yaml, ...
        layers: folders whose files of those names lie over it, the lowest first; see ``whichgpu.engine.core.folders``.

    Raises:
        KnowledgeError: with every problem of every file, each at its place.
    """
    folder = folder or locate("knowledge")
    files = _files(folder)
    raw = _raw_digest(files)
    content = cache.recall(_cache_kind(), raw)
    if content is cache.MISSING or not _usable(content):
        from whichgpu.engine.catalogue.folder import read_folder  # noqa: PLC0415  # Only a cold start reads files.

        content = _compiled(read_folder(folder, files))
        cache.remember(_cache_kind(), raw, content)
    laid: list[KnowledgeLayer] = []
    for layer in layers:
        from whichgpu.engine.catalogue.layering import lay_over  # noqa: PLC0415  # Most runs have no layer.

        content, found = lay_over(content, layer)
        laid.append(found)
    return _built(content, str(folder), tuple(laid))


def with_offers(knowledge: Knowledge, offers: Iterable[Offer]) -> Knowledge:
    """The same knowledge with other prices, such as a newer list that was imported."""
    replaced = sorted(offers, key=offer_order)
    firm = tuple(offer for offer in replaced if not offer.spot_only)
    spot = tuple(offer for offer in replaced if offer.spot_only)
    rows = [offer.model_dump() for offer in replaced]
    digest = knowledge_digest({"knowledge": knowledge.digest, "prices": rows})
    return replace(knowledge, offers=firm, spot_offers=spot, digest=digest, prices_as_of=_newest(replaced))


def _files(folder: Path) -> dict[str, Path]:
    """Every YAML and CSV file below the folder by its name relative to it, sorted."""
    paths = [path for path in folder.rglob("*") if path.suffix in {".yaml", ".csv"} and path.is_file()]
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in paths))


def _raw_digest(files: Mapping[str, Path]) -> str:
    whole = hashlib.sha256()
    for name, path in files.items():
        whole.update(name.encode() + b"\0")
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _cache_kind() -> str:
    shape = "".join(name for record in (Gpu, ModelSpec, Offer, SourceRecord, CostItem) for name in record.model_fields)
    return f"knowledge{_FORMAT}-{hashlib.sha256(shape.encode()).hexdigest()[:12]}"


def _usable(content: Any) -> bool:
    return isinstance(content, dict) and {"gpus", "models", "offers", "digest"} <= content.keys()


def _compiled(content: Content) -> dict[str, Any]:
    """Checked content as one JSON value, with its digest."""
    return {
        "gpus": content.gpus,
        "models": content.models,
        "offers": [offer.model_dump(exclude_defaults=True) for offer in content.offers],
        "sources": content.sources,
        "costs": content.costs,
        "reserves": content.reserves,
        "lines": content.lines,
        "figures": content.figures,
        "disagreements": content.disagreements,
        "digest": knowledge_digest(content.everything),
    }


def _built(content: Mapping[str, Any], folder: str, layers: tuple[KnowledgeLayer, ...] = ()) -> Knowledge:
    reserves = {reserve.vendor: reserve for reserve in _RESERVES.validate_python(content["reserves"])}
    lags = _lags(content["lines"])
    gpus = _GPUS.validate_python([_derived(row, reserves, lags) for row in content["gpus"]])
    offers = sorted(_OFFERS.validate_python(content["offers"]), key=offer_order)
    by_id = {gpu.id: gpu for gpu in sorted(gpus, key=lambda gpu: gpu.id)}
    return Knowledge(
        gpus=by_id,
        models=_by_id(_MODELS.validate_python(content["models"])),
        offers=tuple(offer for offer in offers if not offer.spot_only),
        spot_offers=tuple(offer for offer in offers if offer.spot_only),
        costs=_by_id(_COSTS.validate_python(content["costs"])),
        sources=_by_id(_SOURCES.validate_python(content["sources"])),
        figures=dict(sorted(content["figures"].items())),
        disagreements=dict(sorted(content["disagreements"].items())),
        gpu_facts={key: gpu_facts(gpu) for key, gpu in by_id.items()},
        digest=content["digest"],
        prices_as_of=_newest(offers),
        folder=folder,
        layers=layers,
    )


def _by_id(records: Iterable[Any]) -> dict[str, Any]:
    return {record.id: record for record in sorted(records, key=lambda record: record.id)}


def _newest(offers: Iterable[Offer]) -> str | None:
    return max((offer.as_of for offer in offers), default=None)


def _lags(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Generations behind the newest, by vendor and architecture."""
    return {
        (line["vendor"], architecture): place
        for line in lines
        for place, side_by_side in enumerate(line["newest_first"])
        for architecture in side_by_side
    }


def _derived(
    row: Mapping[str, Any], reserves: Mapping[str, MemoryReserve], lags: Mapping[tuple[str, str], int]
) -> dict[str, Any]:
    """A GPU's stated fields together with those that follow from them."""
    full = dict(row)
    if "usable_gb" not in full:
        read = usable_from_reading(full.get("device_mib"), full.get("cuda_mib"), full["vendor"], reserves)
        if read is not None:
            full["usable_gb"] = round(read, 3)
        elif full.get("vram_gb") is not None:
            full["usable_gb"] = round(usable_assumed(full["vram_gb"]), 3)
            full["usable_assumed"] = True
    lag = lags.get((full["vendor"], full.get("architecture") or ""))
    if lag is not None:
        full.setdefault("generation_lag", lag)
    return full
