"""What a caching allocator needs where a prompt's caches are joined into one tensor, layer by layer.

Some models' own code (ChatGLM, GLM-4) keeps the keys and values of a prompt in one tensor that each layer makes anew,
one layer longer. Every new one is larger than the pieces that its predecessors leave, so that the allocator holds more
than the tensors take. Here PyTorch's allocator (c10/cuda/CUDACachingAllocator.cpp: sizes in steps of 512 bytes,
segments of 2, 20 or multiples of 2 MiB, the smallest free piece that is large enough, segments that are wholly free
given back when there is no more) serves the allocations of such a prompt. No PyTorch is needed.

Usage: python benchmarks/lab/joined.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from statistics import median


_MIB = 1 << 20
_SMALL, _LARGE = _MIB, 10 * _MIB


class OutOfMemoryError(Exception):
    """No segment of that size can be had."""


@dataclass(eq=False)
class Block:
    """A piece of a segment."""

    size: int
    small: bool
    free: bool = True
    before: Block | None = None
    after: Block | None = None


@dataclass
class CachingAllocator:
    """Serves and takes back blocks of a card with so many bytes."""

    capacity: float = float("inf")
    reserved: int = 0
    allocated: int = 0
    most_reserved: int = 0
    most_allocated: int = 0
    unused: list[Block] = field(default_factory=list)

    def take(self, size: float) -> Block:
        """A block of at least ``size`` bytes."""
        wanted = max(512, -(-int(size) // 512) * 512)
        small = wanted <= _SMALL
        fitting = [block for block in self.unused if block.small == small and block.size >= wanted]
        block = min(fitting, key=lambda found: found.size) if fitting else self._segment(wanted, small=small)
        self.unused.remove(block)
        rest = block.size - wanted
        if rest >= 512 if small else rest > _MIB:
            other = Block(rest, small, before=block, after=block.after)
            if block.after:
                block.after.before = other
            block.after, block.size = other, wanted
            self.unused.append(other)
        block.free = False
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def give(self, *blocks: Block) -> None:
        """Take blocks back, and join each with free neighbours."""
        for given in blocks:
            self.allocated -= given.size
            given.free = True
            block = given
            if block.after and block.after.free:
                self._join(block, block.after)
            if block.before and block.before.free:
                block = block.before
                self._join(block, given)
            else:
                self.unused.append(block)

    def _join(self, block: Block, next_one: Block) -> None:
        if next_one in self.unused:
            self.unused.remove(next_one)
        block.size += next_one.size
        block.after = next_one.after
        if next_one.after:
            next_one.after.before = block

    def _segment(self, wanted: int, *, small: bool) -> Block:
        size = 2 * _MIB if small else 20 * _MIB if wanted < _LARGE else -(-wanted // (2 * _MIB)) * 2 * _MIB
        if self.reserved + size > self.capacity:
            for block in [block for block in self.unused if block.before is None and block.after is None]:
                self.unused.remove(block)
                self.reserved -= block.size
        if self.reserved + size > self.capacity:
            raise OutOfMemoryError
        self.reserved += size
        self.most_reserved = max(self.most_reserved, self.reserved)
        segment = Block(size, small)
        self.unused.append(segment)
        return segment


@dataclass(frozen=True)
class Prompt:
    """A prompt of so many tokens through a model of these dimensions, in 16 bits."""

    layers: int
    hidden: int
    intermediate: int
    groups: int  # of keys and values
    head_dim: int = 128
    tokens: int = 8192

    def tensors_bytes(self) -> int:
        """What the engine counts: the cache, and gate, up, activation, product and three inputs of a layer."""
        cache = self.layers * 2 * self.groups * self.head_dim
        return 2 * self.tokens * (cache + 4 * self.intermediate + 3 * self.hidden)

    def run(self, allocator: CachingAllocator) -> None:
        """Allocate and free as the layers of such code do."""
        width = 2 * self.tokens
        stream = allocator.take(width * self.hidden)
        joined: Block | None = None
        for layer in range(1, self.layers + 1):
            attended, own_cache, normed = self._attention(allocator)
            added = allocator.take(width * self.hidden)
            second = self._norm(allocator)
            allocator.give(normed)
            both = allocator.take(width * 2 * self.intermediate)
            activated = allocator.take(width * self.intermediate)
            multiplied = allocator.take(width * self.intermediate)
            allocator.give(activated, both)
            out = allocator.take(width * self.hidden)
            allocator.give(multiplied)
            following = allocator.take(width * self.hidden)
            allocator.give(attended, added, second, out, stream)
            stream = following
            if joined is None:
                joined = own_cache
            else:
                longer = allocator.take(layer * width * 2 * self.groups * self.head_dim)
                allocator.give(joined, own_cache)
                joined = longer

    def _norm(self, allocator: CachingAllocator) -> Block:
        """A norm in 32 bits: a copy, its square, what is scaled, and the cast back."""
        wide, width = 4 * self.tokens * self.hidden, 2 * self.tokens * self.hidden
        copy, square = allocator.take(wide), allocator.take(wide)
        allocator.give(copy, square)
        scaled, weighted = allocator.take(wide), allocator.take(wide)
        out = allocator.take(width)
        allocator.give(scaled, weighted)
        return out

    def _attention(self, allocator: CachingAllocator) -> tuple[Block, Block, Block]:
        """What comes out of attention, the layer's keys and values in one tensor, and the norm before it."""
        width = 2 * self.tokens
        query, values = width * self.hidden, width * self.groups * self.head_dim
        normed = self._norm(allocator)
        mixed = allocator.take(query + 2 * values)
        turned_query, turned_keys = allocator.take(query), allocator.take(values)
        own_cache = allocator.take(2 * values)
        keys, repeated = allocator.take(query), allocator.take(query)  # copied for all heads
        inner = allocator.take(query)
        attended = allocator.take(query)
        allocator.give(inner, keys, repeated, turned_query, turned_keys, mixed)
        return attended, own_cache, normed


#: Published decoders span these: layers, width, feed-forward part, groups of keys and values.
SHAPES = tuple(
    Prompt(layers, 4096, wide, groups)
    for layers, wide, groups in product((28, 40, 60), (8192, 13696, 20480), (1, 2, 4, 8))
)


def needed_share(prompt: Prompt, steps: int = 10) -> float:
    """The least capacity with which the prompt passes, over what the engine counts of tensors."""
    free = CachingAllocator()
    prompt.run(free)
    low, high = float(free.most_allocated), float(free.most_reserved)
    for _ in range(steps):
        middle = (low + high) / 2
        try:
            prompt.run(CachingAllocator(middle))
            high = middle
        except OutOfMemoryError:
            low = middle
    return high / prompt.tensors_bytes()


def main() -> None:
    """Print the share of each shape, and their middle and ends."""
    shares = {prompt: needed_share(prompt) for prompt in SHAPES}
    for prompt, share in shares.items():
        print(f"{prompt.layers:3} layers, {prompt.intermediate:6} wide, {prompt.groups} groups: {share:.2f}")
    print(f"median {median(shares.values()):.2f}, {min(shares.values()):.2f} to {max(shares.values()):.2f}")


if __name__ == "__main__":
    main()
