"""Constants as they would be without a source: set for a while, and as shipped afterwards."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))

import left_out
from left_out import fitted, without

from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Constant


def test_a_constant_without_its_only_source_is_what_is_known_elsewhere():
    constant = sizing_constants().recent_prefill.share
    (source,), shipped = constant.rests_on, constant.value
    with without(source, [], []):
        assert constant.value == constant.prior != shipped
    assert constant.value == shipped


def test_a_source_of_no_constant_changes_none():
    before = {path: constant.value for path, constant in fitted().items()}
    with without("nobody/nothing", [], []):
        assert {path: constant.value for path, constant in fitted().items()} == before


def test_no_constant_of_pictures_or_speech_rests_on_rows():
    assert not [path for path in fitted() if path.startswith(("vision", "other"))]


def test_several_sources_choose_without_one_by_their_errors(monkeypatch):
    """The rows of the others choose among values about the shipped one."""
    several = Constant(value=0.1, source="made up", rests_on=("other/rows", "left/out"))
    rows = [{"source": {"repo": "other/rows"}, "suites": ["memory_error"]}]
    monkeypatch.setattr(left_out, "sizes", lambda lines: [{} for _ in lines])
    monkeypatch.setattr(left_out, "memory_score", lambda *_: SimpleNamespace(like_error=several.value - 0.13))
    assert left_out.choose_without("left/out", several, rows, [{}]) == pytest.approx(0.13)
    assert several.value == 0.1
