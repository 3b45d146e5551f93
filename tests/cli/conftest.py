from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest


_SAMPLES = Path(__file__).parent / "samples"


def _sample(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((_SAMPLES / f"{name}.json").read_text())
    return value


@pytest.fixture(scope="session")
def _answered() -> dict[str, Any]:
    return _sample("answered")


@pytest.fixture
def answered(_answered: dict[str, Any]) -> dict[str, Any]:
    """A decision with everything in it: 70B serving on four cards, two alternatives, a rejected candidate."""
    return copy.deepcopy(_answered)


@pytest.fixture
def unanswered() -> dict[str, Any]:
    """A decision that lacks a recommendation because the task is unknown."""
    return _sample("unanswered")
