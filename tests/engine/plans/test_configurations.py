"""Which counts and splits are planned: against all that there are, nothing that could be the answer is missing.

Every plan of one node is made for a dozen workloads. Whatever is minimised, the best of those that were planned is as
good as the best of all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest

from whichgpu.engine.advisor.measures import is_job, measures_of
from whichgpu.engine.advisor.objectives import load_objectives
from whichgpu.engine.advisor.rank import Objective
from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans import Plan, PlanMaker
from whichgpu.engine.plans.configurations import configurations, configurations_of_count
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.topology import ladder
from whichgpu.engine.sizing import Ints
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.layout import Layout


KNOWLEDGE = load_knowledge()
OBJECTIVES, _ = load_objectives(locate("knowledge"))
H100 = "nvidia-h100-80gb-sxm"
GPUS = (
    H100,
    "nvidia-a100-40gb-sxm",
    "nvidia-l4",
    "nvidia-l40s",
    "nvidia-rtx-4090",
    "nvidia-rtx-3060-12gb",
    "nvidia-t4",
    "nvidia-b200",
    "amd-mi300x",
)

#: Replicas are doubled for speed: a number between two steps may be better by so much, since queues are shorter there.
CLOSE = 1.08

SERVING: list[tuple[Facts, str]] = [
    ({"task": "inference"}, "llama-3.1-8b"),
    ({"task": "inference", "weight_precision": "bf16"}, "llama-3.1-70b"),
    ({"task": "inference", "peak_qps": 20.0, "input_tokens": 1000, "output_tokens": 200}, "llama-3.1-70b"),
    ({"task": "inference", "tpot_slo_ms": 15.0, "weight_precision": "bf16"}, "llama-3.1-70b"),
    ({"task": "inference", "concurrency": 64, "latency_slo_ms": 8000.0}, "llama-3.1-8b"),
    ({"task": "inference", "concurrency": 32, "ttft_slo_ms": 500.0}, "qwen2.5-32b"),
    ({"task": "inference", "serving_mode": "batch", "weight_precision": "fp8"}, "llama-3.1-70b"),
    ({"task": "inference", "min_tokens_per_s": 5000.0, "concurrency": 256}, "llama-3.1-8b"),
    ({"task": "inference", "weight_precision": "fp8", "concurrency": 16}, "deepseek-v3"),
]
TRAINING: list[tuple[Facts, str]] = [
    ({"task": "full_finetuning", "seq_len_tokens": 2048}, "llama-3.1-8b"),
    ({"task": "full_finetuning", "global_batch_size": 64}, "llama-3.1-70b"),
    ({"task": "peft_finetuning", "peft_method": "lora", "train_tokens_b": 0.1}, "llama-3.1-70b"),
    ({"task": "peft_finetuning", "peft_method": "qlora"}, "llama-3.1-8b"),
    ({"task": "pretraining", "train_tokens_b": 20.0, "deadline_hours": 400.0}, "qwen2.5-0.5b"),
]


def maker_of(facts: Facts, model: str) -> PlanMaker:
    known = KNOWLEDGE.find_model(model).spec
    assert known is not None
    return PlanMaker(job_from_facts(facts, known), facts, KNOWLEDGE)


def merit(plan: Plan, facts: Facts, objective: Objective) -> float:
    measures = measures_of(
        [plan],
        job=is_job(facts),
        by_run=False,
        objective=objective,
        highest_usd_per_gpu_hour=KNOWLEDGE.highest_usd_per_gpu_hour,
    )
    found = measures.row(0)
    if found.cost is None or found.time is None:
        return math.inf
    return float(objective.merit(found.cost, found.time, plan.count))


def everything(maker: PlanMaker, gpu_id: str, most_nodes: int) -> list[Plan]:
    """All plans of no more nodes, in every split that fits.

    What works as one has a count that machines are rented in; replicas of it come in any number.
    """
    gpu = KNOWLEDGE.gpus[gpu_id]
    fabric = maker.fabric(gpu)
    most = min(maker.most_gpus(gpu), fabric.machine * most_nodes)
    steps = ladder(fabric.node_gpus, most)
    counts: Iterable[int] = steps if maker.job.training else range(1, most + 1)
    return [
        maker.plan(gpu, count, "x", layout=layout)
        for count in counts
        for layout in maker.fitting(gpu, count)
        if maker.job.training or layout.tensor * layout.pipeline in steps
    ]


def planned(maker: PlanMaker, gpu_id: str) -> list[Plan]:
    gpu = KNOWLEDGE.gpus[gpu_id]
    picks = configurations(maker, position(maker, gpu_id), {})
    each = zip(picks.layouts.each(), picks.why.tolist(), strict=True)
    return [maker.plan(gpu, layout.count, why, layout=layout) for layout, why in each]


def position(maker: PlanMaker, gpu_id: str) -> Ints:
    return np.array([maker.columns.gpus.position[gpu_id]])


def qualifying(plans: list[Plan]) -> list[Plan]:
    """Those that meet the stated targets, where any does."""
    return [plan for plan in plans if plan.facts.get("plan.meets_target") is True] or plans


@pytest.mark.parametrize(("facts", "model"), [*SERVING, *TRAINING])
def test_nothing_that_could_be_the_answer_is_left_out(facts: Facts, model: str) -> None:
    maker, constants = maker_of(facts, model), plan_constants()
    # What fills the cards, or takes another program, has to be worth it.
    whole = facts["task"] in {"full_finetuning", "pretraining"}
    asked = constants.worth_whole_weights.value * constants.worth_splitting.value if whole else 1.0
    for gpu_id in GPUS:
        mine = planned(maker, gpu_id)
        if not mine:
            assert everything(maker, gpu_id, 2) == []
            continue
        nodes = min(maker.fabric(plan.gpu).nodes(plan.count) for plan in qualifying(mine))
        every = everything(maker, gpu_id, nodes)
        assert any(plan.facts.get("plan.meets_target") for plan in mine) >= any(
            plan.facts.get("plan.meets_target") for plan in every
        ), gpu_id
        stated = [plan.facts.get("plan.meets_target") for plan in every if "plan.meets_target" in plan.facts]
        if stated and not any(stated):
            continue  # Every one of them is refused.
        for objective in OBJECTIVES.values():
            best = min((merit(plan, facts, objective) for plan in qualifying(every)), default=math.inf)
            slack = max(CLOSE, asked ** (objective.cost_exponent + objective.time_exponent))
            assert min(merit(plan, facts, objective) for plan in qualifying(mine)) <= best * slack, (
                gpu_id,
                objective.name,
            )


@pytest.mark.parametrize(("facts", "model"), [*SERVING, *TRAINING])
def test_each_layout_is_planned_once_and_fits(facts: Facts, model: str) -> None:
    maker = maker_of(facts, model)
    for gpu_id in GPUS:
        plans = planned(maker, gpu_id)
        assert len({plan.layout for plan in plans}) == len({plan.id for plan in plans}) == len(plans)
        assert [plan.count for plan in plans] == sorted(plan.count for plan in plans)
        assert all(plan.facts["plan.fits"] for plan in plans)


def test_replicas_are_as_many_as_the_target_needs() -> None:
    facts: Facts = {"task": "inference", "peak_qps": 20.0, "input_tokens": 1000, "output_tokens": 200}
    maker = maker_of(facts, "llama-3.1-70b")
    for gpu_id in GPUS:
        for plan in planned(maker, gpu_id):
            layout = plan.layout
            if plan.facts["plan.meets_target"] and layout.data > 1:
                step = 1 << max(0, (layout.data - 1).bit_length() - 3)
                fewer = Layout(layout.tensor, layout.pipeline, layout.data - step)
                less = maker.plan(plan.gpu, fewer.count, "x", layout=fewer)
                whole = maker.fabric(plan.gpu).node_gpus
                in_machines = plan.count % whole == 0 or plan.count in ladder(whole, whole)
                assert not less.facts["plan.meets_target"] or in_machines, plan.id


def test_replicas_of_a_named_card_stand_apart_where_nothing_else_meets_the_target() -> None:
    facts: Facts = {
        "gpu_candidates": ("nvidia-rtx-4090", "nvidia-b200"),
        "task": "inference",
        "peak_qps": 2.0,
        "context_tokens": 32768,
        "concurrency": 16,
    }
    maker = maker_of(facts, "llama-3.1-8b")
    chassis = maker.fabric(KNOWLEDGE.gpus["nvidia-rtx-4090"]).most
    apart = [plan for plan in planned(maker, "nvidia-rtx-4090") if plan.facts["plan.meets_target"]]
    assert apart
    assert all(plan.count > chassis for plan in apart)
    assert all(plan.layout.tensor * plan.layout.pipeline <= chassis for plan in apart)
    unnamed = maker_of({name: value for name, value in facts.items() if name != "gpu_candidates"}, "llama-3.1-8b")
    assert all(plan.count <= chassis for plan in planned(unnamed, "nvidia-rtx-4090"))


@pytest.mark.parametrize("qps", [39.0, 40.0, 41.0])
def test_many_replicas_come_in_steps_of_an_eighth(qps: float) -> None:
    facts: Facts = {"task": "inference", "peak_qps": qps, "input_tokens": 4000, "output_tokens": 400}
    maker = maker_of(facts, "llama-3.1-70b")
    plans = [plan for gpu_id in GPUS for plan in planned(maker, gpu_id) if plan.facts["plan.meets_target"]]
    numbers = {plan.layout.data for plan in plans}
    whole = {plan.layout.data for plan in plans if plan.count % maker.fabric(plan.gpu).node_gpus == 0}
    steps = {number for number in numbers if number % (1 << max(0, number.bit_length() - 4)) == 0}
    assert max(steps) > 16
    assert numbers - steps <= whole


@pytest.mark.parametrize("owned", [1, 3, 4, 6, 8])
@pytest.mark.parametrize(
    ("facts", "model"),
    [({"task": "inference"}, "llama-3.1-8b"), ({"task": "full_finetuning"}, "qwen2.5-0.5b")],
)
def test_what_is_owned_is_planned(facts: Facts, model: str, owned: int) -> None:
    stated: Facts = {**facts, "gpus_owned": (f"nvidia-a100-80gb-sxm:{owned}",)}
    counts = {plan.count for plan in planned(maker_of(stated, model), "nvidia-a100-80gb-sxm")}
    assert owned in counts
    assert {count for count in (1, 2, 4, 8) if count <= owned} <= counts


def test_counts_that_rules_ask_for_are_planned_where_they_fit() -> None:
    maker = maker_of({"task": "full_finetuning"}, "llama-3.1-8b")
    picks = configurations(maker, position(maker, H100), {1: "one", 16: "sixteen"})
    found = dict(zip(picks.layouts.gpus.tolist(), picks.why.tolist(), strict=True))
    assert found[16] == "asked by sixteen"
    assert 1 not in found


@pytest.mark.parametrize(
    ("stated", "tensor", "pipeline"),
    [
        ({"tensor_parallel": 4}, 4, None),
        ({"tensor_parallel": 2, "pipeline_parallel": 2}, 2, 2),
        ({"pipeline_parallel": 4}, None, 4),
    ],
)
def test_a_stated_split_binds(stated: dict[str, int], tensor: int | None, pipeline: int | None) -> None:
    facts: Facts = {"task": "inference", "weight_precision": "fp8", **stated}
    for plan in planned(maker_of(facts, "llama-3.1-70b"), "nvidia-h100-80gb-sxm"):
        assert tensor is None or plan.layout.tensor == tensor
        assert pipeline is None or plan.layout.pipeline == pipeline


def test_a_stated_count_is_split_in_every_way_that_is_worth_it() -> None:
    maker = maker_of({"task": "inference", "num_gpus": 8}, "llama-3.1-8b")
    found = configurations_of_count(maker, position(maker, H100), 8)
    layouts = found.layouts.each()
    assert {layout.count for layout in layouts} == {8}
    assert set(found.why.tolist()) == {"stated"}
    assert len(set(layouts)) == len(layouts) > 1
    assert Layout(tensor=8) in layouts
    training = maker_of({"task": "full_finetuning", "num_gpus": 8}, "llama-3.1-8b")
    assert len(configurations_of_count(training, position(training, H100), 8).place) == 1


@pytest.mark.parametrize(("gpu_id", "count"), [("nvidia-rtx-3090", 2), (H100, 8)])
def test_adapters_are_split_by_layers_only_where_neither_replicas_nor_shards_fit(gpu_id: str, count: int) -> None:
    facts: Facts = {"task": "peft_finetuning", "peft_method": "qlora"}

    def widths(model: str, **more: str | int) -> set[int]:
        maker = maker_of({**facts, **more}, model)
        layouts = maker.columns.fitting(position(maker, gpu_id), np.array([count])).layouts
        return set(layouts.width.tolist())

    assert widths("llama-3.1-8b") == widths("llama-3.1-8b", training_framework="axolotl") == {1}
    assert max(widths("llama-3.1-8b", training_framework="nemo")) > 1
    assert min(widths("llama-3.1-8b", tensor_parallel=2)) == 2
    assert 1 not in widths("phi-4", peft_method="lora", seq_len_tokens=2048 if count == 2 else 200_000)


def test_as_many_replicas_are_tried_as_answer_in_tolerable_time() -> None:
    facts: Facts = {"task": "inference", "model_family": "diffusion_image", "concurrency": 60}
    tolerable = {**facts, "latency_bearable_ms": 20000.0}
    sooner = 0
    for gpu_id in GPUS:
        usual = {plan.count for plan in planned(maker_of(facts, "sdxl"), gpu_id)}
        plans = planned(maker_of(tolerable, "sdxl"), gpu_id)
        kept = [plan.count for plan in plans if plan.facts["plan.lateness"] <= 1]
        sooner += bool(kept) and min(kept) not in usual
    assert sooner


@pytest.mark.parametrize(
    ("facts", "target", "values", "model"),
    [
        (
            {"task": "inference", "input_tokens": 1000, "output_tokens": 200},
            "peak_qps",
            (20.0, 40.0, 60.0),
            "qwen2.5-32b",
        ),
        ({"task": "inference", "concurrency": 64}, "latency_slo_ms", (6000.0, 8000.0), "llama-3.1-8b"),
        (
            {"task": "pretraining", "train_tokens_b": 20.0},
            "deadline_hours",
            (12.0, 24.0, 40.0, 60.0, 80.0, 150.0),
            "qwen2.5-0.5b",
        ),
    ],
)
def test_what_just_meets_a_target_stands_beside_what_meets_it_with_room(
    facts: Facts, target: str, values: tuple[float, ...], model: str
) -> None:
    beside = 0
    for value, gpu_id in itertools.product(values, GPUS):
        maker = maker_of({**facts, target: value}, model)
        plans = planned(maker, gpu_id)
        meeting = [plan for plan in plans if plan.facts.get("plan.meets_target") is True]
        just, roomy = (
            [plan.count for plan in meeting if plan.facts["plan.meets_with_room"] is room] for room in (False, True)
        )
        # Where as many as there can be only just meet it, none has room.
        assert roomy or not meeting or max(just) == maker.most_gpus(maker.knowledge.gpus[gpu_id])
        beside += bool(just and roomy) and min(just) < max(roomy)
    # Of some card both are planned.
    assert beside


def test_where_the_link_is_slow_states_of_the_optimizer_alone_are_divided() -> None:
    """Gathering weights for every short micro-batch over PCIe takes longer than computing; whole ones do not fit."""
    facts: Facts = {"task": "pretraining", "train_tokens_b": 100, "seq_len_tokens": 2048, "batch_size_per_gpu": 1}
    slow = {plan.count: plan.layout for plan in planned(maker_of(facts, "qwen2.5-1.5b"), "nvidia-rtx-4090")}
    assert (slow[4].sharding, slow[4].data) == ("zero1", 4)
    small = planned(maker_of({**facts, "gradient_checkpointing": "full"}, "qwen2.5-0.5b"), "nvidia-rtx-4090")
    assert {plan.layout.sharding for plan in small} == {"none"}
