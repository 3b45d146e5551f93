"""The collector is paused while the expert loads, and goes on as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from whichgpu.engine.core.gc_pause import collect_rarely, collect_youngest, collection_paused


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    running = gc.isenabled()
    yield
    (gc.enable if running else gc.disable)()


def test_the_collector_rests_and_goes_on_even_after_an_error() -> None:
    @collection_paused()
    def fail() -> None:
        raise KeyError(gc.isenabled())

    gc.enable()
    with pytest.raises(KeyError, match="False"):
        fail()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with collection_paused():
        pass
    assert not gc.isenabled()


def test_pauses_lie_in_each_other_and_a_function_can_be_paused_twice() -> None:
    gc.enable()

    @collection_paused()
    def work(depth: int) -> bool:
        return (depth == 0 or work(depth - 1)) and not gc.isenabled()

    assert work(2)
    assert work(0)
    assert gc.isenabled()


def test_it_is_searched_seldom_and_when_no_one_waits() -> None:
    before = gc.get_threshold()
    try:
        collect_rarely()
        assert gc.get_threshold()[0] > before[0]
        collect_youngest()
        assert gc.get_count()[0] < 1000
    finally:
        gc.set_threshold(*before)
