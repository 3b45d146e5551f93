"""Columns of any kind become facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.fleet.columns import Coded, groups_of
from whichgpu.engine.fleet.mapping import Bad, Taken, read_map


def taken(columns: dict[str, list[Any]], **steps: Any) -> list[Any]:
    rows = len(next(iter(columns.values())))
    return Taken(**steps).of({name: Coded.of(items) for name, items in columns.items()}, rows).items()


@pytest.mark.parametrize(
    ("columns", "steps", "found"),
    [
        ({"a": ["x", "", None]}, {"column": "a"}, ["x", None, None]),
        ({"a": ["x", "y"]}, {"value": "inference"}, ["inference", "inference"]),
        ({"a": ["LS", "BE", "?"]}, {"column": "a", "words": {"LS": "inference", "BE": None}}, ["inference", None, "?"]),
        ({"a": ["gres/gpu:a100=4,n=1", "n=1"]}, {"column": "a", "match": r"gpu:\w+=(\d+)"}, ["4", None]),
        ({"a": ["my-sft-1", "x"]}, {"column": "a", "like": {"sft": "full_finetuning"}}, ["full_finetuning", None]),
        ({"a": ["3712", 3690.0]}, {"column": "a", "scale": 1 / 3600, "round": 2, "unit": "h"}, ["1 h", "1 h"]),
        ({"a": ["1", "0.0001"]}, {"column": "a", "between": (0.001, 5)}, [1, None]),
        ({"a": [500, 1000], "n": ["1", 8]}, {"column": "a", "times": "n", "scale": 0.001}, [0.5, 8]),
        ({"a": ["g=2", "cpu"]}, {"column": "a", "match": r"g=(\d+)", "otherwise": 0}, ["2", 0]),
        ({"a": [6, 6], "n": [3, 0]}, {"column": "a", "per": "n"}, [2, None]),
        ({"a": [20, 30], "b": ["5", ""]}, {"column": "a", "minus": "b"}, [15, None]),
        (
            {"a": ["2026-01-01T01:00:00"], "b": ["2026-01-01 00:00:00+00:00"]},
            {"column": "a", "minus": "b"},
            [3600],
        ),
    ],
)
def test_the_steps(columns: dict[str, list[Any]], steps: dict[str, Any], found: list[Any]) -> None:
    assert taken(columns, **steps) == found


def test_a_cell_that_is_no_number_is_shown_by_its_column() -> None:
    (cell,) = taken({"gpus": ["many"]}, column="gpus", scale=2)
    assert isinstance(cell, Bad)
    assert (cell.problem.code, cell.problem.fact) == ("not-a-number", "gpus")


def test_equal_numbers_of_other_kinds_stay_apart() -> None:
    column = Coded.of([1, True, 1.0, "1", [1], float("nan"), 1])
    assert column.codes.tolist() == [0, 1, 2, 3, 4, 5, 0]


def test_groups_are_rows_alike_in_all_columns() -> None:
    codes, first = groups_of([Coded.of("aabb"), Coded.of("xyxx")], 4)
    assert len(first) == 3
    assert codes[2] == codes[3]
    assert len(set(codes.tolist())) == 3
    assert np.array_equal(codes[first], np.arange(3))


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("facts: {tsk: a}\n", "1:9", "facts: 'tsk' is no fact of a workload"),
        ("facts: {task: a}\nthen: {gpus: b}\n", "2:8", "then: there is no 'gpus'"),
        ("fact: {task: a}\n", "1:1", "the key 'fact' is not known here"),
        ("facts: {task: {colum: a}}\n", "1:16", "the key 'colum' is not known here"),
        ("facts: {task: {value: a, column: b}}\n", "1:15", "facts.task: say either 'column' or 'value'"),
        ("facts: {task: {column: a, match: '('}}\n", "1:15", "facts.task: '(' is no regular expression"),
        ("facts: {task: {column: a, scale: b}}\n", "1:34", "facts.task.scale: should be a number"),
        ("facts: {task: {column: a, like: {b: [c]}}}\n", "1:37", "facts.task.like.b: should be a text or a whole num"),
        ("facts: {task: 3}\n", "1:15", "facts.task: should be a text or a mapping (key: value)"),
        ("facts: {task: a}\nkeep: b\n", "2:7", "keep: should be a list"),
        ("[]\n", "1:1", "this should be a mapping (key: value)"),
        ("id: a\n", None, "the map gives no fact of a job"),
    ],
)
def test_what_is_wrong_in_a_map_is_said_once_at_its_place(
    text: str, place: str | None, says: str, tmp_path: Path, advisor: Advisor
) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_map(file, advisor.vocabulary)
    (problem,) = caught.value.problems
    assert problem.message.startswith(says)
    assert place == (f"{problem.place.line}:{problem.place.column}" if problem.place else None)


def test_the_digest_follows_what_a_map_says(tmp_path: Path, advisor: Advisor) -> None:
    digests = []
    for number, text in enumerate(
        ("facts: {task: a}\n", "# Said otherwise.\nfacts: {task: {column: a}}\n", "facts: {task: b}\n")
    ):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text)
        digests.append(read_map(file, advisor.vocabulary).digest)
    assert digests[0] == digests[1] != digests[2]
