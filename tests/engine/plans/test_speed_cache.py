"""Speeds that are kept: each plan is computed once, whatever it is asked for with."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from whichgpu.engine.plans.layouts import Layouts
from whichgpu.engine.plans.speed_cache import SpeedCache, SpeedRows


plans = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 8), st.integers(1, 4), st.integers(1, 64)), max_size=12)


@given(st.lists(plans, min_size=1, max_size=4))
def test_every_plan_is_computed_once_and_told_in_the_order_asked(
    searches: list[list[tuple[int, int, int, int]]],
) -> None:
    computed: list[tuple[int, ...]] = []

    def compute(which, layouts, max_batch):
        computed.extend(zip(which.tolist(), *(column.tolist() for column in layouts[:3]), strict=True))
        figure = which + layouts.tensor / 10 + layouts.pipeline / 100 + layouts.data / 1e4
        return SpeedRows(figure * 2, {"tokens_per_s": figure})

    kept = SpeedCache(compute)
    for search in searches:
        which, tensor, pipeline, data = np.array(search, np.int64).reshape(-1, 4).T
        found = kept.of(which, Layouts(tensor, pipeline, data, np.zeros_like(data)))
        assert np.array_equal(found.figures["tokens_per_s"], which + tensor / 10 + pipeline / 100 + data / 1e4)
        assert np.array_equal(found.max_batch, found.figures["tokens_per_s"] * 2)
    assert len(computed) == len(set(computed))


@given(plans, plans)
def test_what_was_asked_for_is_had_and_nothing_else(
    asked: list[tuple[int, int, int, int]], others: list[tuple[int, int, int, int]]
) -> None:
    kept = SpeedCache(lambda which, layouts, max_batch: SpeedRows(which * 1.0, {"tokens_per_s": which * 1.0}))
    tables = []
    for search in (asked, others):
        which, tensor, pipeline, data = np.array(search, np.int64).reshape(-1, 4).T
        tables.append((which, Layouts(tensor, pipeline, data, np.zeros_like(data))))
    kept.of(*tables[0])
    assert kept.has(*tables[1]).tolist() == [plan in asked for plan in others]
