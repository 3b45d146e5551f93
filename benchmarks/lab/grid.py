"""What the lab traces: every cell of architecture x technique, by part."""

from __future__ import annotations

from collections.abc import Iterator

from transformers_traced import TARGETS, Dims, Technique


Cell = tuple[str, Technique]

_ARCHITECTURES = ("llama", "qwen3", "mixtral", "gpt-neox", "bert", "vit")
_RECIPES = ("pure", "autocast", "fp32")
_CHECKPOINTING = ("none", "selective", "full", "offloaded")
#: Cells that ``--sample`` traces: one of each technique.
SAMPLE: tuple[Cell, ...] = (
    ("llama", Technique()),
    ("llama", Technique(attention="eager")),
    ("llama", Technique(targets="all-linear")),
    ("mixtral", Technique()),
    ("llama", Technique(tensor=2, sequence="dtensor")),
    ("llama", Technique(context=2, context_by="ring")),
)
#: Cells of which the tables that are shipped were made; the rest of the grid was not run for them.
SHIPPED: tuple[Cell, ...] = (
    *SAMPLE,
    ("llama", Technique(recipe="autocast")),
    ("llama", Technique(recipe="fp32")),
    ("llama", Technique(checkpointing="selective")),
    ("llama", Technique(checkpointing="full")),
    ("llama", Technique(targets="qv")),
    ("llama", Technique(targets="attention")),
    ("llama", Technique(targets="attention", adapter_dropout=0.05)),
    ("llama", Technique(checkpointing="full", targets="all-linear", adapter_dropout=0.05)),
    ("mixtral", Technique(targets="attention")),
    ("bert", Technique()),
    ("vit", Technique()),
    ("gpt-neox", Technique()),
    ("llama", Technique(recipe="autocast", checkpointing="full")),
    ("llama", Technique(checkpointing="offloaded")),
    ("llama", Technique(tensor=2)),
    ("qwen3", Technique()),
    ("llama", Technique(checkpointing="full", targets="all-linear")),
    ("llama", Technique(checkpointing="full", targets="attention")),
    ("llama", Technique(checkpointing="full", targets="qv")),
    ("llama", Technique(recipe="fp32", checkpointing="full")),
    ("qwen3", Technique(checkpointing="full", targets="all-linear")),
    ("mixtral", Technique(checkpointing="full")),
    ("gpt-neox", Technique(checkpointing="full")),
    ("vit", Technique(recipe="autocast")),
    ("llama", Technique(targets="all-linear", dora=True)),
)


def every_cell() -> Iterator[Cell]:
    """The full grid: about 190 cells, 45 minutes of CPU."""
    yield from shared_tokens()
    yield from frameworks()
    for architecture in _ARCHITECTURES:
        masks = ("sdpa", "eager")
        for recipe in _RECIPES:
            for attention in masks:
                for checkpointing in _CHECKPOINTING:
                    if checkpointing != "offloaded" or architecture == "llama":
                        yield architecture, Technique(recipe, attention, checkpointing)
        if architecture in {"llama", "qwen3", "mixtral"}:
            adapted = ("attention", "qv") if architecture == "mixtral" else tuple(TARGETS)
            for targets in adapted:
                for checkpointing in ("none", "full"):
                    for dora in (False, True):
                        yield architecture, Technique(checkpointing=checkpointing, targets=targets, dora=dora)
            for tensor in (2, 4):
                yield architecture, Technique(tensor=tensor)


def frameworks() -> Iterator[Cell]:
    """Modules of frameworks that bring their own."""
    for framework in ("litgpt", "torchtune"):
        for targets in ("", "qv", "all-linear"):
            yield framework, Technique(targets=targets)
    yield "litgpt", Technique(targets="qv", adapter_dropout=0.05)


def shared_tokens() -> Iterator[Cell]:
    """Sequence parallelism beside a tensor split, and context parallelism."""
    for checkpointing in ("none", "selective", "full"):
        for ranks in (2, 4):
            for sequence in ("", "megatron", "dtensor"):
                yield "llama", Technique(checkpointing=checkpointing, tensor=ranks, sequence=sequence)
            for way in ("ring", "gather", "ulysses"):
                if checkpointing != "selective":  # Operators inside a ring's own function are its author's to keep.
                    yield "llama", Technique(checkpointing=checkpointing, context=ranks, context_by=way)


#: Whole steps of published architectures: name, architecture, dimensions, technique.
_LLAMA_8B = Dims(4096, 32, 8, 128, 14336, 512, 1, 128256, 32)
_LLAMA_1B = Dims(2048, 32, 8, 64, 8192, 2048, 1, 128256, 16, tied=True)
_QWEN_06B = Dims(1024, 16, 8, 128, 3072, 2048, 1, 151936, 28, tied=True)
_LLAMA_2_7B = Dims(4096, 32, 32, 128, 11008, 1024, 1, 32000, 32)
STEPS: tuple[tuple[str, str, Dims, Technique], ...] = (
    ("llama-3-8b", "llama", _LLAMA_8B, Technique(targets="qv", loss="chunked", optimizer="adamw")),
    ("llama-3-8b", "llama", _LLAMA_8B, Technique(targets="all-linear", rank=16, loss="whole", optimizer="adamw")),
    (
        "llama-2-7b",
        "llama",
        _LLAMA_2_7B,
        Technique(targets="all-linear", checkpointing="full", rank=16, loss="whole", optimizer="adamw"),
    ),
    ("llama-3.2-1b", "llama", _LLAMA_1B, Technique(loss="whole", optimizer="adamw")),
    ("llama-3.2-1b", "llama", _LLAMA_1B, Technique(checkpointing="full", loss="whole", optimizer="adamw")),
    ("llama-3.2-1b", "llama", _LLAMA_1B, Technique("autocast", loss="whole", optimizer="adamw")),
    ("llama-3.2-1b", "llama", _LLAMA_1B, Technique("fp32", loss="whole", optimizer="sgd")),
    ("llama-3.2-1b", "llama", _LLAMA_1B, Technique(loss="whole", optimizer="adafactor")),
    ("qwen3-0.6b", "qwen3", _QWEN_06B, Technique(loss="whole", optimizer="adamw")),
    ("qwen3-0.6b", "qwen3", _QWEN_06B, Technique("pure", "eager", "full", loss="whole", optimizer="adamw")),
)
SAMPLE_STEPS = STEPS[3:5]
