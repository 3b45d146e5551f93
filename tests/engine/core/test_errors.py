"""Errors that inputs cause: they carry all problems, between processes too."""

from __future__ import annotations

import pickle

import pytest

from whichgpu.engine.core import InputError, Problem, WhichgpuError
from whichgpu.engine.core.errors import KnowledgeError, RulebookError


@pytest.mark.parametrize("kind", [InputError, RulebookError, KnowledgeError])
def test_problems_reach_another_process(kind: type[WhichgpuError]) -> None:
    error = kind([Problem("unknown-word", "no such word", nearest=("word",)), Problem("too-large", "it is too large")])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made just now
    assert type(again) is kind
    assert again.problems == error.problems
    assert str(again) == str(error)
