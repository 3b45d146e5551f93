"""Numbers, words and truth values as the C engine reads them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.rules.inference.encode import (
    HALF,
    MAX_CACHED,
    MAX_INT,
    FlagNames,
    TextCache,
    Unencodable,
    encode,
    hash_of,
    number_text,
    property_names,
    slot_of,
    word_text,
)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_exact_and_plain(value):
    try:
        text = number_text(value)
    except Unencodable:
        assert value != 0
        assert abs(value) < 1e-10 or abs(value) > 1e20
        return
    assert "e" not in text.lower()
    assert "." in text
    assert float(text) == value


@given(st.integers())
def test_integers_are_exact_or_refused(value):
    if abs(value) <= MAX_INT:
        assert int(number_text(value)) == value
    else:
        with pytest.raises(Unencodable):
            number_text(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-05, "0.00001"),
        (1e16, "10000000000000000.0"),
        (80, "80"),
        (80.0, "80.0"),
        (-2.5, "-2.5"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_spelling(value, text):
    assert number_text(value) == text
    assert Fraction(text) == Fraction(repr(value))


@given(st.text(), st.text())
def test_words_stay_apart_and_look_like_no_number(one, other):
    if max(len(one), len(other)) > 200:
        return
    assert (word_text(one) == word_text(other)) == (one == other)
    assert word_text(one)[:2] in ('"=', '"x')
    assert word_text(one).isascii()
    assert not set(word_text(one)[1:-1]) & set('"\\{}[],')


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (math.nan, "number"),
        (math.inf, "number"),
        ("80", "number"),
        (True, "number"),
        (80, "word"),
        ("w" * 201, "word"),
        (("a",), "word"),
        (1, "bool"),
        ("yes", "bool"),
        (5e-324, "number"),
    ],
)
def test_what_the_engine_might_misread_is_refused(value, kind):
    with pytest.raises(Unencodable):
        encode(value, kind)


def test_truth_values_are_numbers_of_ours():
    assert (encode(value=True, kind="bool"), encode(value=False, kind="bool")) == ("1", "0")


def test_names_are_plain_distinct_and_off_those_of_flags():
    names = property_names(40)
    assert len(set(names)) == 40
    assert all(name.isalnum() and name.isascii() for name in names)
    assert min(map(slot_of, names)) >= HALF


def test_names_suffice_for_large_rulesets():
    names = property_names(900)
    assert len(set(names)) == 900
    shares = Counter(map(slot_of, names))
    assert min(shares) >= HALF
    assert max(shares.values()) <= 2 * 900 / HALF
    flags = FlagNames("b")
    groups = [flags.take(HALF) for _ in range(16)]
    assert len({flag for group in groups for flag in group}) == 16 * HALF
    assert all(sorted(map(slot_of, group)) == list(range(HALF)) for group in groups)


def test_hash_is_fnv_1a():
    assert hash_of("") == 0x811C9DC5
    assert hash_of("foobar") == 0xBF9CF968  # from the authors' test vectors


def test_the_cache_of_texts_is_bounded():
    cache = TextCache("number")
    for value in range(MAX_CACHED + 10):
        assert cache[value] == str(value)
    assert len(cache) <= MAX_CACHED
    with pytest.raises(Unencodable):
        cache["word"]
