from __future__ import annotations

from whichgpu.engine.interview import State


def test_answers_keep_their_order_and_their_place() -> None:
    state = State().answer("task", "inference").answer("org_type", "student").answer("task", "pretraining")
    assert [answer.fact for answer in state.answers] == ["task", "org_type"]
    assert state.given == {"task": "pretraining", "org_type": "student"}


def test_not_knowing_is_an_answer_and_no_fact() -> None:
    state = State().answer("task", "inference").answer("peak_qps", None, "unknown")
    assert state.unknown == ("peak_qps",)
    assert "peak_qps" not in state.given
    assert "peak_qps" in state.answered


def test_a_question_put_off_twice_counts_as_not_known() -> None:
    once = State().skip("peak_qps")
    assert once.skipped == ("peak_qps",)
    assert once.answered == frozenset()
    twice = once.skip("peak_qps")
    assert twice.unknown == ("peak_qps",)
    assert twice.skipped == ()


def test_back_takes_the_last_answer_but_none_from_a_file() -> None:
    state = State().state_facts({"task": "inference"}, "file").answer("org_type", "student").answer("peak_qps", 2.0)
    state, fact = state.back()
    assert fact == "peak_qps"
    state, fact = state.back()
    assert fact == "org_type"
    assert state.back() == (state, None)
    assert state.given == {"task": "inference"}
