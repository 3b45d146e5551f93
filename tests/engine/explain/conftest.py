"""Decisions on the examples, for the tests of what is made of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import read_yaml


EXAMPLES = Path(__file__).parents[3] / "examples"
MOMENT = datetime(2026, 6, 1, tzinfo=UTC)


@cache
def _decided(name: str) -> dict[str, Any]:
    workload = shipped_advisor().read(read_yaml(EXAMPLES / f"{name}.yaml", error=InputError))
    return shipped_advisor().decide(workload, decided_at=MOMENT).to_dict()


@pytest.fixture(scope="session")
def advisor() -> Advisor:
    return shipped_advisor()


@pytest.fixture
def decided() -> Callable[[str], dict[str, Any]]:
    """The decision on an example, free to be changed."""
    return lambda name: copy.deepcopy(_decided(name))


@pytest.fixture
def decide() -> Callable[..., dict[str, Any]]:
    """The decision on facts."""
    return lambda **facts: shipped_advisor().decide(facts, decided_at=MOMENT).to_dict()
