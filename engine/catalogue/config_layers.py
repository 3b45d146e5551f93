"""Which layers of a configured model see the whole context, which only a window, and which keep a fixed state."""

from __future__ import annotations

from dataclasses import dataclass

from whichgpu.engine.catalogue.config_reader import ConfigReader


@dataclass(frozen=True, slots=True)
class LayerKinds:
    """Layers by attention. All None: every layer has full attention."""

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
    listed = reader.words("layer_types")
    if listed:
        return _from_list(listed, window or reader.maybe("attention_chunk_size"))
    pattern = reader.word("hybrid_override_pattern")
    if pattern:
        return LayerKinds(None, pattern.count("*"), None, pattern.count("M"), unclear=True)
    interval = reader.maybe("full_attention_interval")
    if layers and interval:
        return LayerKinds(None, layers // interval, None, layers - layers // interval)
    context = reader.maybe("max_position_embeddings")
    if layers is None or window is None or (context and window >= context):
        return LayerKinds()  # A window as wide as the context limits nothing.
    every = reader.maybe("sliding_window_pattern") or _FULL_EVERY.get(kind) or 0
    full = layers // every if every > 1 else 0
    return _kinds(full, layers - full, 0, window)


def _from_list(listed: list[str], window: int | None) -> LayerKinds:
    sliding = sum(name in {"sliding_attention", "chunked_attention"} for name in listed)
    linear = sum(name in {"linear_attention", "mamba", "recurrent"} for name in listed)
    return _kinds(len(listed) - sliding - linear, sliding, linear, window)


def _kinds(full: int, sliding: int, linear: int, window: int | None) -> LayerKinds:
    if not sliding and not linear:
        return LayerKinds()
    return LayerKinds(window if sliding else None, full, sliding or None, linear or None, unclear=False)
