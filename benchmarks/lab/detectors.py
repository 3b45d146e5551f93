"""Detectors and segmenters that attend, as transformers builds them: what a step keeps of a pixel.

What one picture more takes at the peak, in numbers for each of its pixels, is close to the same at any size: maps grow
with the pixels, queries do not. Losses are taken of all that the network answers, of every layer; matching answers to
what is to be found is left out. Attention to sampled places is a kernel on GPUs, which keeps its inputs: it is one
operator here too. It goes to ``kept_per_pixel`` of the models (knowledge/models).

Usage: python benchmarks/lab/detectors.py [NAME ...]
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers as tf


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

from tracer import trace_over_pictures


_FEW = 4  # pictures
_RESNET_18, _RESNET_34, _RESNET_50, _RESNET_101 = (2, 2, 2, 2), (3, 4, 6, 3), (3, 4, 6, 3), (3, 4, 23, 3)
#: Widths, depths and heads of Swin (arXiv 2103.14030, section 3.3), and the window of those that segment.
_SWIN = {
    "tiny": (96, (2, 2, 6, 2), (3, 6, 12, 24), 7),
    "small": (96, (2, 2, 18, 2), (3, 6, 12, 24), 7),
    "base": (128, (2, 2, 18, 2), (4, 8, 16, 32), 12),
    "large": (192, (2, 2, 18, 2), (6, 12, 24, 48), 12),
}
#: Tokens of an edge, windows of an edge, layers of the decoder, and edge in pixels of RF-DETR (rfdetr/config.py).
_RF_DETR = {"nano": (16, 2, 2, 384), "small": (16, 2, 3, 512), "medium": (16, 2, 4, 576), "base": (14, 4, 3, 560)}
_RF_DETR |= {"large": (16, 2, 4, 704)}
#: Depths of the backbone, its kind of block, layers of the decoder, and the width of the joining part (RT-DETR).
_RT_DETR = {
    "r18": (_RESNET_18, "basic", 3, 0.5),
    "r34": (_RESNET_34, "basic", 4, 0.5),
    "r50": (_RESNET_50, "bottleneck", 6, 1.0),
    "r101": (_RESNET_101, "bottleneck", 6, 1.0),
}


_STAGES = ("stage1", "stage2", "stage3", "stage4")
_MASK2FORMER_RESNETS = {"resnet-50": _RESNET_50, "resnet-101": _RESNET_101}


class _Sampled(torch.autograd.Function):
    """Attention to sampled places as the kernel has it: inputs are kept, and gradients of all three are given."""

    @staticmethod
    def forward(ctx: Any, value: Any, places: Any, weights: Any) -> Any:
        ctx.save_for_backward(value, places, weights)
        pictures, _, heads, width = value.shape
        return value.new_empty(pictures, places.shape[1], heads * width)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        return tuple(torch.empty_like(kept) for kept in ctx.saved_tensors)


def _sampled(_: Any, value: Any, __: Any, ___: Any, ____: Any, places: Any, weights: Any, *_____: Any) -> Any:
    return _Sampled.apply(value, places, weights)


class _Finite:
    """What a layer is told that asks whether numbers which are not there are finite."""

    def all(self) -> bool:
        return True


def _resnet(depths: tuple[int, ...], block: str = "bottleneck") -> Any:
    widths = [256, 512, 1024, 2048] if block == "bottleneck" else [64, 128, 256, 512]
    return tf.ResNetConfig(
        depths=list(depths), layer_type=block, hidden_sizes=widths, out_features=["stage2", "stage3", "stage4"]
    )


def _detr(kind: str, depths: tuple[int, ...]) -> torch.nn.Module:
    config = getattr(tf, f"{kind}Config")(use_timm_backbone=False, backbone=None, backbone_config=_resnet(depths))
    return getattr(tf, f"{kind}ForObjectDetection")(config)


def _rt_detr(kind: str, size: str) -> torch.nn.Module:
    depths, block, layers, widening = _RT_DETR[size]
    widths = [256, 512, 1024, 2048] if block == "bottleneck" else [64, 128, 256, 512]
    backbone = tf.RTDetrResNetConfig(
        depths=list(depths), layer_type=block, hidden_sizes=widths, out_features=["stage2", "stage3", "stage4"]
    )
    wide = {"r101": (384, 2048)}.get(size, (256, 1024))
    config = getattr(tf, f"{kind}Config")(
        backbone_config=backbone,
        encoder_in_channels=widths[1:],
        encoder_hidden_dim=wide[0],
        encoder_ffn_dim=wide[1],
        decoder_in_channels=[wide[0]] * 3,
        decoder_layers=layers,
        hidden_expansion=widening,
        num_denoising=0,
    )
    return getattr(tf, f"{kind}ForObjectDetection")(config)


def _swin(size: str) -> Any:
    width, depths, heads, window = _SWIN[size]
    backbone = tf.SwinConfig(
        embed_dim=width, depths=list(depths), num_heads=list(heads), window_size=window, drop_path_rate=0.3
    )
    backbone.out_features = list(_STAGES)
    return backbone


def _mask2former(size: str) -> torch.nn.Module:
    backbone = _swin(size) if size in _SWIN else _resnet(_MASK2FORMER_RESNETS[size])
    backbone.out_features = list(_STAGES)
    config = tf.Mask2FormerConfig(backbone_config=backbone, num_queries=200 if size == "large" else 100)
    return tf.Mask2FormerForUniversalSegmentation(config)


def _rf_detr(size: str) -> torch.nn.Module:
    patch, windows, layers, side = _RF_DETR[size]
    places = [2, 5, 8, 11] if size == "base" else [3, 6, 9, 12]
    backbone = tf.RfDetrDinov2Config(
        hidden_size=384,
        num_attention_heads=6,
        image_size=side,
        patch_size=patch,
        num_windows=windows,
        out_indices=places,
    )
    config = tf.RfDetrConfig(backbone_config=backbone, decoder_layers=layers, decoder_n_points=2)
    return tf.RfDetrForObjectDetection(config)


def _listed() -> Iterator[tuple[str, int, Callable[[], torch.nn.Module]]]:
    yield "detr-resnet-50", 800, lambda: _detr("Detr", _RESNET_50)
    yield "conditional-detr-resnet-50", 800, lambda: _detr("ConditionalDetr", _RESNET_50)
    yield "dab-detr-resnet-50", 800, lambda: _detr("DabDetr", _RESNET_50)
    yield "deformable-detr", 800, lambda: _detr("DeformableDetr", _RESNET_50)
    for size in _RT_DETR:
        yield f"rt-detr-{size}", 640, lambda size=size: _rt_detr("RTDetr", size)  # type: ignore[misc]
    for size in (*_SWIN, *_MASK2FORMER_RESNETS):
        yield f"mask2former-{size}", 1024, lambda size=size: _mask2former(size)  # type: ignore[misc]
    for size in _SWIN:  # Alone, as detectors and segmenters of many kinds stand on it.
        yield f"swin-{size}-maps", 1024, lambda size=size: tf.SwinBackbone(_swin(size))  # type: ignore[misc]
    for size, (_, _, _, side) in _RF_DETR.items():
        yield f"rf-detr-{size}", side, lambda size=size: _rf_detr(size)  # type: ignore[misc]


def _answers(found: Any) -> Iterator[torch.Tensor]:
    """Floating-point answers that a loss could be taken of, each once."""
    if isinstance(found, torch.Tensor):
        if found.requires_grad:
            yield found
    elif isinstance(found, dict):
        for name, part in found.items():
            if any(word in name for word in ("logits", "boxes", "auxiliary", "feature_maps")):
                yield from _answers(part)
    elif isinstance(found, (list, tuple)):
        for part in found:
            yield from _answers(part)


def per_pixel(make: Callable[[], torch.nn.Module], side: int, *, autocast: bool) -> tuple[float, float]:
    """Numbers that one picture more takes at the peak of a step for each of its pixels, and parameters in millions."""
    found = []
    for pictures in (_FEW, 2 * _FEW):
        with torch.device("meta"):
            module = make()
        for called, weight in module.named_parameters():
            if isinstance(module, (tf.Mask2FormerForUniversalSegmentation, tf.SwinBackbone)):
                continue  # All of it learns (Mask2Former configs, BACKBONE.FREEZE_AT 0; Swin's frozen_stages -1).
            # What the paper freezes goes by the names of another library in the code.
            weight.requires_grad_(".embedder" not in called and ".stages.0." not in called)
        for part in module.modules():
            if type(part).__name__.startswith("MultiScaleDeformableAttention"):
                type(part).forward = _sampled

        def loss(shown: torch.Tensor, module: torch.nn.Module = module) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                answers = module(pixel_values=shown)
            return torch.stack([one.float().sigmoid().sum() for one in _answers(dict(answers))]).sum()

        step = trace_over_pictures(module, pictures, side, loss)
        found.append(step.beside)
        size = sum(one.numel() for one in module.parameters()) / 1e6
    return (found[1] - found[0]) / (_FEW * (2 if autocast else 4) * side**2), size


def main() -> None:
    """Print a line for each network."""
    torch.isfinite = lambda _: _Finite()  # type: ignore[assignment, return-value]
    for name, side, make in _listed():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        wide, size = per_pixel(make, side, autocast=False)
        mixed, _ = per_pixel(make, side, autocast=True)
        line = {
            "name": name,
            "px": side,
            "params_m": round(size, 2),
            "fp32": round(wide, 1),
            "autocast": round(mixed, 1),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
