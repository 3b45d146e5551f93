"""What a published run says of pictures and clips: their size, steps, and the parts of a generator."""

from __future__ import annotations

import re
from typing import Any


Row = dict[str, Any]
Line = dict[str, Any]

#: What the rules of MLPerf Inference fix for image generation.
_MLPERF_STEPS = 20
#: Classes of the data sets that segmentations are trained on.
CLASSES = {"cityscapes": 19, "ade20k": 150, "voc12aug": 21, "dota": 15}


def steps_of(told: str) -> Line:
    """Steps of a denoiser, where words or a benchmark fix them."""
    found = re.search(r"\b(\d+) steps", told)
    if found:
        return {"denoising_steps": int(found.group(1))}
    return {"denoising_steps": _MLPERF_STEPS} if "MLPerf Inference" in told else {}


def components_of(row: Row, weights: str | None) -> Line:
    """What a row says of the parts of a generator beside its denoiser."""
    line: Line = {}
    detail, quantised = (str(row["facts"].get(name)).lower() for name in ("task_detail", "quantization"))
    listed = re.search(r"text encoders quantized: ([\d,]+|none)", detail)
    # The third of three, T5, is nine tenths of their size.
    with_them = "text encoder quantized: true" in detail or (listed is not None and "3" in listed[1])
    if "text encoder quantized: none" in detail or "text encoder quantized: false" in detail:
        line["text_encoder_precision"] = "bf16" if "int4 (bf16)" in quantised else "fp16"
    elif listed and not with_them:
        line["text_encoder_precision"] = "fp16"
    elif "text encoder in 4 bits" in detail:
        line["text_encoder_precision"] = "nf4"
    elif weights and (with_them or "Transformer and T5 quantized" in str(row.get("note"))):
        line["text_encoder_precision"] = weights
    if any(word in detail for word in ("cached latents", "cached te", "text encoders on a gpu of their own")):
        line["encoders_cached"] = True
    elif "encoders on the card" in detail:
        line["encoders_cached"] = False
    if "base in 32 bits" in detail:
        line["weight_precision"] = "fp32"
    if "sliced" in detail:
        line["sliced_decoding"] = True
    return line


def short_edge_of(told: str) -> Line:
    """The short edge, where a source states both."""
    edges = re.fullmatch(r"(?:\d+x)?(\d+)x(\d+)", str(told))
    return {"image_short_px": min(int(edge) for edge in edges.groups())} if edges else {}


def pixels_of(told: str) -> int | None:
    """The long edge of a picture; a range of sizes by its largest short side gives its usual long side."""
    text = str(told)
    if "shorter side" in text:
        return 1333
    named = {"480p": 832, "720p": 1280, "1080p": 1920}
    for word, pixels in named.items():
        if word in text:
            return pixels
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if not numbers:
        return None
    if text.count("x") == 2:  # Frames x height x width.
        numbers = numbers[1:]
    return max(numbers)
