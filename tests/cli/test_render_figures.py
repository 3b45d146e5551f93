from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from whichgpu.cli.render import figures


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.00123, "0.00123"),
        (0.5, "0.5"),
        (1.5, "1.5"),
        (1.0, "1"),
        (12.345, "12.3"),
        (456.7, "457"),
        (1850, "1,850"),
        (123456.7, "123,457"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_keep_what_matters(value: float, shown: str) -> None:
    assert figures.number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1, "requests", "1 request"),
        (8, "requests", "8 requests"),
        (1.0, "tokens/s", "1 tokens/s"),
        (1, "ms", "1 ms"),
        (True, None, "yes"),
        ("bf16", None, "bf16"),
    ],
)
def test_one_of_a_unit(value: object, unit: str | None, shown: str) -> None:
    assert figures.with_unit(value, unit) == shown


@given(st.floats(min_value=1e-3, max_value=1e12))
def test_a_number_reads_back_within_half_a_percent(value: float) -> None:
    assert math.isclose(float(figures.number(value).replace(",", "")), value, rel_tol=0.006)


def test_numbers_without_a_value() -> None:
    assert figures.number(math.nan) == "nan"
    assert figures.number(math.inf) == "inf"


def test_gib_stand_beside_gb() -> None:
    assert figures.gb_and_gib(80 * 1.073741824) == "85.9 GB (80.0 GiB)"
    assert figures.gb_and_gib(None) == "unknown"
    assert figures.gb(None) == "unknown"
    assert figures.gb(0.456) == "0.46 GB"
    assert figures.gb(1120) == "1,120 GB"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "unknown"), (0.0123, "$0.0123"), (1.5, "$1.50"), (4350.8, "$4,351"), (0, "$0.00")]
)
def test_dollars(value: float | None, shown: str) -> None:
    assert figures.usd(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.005, "18 seconds"), (0.5, "30 minutes"), (5, "5 hours"), (2160, "90 days (2,160 hours)")],
)
def test_durations(value: float, shown: str) -> None:
    assert figures.hours(value) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (297, 708, "12.4 to 29.5 days"),
        (18.9, 109, "18.9 hours to 4.54 days"),
        (3.71, 13.3, "3.71 hours to 13.3 hours"),
    ],
)
def test_a_band_of_durations_has_no_brackets(low: float, high: float, shown: str) -> None:
    assert figures.hours_band(low, high) == shown


def test_values_in_words() -> None:
    assert figures.value_text(True) == "yes"
    assert figures.value_text(["a", False]) == "a, no"
    assert figures.value_text([]) == "none"
    assert figures.value_text(None) == "none"
    assert figures.milliseconds(7400) == "7.4 s"
    assert figures.percent(None) == "unknown"
    assert figures.count_of(1, "GPU") == "1 GPU"
    assert figures.count_of(2, "entry", "entries") == "2 entries"
    assert figures.joined(["a", "b", "c"]) == "a, b and c"
    assert figures.joined([]) == ""
