"""Typed reading of a model's configuration: keys under several names, every problem kept until the end; its layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from whichgpu.engine.core import InputError, Place, Problem, nearest_words


#: Beyond the bytes of any weights that are published: a larger number is a slip.
_MOST = 10**15
_MOST_RATIO = 1000
#: The same of layers, which formulas go through one by one.
_MOST_LAYERS = 10_000


class ConfigReader(Struct, frozen=True):
    """Reads keys of one mapping. Problems are collected; ``finish`` raises them together."""

    content: Mapping[str, Any]
    name: str
    text: str = ""
    problems: list[Problem] = field(default_factory=list)

    def nested(self, key: str) -> ConfigReader:
        """A reader of the mapping under ``key``; of nothing where there is none."""
        inner = self.content.get(key)
        return ConfigReader(inner if isinstance(inner, Mapping) else {}, self.name, self.text, self.problems)

    def maybe(self, *keys: str) -> int | None:
        """The first whole number under one of the keys, or None. Zero counts as absent."""
        for key in keys:
            value = self.content.get(key)
            if value is None or isinstance(value, list | Mapping):
                continue
            number = _whole(value)
            if number is None or number > _most(key):
                self._blame(key, value)
            elif number > 0:
                return number
        return None

    def ratio(self, key: str, usual: float) -> float:
        """The number under a key, with a fraction or without; the usual one where it is no ratio of two widths."""
        value = self.content.get(key)
        usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MOST_RATIO
        return float(value) if usable else usual  # type: ignore[arg-type]  # A number, as just seen.

    def count(self, *keys: str) -> int | None:
        """Like ``maybe``; a problem when none of the keys is there."""
        number = self.maybe(*keys)
        if number is None:
            self.required(*keys)
        return number

    def required(self, *keys: str) -> None:
        """Note that a key is missing, unless a wrong value under it was noted already."""
        zero = next((key for key in keys if _whole(self.content.get(key)) == 0), None)
        if zero is not None:
            message = f"{self.name}: {zero} is 0, and has to be 1 or more"
            self.problems.append(Problem("not-a-count", message, self._place(zero)))
        if any(key in self.content for key in keys) and self.problems:
            return
        names = " or ".join(repr(key) for key in keys[:3])
        near = nearest_words(keys[0], sorted(map(str, self.content)))
        message = f"{self.name} has no {names}"
        fix = "is it the config.json of a language model?" if not near else None
        self.problems.append(Problem("missing-key", message, None, nearest=near, fix=fix))

    def flag(self, *keys: str, default: bool) -> bool:
        """The first true or false under one of the keys."""
        values = (self.content.get(key) for key in keys)
        return next((value for value in values if isinstance(value, bool)), default)

    def word(self, key: str) -> str:
        """The text under a key, or nothing."""
        value = self.content.get(key)
        return value if isinstance(value, str) else ""

    def words(self, key: str) -> list[str]:
        """The list of texts under a key, or nothing."""
        value = self.content.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def blocks(self) -> str:
        """The letters of layers that are each one thing alone (Nemotron-H): M, *, - or E; nothing for others."""
        letters = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
        letters |= {"linear_attention": "M", "full_attention": "*"}  # as transformers 5 writes them
        listed = self.words("layers_block_type")
        return self.word("hybrid_override_pattern") or "".join(letters.get(word, "?") for word in listed)

    def numbers(self, key: str) -> list[int]:
        """The list of whole numbers under a key, or nothing."""
        value = self.content.get(key)
        found = [_whole(item) for item in value] if isinstance(value, list) else []
        known = [item for item in found if item is not None and item <= _most(key)]
        return known if len(known) == len(found) else []

    def first(self, key: str) -> int | None:
        """The first of a list of whole numbers under a key."""
        return next((number for number in self.numbers(key) if number > 0), None)

    def mappings(self, key: str) -> list[ConfigReader]:
        """Readers of the mappings in a list under a key."""
        value = self.content.get(key)
        found = value if isinstance(value, list) else []
        return [ConfigReader(item, self.name, self.text, self.problems) for item in found if isinstance(item, Mapping)]

    def groups(self) -> list[ConfigReader]:
        """Readers of all mappings under any key."""
        return [self.nested(key) for key, value in self.content.items() if isinstance(value, Mapping)]

    def finish(self) -> None:
        """Raise all problems that were found.

        Raises:
            InputError: if there are any.
        """
        if self.problems:
            raise InputError(self.problems)

    def _blame(self, key: str, value: object) -> None:
        limit = f" up to {_MOST_LAYERS:,}" if _most(key) == _MOST_LAYERS else ""
        message = f"{self.name}: {key} is {value!r}, not a whole number of 0 or more{limit}"
        if not any(problem.message == message for problem in self.problems):
            self.problems.append(Problem("not-a-count", message, self._place(key)))

    def _place(self, key: str) -> Place | None:
        for number, line in enumerate(self.text.splitlines(), start=1):
            column = line.find(f'"{key}"')
            if column >= 0:
                return Place(self.name, number, column + 1, len(key) + 2, line)
        return None


def _most(key: str) -> int:
    return _MOST_LAYERS if "layers" in key or "depth" in key or key == "n_layer" else _MOST


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if 0 <= number < _MOST and number == int(number) else None


class LayerKinds(Struct, frozen=True):
    """Layers by attention: full, within a window, or with a fixed state. All None: every layer has full attention."""

    window: int | None = None
    full: int | None = None
    sliding: int | None = None
    linear: int | None = None
    unclear: bool = False  # a layout whose parameters cannot be counted from the usual keys


#: One layer in so many has full attention, by series, where the configuration does not list its layers.
_FULL_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gpt_oss": 2, "cohere2": 4}


def layer_kinds(reader: ConfigReader, kind: str, layers: int | None) -> LayerKinds:
    """Read the layer kinds. Source: the configuration classes of transformers."""
    window = reader.maybe("sliding_window", "attention_window_size")
    if not reader.flag("use_sliding_window", default=True):
        window = None
    listed = reader.words("layer_types") or _repeated(reader, layers)
    if listed:
        return _from_list(listed, window or reader.maybe("attention_chunk_size"))
    hybrid = _hybrid(reader, kind, layers)
    if hybrid is not None:
        return hybrid
    flags = reader.numbers("hybrid_layer_pattern")  # MiMo-V2: one for each layer within the window.
    if flags:
        return _kinds(len(flags) - sum(flags), sum(flags), 0, window)
    context = reader.maybe("max_position_embeddings")
    if layers is None or window is None or (context and window >= context):
        return LayerKinds()  # A window as wide as the context limits nothing.
    pattern = len(reader.word("sliding_window_pattern")) or reader.maybe("sliding_window_pattern")
    every = pattern or _FULL_EVERY.get(kind) or 0
    full = layers // every if every > 1 else 0
    return _kinds(full, layers - full, 0, window)


#: Every layer is a state space.
ATTENTION_FREE = frozenset(("falcon_mamba", "mamba", "mamba2", "rwkv"))


def _hybrid(reader: ConfigReader, kind: str, layers: int | None) -> LayerKinds | None:
    """Layers with a fixed state beside those with full attention, as each series says it; None where none says so."""
    blocks = reader.blocks() if kind == "nemotron_h" else ""
    if blocks:
        return LayerKinds(None, blocks.count("*"), None, blocks.count("M"), unclear=True)
    if not layers:
        return None
    if kind in {"zamba", "zamba2"}:
        hybrids = len(reader.numbers("hybrid_layer_ids")) or reader.words("layers_block_type").count("hybrid")
        return LayerKinds(None, hybrids, None, layers - hybrids)
    flags = reader.numbers("attn_type_list")  # MiniMax-01: one for each layer with full attention.
    listed = reader.nested("linear_attn_config").numbers("full_attn_layers")
    every = reader.maybe("full_attention_interval", "attn_layer_period")
    listed = listed or reader.numbers("attn_layer_indices")  # Bamba
    full = sum(flags) if flags else len(listed) if listed else layers // every if every else None
    if kind in ATTENTION_FREE or (kind == "bamba" and full is None):
        full = 0
    return None if full is None else LayerKinds(None, full, None, layers - full)


def _repeated(reader: ConfigReader, layers: int | None) -> list[str]:
    """RecurrentGemma: kinds of blocks that repeat; attention is within a window."""
    blocks = reader.words("block_types") or reader.words("_block_types")
    if not blocks or not layers:
        return []
    kinds = {"attention": "sliding_attention"}
    return [kinds.get(blocks[number % len(blocks)], blocks[number % len(blocks)]) for number in range(layers)]


def _from_list(listed: list[str], window: int | None) -> LayerKinds:
    sliding = sum(name in {"sliding_attention", "chunked_attention"} for name in listed)
    linear = sum(name in {"linear_attention", "mamba", "recurrent", "conv"} for name in listed)
    return _kinds(len(listed) - sliding - linear, sliding, linear, window)


def _kinds(full: int, sliding: int, linear: int, window: int | None) -> LayerKinds:
    if not sliding and not linear:
        return LayerKinds()
    return LayerKinds(window if sliding else None, full, sliding or None, linear or None, unclear=False)
