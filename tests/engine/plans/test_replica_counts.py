"""The fewest replicas that meet the goals are found wherever some number of them does."""

from __future__ import annotations

import numpy as np
import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans import PlanMaker, replica_counts, replicas
from whichgpu.engine.plans.targets import Goals, missed
from whichgpu.engine.sizing.intake import job_from_facts


KNOWLEDGE = load_knowledge()
LOADS: list[tuple[str, Facts]] = [
    ("llama-3.1-8b", {"peak_qps": 3.0}),
    ("llama-3.1-8b", {"peak_qps": 40.0, "tpot_slo_ms": 50.0, "context_tokens": 4096}),
    ("llama-3.2-3b", {"peak_qps": 5.0, "ttft_slo_ms": 500.0, "context_tokens": 32_768}),
    ("qwen2.5-32b", {"peak_qps": 11.0, "latency_slo_ms": 9000.0}),
    ("mixtral-8x7b", {"concurrency": 16, "ttft_slo_ms": 500.0}),
    ("gemma-2-27b", {"concurrency": 128, "ttft_slo_ms": 1000.0}),
    ("llama-3.1-8b", {"min_tokens_per_s": 40_000.0, "tpot_slo_ms": 40.0}),
    ("llama-3.1-8b", {"peak_qps": 20.0, "ttft_bearable_ms": 3000.0, "tpot_bearable_ms": 60.0}),
    ("qwen2.5-32b", {"peak_qps": 4.0, "ttft_slo_ms": 2000.0, "latency_bearable_ms": 20_000.0}),
    ("gemma-2-27b", {"concurrency": 200, "serving_mode": "interactive", "ttft_bearable_ms": 2000.0}),
    ("llama-3.1-8b", {"peak_qps": 60.0, "serving_mode": "batch"}),
    ("bert-base-uncased", {"peak_qps": 50.0, "latency_slo_ms": 20.0}),
    ("flux.1-dev", {"peak_qps": 0.5, "latency_slo_ms": 20_000.0}),
    ("sdxl-base-1.0", {"peak_qps": 5.0, "latency_slo_ms": 2000.0}),
    ("resnet50", {"peak_qps": 5000.0, "latency_slo_ms": 10.0}),
]
#: So many replicas are tried one by one.
MOST = 64


def no_rounding(needed: np.ndarray, _width: np.ndarray, _machine: np.ndarray) -> np.ndarray:
    return needed


@pytest.mark.parametrize(("model", "load"), LOADS)
def test_no_number_that_is_enough_is_passed_over(model: str, load: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_counts, "rounded_up", no_rounding)
    facts: Facts = {"task": "inference", **load}
    sizes = PlanMaker(job_from_facts(facts, KNOWLEDGE.find_model(model).spec), facts, KNOWLEDGE)
    which = np.arange(len(sizes.columns.gpus.gpus))
    which = which[sizes.columns.smallest[which] > 0]
    rows = replicas._replicas(sizes, which, sizes.columns.smallest[which])
    limits = np.minimum(sizes.columns.fabrics.most[sizes.columns.links.fabric[rows.gpu]], MOST * rows.layouts.width)
    held = rows.least <= limits // rows.layouts.width
    rows, limits = rows.take(held), limits[held]
    wanted = [each for each in (sizes.goals, sizes.goals_with_room, sizes.tolerable) if each.stated]
    tries = replica_counts.first_tries(sizes, rows, limits, wanted)
    # The search for room goes on from what is enough, as does that for what people tolerate.
    for goals, tried in zip(wanted, tries, strict=True):
        found = replica_counts.needed_replicas(sizes, rows, limits, goals, tried)
        first = one_by_one(sizes, rows, limits // rows.layouts.width, goals)
        assert found.tolist() == first.tolist()
        assert replica_counts.needed_replicas(sizes, rows, limits, goals).tolist() == first.tolist()
        assert found.any()
        if goals is sizes.goals:
            rows = rows._replace(least=np.maximum(rows.least, found))


def test_what_a_copy_bears_tells_most_numbers_at_once() -> None:
    facts: Facts = {"task": "inference", "peak_qps": 40.0, "tpot_slo_ms": 50.0}
    sizes = PlanMaker(job_from_facts(facts, KNOWLEDGE.find_model("llama-3.1-8b").spec), facts, KNOWLEDGE)
    which = np.flatnonzero(sizes.columns.smallest)
    rows = replicas._replicas(sizes, which, sizes.columns.smallest[which])
    limits = sizes.columns.fabrics.most[sizes.columns.links.fabric[rows.gpu]]
    (tried,) = replica_counts.first_tries(sizes, rows, limits, [sizes.goals])
    assert tried is not None
    needed = replica_counts.needed_replicas(sizes, rows, limits, sizes.goals, tried)
    few = (needed > 0) & (needed < 16)  # Larger numbers are rounded.
    assert np.mean(tried[few] == needed[few]) > 0.9


def one_by_one(sizes: PlanMaker, rows: replica_counts.Replicas, most: np.ndarray, goals: Goals) -> np.ndarray:
    """The first number of each row that misses no goal, 0 where none up to the most does."""
    first = np.zeros(len(most), np.int64)
    for number in range(1, MOST + 1):
        row = np.flatnonzero((first == 0) & (rows.least <= number) & (number <= most))
        if len(row):
            speed = replica_counts.speed_of(sizes, rows.take(row), np.full(len(row), number))
            first[row[~missed(goals, speed)]] = number
    return first
