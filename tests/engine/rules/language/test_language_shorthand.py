"""Words that say shortly what can be said at length, and the units of what is calculated."""

from __future__ import annotations

import numpy as np
import pytest

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.fact_table import FactTable
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.facts.units import derived_unit, parse_unit
from whichgpu.engine.rules.language import evaluate, parse_condition, words
from whichgpu.engine.rules.language.columns import View, where_holds
from whichgpu.engine.rules.language.tree import written


SAME = [
    ("params_b between 7 and 13b", "params_b >= 7 and params_b <= 13"),
    ("need_gb between 8 and have_gb - 2", "need_gb >= 8 and need_gb <= have_gb - 2"),
    ("not cuda if known", "cuda is unknown or not cuda"),
    ("task in [inference] if known", "task is unknown or task in [inference]"),
    ("need_gb <= have_gb if known", "need_gb is unknown or have_gb is unknown or need_gb <= have_gb"),
    ("batch <= 2 if known or cuda", "batch is unknown or batch <= 2 or cuda"),
    ("training and batch <= 2 if known", "training and (batch is unknown or batch <= 2)"),
    ("gpu_candidates has not nvidia-t4", "not gpu_candidates has nvidia-t4"),
    ("training unless cuda or batch > 2", "training and not (cuda or batch > 2)"),
    ("unless training", "not training"),
]


@pytest.mark.parametrize(("short", "long"), SAME, ids=lambda text: text)
def test_short_words_are_read_as_the_long_ones(vocabulary: Vocabulary, short: str, long: str) -> None:
    assert parse_condition(short, vocabulary) == parse_condition(long, vocabulary)


BROKEN = [
    ("params_b between 7", "between needs two ends"),
    ("params_b between 7 or 13", "between needs two ends"),
    ("training if cuda", "if is followed by known alone"),
    ("min(need_gb) > 3", "min needs two numbers or more"),
    ("max(need_gb, 3 > 3", "cannot stand here|never closed|number is needed|units"),
    ("min(need_gb, run_hours) > 3", "the units differ: GB and h"),
    ("price_usd_h * run_hours > need_gb", "the units differ: USD/h x h and GB"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_what_is_wrong_is_reported(vocabulary: Vocabulary, text: str, said: str) -> None:
    with pytest.raises(RulebookError, match=said):
        parse_condition(text, vocabulary)


def test_the_smallest_and_the_largest(vocabulary: Vocabulary) -> None:
    condition = parse_condition("max(need_gb, plan.count, 3) > min(have_gb, 40)", vocabulary, each="plan")
    assert written(condition) == "max(max(need_gb, plan.count), 3) > min(have_gb, 40)"
    assert parse_condition(written(condition), vocabulary, each="plan") == condition
    assert "the smaller of" in words(condition, vocabulary)
    rows = [{"plan.count": 50}, {"plan.count": 2}, {}]
    shared = {"need_gb": 10, "have_gb": 41}
    single = [evaluate(condition, {**shared, **row}) for row in rows]
    assert single == [True, False, None]
    held = where_holds(condition)(View(shared, FactTable.of(rows)))
    assert np.broadcast_to(held, 3).tolist() == [True, False, False]


UNITS = [
    ("W", "*", "GPUs", "W"),
    ("USD/h", "*", "h", "USD"),
    ("h", "*", "USD/h", "USD"),
    ("USD", "/", "h", "USD/h"),
    ("GB", "/", "GPUs", "GB"),
    ("TB", "/", "GB", None),
    ("GB", "/", "GB", "ratio"),
    ("W", "*", "GB", None),
    ("B", "*", "GB", None),
]


@pytest.mark.parametrize(("left", "op", "right", "unit"), UNITS)
def test_units_of_products_and_quotients_follow(left: str, op: str, right: str, unit: str | None) -> None:
    found = derived_unit(op, parse_unit(left), parse_unit(right))
    if (left, right) == ("TB", "GB"):
        assert found is not None
        assert found.factor == 1000
    else:
        assert found == (parse_unit(unit) if unit else None)
