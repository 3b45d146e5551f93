"""Plans on MIG slices: what a slice is, when slices are planned, and that each holds what it is given."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.catalogue.model import Gpu
from whichgpu.engine.plans.candidates import candidate_plans
from whichgpu.engine.plans.model import Plan
from whichgpu.engine.plans.slices import as_gpu, slices_of


def gpu(name: str) -> Gpu:
    return shipped_advisor().knowledge.gpus[name]


def plans_of(**facts: object) -> list[Plan]:
    expert = shipped_advisor()
    workload = expert.read(facts)
    intake, model = expert.context.resolve(workload.given)
    maker = expert.context.plan_maker(model, intake)
    return candidate_plans(maker.job, intake.facts, expert.knowledge, maker=maker)


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("nvidia-a100-80gb-sxm", {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2}),
        ("nvidia-a100-40gb-sxm", {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2}),
        ("nvidia-a30", {"1g.6gb": 4, "2g.12gb": 2}),
        ("nvidia-t4", {}),
    ],
)
def test_the_profiles_of_a_card_and_how_many_it_holds(card: str, expected: dict[str, int]) -> None:
    """The numbers are those of NVIDIA's MIG user guide."""
    assert {part.profile: part.per_card for part in slices_of(gpu(card))} == expected


def test_a_slice_has_its_share_of_the_card_and_no_link() -> None:
    card = gpu("nvidia-a100-80gb-sxm")
    part = as_gpu(card, next(part for part in slices_of(card) if part.profile == "2g.20gb"))
    assert part.usable_gb == pytest.approx(card.usable_gb / 4)
    assert part.mem_bw_tbs == pytest.approx(card.mem_bw_tbs / 4)
    assert part.tflops["bf16"] == pytest.approx(card.tflops["bf16"] * 2 / 7)
    assert (part.link, part.parent) == ("none", card.id)


def test_whole_cards_only_where_nobody_asks_for_slices() -> None:
    assert not [plan for plan in plans_of(task="inference", model_name="llama-3.2-3b") if plan.partition]


def test_each_model_gets_a_slice_that_holds_it() -> None:
    sliced = [
        plan
        for plan in plans_of(
            task="inference", model_name="llama-3.2-3b", guaranteed_isolation=True, num_models_served=5
        )
        if plan.partition
    ]
    assert {plan.gpu.family for plan in sliced} >= {"nvidia-a30", "nvidia-a100-80gb", "nvidia-h100-80gb"}
    for plan in sliced:
        assert plan.partition is not None
        assert plan.memory is not None
        assert plan.partition.slices == 5
        assert plan.count == -(-5 // plan.partition.per_card)
        assert plan.memory.per_gpu_gb <= (plan.usable_gb or 0)
        assert plan.facts["plan.mig_profile"] == plan.partition.profile
        assert plan.facts["plan.needed_gb"] == pytest.approx(plan.memory.per_gpu_gb * 5)


def test_more_traffic_takes_more_slices() -> None:
    def slices(qps: float) -> int:
        plans = plans_of(task="inference", model_name="llama-3.2-3b", guaranteed_isolation=True, peak_qps=qps)
        return next(p.partition.slices for p in plans if p.partition and p.gpu.id == "nvidia-a100-80gb-sxm")

    assert slices(0.1) == 1
    assert slices(40) > slices(10) > 1


def test_rates_add_up_over_slices_and_times_do_not() -> None:
    plans = plans_of(task="inference", model_name="llama-3.2-3b", guaranteed_isolation=True, num_models_served=4)
    plan = next(plan for plan in plans if plan.partition and plan.gpu.id == "nvidia-a100-80gb-sxm")
    assert plan.speed is not None
    figures = plan.speed.figures
    assert figures["tokens_per_s"].value == pytest.approx(plan.speed.values["tokens_per_s"])
    assert "over 4 slices" in figures["tokens_per_s"].formula
    assert "slices" not in figures["tpot_ms"].formula


def test_training_gets_no_slices() -> None:
    plans = plans_of(task="peft_finetuning", peft_method="qlora", param_count_b=3, guaranteed_isolation=True)
    assert not [plan for plan in plans if plan.partition]


@pytest.mark.parametrize(("stated", "models"), [(1, 4), (1, 2), (3, 2)])
def test_slices_lie_on_as_many_cards_as_are_stated(stated: int, models: int) -> None:
    facts = {"task": "inference", "model_name": "cogvideox-5b", "gpu_candidates": ["nvidia-h100-80gb-sxm"]}
    plans = plans_of(**facts, num_gpus=stated, num_models_served=models)
    sliced = [plan for plan in plans if plan.partition]
    assert {plan.count for plan in plans} == {stated}
    assert bool(sliced) == (models <= 2 * stated)  # Two slices of 3g.40gb a card hold a model each.
