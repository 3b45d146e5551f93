"""Parts of detectors of the YOLO family: convolutions with norm and SiLU, and how they are split and joined."""

from __future__ import annotations

import torch
from torch import nn


def conv(
    given: int, made: int, side: int = 1, stride: int = 1, *, groups: int = 1, active: bool = True
) -> nn.Sequential:
    """A convolution with its norm and activation."""
    product = nn.Conv2d(given, made, side, stride, side // 2, groups=groups, bias=False)
    return nn.Sequential(product, nn.BatchNorm2d(made), nn.SiLU() if active else nn.Identity())


class Bottleneck(nn.Module):
    def __init__(self, width: int, *, first: int, adds: bool, narrow: bool = False) -> None:
        super().__init__()
        inner = width // 2 if narrow else width
        self.path, self.adds = nn.Sequential(conv(width, inner, first), conv(inner, width, 3)), adds

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Two convolutions, and what they read where it is added."""
        return maps + self.path(maps) if self.adds else self.path(maps)


class Split(nn.Module):
    """One path passes blocks and one does not (v5, x); or every block's answer is joined (v8, v11)."""

    def __init__(
        self, kind: str, given: int, made: int, blocks: int, *, adds: bool, nested: bool = False, quarter: bool = False
    ) -> None:
        super().__init__()
        half, self.joins_all = made // (4 if quarter else 2), kind in {"v8", "v11"}
        self.first = conv(given, 2 * half) if self.joins_all else conv(given, half)
        self.beside = None if self.joins_all else conv(given, half)
        first = 3 if self.joins_all else 1
        made_of = range(blocks)
        if kind == "v11" and nested:
            self.blocks = nn.ModuleList(Nested(half) for _ in made_of)
        else:
            narrow = kind == "v11"
            self.blocks = nn.ModuleList(Bottleneck(half, first=first, adds=adds, narrow=narrow) for _ in made_of)
        self.last = conv((2 + blocks) * half if self.joins_all else 2 * half, made)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Both paths, joined."""
        if self.joins_all:
            parts = list(self.first(maps).chunk(2, 1))
            for block in self.blocks:
                parts.append(block(parts[-1]))
            return self.last(torch.cat(parts, 1))
        found = self.first(maps)
        for block in self.blocks:
            found = block(found)
        assert self.beside is not None
        return self.last(torch.cat((found, self.beside(maps)), 1))


class Nested(nn.Module):
    """Two paths inside a block of v11, one of two bottlenecks."""

    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        self.first, self.beside, self.last = conv(width, half), conv(width, half), conv(width, width)
        self.blocks = nn.Sequential(*(Bottleneck(half, first=3, adds=True) for _ in range(2)))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Both paths, joined."""
        return self.last(torch.cat((self.blocks(self.first(maps)), self.beside(maps)), 1))


class Attending(nn.Module):
    """Half of the last stage's channels attend to each other (v11)."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        half = width // 2
        self.first, self.last = conv(width, width), conv(width, width)
        self.blocks = nn.Sequential(*(_AttendingBlock(half) for _ in range(blocks)))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Both halves, joined."""
        aside, attending = self.first(maps).chunk(2, 1)
        return self.last(torch.cat((aside, self.blocks(attending)), 1))


class _AttendingBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = max(1, width // 64)
        self.each = width // self.heads
        self.keyed = self.each // 2
        self.mixed = conv(width, width + 2 * self.keyed * self.heads, active=False)
        self.placed = conv(width, width, 3, groups=width, active=False)
        self.out = conv(width, width, active=False)
        self.inner = nn.Sequential(conv(width, 2 * width), conv(2 * width, width, active=False))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Attention over all places with a scale of its own, and a feed-forward part."""
        pictures, width, high, wide = maps.shape
        parts = self.mixed(maps).view(pictures, self.heads, 2 * self.keyed + self.each, high * wide)
        query, key, value = parts.split((self.keyed, self.keyed, self.each), 2)
        weights = (query.transpose(-2, -1) @ key * self.keyed**-0.5).softmax(-1)
        attended = (value @ weights.transpose(-2, -1)).reshape(pictures, width, high, wide)
        maps = maps + self.out(attended + self.placed(value.reshape(pictures, width, high, wide)))
        return maps + self.inner(maps)


class Pooled(nn.Module):
    """Spatial pyramid pooling: one pool after the other (v5, v8), or three beside each other (x)."""

    def __init__(self, width: int, *, apart: bool) -> None:
        super().__init__()
        self.first, self.last, self.apart = conv(width, width // 2), conv(2 * width, width), apart

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """The map and three that are pooled."""
        parts = [self.first(maps)]
        for side in (5, 9, 13):
            read, size = (parts[0], side) if self.apart else (parts[-1], 5)
            parts.append(nn.functional.max_pool2d(read, size, 1, size // 2))
        return self.last(torch.cat(parts, 1))
