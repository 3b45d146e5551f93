"""Finding the model that a name means, in any usual spelling, and what the name says about its weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from msgspec import Struct

from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.model_spelling import PUBLISHERS, VARIANT_WORDS, Spelling, spelling
from whichgpu.engine.core import nearest_words


_DATE = re.compile(r"\d{4}|\d{6}|\d{8}")
_VERSION = re.compile(r"\d+(\.\d+)?")
_UNDERSCORE = re.compile(r"\d_\d")
_MEDIUM = re.compile(r"(?<=[a-z])(\d+)m\b")  # yolov5m is the medium one of its version, not of five million parameters.
#: Sizes that stand beside "base", which elsewhere marks a variant.
_OTHER_SIZES = frozenset(("nano", "tiny", "mini", "small", "medium", "large", "huge", "giant", "xl", "xxl"))
_SIZE_TOLERANCE = 0.12  # A stated size and a model's real one: "7B" stands for 6.5 to 7.9 among those known.


class ModelMatch(Struct, frozen=True):
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


class SpeltModels(Struct, frozen=True, array_like=True):
    """The words of the names of models, taken apart once: which model they mean, and those of each model's id."""

    meant: tuple[tuple[tuple[str, ...], str], ...]
    words: dict[str, tuple[str, ...]]


def spelt_models(models: Iterable[ModelSpec]) -> SpeltModels:
    """Take the ids, names and aliases of models apart. Where two claim the same words, the first by id has them."""
    by_id = {model.id: model for model in sorted(models, key=lambda model: model.id)}
    words = {key: spelling(key).words for key in by_id}
    meant: dict[tuple[str, ...], str] = {}
    for key in by_id:
        meant.setdefault(words[key], key)
    for key in by_id:
        if _UNDERSCORE.search(key):  # timm's patch16_224 is the hub's patch16-224; in phi-1_5 it stands for a dot.
            meant.setdefault(spelling(key.replace("_", "-")).words, key)
        if _MEDIUM.search(key):
            meant.setdefault(spelling(_MEDIUM.sub(r"\1-m", key)).words, key)
    for key, model in by_id.items():
        for name in (model.name, *model.aliases):
            spelt = spelling(name)
            meant.setdefault(spelt.words, key)
            if spelt.sizes:  # Without a size, dropping "base" from "whisper base" would leave the family.
                meant.setdefault(_bare(spelt), key)
    return SpeltModels(tuple(meant.items()), words)


