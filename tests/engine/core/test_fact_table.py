"""Facts as columns give back the facts that they were made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from whichgpu.engine.core import FactTable, NumberColumn, WordColumn, column_of, yes_no


SCALARS = st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=5)
FACTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), SCALARS | st.tuples(SCALARS, SCALARS), max_size=3)


def same(left: object, right: object) -> bool:
    return left == right and isinstance(left, bool) == isinstance(right, bool)


@given(st.lists(FACTS, max_size=6))
def test_a_table_gives_back_the_facts_of_each_row(fact_sets: list[dict[str, object]]) -> None:
    table = FactTable.of(fact_sets)  # type: ignore[arg-type]
    names = {name for facts in fact_sets for name in facts}
    assert table.fact_sets(np.arange(len(fact_sets)), names) == list(table.rows())
    for facts, row in zip(fact_sets, table.rows(), strict=True):
        assert facts.keys() == row.keys()
        assert all(same(facts[name], row[name]) for name in facts)


def test_whole_numbers_stay_whole() -> None:
    column = column_of([3, None, 5])
    assert isinstance(column, NumberColumn)
    assert [repr(column.at(row)) for row in range(3)] == ["3", "None", "5"]
    assert column_of([3, 2.5]).at(0) == 3.0


def test_yes_is_not_one() -> None:
    column = column_of([True, 1, "x"])
    assert isinstance(column, WordColumn)
    assert [column.at(row) for row in range(3)] == [True, 1, "x"]
    assert column.at(0) is True


def test_yes_or_no_may_be_unknown() -> None:
    column = yes_no(np.array([True, False, True]), np.array([True, True, False]))
    assert [column.at(row) for row in range(3)] == [True, False, None]


def test_rows_share_facts_of_another_table() -> None:
    gpus = FactTable.of([{"gpu.vram_gb": 24, "gpu.vendor": "nvidia"}, {"gpu.vram_gb": 80}])
    table = FactTable(3, {"plan.count": column_of([1, 2, 4])}, gpus, np.array([1, 0, 1]))
    assert table.row(1) == {"gpu.vram_gb": 24, "gpu.vendor": "nvidia", "plan.count": 2}
    assert table.names == {"plan.count"}
    assert table.own("gpu.vram_gb") is None
    some = table.take(np.array([2, 1]))
    assert [some.row(0)["gpu.vram_gb"], some.row(1)["plan.count"]] == [80, 2]
    some.add({"plan.named": yes_no(np.array([True, False]))})
    again = some.take(np.array([1, 1, 0]))
    assert [again.row(place)["plan.count"] for place in range(3)] == [2, 2, 4]
    assert [again.row(place)["plan.named"] for place in range(3)] == [False, False, True]
    assert table.row(0).keys() == {"gpu.vram_gb", "plan.count"}


def test_a_fact_that_is_known_keeps_its_value() -> None:
    table = FactTable.of([{"a": 1}, {}])
    table.add({"a": column_of([7, 8]), "b": column_of(["x", None])})
    assert list(table.rows()) == [{"a": 1, "b": "x"}, {"a": 8}]
