"""Detectors of the YOLO family as modules of their own: stages of split and joined paths, a pyramid both ways, heads.

After ultralytics' and open-mmlab/mmyolo's descriptions of the networks (mmyolo/models/backbones/csp_darknet.py,
necks/yolov5_pafpn.py, dense_heads). Every convolution has a batch norm and a SiLU, which keep three maps: what the
convolution gives, what the norm makes of it, and what is activated.

Usage: python benchmarks/lab/yolos.py
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch


HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")

from torch import nn
from tracer import Step, trace_over_pictures
from yolo_parts import Attending, Pooled, Split, conv


_SIDE, _CLASSES = 640, 80


@dataclass(frozen=True)
class Yolo:
    """A detector: its kind, and by how much the kind's widths and depths are multiplied."""

    kind: str  # v5, v8, v11, x
    wide: float
    deep: float
    last: int = 1024  # channels of the last stage before they are multiplied

    def channels(self, full: int) -> int:
        """So many of them, in steps of eight."""
        return max(8, round(min(full, self.last) * self.wide / 8) * 8)

    def repeats(self, full: int) -> int:
        """Blocks of a stage."""
        return max(1, round(full * self.deep))


YOLOS = {
    "yolov5n": Yolo("v5", 0.25, 0.33),
    "yolov5s": Yolo("v5", 0.5, 0.33),
    "yolov5m": Yolo("v5", 0.75, 0.67),
    "yolov5l": Yolo("v5", 1.0, 1.0),
    "yolov5x": Yolo("v5", 1.25, 1.33),
    "yolov8n": Yolo("v8", 0.25, 0.33),
    "yolov8s": Yolo("v8", 0.5, 0.33),
    "yolov8m": Yolo("v8", 0.75, 0.67, 768),
    "yolov8l": Yolo("v8", 1.0, 1.0, 512),
    "yolov8x": Yolo("v8", 1.25, 1.0, 512),
    "yolo11n": Yolo("v11", 0.25, 0.5),
    "yolo11s": Yolo("v11", 0.5, 0.5),
    "yolo11m": Yolo("v11", 1.0, 0.5, 512),
    "yolo11l": Yolo("v11", 1.0, 1.0, 512),
    "yolo11x": Yolo("v11", 1.5, 1.0, 512),
    "yolox-tiny": Yolo("x", 0.375, 0.33),
    "yolox-s": Yolo("x", 0.5, 0.33),
    "yolox-m": Yolo("x", 0.75, 0.67),
    "yolox-l": Yolo("x", 1.0, 1.0),
    "yolox-x": Yolo("x", 1.25, 1.33),
}


class Detector(nn.Module):
    """Backbone, pyramid and heads; without the loss, which depends on what is in the pictures."""

    def __init__(self, yolo: Yolo) -> None:
        super().__init__()
        kind, widths = yolo.kind, [yolo.channels(full) for full in (64, 128, 256, 512, 1024)]
        deep = {"v5": (3, 6, 9, 3), "v8": (3, 6, 6, 3), "v11": (2, 2, 2, 2), "x": (3, 9, 9, 3)}[kind]
        self.focus = kind == "x"
        self.stem = conv(12, widths[0], 3) if self.focus else conv(3, widths[0], 6 if kind == "v5" else 3, 2)
        if kind == "v5":
            self.stem[0].padding = (2, 2)
        # The first two stages of v11 give twice the channels that their convolutions do.
        given = [yolo.channels(full) for full in (256, 512, 512, 1024)] if kind == "v11" else widths[1:]
        read, stages = widths[0], []
        for at in range(4):
            parts: list[nn.Module] = [conv(read, widths[at + 1], 3, 2)]
            pool = Pooled(widths[4], apart=kind == "x")
            if at == 3 and kind == "x":
                parts.append(pool)
            how = {"adds": not (kind == "x" and at == 3), "nested": at > 1 or yolo.last < 1024}
            quarter = kind == "v11" and at < 2
            repeats = yolo.repeats(deep[at])
            parts.append(Split(kind, widths[at + 1], given[at], repeats, quarter=quarter, **how))
            if at == 3 and kind != "x":
                parts.append(pool)
            if at == 3 and kind == "v11":
                parts.append(Attending(widths[4], repeats))
            read = given[at]
            stages.append(nn.Sequential(*parts))
        self.stages = nn.ModuleList(stages)
        low, mid, high = yolo.channels(256), given[2], given[3]
        blocks, reduces = yolo.repeats(2 if kind == "v11" else 3), kind in {"v5", "x"}
        how = {"adds": kind == "v11", "nested": yolo.last < 1024}
        self.reduce_high = conv(high, mid) if reduces else nn.Identity()
        self.reduce_mid = conv(mid, low) if reduces else nn.Identity()
        self.up_mid = Split(kind, mid + (mid if reduces else high), mid, blocks, **how)
        self.up_low = Split(kind, given[1] + (low if reduces else mid), low, blocks, **how)
        self.down_mid, self.down_high = conv(low, low, 3, 2), conv(mid, mid, 3, 2)
        self.out_mid = Split(kind, low + (low if reduces else mid), mid, blocks, **how)
        how["nested"] = kind == "v11"
        self.out_high = Split(kind, mid + (mid if reduces else high), high, blocks, **how)
        self.heads = nn.ModuleList(_heads(kind, (low, mid, high), yolo))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """A sum over all answers."""
        if self.focus:
            pictures = nn.functional.pixel_unshuffle(pictures, 2)
        found, maps = self.stem(pictures), []
        for stage in self.stages:
            found = stage(found)
            maps.append(found)
        _, low, mid, high = maps
        high = self.reduce_high(high)
        raised = self.up_mid(torch.cat((nn.functional.interpolate(high, scale_factor=2.0), mid), 1))
        mid = self.reduce_mid(raised)
        first = self.up_low(torch.cat((nn.functional.interpolate(mid, scale_factor=2.0), low), 1))
        second = self.out_mid(torch.cat((self.down_mid(first), mid), 1))
        third = self.out_high(torch.cat((self.down_high(second), high), 1))
        answers = zip(self.heads, (first, second, third), strict=True)
        return sum(part.float().sum() for head, read in answers for part in head(read))


