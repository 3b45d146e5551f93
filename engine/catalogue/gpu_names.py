"""Finding the accelerators that a name means: an id, an alias, a family or a series, in any usual spelling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.catalogue.spelling import EDITIONS, distinctive_words, exact_form, memory_word, only_form_or_memory
from whichgpu.engine.core import nearest_words


MatchKind = Literal["id", "family", "series", "none"]


class GpuMatch(Struct, frozen=True):
    """What a name means. ``ids`` are sorted; with ``kind`` none they are empty and ``nearest`` suggests ids."""

    asked: str
    kind: MatchKind
    ids: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()
    usual: str = ""  # the card that is meant where it has to be one: what the name means without its vendor

    @property
    def found(self) -> bool:
        """Whether the name means anything."""
        return self.kind != "none"


def grouped(gpus: Iterable[Gpu], by: Literal["family", "series"]) -> dict[str, tuple[str, ...]]:
    """GPU ids by family or series, all sorted."""
    groups: dict[str, list[str]] = {}
    for gpu in gpus:
        groups.setdefault(getattr(gpu, by), []).append(gpu.id)
    return {name: tuple(sorted(ids)) for name, ids in sorted(groups.items())}


class GpuNames:
    """An index over a catalogue. Ids win over aliases, aliases over families, families over series."""

    def __init__(self, gpus: Iterable[Gpu]) -> None:
        self._gpus = {gpu.id: gpu for gpu in sorted(gpus, key=lambda gpu: gpu.id)}
        self._exact: dict[str, tuple[MatchKind, tuple[str, ...]]] = {}
        self._words: dict[frozenset[str], tuple[MatchKind, tuple[str, ...]]] = {}
        for name, kind, ids in self._named():
            self._exact.setdefault(exact_form(name), (kind, ids))
            self._words.setdefault(distinctive_words(name), (kind, ids))
        self._words.pop(frozenset(), None)  # Names of which nothing distinctive is left are found as written, or not.

    def _named(self) -> list[tuple[str, MatchKind, tuple[str, ...]]]:
        gpus = self._gpus.values()
        rows: list[tuple[str, MatchKind, tuple[str, ...]]] = [(key, "id", (key,)) for key in self._gpus]
        rows += [(alias, "id", (gpu.id,)) for gpu in gpus for alias in gpu.aliases]
        rows += [(gpu.name, "id", (gpu.id,)) for gpu in gpus]
        rows += [(family, "family", ids) for family, ids in grouped(gpus, "family").items()]
        rows += [(series, "series", ids) for series, ids in grouped(gpus, "series").items()]
        return rows

    def find(self, name: str) -> GpuMatch:
        """What ``name`` means; with nothing found, the ids that it may have meant."""
        found = self._exact.get(exact_form(name))
        if found is None:
            words = distinctive_words(name)
            found = self._by_words(words) or (self._by_words(words - EDITIONS) if words & EDITIONS else None)
        if found is not None:
            return GpuMatch(name, found[0], found[1], usual=self._usual(*found))
        return GpuMatch(name, "none", nearest=self._nearest(name))

    def _usual(self, kind: MatchKind, ids: tuple[str, ...]) -> str:
        """``NVIDIA RTX 3080`` is a series, and ``RTX 3080`` one of its cards; else the last by id, which is SXM."""
        if kind in {"family", "series"}:
            gpu = self._gpus[ids[0]]
            group = gpu.family if kind == "family" else gpu.series
            plain = self._exact.get(exact_form(group.removeprefix(f"{gpu.vendor}-")))
            if plain is not None and plain[0] == "id" and plain[1][0] in ids:
                return plain[1][0]
        return ids[-1]

    def _by_words(self, words: frozenset[str]) -> tuple[MatchKind, tuple[str, ...]] | None:
        found = self._words.get(words) or self._without_memory(words) or self._words.get(words - {"sxm"})
        return found or self._of_that_form(words) or self._of_no_other_form(words)

    def _without_memory(self, words: frozenset[str]) -> tuple[MatchKind, tuple[str, ...]] | None:
        """A card named with its memory: the memory must be that of the card, and narrows a series."""
        size = memory_word(words)
        if size is None:
            return None
        rest = words - {size}
        found = self._words.get(rest) or self._words.get(rest - {"sxm"})
        if found is None:
            return None
        kind, ids = found
        members = self._siblings(ids) if kind == "id" else ids
        fitting = [key for key in members if self._gpus[key].vram_gb == float(size.removesuffix("gb"))]
        if kind == "id" and ids[0] in fitting:
            return found
        if not fitting:
            return None
        return ("id" if len(fitting) == 1 else kind if kind != "id" else "series"), tuple(fitting)

    def _of_that_form(self, words: frozenset[str]) -> tuple[MatchKind, tuple[str, ...]] | None:
        """Cards of one series whose ids add only a form or a memory size to the words: ``A100 PCIe``."""
        fitting = [
            key
            for key in self._gpus
            if words < distinctive_words(key) and only_form_or_memory(distinctive_words(key) - words)
        ]
        if not words or len({self._gpus[key].series for key in fitting}) != 1:
            return None
        return ("id" if len(fitting) == 1 else "series"), tuple(fitting)

    def _of_no_other_form(self, words: frozenset[str]) -> tuple[MatchKind, tuple[str, ...]] | None:
        """Cards that only come for the slot, named with it: ``RTX 4090 PCIe``."""
        found = self._by_words(words - {"pcie"}) if "pcie" in words and len(words) > 1 else None
        cards = found is not None and all(self._gpus[key].form_factor == "pcie" for key in found[1])
        return found if cards else None

    def _siblings(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        series = self._gpus[ids[0]].series
        return tuple(key for key, gpu in self._gpus.items() if gpu.series == series)

    def _nearest(self, name: str) -> tuple[str, ...]:
        spellings: dict[str, str] = {}
        for gpu in self._gpus.values():
            for spelling in (gpu.id, gpu.id.removeprefix(gpu.vendor + "-"), *gpu.aliases, gpu.name):
                spellings.setdefault(exact_form(spelling), gpu.id)
            for group in (gpu.family, gpu.series):
                spellings.setdefault(exact_form(group), group)
                spellings.setdefault(exact_form(group.removeprefix(gpu.vendor + "-")), group)
        near = nearest_words(exact_form(name), sorted(spellings), limit=6)
        return tuple(dict.fromkeys(spellings[word] for word in near))[:3]
