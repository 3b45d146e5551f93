"""Image networks: what they keep for the backward pass for each picture more, and what decoding one takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import diffusers
import torch
import torchvision
from tracer import Step, fake_device, faked, trace


@dataclass(frozen=True)
class Network:
    """A network, the side of its pictures, and how it is trained."""

    name: str
    side: int
    precision: str = "fp32"  # fp32, autocast, pure
    learns: str = "all"  # all; frozen-norms: in the manner of detectron2, with stem and first stage frozen too
    infers: bool = False


NETWORKS: tuple[Network, ...] = (
    Network("resnet50-fpn", 512, "fp32", "frozen-norms"),
    Network("resnet101-fpn", 512, "fp32", "frozen-norms"),
    Network("resnet50", 224),
    Network("resnet50", 224, "autocast"),
    Network("resnet101", 224),
    Network("deeplabv3_resnet50", 512),
    Network("efficientnet_b0", 224),
    Network("convnext_tiny", 224),
    Network("vit_b_16", 224),
    Network("swin_t", 224),
    Network("flux-2-layers", 1024, "pure"),
    Network("vae-decoder", 512, "pure", infers=True),
    Network("unet-sd15", 512, "pure"),
)
SAMPLE_NETWORKS = NETWORKS[:2]


def network_row(network: Network) -> dict[str, Any]:
    """Bytes that one picture more keeps, and takes at the peak, from steps with four and eight pictures."""
    one, two = _step(network, 4), _step(network, 8)
    return {
        "kept": (two.kept - one.kept) // 4,
        "peak": (two.beside - one.beside) // 4,
        "params_m": round(one.weights / (2 if network.precision == "pure" else 4) / 1e6, 1),
    }


def _step(network: Network, pictures: int) -> Step:
    kind = torch.bfloat16 if network.precision == "pure" else torch.float32
    torch.set_default_dtype(kind)
    try:
        with torch.device("meta"):
            module = _module(network)
        with fake_device():
            faked(module)
            run = _forward(network, module, pictures, kind)
            module.train(not network.infers)
            if network.learns == "frozen-norms":
                _freeze(module)

            def loss() -> torch.Tensor:
                autocast = network.precision == "autocast"
                with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
                    with torch.no_grad() if network.infers else nullcontext():
                        found = run()
                    return sum(part.sum() for part in found) if isinstance(found, list) else found.sum()

            return trace(module, loss)
    finally:
        torch.set_default_dtype(torch.float32)


class _WithPyramid(torch.nn.Module):
    """A backbone's four stages and the pyramid on them, without the heads that depend on what is found."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.body = getattr(torchvision.models, name)()
        widths = [256, 512, 1024, 2048]
        self.pyramid = torchvision.ops.FeaturePyramidNetwork(widths, 256)

    def forward(self, pictures: torch.Tensor) -> list[torch.Tensor]:
        """Maps of the pyramid."""
        body = self.body
        found = body.maxpool(body.relu(body.bn1(body.conv1(pictures))))
        maps = {}
        for at, stage in enumerate((body.layer1, body.layer2, body.layer3, body.layer4)):
            found = stage(found)
            maps[str(at)] = found
        return list(self.pyramid(maps).values())


class _FrozenNorm(torch.nn.Module):
    """Batch norm as a fixed scale and shift: keeps nothing of its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.empty(1, width, 1, 1))
        self.register_buffer("shift", torch.empty(1, width, 1, 1))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Scale and shift."""
        return maps * self.scale + self.shift


def _freeze(module: torch.nn.Module) -> None:
    for name, part in list(module.named_modules()):
        for child, held in list(part.named_children()):
            if isinstance(held, torch.nn.BatchNorm2d):
                setattr(part, child, _FrozenNorm(held.num_features))
        if name.endswith(("conv1", "layer1")) and "layer" not in name.removesuffix("layer1"):
            part.requires_grad_(False)


def _module(network: Network) -> torch.nn.Module:
    name = network.name
    if name.endswith("-fpn"):
        return _WithPyramid(name.removesuffix("-fpn"))
    if name.startswith("deeplabv3"):
        return torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None)
    if name == "unet-sd15":
        return diffusers.UNet2DConditionModel(
            sample_size=64, cross_attention_dim=768, attention_head_dim=8, block_out_channels=(320, 640, 1280, 1280)
        )
    if name == "unet-sdxl":
        return diffusers.UNet2DConditionModel(
            sample_size=128,
            cross_attention_dim=2048,
            attention_head_dim=(5, 10, 20),
            block_out_channels=(320, 640, 1280),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=(1, 2, 10),
            use_linear_projection=True,
        )
    if name == "flux-2-layers":
        return diffusers.FluxTransformer2DModel(num_layers=1, num_single_layers=1)
    if name == "vae-decoder":
        return diffusers.AutoencoderKL(
            block_out_channels=(128, 256, 512, 512),
            down_block_types=("DownEncoderBlock2D",) * 4,
            up_block_types=("UpDecoderBlock2D",) * 4,
            layers_per_block=2,
        )
    return getattr(torchvision.models, name)(weights=None)  # type: ignore[no-any-return]


def _forward(network: Network, module: Any, pictures: int, kind: torch.dtype) -> Callable[[], Any]:
    side = network.side
    if network.name.startswith("unet"):
        width = module.config.cross_attention_dim
        noisy = torch.empty(pictures, 4, side // 8, side // 8, dtype=kind)
        words = torch.empty(pictures, 77, width, dtype=kind)
        times = torch.zeros(pictures, dtype=kind)
        return lambda: module(noisy, times, words, return_dict=False)[0]
    if network.name.startswith("flux"):
        patches = (side // 16) ** 2
        noisy = torch.empty(pictures, patches, 64, dtype=kind)
        words = torch.empty(pictures, 512, 4096, dtype=kind)
        pooled, times = torch.empty(pictures, 768, dtype=kind), torch.zeros(pictures, dtype=kind)
        places, text = torch.zeros(patches, 3, dtype=kind), torch.zeros(512, 3, dtype=kind)
        return lambda: module(noisy, words, pooled, times, places, text, return_dict=False)[0]
    if network.name == "vae-decoder":
        latent = torch.empty(pictures, 4, side // 8, side // 8, dtype=kind)
        return lambda: module.decode(latent, return_dict=False)[0]
    shown = torch.empty(pictures, 3, side, side, dtype=kind)
    if network.name.startswith("deeplabv3"):
        return lambda: module(shown)["out"]
    return lambda: module(shown)