class _Head(nn.Module):
    def __init__(self, stem: nn.Module, paths: list[nn.Module]) -> None:
        super().__init__()
        self.stem, self.paths = stem, nn.ModuleList(paths)

    def forward(self, maps: torch.Tensor) -> list[torch.Tensor]:
        """What each path answers."""
        read = self.stem(maps)
        return [path(read) for path in self.paths]


def _heads(kind: str, widths: tuple[int, ...], yolo: Yolo) -> list[_Head]:
    if kind == "v5":
        return [_Head(nn.Identity(), [nn.Conv2d(width, 3 * (5 + _CLASSES), 1)]) for width in widths]
    made = []
    for width in widths:
        if kind == "x":
            given = yolo.channels(256)
            sides = [(given, 5), (given, _CLASSES)]
            stem = conv(width, given)
        else:
            boxes, classes = max(16, widths[0] // 4, 64), max(widths[0], _CLASSES)
            sides = [(boxes, 64), (classes, _CLASSES)]
            stem, given = nn.Identity(), width
        paths = [
            nn.Sequential(conv(given, inner, 3), conv(inner, inner, 3), nn.Conv2d(inner, last, 1))
            for inner, last in sides
        ]
        if kind == "v11":  # Classes come of convolutions by channel, each before one of a single place.
            inner = sides[1][0]
            parts = [conv(given, given, 3, groups=given), conv(given, inner), conv(inner, inner, 3, groups=inner)]
            paths[1] = nn.Sequential(*parts, conv(inner, inner), nn.Conv2d(inner, _CLASSES, 1))
        made.append(_Head(stem, paths))
    return made


def step(yolo: Yolo, pictures: int, side: int = _SIDE, *, autocast: bool) -> Step:
    """Bytes of a step over so many pictures."""
    with torch.device("meta"):
        module = Detector(yolo)

    def loss(shown: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            return module(shown)

    return trace_over_pictures(module, pictures, side, loss)


def main() -> None:
    """Print what one more picture keeps, in elements a pixel, and what it takes at the peak."""
    for name, yolo in YOLOS.items():
        for autocast in (True, False):
            one, two = step(yolo, 2, autocast=autocast), step(yolo, 4, autocast=autocast)
            over = (2 if autocast else 4) * 2 * _SIDE**2
            kept, peak = ((getattr(two, part) - getattr(one, part)) / over for part in ("kept", "beside"))
            how = "autocast" if autocast else "32 bits"
            print(f"{name}: {one.weights / 4e6:.2f} M, {how}, kept {kept:.1f}, peak {peak:.1f} elements a pixel")


if __name__ == "__main__":
    main()
