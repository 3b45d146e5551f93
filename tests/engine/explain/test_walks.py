"""Of the values of a number that the rules take alike the farthest is tried, and the first that differs is found."""

from __future__ import annotations

from itertools import pairwise

from whichgpu import Advisor
from whichgpu.engine.core import Value
from whichgpu.engine.explain.rerun import FactChange
from whichgpu.engine.explain.walks import Walks, side_of


def to(*values: int | None, before: int | None = 10) -> list[FactChange]:
    return [FactChange("concurrency", before, value) for value in values]


def test_without_a_condition_in_between_the_farthest_value_nearby_stands_for_the_others() -> None:
    changes = to(1001, 1002, 1040, 4000, 998, 990, None, before=1000)
    walks = Walks(changes, (), {}, {})
    assert [change.after for change in changes if not walks.told_by_another(change)] == [1040, 4000, 990, None]


def test_no_value_stands_for_one_far_from_it() -> None:
    changes = to(*range(101, 201), before=100)
    walks = Walks(changes, (), {}, {})
    tried = [int(str(change.after)) for change in changes if not walks.told_by_another(change)]
    assert all(after / before < 1.12 for before, after in pairwise(tried))
    assert tried[-1] == 200
    assert len(tried) < 12


def test_values_that_a_condition_tells_apart_are_all_tried(advisor: Advisor) -> None:
    changes = [FactChange("param_count_b", 1.0, value) for value in (7.9, 8.1, 8.2)]
    apart = Walks(changes, advisor.rulebook.rules, {}, {})
    alone = Walks(changes, (), {}, {})
    assert not apart.told_by_another(changes[0])
    assert alone.told_by_another(changes[0])


def test_a_rule_that_what_was_stated_keeps_back_tells_no_values_apart(advisor: Advisor) -> None:
    changes = [FactChange("param_count_b", 1.0, float(value)) for value in range(2, 200)]

    def tried(given: dict[str, Value]) -> int:
        walks = Walks(changes, advisor.rulebook.rules, given, given)
        return sum(not walks.told_by_another(change) for change in changes)

    assert tried({"task": "inference"}) < tried({})


def test_the_first_value_that_differs_is_found_by_halving() -> None:
    changes = to(*range(11, 111))
    walks = Walks(changes, (), {}, {})
    looked: list[object] = []

    def differs(change: FactChange) -> bool:
        looked.append(change.after)
        return isinstance(change.after, int) and change.after >= 57

    assert walks.first(changes[-1], lambda _: False, differs).after == 57
    assert len(looked) <= 7


def test_a_number_rises_or_falls_and_anything_else_does_neither() -> None:
    assert [side_of(change) for change in to(11, 9, None)] == [True, False, None]
