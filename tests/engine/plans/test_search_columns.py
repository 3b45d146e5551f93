"""The search over columns: what is found of a GPU does not hang on the others, and batches that fit do fit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans import PlanMaker
from whichgpu.engine.plans.configurations import configurations, configurations_of_count
from whichgpu.engine.plans.layouts import columns_of
from whichgpu.engine.plans.picks import Picks, grouped, not_beaten, picks_of, put_together
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout


KNOWLEDGE = load_knowledge()
WORKLOADS: list[tuple[Facts, str]] = [
    ({"task": "inference", "peak_qps": 20.0, "concurrency": 64}, "llama-3.1-70b"),
    ({"task": "inference", "latency_slo_ms": 4000.0, "concurrency": 300}, "llama-3.1-8b"),
    ({"task": "inference", "tensor_parallel": 2, "min_tokens_per_s": 3000.0}, "llama-3.1-8b"),
    ({"task": "inference", "serving_mode": "batch"}, "sdxl"),
    ({"task": "full_finetuning", "train_tokens_b": 1.0, "deadline_hours": 20.0}, "llama-3.1-8b"),
    ({"task": "peft_finetuning", "gpus_owned": ("nvidia-l4:6",)}, "qwen2.5-7b"),
]


def maker_of(facts: Facts, model: str) -> PlanMaker:
    return PlanMaker(job_from_facts(facts, KNOWLEDGE.find_model(model).spec), facts, KNOWLEDGE)


def each(picks: Picks) -> list[tuple[int, Layout, str]]:
    return list(zip(picks.place.tolist(), picks.layouts.each(), picks.why.tolist(), strict=True))


@pytest.mark.parametrize(("facts", "model"), WORKLOADS)
def test_what_is_found_of_a_gpu_does_not_hang_on_the_others(facts: Facts, model: str) -> None:
    maker = maker_of(facts, model)
    which, asked = np.arange(0, len(maker.columns.gpus.gpus), 5), {8: "a rule"}
    together = each(configurations(maker, which, asked))
    of_eight = each(configurations_of_count(maker, which, 8))
    assert together
    for place in range(len(which)):
        one = which[place : place + 1]
        alone = [(place, *found) for _, *found in each(configurations(maker, one, asked))]
        assert [found for found in together if found[0] == place] == alone
        alone = [(place, *found) for _, *found in each(configurations_of_count(maker, one, 8))]
        assert [found for found in of_eight if found[0] == place] == alone


@pytest.mark.parametrize(("facts", "model"), WORKLOADS)
def test_the_largest_batch_is_the_last_that_fits_along_the_line(facts: Facts, model: str) -> None:
    needs = maker_of(facts, model).columns.needs
    splits = [Layout(tensor, pipeline) for tensor, pipeline in product((1, 2, 4), (1, 2))]
    layouts = columns_of(splits * 4)
    limits = np.repeat([4.0, 23.0, 80.0, 270.0], len(splits))
    most = needs.most_batch(layouts, limits)
    none = most == 0
    assert (needs.raised_gb(layouts, 1)[none] > limits[none]).all()
    # Between the points of the line memory is convex: what is read off it is never too much.
    held = np.where(none, 1, np.minimum(most, 16)).astype(np.int64)
    assert (needs.raised_gb(layouts, held)[~none] <= limits[~none] * (1 + 1e-12)).all()
    assert np.isnan(needs.most_batch(layouts, np.full(len(limits), np.nan))).all()


def test_a_layout_is_found_once_with_its_first_reason() -> None:
    place, layouts = np.array([1, 0, 1]), columns_of([Layout(2), Layout(1, 1, 2), Layout(1)])
    again = picks_of(np.array([1, 0]), columns_of([Layout(2), Layout(4)]), "second")
    found = each(put_together([picks_of(place, layouts, "first"), again]))
    assert found == [
        (0, Layout(1, 1, 2), "first"),
        (0, Layout(4), "second"),
        (1, Layout(1), "first"),
        (1, Layout(2), "first"),
    ]
    bound = put_together([picks_of(place, layouts, "first"), again], (2, None, None))
    assert each(bound) == [(0, Layout(1, 1, 2), "first"), (0, Layout(4), "second"), (1, Layout(2), "first")]


def test_what_is_struck_out_strikes_out_nothing() -> None:
    assert grouped(np.array([3, 3, 5])).tolist() == [[0, 1], [2, -1]]
    beats = np.zeros((1, 3, 3), np.bool_)
    beats[0, 0, 1] = beats[0, 1, 2] = True
    spared = np.zeros((1, 3), np.bool_)
    assert not_beaten(beats, spared).tolist() == [[True, False, True]]
    spared[0, 1] = True
    assert not_beaten(beats, spared).tolist() == [[True, True, False]]


@pytest.mark.parametrize(
    ("facts", "gpu", "count"),
    [
        ({"peak_qps": 60.0}, "nvidia-l4", 8),
        ({"peak_qps": 10.0}, "nvidia-l4", 8),
        ({"concurrency": 700, "context_tokens": 8000}, "nvidia-rtx-4090", 8),
    ],
)
def test_a_count_is_split_so_that_most_of_the_load_is_served(facts: Facts, gpu: str, count: int) -> None:
    """Where no split serves all of it; a rate that one of them holds is not shown as too much."""
    stated: Facts = {"task": "inference", "input_tokens": 1000, "output_tokens": 300, **facts}
    maker, card = maker_of(stated, "llama-3.1-8b"), KNOWLEDGE.gpus[gpu]
    columns, place = maker.columns_with(card)
    every = columns.choices(np.array([place]), np.array([count])).layouts.each()
    plans = [maker.plan(card, count, "tried", layout=layout) for layout in every]
    shown = maker.plan(card, count, "stated")
    rates = [plan.speed.values["requests_per_s"] for plan in plans if plan.facts.get("plan.max_concurrency", 1) >= 1]
    assert shown.speed.values["requests_per_s"] == pytest.approx(max(rates))
    if any(plan.facts["plan.fits"] and not plan.speed.values["overloaded"] for plan in plans):
        assert not shown.speed.values["overloaded"]
