"""From traces to tables: bytes per token and layer as a sum over dimensions, solved from traces that differ in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from frameworks import framework_step
from tracer import Step
from transformers_traced import Dims, Technique, step as transformers_step


#: The dimensions that bytes are proportional to, each by its name in the table.
FEATURES = ("hidden", "query", "keys_values", "feed_forward", "heads", "scores", "rank", "routed")
#: Traced dimensions differ from the first in one at a time, and the last one checks the solution.
_BASE = Dims(seq=576)
POINTS = (
    _BASE,
    replace(_BASE, hidden=1536),
    replace(_BASE, head_dim=128),
    replace(_BASE, kv_heads=8),
    replace(_BASE, intermediate=4096),
    replace(_BASE, heads=32, head_dim=32),
    replace(_BASE, seq=1024),
    replace(_BASE, experts_per_token=4),
)
#: What no point of the solution has: every dimension of it differs.
CHECK = Dims(hidden=2048, heads=32, kv_heads=8, head_dim=80, intermediate=5632, seq=2304, batch=4)
#: Coefficients in bytes below this are rounding of blocks.
_LEAST = 0.05


@dataclass(frozen=True)
class Layer:
    """Bytes per token: what one more layer keeps until the backward pass, and what one layer works with during it."""

    kept: dict[str, float]
    working: dict[str, float]
    off_pct: float  # of what is kept, at dimensions that the solution has not seen
    traces: int


def features(architecture: str, dims: Dims, technique: Technique, tokens: float) -> dict[str, float]:
    """What a layer's bytes per token are proportional to, on one rank of a tensor split.

    ``tokens`` is the length that scores of attention are counted for: between two lengths, their sum.
    """
    over = technique.tensor
    routed = dims.experts_per_token if architecture == "mixtral" else 0
    each = routed or 1  # The widths of the experts that a token passes are its feed-forward width together.
    return {
        "hidden": dims.hidden,
        "query": dims.heads * dims.head_dim / over,
        "keys_values": 2 * max(1, dims.kv_heads // over) * dims.head_dim,
        "feed_forward": dims.intermediate * each / over,
        "heads": dims.heads / over,
        "scores": dims.heads * tokens / over,
        "rank": technique.rank,
        "routed": dims.hidden * routed,
    }


#: Frameworks whose own modules are traced.
FRAMEWORKS = frozenset(("litgpt", "torchtune"))


def step(architecture: str, dims: Dims, layers: int, technique: Technique) -> Step:
    """Bytes of a step of a module of transformers, or of a framework that brings its own."""
    traced = framework_step if architecture in FRAMEWORKS else transformers_step
    return traced(architecture, dims, layers, technique)


def per_token(architecture: str, dims: Dims, technique: Technique) -> tuple[float, float]:
    """Bytes per token that one more layer keeps and that one layer works with: slopes in tokens.

    What does not grow with tokens (weights in 16 bits that autocast holds, gradients of weights) falls out.
    """
    short = replace(dims, seq=dims.seq // 4)
    one, two = step(architecture, dims, 1, technique), step(architecture, dims, 2, technique)
    first, second = step(architecture, short, 1, technique), step(architecture, short, 2, technique)
    more = dims.tokens(architecture) - short.tokens(architecture)
    kept = (two.kept - one.kept) - (second.kept - first.kept)
    working = (two.peak_backward - two.kept) - (second.peak_backward - second.kept)
    return kept / more, working / more


def layer(architecture: str, technique: Technique) -> Layer:
    """The table's row of an architecture under a technique."""
    names = used(architecture, technique)
    points = [dims for dims in POINTS if "head_dim" in _free(architecture) or dims.head_dim == _BASE.head_dim]
    points = [dims for dims in points if architecture == "mixtral" or dims.experts_per_token == 2]
    found = np.array([per_token(architecture, dims, technique) for dims in points])
    matrix = np.array([[_at(architecture, dims, technique)[name] for name in names] for dims in points])
    scale = matrix.max(axis=0)
    solved = [np.linalg.lstsq(matrix / scale, found[:, column], rcond=None)[0] / scale for column in (0, 1)]
    check = replace(CHECK, head_dim=CHECK.head_dim if "head_dim" in _free(architecture) else 64)
    kept, _ = per_token(architecture, check, technique)
    modelled = sum(
        float(value) * _at(architecture, check, technique)[name] for name, value in zip(names, solved[0], strict=True)
    )
    rounded = [
        {name: round(float(value), 2) for name, value in zip(names, column, strict=True) if abs(value) > _LEAST}
        for column in solved
    ]
    return Layer(rounded[0], rounded[1], round(100 * abs(modelled - kept) / max(kept, 1.0), 2), 4 * (len(points) + 1))


def _at(architecture: str, dims: Dims, technique: Technique) -> dict[str, float]:
    return features(architecture, dims, technique, dims.seq * 1.25)  # Between a quarter of the length and the whole.


def _free(architecture: str) -> frozenset[str]:
    """Dimensions that an architecture lets vary by themselves."""
    return frozenset() if architecture in {"gpt-neox", "bert", "vit", "torchtune"} else frozenset({"head_dim"})


def used(architecture: str, technique: Technique) -> list[str]:
    """The features that can matter."""
    names = ["hidden", "feed_forward", "heads"]
    if _free(architecture):
        names += ["query", "keys_values"]
    if architecture == "torchtune":  # Heads are as wide as the hidden states share out, keys may be fewer.
        names += ["keys_values"]
    if architecture == "mixtral":
        names += ["routed"]
    return names + (["scores"] if technique.attention == "eager" else [])
