"""Room beside stated targets, and numbers of replicas as one orders them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.plans.room import rounded_up, with_room
from whichgpu.engine.plans.targets import Goals, missed
from whichgpu.engine.sizing import Targets


limits = st.floats(1e-3, 1e7)


def goals(time: float | None = None, qps: float | None = None, tokens: float | None = None) -> Goals:
    return Goals(Targets(time, None, None), tokens, qps, None)


@given(limits)
def test_the_far_end_is_harder_to_keep_and_at_most_six_percent_off(limit: float) -> None:
    roomy = with_room(goals(limit, limit, limit), rate_stated=False)
    ttft, qps, tokens = roomy.times.ttft_ms, roomy.qps, roomy.tokens_per_s
    assert ttft is not None
    assert qps is not None
    assert 0.94 * limit < ttft <= limit * (1 + 1e-9)
    assert limit * (1 - 1e-9) <= qps < 1.06 * limit
    assert tokens == qps


def test_two_percent_beside_a_round_number_has_the_same_far_end() -> None:
    """Round numbers of one digit lie in the midst of their steps."""
    for digit in range(1, 7):
        for power in (-1, 1, 4):
            round_number = digit * 10.0**power
            ends = {
                with_room(goals(round_number * share, round_number * share), rate_stated=True)
                for share in (0.98, 1, 1.02)
            }
            assert len(ends) == 1


def test_a_run_has_room_where_a_little_more_work_ends_in_time_as_well() -> None:
    """Whether the work or the deadline is stated a little differently."""
    run = goals()._replace(hours=20.0)
    ends = []
    for work in (0.98e9, 1e9, 1.02e9):
        hours = with_room(run, rate_stated=False, work=work).hours
        assert hours is not None
        assert hours < 20
        ends.append(hours / work)
    assert max(ends) == pytest.approx(min(ends))
    assert with_room(goals(), rate_stated=False, work=1e9).hours is None


def test_of_a_stated_rate_tokens_are_judged_by_what_is_borne() -> None:
    """A plan gives no more tokens than are asked for: that it could give more is its room."""
    figures = {"tokens_per_s": 1000.0, "capacity_tokens_per_s": 1500.0}
    stated = goals(tokens=1000)
    assert not missed(stated, figures)
    assert not missed(with_room(stated, rate_stated=True), figures)
    assert missed(with_room(stated, rate_stated=True), figures | {"capacity_tokens_per_s": 1010.0})
    assert missed(with_room(stated, rate_stated=False), figures)


numbers = st.integers(0, 2000)


@given(st.lists(st.tuples(numbers, st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 4, 8])), min_size=1))
def test_rounded_up_are_enough_and_at_most_an_eighth_more(rows: list[tuple[int, int, int]]) -> None:
    replicas, width, machine = (np.array(column) for column in zip(*rows, strict=True))
    found = rounded_up(replicas, width, machine)
    assert (found >= replicas).all()
    assert (8 * found <= 9 * replicas).all()
    # More are needed for more.
    assert (rounded_up(replicas + 1, width, machine) >= found).all()


def test_what_is_rounded_up() -> None:
    def of(replicas: int, width: int = 1, machine: int = 1) -> int:
        return int(rounded_up(np.array([replicas]), np.array([width]), np.array([machine]))[0])

    assert [of(number) for number in range(1, 16)] == list(range(1, 16))
    assert [of(number) for number in (16, 17, 18, 19, 25, 29, 33)] == [16, 18, 20, 20, 28, 32, 36]
    assert of(15, width=4, machine=8) == 16  # eight whole machines for seven and a half
    assert of(3, width=4, machine=8) == 3  # a third more is more than rates are unsure of
