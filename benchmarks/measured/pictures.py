"""Runs of image networks (timm, torchvision) with random weights."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from clock import DEVICE, mean_seconds


How = dict[str, Any]
_HALF = torch.bfloat16


def network(model: str, how: How, _: int | None) -> Callable[[], dict[str, float]]:
    """A classifier of pictures that learns whole, by AdamW; "mixed" casts to 16 bits as it goes."""
    import timm  # noqa: PLC0415  (there is no torchvision, which it needs, for every build of PyTorch)

    made = timm.create_model(model, pretrained=False).to(DEVICE).train()
    pictures = torch.randn(how["batch"], 3, how["px"], how["px"], device=DEVICE)
    classes = torch.randint(0, 1000, (how["batch"],), device=DEVICE)
    learner = torch.optim.AdamW(made.parameters())

    def step() -> None:
        with torch.autocast(DEVICE, _HALF) if how["precision"] == "mixed" else nullcontext():
            loss = torch.nn.functional.cross_entropy(made(pictures), classes)
        loss.backward()
        learner.step()
        learner.zero_grad(set_to_none=True)

    return lambda: {"s_per_step": mean_seconds(step, 3)}


def detect(model: str, how: How, _: int | None) -> Callable[[], dict[str, float]]:
    """A detector of torchvision that learns whole, by SGD with momentum, in 32 bits."""
    import torchvision  # noqa: PLC0415

    made = getattr(torchvision.models.detection, model)(weights=None, weights_backbone=None).to(DEVICE).train()
    pictures = [torch.rand(3, how["short_px"], how["px"], device=DEVICE) for _ in range(how["batch"])]
    corner = torch.rand(8, 2, device=DEVICE) * 400
    target = {"boxes": torch.cat([corner, corner + 100], 1), "labels": torch.randint(1, 91, (8,), device=DEVICE)}
    learner = torch.optim.SGD(made.parameters(), lr=1e-4, momentum=0.9)

    def step() -> None:
        sum(made(pictures, [target] * how["batch"]).values()).backward()
        learner.step()
        learner.zero_grad(set_to_none=True)

    return lambda: {"s_per_step": mean_seconds(step, 3)}
