"""How a framework and its release take the loss of a training step."""

from __future__ import annotations

from whichgpu.engine.sizing.constants_of_training import Framework
from whichgpu.engine.sizing.fact_reader import FactReader
from whichgpu.engine.sizing.versions import older


def chunked_loss(reader: FactReader, defaults: Framework | None) -> bool:
    """As stated; else what the framework does.

    Liger's kernels come with its fused head and loss where transformers puts them in (its Trainer,
    ``_apply_liger_kernel_to_instance``).
    """
    stated = reader.flag("chunked_loss")
    if stated is not None:
        return stated
    if defaults is None:
        return False
    if reader.flag("liger_kernels") and defaults.step == "trainer":
        return True
    if older(reader.text("training_framework_version"), defaults.whole_loss_before or ""):
        return False
    supervised = defaults.chunks_supervised_loss and not reader.known("rl_method")
    return defaults.chunked_loss or defaults.chunked_loss_in_examples or supervised


def compiled_loss(reader: FactReader, defaults: Framework | None) -> bool | None:
    """Whether compilation covers the loss and the cast of its logits; None where the framework does not say."""
    if defaults is None or defaults.compiles_loss_since is None or not reader.flag("compiled"):
        return None
    return not older(reader.text("training_framework_version"), defaults.compiles_loss_since)


def chunk_counts(reader: FactReader, defaults: Framework | None) -> float | None:
    """Bytes a logit by which a chunk of the loss is filled, of the stated release or the last; None: by none."""
    version = reader.text("training_framework_version")
    counts = (defaults.loss_chunk_counts if defaults is not None else None) or {}
    return next((count for since, count in reversed(counts.items()) if not older(version, since)), None)


def release_open(reader: FactReader, defaults: Framework | None) -> bool:
    """Whether the release is not stated and may be an earlier one that holds all logits."""
    stated = any(map(reader.known, ("training_framework_version", "chunked_loss", "liger_kernels")))
    return bool(defaults and defaults.whole_loss_before) and not stated
