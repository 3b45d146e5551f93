"""Canonical values: one spelling for what is the same."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.core.canonical import canonical_json, digest, json_value, rounded


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.333333), (123456789.0, 123457000), (0.0, 0), (-0.0, 0), (2.0, 2), (-1.23456789e-7, -1.23457e-07)],
)
def test_figures_have_six_significant_digits(value: float, expected: float) -> None:
    assert rounded(value) == expected
    assert type(rounded(value)) is type(expected)


def test_infinity_is_left_for_the_writer_to_refuse() -> None:
    assert rounded(math.inf) == math.inf
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(math.nan)


def test_sets_are_sorted_and_tuples_are_lists() -> None:
    assert json_value({"a": ({"c", "b"}, frozenset({2, 1}))}) == {"a": [["b", "c"], [1, 2]]}


def test_what_has_no_canonical_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object has no canonical form"):
        json_value(object())


def test_text_is_kept_as_it_is_written() -> None:
    assert canonical_json({"b": 1, "a": "é, 1"}) == '{"a":"é, 1","b":1}'


def test_half_a_surrogate_pair_has_a_digest_too() -> None:
    assert digest({"id": "\ud800"}) != digest({"id": "\ud801"})


@given(_VALUES)
def test_canonical_json_survives_a_round_trip(value: object) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


@given(st.dictionaries(st.text(max_size=5), st.integers(), min_size=2, max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))
