"""Image networks by their configuration alone, beside what is published and what was traced of them."""

from __future__ import annotations

from typing import Any

import pytest

from whichgpu.engine.catalogue import load_knowledge, model_from_config
from whichgpu.engine.core import InputError


MODELS = load_knowledge().models
THOUSAND = {str(number): f"class {number}" for number in range(1000)}


def _vit(width: int, layers: int, patch: int, edge: int = 224) -> dict[str, Any]:
    dims = {"hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": layers, "patch_size": patch}
    return {"model_type": "vit", **dims, "image_size": edge}


def _swin(width: int, depths: list[int], window: int, edge: int, kind: str = "swin") -> dict[str, Any]:
    heads = [width * 2**stage // 32 for stage in range(4)]
    dims = {"embed_dim": width, "depths": depths, "num_heads": heads, "window_size": window, "mlp_ratio": 4.0}
    return {"model_type": kind, **dims, "image_size": edge, "patch_size": 4}


def _convnext(width: int, depths: list[int], kind: str = "convnext") -> dict[str, Any]:
    dims = {"hidden_sizes": [width * 2**stage for stage in range(4)], "depths": depths}
    return {"model_type": kind, **dims, "patch_size": 4, "image_size": 224}


def _resnet(depths: list[int], *, narrow: bool) -> dict[str, Any]:
    widths = [256, 512, 1024, 2048] if narrow else [64, 128, 256, 512]
    dims = {"hidden_sizes": widths, "depths": depths, "embedding_size": 64}
    return {"model_type": "resnet", **dims, "layer_type": "bottleneck" if narrow else "basic"}


#: By the name that the catalogue has for the network, whose figures come from traces of timm's and torchvision's code.
TRACED = {
    "vit_small_patch16_224": _vit(384, 12, 16),
    "vit_base_patch16_384": _vit(768, 12, 16, 384),
    "vit_large_patch16_224": _vit(1024, 24, 16),
    "vit_huge_patch14_224": _vit(1280, 32, 14),
    "swin_tiny_patch4_window7_224": _swin(96, [2, 2, 6, 2], 7, 224),
    "swin_base_patch4_window7_224": _swin(128, [2, 2, 18, 2], 7, 224),
    "swin_large_patch4_window12_384": _swin(192, [2, 2, 18, 2], 12, 384),
    "swinv2_tiny_window8_256": _swin(96, [2, 2, 6, 2], 8, 256, "swinv2"),
    "swinv2_base_window8_256": _swin(128, [2, 2, 18, 2], 8, 256, "swinv2"),
    "convnext_tiny": _convnext(96, [3, 3, 9, 3]),
    "convnext_large": _convnext(192, [3, 3, 27, 3]),
    "convnextv2_base": _convnext(128, [3, 3, 27, 3], "convnextv2"),
    "convnextv2_huge": _convnext(352, [3, 3, 27, 3], "convnextv2"),
    "resnet18": _resnet([2, 2, 2, 2], narrow=False),
    "resnet101": _resnet([3, 4, 23, 3], narrow=True),
}


@pytest.mark.parametrize("name", TRACED)
def test_a_network_is_what_its_trace_says(name: str) -> None:
    traced, counted = MODELS[name], model_from_config({**TRACED[name], "id2label": THOUSAND})
    assert counted.kind == "vision"
    assert counted.params_b == pytest.approx(traced.params_b, rel=0.003)  # Some were listed without their last layer.
    assert counted.gmacs_per_image == pytest.approx(traced.gmacs_per_image, rel=0.01)
    if traced.kept_per_pixel and not name.startswith("resnet"):
        assert counted.kept_per_pixel == pytest.approx(traced.kept_per_pixel, rel=0.03)
        assert counted.kept_per_pixel_mixed == pytest.approx(traced.kept_per_pixel_mixed, rel=0.05)
    if counted.macts_per_image:
        assert counted.macts_per_image == pytest.approx(traced.macts_per_image, rel=0.01)


@pytest.mark.parametrize(
    ("config", "published_b"),
    [
        # Model cards: facebook/dinov2-large, -giant, google/siglip-so400m-patch14-384, openai/clip-vit-large-patch14.
        (
            {"model_type": "dinov2", "hidden_size": 1024, "num_hidden_layers": 24, "image_size": 518, "patch_size": 14},
            0.30437,
        ),
        (
            {
                "model_type": "dinov2",
                "hidden_size": 1536,
                "num_hidden_layers": 40,
                "use_swiglu_ffn": True,
                "image_size": 518,
                "patch_size": 14,
            },
            1.13648,
        ),
        (
            {
                "model_type": "siglip",
                "text_config": {
                    "hidden_size": 1152,
                    "intermediate_size": 4304,
                    "num_hidden_layers": 27,
                    "num_attention_heads": 16,
                },
                "vision_config": {
                    "hidden_size": 1152,
                    "intermediate_size": 4304,
                    "num_hidden_layers": 27,
                    "image_size": 384,
                    "patch_size": 14,
                },
            },
            0.87796,
        ),
        (
            {
                "model_type": "clip",
                "projection_dim": 768,
                "text_config": {"hidden_size": 768, "intermediate_size": 3072},
                "vision_config": {
                    "hidden_size": 1024,
                    "intermediate_size": 4096,
                    "num_hidden_layers": 24,
                    "patch_size": 14,
                },
            },
            0.42762,
        ),
    ],
)
def test_published_networks_have_their_size(config: dict[str, Any], published_b: float) -> None:
    assert model_from_config(config).params_b == pytest.approx(published_b, rel=0.002)


def test_a_pair_of_encoders_gives_vectors() -> None:
    pair = model_from_config({"model_type": "clip", "projection_dim": 640})
    assert (pair.kind, pair.embedding_dim) == ("encoder", 640)
    assert sum(pair.components_b.values()) == pytest.approx(pair.params_b, rel=0.01)


@pytest.mark.parametrize("kind", ["hiera", "regnet"])
def test_other_vision_networks_are_refused_with_what_to_do(kind: str) -> None:
    with pytest.raises(InputError) as refused:
        model_from_config({"model_type": kind, "depths": [2, 2], "num_channels": 3})
    (problem,) = refused.value.problems
    assert f"a vision network ({kind})" in problem.message
    assert "whichgpu models" in (problem.fix or "")


@pytest.mark.parametrize("kind", ["vit", "swin", "convnext", "resnet", "clip", "dinov2"])
@pytest.mark.parametrize("wrong", [{}, {"hidden_size": "wide", "depths": "deep"}, {"hidden_size": 0, "depths": []}])
def test_what_lacks_its_dimensions_names_them(kind: str, wrong: dict[str, Any]) -> None:
    if kind == "clip":  # Its class has a default for each of them.
        wrong = {"text_config": {"hidden_size": "wide"}, "vision_config": wrong}
    with pytest.raises(InputError) as refused:
        model_from_config({"model_type": kind, **wrong})
    assert any(word in str(refused.value) for word in ("hidden_size", "depths"))
