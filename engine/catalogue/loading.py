"""Loading a knowledge folder: files to checked records, with the parsed content kept between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import asdict

from whichgpu.engine.catalogue.bundle import Knowledge, KnowledgeLayer, knowledge_digest
from whichgpu.engine.catalogue.facts_of_gpus import gpu_facts
from whichgpu.engine.catalogue.model import CostItem, Gpu, MemoryReserve, ModelSpec, Offer, SourceRecord
from whichgpu.engine.catalogue.model_names import spelt_models
from whichgpu.engine.catalogue.prices import offer_order
from whichgpu.engine.core import (
    RECORD_FORMS,
    RecordsOnDemand,
    compiled_key,
    knowledge_files,
    locate,
    recall_compiled,
    records_of,
    remember_compiled,
)


#: Decimal gigabytes per MiB.
GB_PER_MIB = 1.048576e-3
#: Where no reading exists: marketed "GB" are GiB, and drivers show about 1.5 % less than that on the cards seen.
_GIB_IN_GB = 1.0737
_TYPICAL_SHARE = 0.985


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
    added = (path for layer in layers for path in knowledge_files(layer).values())
    key = compiled_key((*files.values(), *added), str(folder), *map(str, layers))
    kept = recall_compiled("knowledge", key, _Kept)
    if kept is not None:
        return replace(kept.rest, models=RecordsOnDemand(kept.models, ModelSpec))
    read = _read(folder, files, layers)
    remember_compiled("knowledge", key, _Kept(RecordsOnDemand.packed(read.models), replace(read, models={})))
    return read


class _Kept(Struct, frozen=True, array_like=True):
    """What is kept between runs: of the models, of which a run needs one or two, each by itself."""

    models: dict[str, Raw]
    rest: Knowledge


def with_offers(knowledge: Knowledge, offers: Iterable[Offer]) -> Knowledge:
    """The same knowledge with other prices, such as a newer list that was imported."""
    replaced = sorted(offers, key=offer_order)
    rows = [asdict(offer) for offer in replaced]
    digest = knowledge_digest({"knowledge": knowledge.digest, "prices": rows})
    return replace(knowledge, digest=digest, **_priced(replaced))


def _priced(offers: Sequence[Offer]) -> dict[str, Any]:
    """What knowledge holds of offers, firm and interruptible apart."""
    return {
        "offers": tuple(offer for offer in offers if not offer.spot_only),
        "spot_offers": tuple(offer for offer in offers if offer.spot_only),
        "prices_as_of": max((offer.as_of for offer in offers), default=None),
    }


def _files(folder: Path) -> dict[str, Path]:
    """Every file of records or prices below the folder by its name relative to it, sorted."""
    paths = [path for path in folder.rglob("*") if path.suffix in {*RECORD_FORMS, ".csv"} and path.is_file()]
    return dict(sorted((path.relative_to(folder).as_posix(), path) for path in paths))


def _read(folder: Path, files: Mapping[str, Path], layers: Sequence[Path]) -> Knowledge:
    from whichgpu.engine.catalogue.folder import read_folder  # noqa: PLC0415  # Only a first start reads files.

    content = read_folder(folder, files)
    laid: list[KnowledgeLayer] = []
    for layer in layers:
        from whichgpu.engine.catalogue.layering import lay_over  # noqa: PLC0415  # Most runs have no layer.

        content, found = lay_over(content, layer)
        laid.append(found)
    return _built(content, str(folder), tuple(laid))


def _built(content: Mapping[str, Any], folder: str, layers: tuple[KnowledgeLayer, ...] = ()) -> Knowledge:
    reserves = {reserve.vendor: reserve for reserve in records_of(MemoryReserve, content["reserves"])}
    lags = _lags(content["lines"])
    by_id = _by_id(records_of(Gpu, [_derived(row, reserves, lags) for row in content["gpus"]]))
    models = _by_id(records_of(ModelSpec, content["models"]))
    return Knowledge(
        gpus=by_id,
        models=models,
        costs=_by_id(records_of(CostItem, content["costs"])),
        sources=_by_id(records_of(SourceRecord, content["sources"])),
        figures=dict(sorted(content["figures"].items())),
        disagreements=dict(sorted(content["disagreements"].items())),
        gpu_facts={key: gpu_facts(gpu) for key, gpu in by_id.items()},
        digest=content["digest"],
        folder=folder,
        layers=layers,
        spelt_models=spelt_models(models.values()),
        **_priced(sorted(records_of(Offer, content["offers"]), key=offer_order)),
    )


def _by_id(records: Iterable[Any]) -> dict[str, Any]:
    return {record.id: record for record in sorted(records, key=lambda record: record.id)}


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


def usable_from_reading(
    device_mib: int | None, cuda_mib: int | None, vendor: str, reserves: Mapping[str, MemoryReserve]
) -> float | None:
    """Usable memory in decimal GB from what a driver was seen to report, or None without a reading.

    Args:
        device_mib: memory of the device in MiB, as the vendor's tool shows it.
        cuda_mib: memory that CUDA offers a process in MiB; when known, nothing more is deducted.
        vendor: whose reserve to deduct; a vendor without an entry reserves nothing.
        reserves: reserve by vendor.

    Source of the formula: knowledge/memory_reserve.yaml.
    """
    if cuda_mib is not None:
        return cuda_mib * GB_PER_MIB
    if device_mib is None:
        return None
    reserve = reserves.get(vendor)
    kept = reserve.base_mib + reserve.share * device_mib if reserve else 0.0
    return (device_mib - kept) * GB_PER_MIB


def usable_assumed(vram_gb: float) -> float:
    """Usable memory in decimal GB where only the marketed figure is known: marketed x 1.0737 x 0.985."""
    return vram_gb * _GIB_IN_GB * _TYPICAL_SHARE
