from __future__ import annotations

import copy
import io
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.cli import rulecover
from whichgpu.cli.main import run
from whichgpu.engine.advisor.advisor import shipped_advisor


#: A layer's rule file with one rule.
HOUSE_RULE = """\
- id: house-rule
  title: This house does not use small cards
  stage: reject
  each: plan
  when:
    - gpu.vram_gb < 40
  then:
    reject: "{gpu.name} is too small for this house"
  because: The house decided so.
  sources: [whichgpu-judgement]
  status: stable
  tests:
    - given: {task: inference, param_count_b: 8}
      plan: {gpu: nvidia-l4, count: 1}
      fires: true
    - near_miss: {gpu: nvidia-h100-80gb-sxm}
"""
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


class Ran:
    """What one command line gave."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


@pytest.fixture(scope="session")
def loaded_once() -> Callable[..., Advisor]:
    """``load_advisor``, loading the shipped rulebook once for all tests; it is immutable."""

    with_tests = cache(load_advisor)  # Of rules, which no decision looks at.

    def load(folders: Sequence[Path] = (), *, tests: bool = True, **options: Any) -> Advisor:
        if folders or options:
            return load_advisor(folders, tests=tests, **options)
        return with_tests() if tests else shipped_advisor()

    return load


@pytest.fixture
def whichgpu(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loaded_once: Callable[..., Advisor]
) -> Callable[..., Ran]:
    """Runs a command line in this process, by the same door as the console script."""
    monkeypatch.setattr("whichgpu.cli.advisor.load_advisor", loaded_once)

    def call(*arguments: str, stdin: str | bytes = "") -> Ran:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        code = run(list(arguments))
        captured = capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def fewer_typical_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """``rules cover`` decides more than a hundred workloads; a few of them will do here."""
    typical = rulecover.typical_workloads
    monkeypatch.setattr(rulecover, "typical_workloads", lambda advisor: list(typical(advisor))[::9])


@pytest.fixture(autouse=True)
def _decided_once(decided_once: None) -> None:
    """What commands say of a workload is tested here, and some workloads are decided by dozens of tests."""


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the prices, keys or register of the person who runs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "data"
