"""Numbers of replicas that halving may come to are computed ahead of it, and change nothing of what is found."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans import PlanMaker, replica_counts
from whichgpu.engine.plans.configurations import configurations
from whichgpu.engine.plans.picks import Picks
from whichgpu.engine.plans.sizing_cache import clear_sizing_cache
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout


KNOWLEDGE = load_knowledge()
LOADS: list[Facts] = [
    {"peak_qps": 3.0},
    {"peak_qps": 70.0, "ttft_slo_ms": 400.0},
    {"peak_qps": 11.0, "latency_slo_ms": 9000.0},
    {"concurrency": 600, "tpot_slo_ms": 25.0},
    {"min_tokens_per_s": 40_000.0},
]


def search(facts: Facts, model: str) -> list[tuple[int, Layout, str]]:
    clear_sizing_cache()
    maker = PlanMaker(job_from_facts(facts, KNOWLEDGE.find_model(model).spec), facts, KNOWLEDGE)
    found: Picks = configurations(maker, np.arange(len(maker.columns.gpus.gpus)), {})
    return list(zip(found.place.tolist(), found.layouts.each(), found.why.tolist(), strict=True))


@pytest.mark.parametrize(("load", "model"), [*product(LOADS, ["llama-3.1-8b", "qwen2.5-32b"])])
def test_what_is_computed_ahead_changes_nothing(load: Facts, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"task": "inference", **load}
    ahead = search(facts, model)
    monkeypatch.setattr(
        replica_counts,
        "_speed_and_ahead",
        lambda sizes, here, number, _few, _needed, **_how: replica_counts.speed_of(sizes, here, number),
    )
    assert ahead == search(facts, model)
    assert ahead


@given(st.integers(1, 500), st.integers(0, 500), st.lists(st.booleans(), min_size=3, max_size=3))
def test_whatever_halving_comes_to_was_computed(low: int, gap: int, upper: list[bool]) -> None:
    high = low + gap
    place, numbers = replica_counts._halvings(np.array([low]), np.array([high]))
    assert not place.any()
    assert all(low < number < high for number in numbers)
    for up in upper:
        if high - low < 2:
            break
        middle = (low + high) // 2
        assert middle in numbers
        low, high = (middle, high) if up else (low, middle)
