"""Image networks of the catalogue as timm, torchvision and transformers build them: what a step keeps of a pixel.

What one picture more takes at the peak, in numbers for each of its pixels, is the same at any size where attention is
fused and windows are fixed. Batches are large enough that the peak is at the end of the forward pass, not where the
last gradients of the weights are made. It goes to ``kept_per_pixel`` of the models (knowledge/models).

Usage: python benchmarks/lab/classifiers.py [NAME ...]   # all that timm, torchvision or transformers know
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import timm
import torch
import torchvision
import transformers


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

from tracer import trace_over_pictures


MODELS = HERE.parents[1] / "knowledge" / "models"
_FILES = ("gathered-vision.json", "gathered-networks-of-pictures.json")
_CLASSES = 19
_FEW = 32  # pictures
#: Widths and depths of SegFormer's encoders, and the width of its decoder (arXiv 2105.15203, table 6).
_SEGFORMERS = {
    "b0": ((2, 2, 2, 2), (32, 64, 160, 256), 256),
    "b1": ((2, 2, 2, 2), (64, 128, 320, 512), 256),
    "b2": ((3, 4, 6, 3), (64, 128, 320, 512), 768),
    "b3": ((3, 4, 18, 3), (64, 128, 320, 512), 768),
    "b4": ((3, 8, 27, 3), (64, 128, 320, 512), 768),
    "b5": ((3, 6, 40, 3), (64, 128, 320, 512), 768),
}


def module_of(name: str) -> torch.nn.Module | None:
    """The network of that name, without content; None where no library has it."""
    plain = name.replace("-", "_").lower()
    if plain.startswith("segformer_"):
        depths, widths, decoder = _SEGFORMERS[plain.rsplit("_", 1)[1]]
        config = transformers.SegformerConfig(
            depths=list(depths), hidden_sizes=list(widths), decoder_hidden_size=decoder, num_labels=_CLASSES
        )
        return transformers.SegformerForSemanticSegmentation(config)
    if timm.is_model(plain):
        return timm.create_model(plain, pretrained=False)
    if plain in torchvision.models.list_models(torchvision.models):
        return torchvision.models.get_model(plain, weights=None)
    return None


def per_pixel(name: str, side: int, *, autocast: bool) -> float | None:
    """Numbers that one picture more takes at the peak of a step, for each of its pixels."""
    one, two = (_beside(name, side, pictures, autocast=autocast) for pictures in (_FEW, 2 * _FEW))
    return None if one is None or two is None else (two - one) / (_FEW * (2 if autocast else 4) * side**2)


def _beside(name: str, side: int, pictures: int, *, autocast: bool) -> int | None:
    with torch.device("meta"):
        module = module_of(name)
    if module is None:
        return None

    def loss(shown: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            found = module(shown)
        found = getattr(found, "logits", found)
        if isinstance(found, (list, tuple)):
            found = found[0]
        if found.ndim == 4:  # A class for each place, brought to the size of the picture.
            found = torch.nn.functional.interpolate(found.float(), size=(side, side), mode="bilinear")
        wanted = torch.zeros(found.shape[:1] + found.shape[2:], dtype=torch.long)
        return torch.nn.functional.cross_entropy(found.float(), wanted)

    return trace_over_pictures(module, pictures, side, loss).beside


def _listed() -> list[tuple[str, int]]:
    found = []
    for file in _FILES:
        for model in json.loads((MODELS / file).read_text(encoding="utf-8"))["models"]:
            found.append((model["name"], model.get("resolution_px") or 224))
    return found


def main() -> None:
    """Print a line for each network."""
    for name, side in _listed():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            wide, mixed = (per_pixel(name, side, autocast=autocast) for autocast in (False, True))
        except (NotImplementedError, RuntimeError, AssertionError) as problem:  # Fake tensors cannot run it.
            print(f"{name}: {type(problem).__name__}", file=sys.stderr)
            continue
        if wide is not None and mixed is not None:
            found = {"name": name, "px": side, "fp32": round(wide, 1), "autocast": round(mixed, 1)}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
