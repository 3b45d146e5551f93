"""Whatever a rule file holds, it loads or is refused with places: never a traceback."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from whichgpu.engine.core.errors import Problem, RulebookError
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, load_rulebook, load_rules_text


BASE: list[dict[str, Any]] = [
    {
        "id": "rule",
        "title": "T",
        "stage": "prefer",
        "each": "plan",
        "when": ["training", {"any": ["plan.count > 8", "size_class == small"]}],
        "then": {"points": 2, "reason": "fit", "text": "{plan.count}"},
        "because": "B.",
        "sources": ["fpt"],
        "overrides": ["table"],
        "tests": [
            {"given": {"training": True}, "plan": {"gpu": "nvidia-t4", "count": 9}, "fires": True},
            {"near_miss": {"plan.count": 8}},
        ],
    },
    {
        "table": "table",
        "title": "T",
        "stage": "prefer",
        "each": "plan",
        "hit": "first",
        "columns": ["param_count_b", "wishes"],
        "then": {"reason": "fit"},
        "because": "B.",
        "rows": [{"id": "low", "if": ["< 7", "quiet"], "then": {"points": 2}}],
    },
    {
        "id": "sets",
        "title": "T",
        "stage": "derive",
        "when": ["training"],
        "then": {"set": {"size_class": "small"}, "ask": "run_hours", "consider_counts": [4]},
        "because": "B.",
    },
]
SCRAPS: list[Any] = [None, "", "-", "unknown", 0, -1, 1e400, True, [], {}, [[]], {"any": "x"}, "x > ", "{", "7..", "a b", "plan.count", "{run_hours}", "training", ["training"], {"training": {}}, "\u2028", "é" * 50, "1" * 400]  # fmt: skip  # noqa: E501


def spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts."""
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        found += spots(part, (*path, key))
    return found


def mutate(content: list[dict[str, Any]], dice: random.Random) -> Any:
    """The content with a part replaced by, or renamed to, something else."""
    path = dice.choice(spots(content))
    holder: Any = content
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder, dict) and dice.random() < 0.3:
        holder[str(dice.choice(SCRAPS))[:40]] = holder.pop(path[-1])
    else:
        holder[path[-1]] = copy.deepcopy(dice.choice([*SCRAPS, *BASE]))
    return content


def problems_of(text: str, vocabulary: Vocabulary, known: KnownNames | None = None) -> tuple[Problem, ...]:
    """What is wrong with a text; nothing if it loads."""
    try:
        load_rules_text(text, vocabulary, known)
    except RulebookError as error:
        return error.problems
    return ()


@given(st.integers(0, 10**9), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_a_mutated_file_loads_or_is_refused(vocabulary: Vocabulary, known: KnownNames, seed: int, changes: int) -> None:
    dice = random.Random(seed)
    content: Any = copy.deepcopy(BASE)
    for _ in range(changes):
        content = mutate(content, dice)
    problems = problems_of(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), vocabulary, known)
    assert all(problem.place for problem in problems)
    assert "\n" not in "".join(problem.message for problem in problems)


@pytest.mark.parametrize("text", ["", "- &a {id: x}\n- *a", "{", "\x00", "- !!python/object:x {}", "- - -", "- 3"])
def test_odd_texts_are_refused(vocabulary: Vocabulary, text: str) -> None:
    assert problems_of(text, vocabulary)


def test_an_empty_list_is_an_empty_rulebook(vocabulary: Vocabulary) -> None:
    assert problems_of("[]", vocabulary) == ()


def test_an_empty_folder_is_an_empty_rulebook(tmp_path: Path, vocabulary: Vocabulary) -> None:
    book = load_rulebook([tmp_path], vocabulary)
    assert (book.rules, book.tables, book.layers[0].rules) == ((), (), 0)
