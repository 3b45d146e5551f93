"""All knowledge of one folder, frozen, with look-ups by name, and one digest over its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from whichgpu.engine.catalogue.gpu_names import GpuMatch, GpuNames, grouped
from whichgpu.engine.catalogue.model import CostItem, Gpu, ModelSpec, Offer, SourceRecord
from whichgpu.engine.catalogue.model_names import ModelMatch, ModelNames, SpeltModels
from whichgpu.engine.core import FactTable, Value


class KnowledgeLayer(Struct, frozen=True):
    """What a layer adds to the knowledge: a digest over all of it, and the names of what it adds and changes."""

    folder: str
    digest: str
    facts: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # costs, figures, disagreements, parameters, files of constants
    offers: int = 0
    because: Mapping[str, str] = msgspec.field(default_factory=dict)  # what it changes -> on what ground

    @property
    def empty(self) -> bool:
        """Whether it holds rules alone."""
        return not any((self.facts, self.codes, self.gpus, self.models, self.sources, self.others, self.offers))


@dataclass(frozen=True)
class Knowledge:
    """Accelerators, models, prices, costs and sources. Every mapping is sorted by key and never changed.

    ``figures`` and ``disagreements`` are plain content by id, as their files state it. ``offers`` have a firm price;
    ``spot_offers`` can only be had interruptibly, and their ``usd_per_hour`` is the spot price.
    """

    gpus: Mapping[str, Gpu]
    models: Mapping[str, ModelSpec]
    offers: tuple[Offer, ...]
    spot_offers: tuple[Offer, ...]
    costs: Mapping[str, CostItem]
    sources: Mapping[str, SourceRecord]
    figures: Mapping[str, Mapping[str, Any]]
    disagreements: Mapping[str, Mapping[str, Any]]
    gpu_facts: Mapping[str, Mapping[str, Value]]
    digest: str
    prices_as_of: str | None
    folder: str = field(default="", compare=False)
    #: Models as their configuration said, by the path or name that a record read it from, where that may be gone.
    read_models: Mapping[str, ModelSpec] = field(default_factory=dict, compare=False)
    layers: tuple[KnowledgeLayer, ...] = ()
    spelt_models: SpeltModels | None = field(default=None, compare=False)  # so that a start need not spell them

    @cached_property
    def gpu_columns(self) -> FactTable:
        """The facts of all GPUs as columns, in the order of ``gpus``."""
        return FactTable.of([self.gpu_facts[gpu] for gpu in self.gpus])

    @cached_property
    def gpu_rows(self) -> Mapping[str, int]:
        """The row of each GPU in ``gpu_columns``."""
        return {gpu: row for row, gpu in enumerate(self.gpus)}

    @cached_property
    def families(self) -> Mapping[str, tuple[str, ...]]:
        """GPU ids by family."""
        return grouped(self.gpus.values(), "family")

    @cached_property
    def series(self) -> Mapping[str, tuple[str, ...]]:
        """GPU ids by series."""
        return grouped(self.gpus.values(), "series")

    @cached_property
    def plannable(self) -> tuple[Gpu, ...]:
        """Accelerators that plans may use, by id."""
        return tuple(gpu for gpu in self.gpus.values() if gpu.plannable)

    @cached_property
    def all_offers(self) -> tuple[Offer, ...]:
        """The whole price list: offers with a firm price, then those that can only be had interruptibly."""
        return (*self.offers, *self.spot_offers)

    @cached_property
    def priced_ids(self) -> frozenset[str]:
        """The GPUs that somebody rents out, or that have a price to buy."""
        offered = {offer.gpu for offer in self.all_offers}
        return frozenset(
            gpu.id
            for gpu in self.gpus.values()
            if gpu.buy_usd is not None or not offered.isdisjoint((gpu.id, gpu.family))
        )

    @cached_property
    def highest_usd_per_gpu_hour(self) -> float:
        """The highest price of one GPU for an hour in the price list; 0 where the list is empty."""
        return max((offer.usd_per_hour / offer.count for offer in self.offers), default=0.0)

    @cached_property
    def gpu_names(self) -> GpuNames:
        """The index behind ``find_gpu``."""
        return GpuNames(self.gpus.values())

    @cached_property
    def model_names(self) -> ModelNames:
        """The index behind ``find_model``."""
        return ModelNames(self.models, self.spelt_models)

    def find_gpu(self, name: str) -> GpuMatch:
        """What an accelerator's name means: one id, a family, a series, or none with suggestions."""
        return self.gpu_names.find(name)

    def find_model(self, name: str, param_count_b: float | None = None) -> ModelMatch:
        """What a model's name means, with the weight precision that it implies.

        Args:
            name: any usual spelling: a hub path, an ollama tag, a bare family name together with a size.
            param_count_b: the size in billions, which resolves a bare family name.
        """
        return self.model_names.find(name, param_count_b)


def knowledge_digest(content: Mapping[str, Any]) -> str:
    """SHA-256 over content by topic, the same whatever the order of files, keys and records.

    Lists of records that carry an ``id`` are sorted by it; numbers count by value.
    """
    canonical = json.dumps(
        _ordered(content), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _ordered(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {str(key): _ordered(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        items = [_ordered(item) for item in content]
        if items and all(isinstance(item, dict) and "id" in item for item in items):
            items.sort(key=lambda item: str(item["id"]))
        return items
    if isinstance(content, float) and content.is_integer():
        return int(content)
    return content
