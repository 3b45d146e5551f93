"""Finding the model that a name means, in any usual spelling, and what the name says about its weights."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from engine.knowledge.model import ModelSpec
from engine.knowledge.model_spelling import PUBLISHERS
from engine.knowledge.model_spelling import VARIANT_WORDS
from engine.knowledge.model_spelling import Spelling
from engine.knowledge.model_spelling import spelling
from engine.problems import nearest_words


_DATE = re.compile(r"\d{4}|\d{6}|\d{8}")
_SIZE_TOLERANCE = 0.12  # A stated size and a model's real one: "7B" stands for 6.5 to 7.9 among those known.
_STEPS = ("as written", "without variant", "without date", "without version")


@dataclass(frozen=True, slots=True)
class ModelMatch:
    """What a name means. Without a ``spec``, ``nearest`` suggests ids."""

    asked: str
    spec: ModelSpec | None
    weight_precision: str | None = None  # what the name says: fp8, awq-int4, q4_k_m, ...
    nearest: tuple[str, ...] = ()
    how: str = ""  # "as written", "without variant", "family and size", ...

    @property
    def found(self) -> bool:
        """Whether the name means one model."""
        return self.spec is not None


class ModelNames:
    """An index over models by the words of their ids, names and aliases."""

    def __init__(self, models: Iterable[ModelSpec]) -> None:
        self._models = {model.id: model for model in sorted(models, key=lambda model: model.id)}
        self._index: dict[tuple[str, ...], str] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        for model in self._models.values():
            self._words[model.id] = spelling(model.id).words
            self._index.setdefault(self._words[model.id], model.id)
        for model in self._models.values():
            for name in (model.name, *model.aliases):
                for words in _forms(spelling(name))[:2]:
                    self._index.setdefault(words, model.id)

    def find(self, name: str, param_count_b: float | None = None) -> ModelMatch:
        """What ``name`` means. A bare family name needs ``param_count_b``; alone it means nothing in particular."""
        spelt = spelling(name)
        for step, words in zip(_STEPS, _forms(spelt), strict=True):
            key = self._index.get(words)
            if key is not None:
                return ModelMatch(name, self._models[key], spelt.weight_precision, how=step)
        if param_count_b is not None and not spelt.sizes:
            key = self._by_size(spelt, param_count_b)
            if key is not None:
                return ModelMatch(name, self._models[key], spelt.weight_precision, how="family and size")
        return ModelMatch(name, None, spelt.weight_precision, nearest=self._nearest(name, spelt))

    def _by_size(self, spelt: Spelling, param_count_b: float) -> str | None:
        """The family's model of that size: the same nominal size first, then the newest version, then the shortest name."""
        nominal = f"{param_count_b:g}b"
        family = _forms(spelt)[2]
        ranked = []
        for key, words in self._words.items():
            size = self._models[key].params_b
            if words[: len(family)] != family or not family or size is None:
                continue
            off = abs(size / param_count_b - 1)
            if nominal in words or off <= _SIZE_TOLERANCE:
                rest = words[len(family) :]
                version = _version(rest)
                extra = len([word for word in rest if word.isalpha()])
                ranked.append((nominal not in words, extra, tuple(-part for part in version), round(off, 3), key))
        return min(ranked)[-1] if ranked else None

    def _nearest(self, name: str, spelt: Spelling) -> tuple[str, ...]:
        family = _forms(spelt)[3][:1]
        sizes = set(spelt.sizes)
        kin = [key for key, words in self._words.items() if family and words[:1] == family]
        kin.sort(
            key=lambda key: (not sizes & set(self._words[key]), -len(set(self._words[key]) & set(spelt.words)), key)
        )
        tail = name.strip().casefold().rsplit("/", 1)[-1]
        near = nearest_words(tail, self._models, limit=3)
        return tuple(dict.fromkeys([*kin[:2], *near, *kin[2:]]))[:3]


def _forms(spelt: Spelling) -> list[tuple[str, ...]]:
    """The words of a name, then with ever more of what marks only a variant left out."""
    words = spelt.words
    first = words[1:] if len(words) > 1 and words[0] in PUBLISHERS else words
    bare = tuple(word for word in first if word not in VARIANT_WORDS) or first
    undated = tuple(word for word in bare if not _DATE.fullmatch(word)) or bare
    return [words, bare, undated, _without_version(undated)]


def _without_version(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out a trailing ``v 0.3`` or ``v 2``, which hub names put after the size."""
    for index in range(len(words) - 1, 1, -1):
        if words[index - 1] == "v" and words[index][0].isdigit():
            return words[: index - 1] + words[index + 1 :]
    return words


def _version(words: tuple[str, ...]) -> tuple[float, ...]:
    """The version numbers in a name's words, for "newest first"."""
    return tuple(float(word) for word in words if re.fullmatch(r"\d+(\.\d+)?", word))