class ModelNames:
    """An index over models by the words of their ids, names and aliases."""

    def __init__(self, models: Mapping[str, ModelSpec], spelt: SpeltModels | None = None) -> None:
        """Over these models by id; ``spelt`` where their names were taken apart already."""
        self._models = models
        spelt = spelt or spelt_models(models.values())
        self._index, self._words = dict(spelt.meant), spelt.words

    def find(self, name: str, param_count_b: float | None = None) -> ModelMatch:
        """What ``name`` means. A bare family name needs ``param_count_b``; alone it means nothing in particular."""
        spelt = spelling(name)
        steps = ((self._index[words], step) for step, words in _forms(spelt) if words in self._index)
        key, how = next(steps, (None, ""))
        if param_count_b is not None and not spelt.sizes and not self._near(key, param_count_b):
            sized = self._by_size(spelt, param_count_b)
            key, how = (sized, "family and size") if sized else (key, how)
        if key is None:
            key, how = self._looser(spelt)
        if key is None:
            return ModelMatch(name, None, spelt.weight_precision, nearest=self._nearest(name, spelt))
        return ModelMatch(name, self._models[key], spelt.weight_precision, how=how)

    def _near(self, key: str | None, param_count_b: float) -> bool:
        size = self._models[key].params_b if key else None
        return size is not None and abs(size / param_count_b - 1) <= 2 * _SIZE_TOLERANCE

    def _looser(self, spelt: Spelling) -> tuple[str | None, str]:
        """A size beside a name that has none, the only model of a name, or a known name inside a longer one."""
        bare = _bare(spelt)
        unsized = tuple(word for word in bare if word not in spelt.sizes)
        key = self._index.get(unsized) if len(spelt.sizes) == 1 else None
        if key and _billions(spelt.sizes[0]) and self._near(key, _billions(spelt.sizes[0])):
            return key, "name and size"
        sole = [key for key, words in self._words.items() if words[: len(bare)] == bare]
        if bare and len(sole) == 1 and not ("base" in spelt.words and _OTHER_SIZES & set(self._words[sole[0]])):
            return sole[0], "the only one of that name"
        return self._inside(bare)

    def _inside(self, bare: tuple[str, ...]) -> tuple[str | None, str]:
        """The longest run of words that is a known name with a size: a fine-tune named after what it was made from."""
        for length in range(len(bare) - 1, 1, -1):
            for start in range(len(bare) - length + 1):
                run = bare[start : start + length]
                key = self._index.get(run)
                if key and run[0].isalpha() and any(word[-1] == "b" and word[0].isdigit() for word in run):
                    return key, "part of the name"
        return None, ""

    def _by_size(self, spelt: Spelling, param_count_b: float) -> str | None:
        """The family's model of that size: same nominal size first, then shortest name, then newest version."""
        nominal = f"{param_count_b:g}b"
        family = _undated(spelt)
        ranked = []
        for key, words in self._words.items():
            size = self._models[key].params_b
            if words[: len(family)] != family or not family or size is None:
                continue
            off = abs(size / param_count_b - 1)
            if nominal in words or off <= _SIZE_TOLERANCE:
                rest = words[len(family) :]
                version = _version(rest)
                extra = len([word for word in rest if word != nominal and not _VERSION.fullmatch(word)])
                ranked.append((nominal not in words, extra, -version, round(off, 3), key))
        return min(ranked)[-1] if ranked else None

    def _nearest(self, name: str, spelt: Spelling) -> tuple[str, ...]:
        family = _bare(spelt)[:1]
        sizes = set(spelt.sizes)
        kin = [key for key, words in self._words.items() if family and words[:1] == family]
        tail = name.strip().casefold().rsplit("/", 1)[-1]
        alike = {key: place for place, key in enumerate(nearest_words(tail, kin, limit=len(kin) or 1))}
        kin.sort(
            key=lambda key: (
                not sizes & set(self._words[key]),
                -len(set(self._words[key]) & set(spelt.words)),
                alike.get(key, len(kin)),
                key,
            )
        )
        near = nearest_words(tail, self._models, limit=3)
        return tuple(dict.fromkeys([*kin[:2], *near, *kin[2:]]))[:3]


def _forms(spelt: Spelling) -> list[tuple[str, tuple[str, ...]]]:
    """The words of a name, then with ever more of what marks only a variant left out, each with what was left out."""
    words = _unpublished(spelt.words)
    forms = [("as written", spelt.words), ("as written", words)]
    while len(words) > 1 and words[-1] in VARIANT_WORDS:  # "pro instruct": the last word may go alone.
        words = words[:-1]
        forms.append(("without variant", words))
    bare, undated = _bare(spelt), _undated(spelt)
    pairs = zip_longest(bare, bare[1:], fillvalue="")
    plain = tuple(word for word, after in pairs if word != "v" or not after[:1].isdigit())
    named = (("without variant", bare), ("without v", plain), ("without date", undated))
    return [*forms, *named, ("without version", _without_version(undated))]


def _unpublished(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[1:] if len(words) > 1 and words[0] in PUBLISHERS else words


def _bare(spelt: Spelling) -> tuple[str, ...]:
    """The words that may distinguish networks."""
    words = _unpublished(spelt.words)
    return tuple(word for word in words if word not in VARIANT_WORDS) or words


def _undated(spelt: Spelling) -> tuple[str, ...]:
    bare = _bare(spelt)
    return tuple(word for word in bare if not _DATE.fullmatch(word)) or bare


def _without_version(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out a trailing ``v 0.3`` or ``v 2``, which hub names put after the size."""
    for index in range(len(words) - 1, 1, -1):
        if words[index - 1] == "v" and words[index][0].isdigit():
            return words[: index - 1] + words[index + 1 :]
    return words


def _version(words: tuple[str, ...]) -> float:
    """The version number in a name's words, for "newest first"; 0 without one."""
    return next((float(word) for word in words if _VERSION.fullmatch(word)), 0.0)


def _billions(size: str) -> float:
    """A size word in billions; 0 where it multiplies (8x7b)."""
    if "x" in size:
        return 0.0
    return float(size[:-1]) * {"b": 1.0, "t": 1e3, "m": 1e-3}[size[-1]]
