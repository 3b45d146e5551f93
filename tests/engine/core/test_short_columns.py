"""Short columns are read as numpy's own functions read them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from whichgpu.engine.core import among, distinct_numbers, known_or


codes = st.lists(st.integers(0, 300), max_size=40).map(lambda numbers: np.array(numbers, np.intp))


@given(codes, codes)
def test_which_codes_are_among_others(one: np.ndarray, others: np.ndarray) -> None:
    assert among(one, others).tolist() == np.isin(one, others).tolist()


@given(codes)
def test_distinct_numbers_stand_where_they_are_met_first(numbers: np.ndarray) -> None:
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    assert [found.tolist() for found in distinct_numbers(numbers)] == [first.tolist(), which.tolist()]


def test_pairs_keep_their_form() -> None:
    pairs = np.array([[0, 1], [2, 3]], np.intp)
    assert among(pairs, np.array([3, 1], np.intp)).tolist() == [[False, True], [False, True]]


@given(st.lists(st.floats(allow_infinity=False), max_size=20))
def test_what_is_not_known_is_taken_for_another_number(numbers: list[float]) -> None:
    values = np.array(numbers, np.float64)
    assert known_or(values).tolist() == np.nan_to_num(values).tolist()
    assert known_or(values, 1.0).tolist() == np.nan_to_num(values, nan=1.0).tolist()
