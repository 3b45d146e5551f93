"""The share that a caching allocator needs where layers join a prompt's caches is what the simulation of it finds."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

import pytest

from whichgpu.engine.sizing import sizing_constants


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "lab"))
from joined import SHAPES, CachingAllocator, OutOfMemoryError, Prompt, needed_share


MIB = 1 << 20


def test_the_constants_are_the_middle_and_the_most_of_the_simulated_shapes():
    shares = list(map(needed_share, SHAPES))
    constants = sizing_constants()
    assert constants.joined_caches.value == pytest.approx(median(shares), abs=0.01)
    assert constants.joined_caches_most.value == pytest.approx(max(shares), abs=0.01)


def test_freed_neighbours_become_one_block_again():
    allocator = CachingAllocator()
    first, second = allocator.take(15 * MIB), allocator.take(3 * MIB)
    assert allocator.reserved == 16 * MIB + 20 * MIB
    third = allocator.take(4 * MIB)
    allocator.give(first, second, third)
    allocator.take(20 * MIB)
    assert (allocator.reserved, allocator.allocated) == (36 * MIB, 20 * MIB)


def test_a_growing_buffer_finds_no_room_in_what_it_left():
    """Each next one is larger than the last, so that the segments of all are held, until a card is full."""
    sizes = [size * 20 * MIB for size in range(1, 6)]

    def grown(allocator):
        held = allocator.take(sizes[0])
        for size in sizes[1:]:
            longer = allocator.take(size)
            allocator.give(held)
            held = longer
        return allocator.most_reserved

    assert grown(CachingAllocator()) == sum(sizes)
    assert grown(CachingAllocator(200 * MIB)) <= 200 * MIB
    with pytest.raises(OutOfMemoryError):
        grown(CachingAllocator(170 * MIB))


def test_many_layers_need_more_than_one():
    one, many = (Prompt(layers, hidden=4096, intermediate=13696, groups=2) for layers in (1, 40))
    assert needed_share(many) > needed_share(one) + 0.2
