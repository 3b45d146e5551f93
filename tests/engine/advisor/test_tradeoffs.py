"""Trade-offs: each is decided anew, clear, bounded, and true when its change is stated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from whichgpu.engine.advisor import tradeoffs
from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.advisor.margins import MARGINS
from whichgpu.engine.advisor.options import Option, options_of
from whichgpu.engine.advisor.tradeoffs import TradeOff, trade_offs


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
SERVICE = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "objective": "cheapest",
    "deployment_site": "cloud",
    "lifecycle_stage": "production",
    "concurrency": 16,
}
RUN = {
    "task": "full_finetuning",
    "model_name": "llama-3.1-8b",
    "train_tokens_b": 1,
    "deadline_hours": 20,
    "objective": "cheapest",
    "regions_allowed": ["eu"],
}
NAMED = {
    "task": "inference",
    "model_name": "llama-3.1-8b",
    "objective": "cheapest",
    "gpu_candidates": ["nvidia-h100-sxm"],
    "always_on": True,
}
OWNED = {
    "task": "peft_finetuning",
    "model_name": "mistral-7b",
    "objective": "cheapest",
    "gpus_owned": ["nvidia-rtx-4090:1"],
}
WORKLOADS = [SERVICE, RUN, NAMED, OWNED]


def decided(advisor: Advisor, facts: dict[str, Any]) -> Decision:
    return advisor.decide(facts, decided_at=MOMENT)


def options(advisor: Advisor, facts: dict[str, Any]) -> list[Option]:
    decision = decided(advisor, facts)
    return options_of(
        decision.outcome,
        decision.workload.given,
        advisor.objectives,
        advisor.trade_off_settings,
        advisor.context,
    )


def of_kind(found: tuple[TradeOff, ...], kind: str) -> list[TradeOff]:
    return [entry for entry in found if entry.kind == kind]


@pytest.mark.parametrize("facts", WORKLOADS)
def test_each_is_clearly_cheaper_or_faster_and_there_are_few(advisor: Advisor, facts: dict[str, Any]) -> None:
    found = decided(advisor, facts).trade_offs()
    least = 1 + advisor.trade_off_settings.least_gain
    assert found
    assert len(found) <= advisor.trade_off_settings.most_listed
    better = [entry for entry in found if entry.kind not in MARGINS]
    assert all(entry.clear_by >= least for entry in better)
    gains = [entry.gain(decided(advisor, facts).outcome.objective) for entry in better]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize("facts", WORKLOADS)
def test_each_is_true_when_its_change_is_stated(advisor: Advisor, facts: dict[str, Any]) -> None:
    for entry in decided(advisor, facts).trade_offs():
        if entry.fact is None or entry.kind == "spot":
            continue
        given = {**decided(advisor, facts).workload.given}
        given.pop(entry.fact, None)
        if entry.value is not None:
            given[entry.fact] = entry.value
        again = decided(advisor, given).outcome.chosen
        assert again is not None
        assert again.ranked.plan.id == entry.plan.id
        assert again.ranked.plan.cost.usd_per_hour == entry.usd_per_hour


def test_the_same_twice(advisor: Advisor) -> None:
    assert decided(advisor, SERVICE).trade_offs() == decided(advisor, SERVICE).trade_offs()


def test_what_keeps_a_cheaper_card_back_is_named(advisor: Advisor) -> None:
    cards = of_kind(decided(advisor, SERVICE).trade_offs(), "card")
    assert [(entry.fact, entry.value) for entry in cards] == [("lifecycle_stage", None)]
    assert cards[0].plan.gpu.segment == "consumer"


def test_places_are_tried_without(advisor: Advisor) -> None:
    places = of_kind(decided(advisor, RUN).trade_offs(), "place")
    assert [(entry.fact, entry.value) for entry in places] == [("regions_allowed", None)]


def test_named_cards_are_tried_without(advisor: Advisor) -> None:
    assert Option("card", "gpu_candidates", (None,)) in options(advisor, NAMED)


def test_a_stated_split_is_tried_without(advisor: Advisor) -> None:
    split = {"task": "inference", "model_name": "llama-3.1-70b", "concurrency": 10, "tensor_parallel": 8}
    (entry,) = [found for found in decided(advisor, split).trade_offs() if found.fact == "tensor_parallel"]
    assert entry.value is None
    assert entry.plan.count < 8


def test_limits_are_loosened_step_by_step(advisor: Advisor) -> None:
    found = {option.fact: option for option in options(advisor, RUN)}
    assert found["deadline_hours"] == Option("target", "deadline_hours", (25.0, 30.0, 40.0), nested=True)
    load = {option.fact: option for option in options(advisor, SERVICE)}["concurrency"]
    assert load == Option("load", "concurrency", (13, 11, 8), nested=True)


def test_lower_precisions_are_those_below_the_present_one(advisor: Advisor) -> None:
    def lower(facts: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {option.fact: option.values for option in options(advisor, facts) if option.kind == "precision"}

    assert lower(SERVICE) == {"weight_precision": ("fp8", "int8", "int4")}
    assert lower({**SERVICE, "weight_precision": "int8"}) == {"weight_precision": ("int4",)}
    assert lower({**SERVICE, "weight_precision": "int4"}) == {}
    assert lower(OWNED) == {"compute_precision": ("fp8",), "peft_method": ("qlora",)}


@pytest.mark.parametrize(("stated", "offered"), [(True, False), (False, True), (None, True)])
def test_what_may_be_interrupted_already_is_not_offered(advisor: Advisor, stated: bool | None, offered: bool) -> None:
    facts = {**RUN} if stated is None else {**RUN, "interruptible": stated}
    assert any(option.kind == "spot" for option in options(advisor, facts)) == offered


def test_what_is_offered_for_interruptions_costs_less_than_without(advisor: Advisor) -> None:
    calls = {"task": "inference", "model_name": "whisper-large-v3-turbo", "serving_mode": "batch"}
    calls |= {"audio_hours_total": 1000, "deadline_hours": 24, "org_type": "startup", "budget_usd_per_month": 500}
    found = [
        entry
        for facts in (calls, {**RUN, "objective": "balanced"}, {"task": "inference", "model_name": "llama-3.1-8b"})
        for entry in of_kind(decided(advisor, facts).trade_offs(), "spot")
    ]
    assert found
    for entry in found:
        assert entry.usd_per_hour == entry.plan.cost.spot_usd_per_hour
        assert entry.usd_per_hour < entry.plan.cost.usd_per_hour


def test_a_run_on_hundreds_of_machines_is_not_offered_capacity_that_goes_away(advisor: Advisor) -> None:
    run = {"task": "pretraining", "model_name": "llama-3.1-70b", "gpu_candidates": ["nvidia-h100-80gb-sxm"]}
    assert of_kind(decided(advisor, {**run, "train_tokens_b": 10, "num_gpus": 64}).trade_offs(), "spot")
    assert not of_kind(decided(advisor, {**run, "train_tokens_b": 100, "num_gpus": 72}).trade_offs(), "spot")


def test_a_service_in_production_is_not_offered_capacity_that_goes_away(advisor: Advisor) -> None:
    assert not any(option.kind == "spot" for option in options(advisor, SERVICE))


def test_beside_owned_hardware_stands_what_more_would_buy(advisor: Advisor) -> None:
    decision = decided(advisor, OWNED)
    assert decision.outcome.chosen is not None
    assert decision.outcome.chosen.ranked.plan.cost.origin == "owned"
    more = of_kind(decision.trade_offs(), "owned")
    assert len(more) == 1
    assert more[0].plan.cost.origin != "owned"
    assert more[0].speed_ratio is not None
    assert more[0].speed_ratio >= 1.1


def test_beside_another_answer_stands_what_is_owned(advisor: Advisor) -> None:
    found = decided(advisor, {**OWNED, "objective": "fastest"}).trade_offs()
    assert [entry.plan.cost.origin for entry in of_kind(found, "owned")] == ["owned"]


IDLE = {
    "task": "peft_finetuning",
    "peft_method": "qlora",
    "model_name": "llama-3.3-70b",
    "gpus_owned": ["nvidia-rtx-4090:2"],
    "seq_len_tokens": 2048,
}


def test_offload_is_offered_where_it_puts_idle_cards_to_use(advisor: Advisor) -> None:
    first = decided(advisor, IDLE).trade_offs()[0]
    assert (first.kind, first.fact, first.value) == ("offload", "cpu_offload", True)
    assert first.plan.cost.origin == "owned"
    assert first.speed_ratio is not None
    assert first.speed_ratio < 1


def test_who_offloads_is_shown_what_doing_without_brings(advisor: Advisor) -> None:
    found = of_kind(decided(advisor, {**IDLE, "cpu_offload": True}).trade_offs(), "offload")
    assert [entry.value for entry in found] == [None]
    assert found[0].plan.cost.origin != "owned"


def test_nobody_else_is_offered_offload(advisor: Advisor) -> None:
    rented = {name: value for name, value in IDLE.items() if name != "gpus_owned"}
    for facts in (rented, {**IDLE, "cpu_offload": False}, SERVICE, OWNED):
        assert not any(option.kind == "offload" for option in options(advisor, facts))


def test_offload_that_nobody_would_wait_for_is_no_option(advisor: Advisor) -> None:
    service = {"task": "inference", "model_name": "deepseek-r1", "gpus_owned": ["nvidia-a100-80gb-sxm:8"]}
    decision = decided(advisor, {**service, "concurrency": 8})
    assert any(option.kind == "offload" for option in options(advisor, {**service, "concurrency": 8}))
    assert of_kind(decision.trade_offs(), "offload") == []


def test_no_more_decisions_than_allowed(advisor: Advisor, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    plain = tradeoffs.round_on

    def counted(*args: Any, **options: Any) -> Any:
        made.append(args)
        return plain(*args, **options)

    monkeypatch.setattr(tradeoffs, "round_on", counted)
    decision = decided(advisor, SERVICE)
    settings = replace(advisor.trade_off_settings, most_decisions=3)
    trade_offs(advisor.context, decision.workload.given, decision.outcome, advisor.objectives, settings)
    assert len(made) == 3


def test_where_no_plan_of_a_run_is_rejected_there_are_options_all_the_same(advisor: Advisor) -> None:
    run = {"task": "peft_finetuning", "model_name": "llama-3.1-70b", "train_tokens_b": 0.002, "batch_size_per_gpu": 4}
    facts = {**run, "deployment_site": "datacenter", "gpu_candidates": ["amd-mi300x"], "rocm_ok": True}
    assert {option.kind for option in options(advisor, facts)} >= {"precision", "objective"}


def test_where_nothing_qualifies_each_change_alone_lets_a_plan(advisor: Advisor) -> None:
    desk = {"task": "inference", "model_name": "llama-3.1-8b", "deployment_site": "workstation"}
    small = {**desk, "budget_usd_total": 600, "cuda_required": True}
    decision = decided(advisor, small)
    assert decision.outcome.chosen is None
    found = decision.trade_offs()
    assert {"precision", "budget"} <= {entry.kind for entry in found}
    for entry in found:
        assert (entry.cost_ratio, entry.speed_ratio) == (None, None)
        now = decided(advisor, tradeoffs.changed(small, str(entry.fact), entry.value)).outcome.chosen
        assert now is not None
        assert now.ranked.plan.id == entry.plan.id
        assert now.facts["plan.gpus_usd"] <= (entry.value if entry.kind == "budget" else 600)


def test_nothing_where_no_step_is_enough(advisor: Advisor) -> None:
    decision = decided(advisor, {**SERVICE, "budget_usd_per_hour": 0.01})
    assert decision.outcome.chosen is None
    assert decision.trade_offs() == ()


def test_settings_name_facts_and_values_of_the_vocabulary(advisor: Advisor) -> None:
    settings, facts = advisor.trade_off_settings, advisor.vocabulary.facts
    for ladder in (settings.serving_precisions, settings.training_precisions):
        for fact, lower in ladder.items():
            assert {*lower, *(value for values in lower.values() for value in values)} <= set(facts[fact].choices)
    limits = [*settings.targets, *settings.budgets, *settings.loads]
    assert {*limits, *settings.places, *settings.narrowing, *settings.cards, *settings.offloads} <= facts.keys()
    techniques = settings.training_techniques | settings.sparse_serving_techniques
    assert techniques
    assert techniques.keys() <= facts.keys()


def test_less_work_for_the_same_plan_is_no_option(advisor: Advisor) -> None:
    facts: dict[str, Any] = {
        "task": "inference",
        "model_name": "llama-3.1-405b",
        "weight_precision": "fp8",
        "concurrency": 16,
        "gpus_owned": ["nvidia-h100-80gb-sxm:8"],
        "objective": "cheapest",
    }
    found = decided(advisor, facts)
    answer = found.outcome.chosen
    assert answer is not None
    assert answer.ranked.plan.id not in {entry.plan.id for entry in of_kind(found.trade_offs(), "load")}


def test_nobody_gives_something_up_to_pay_more(advisor: Advisor) -> None:
    """A looser target lets in a card that guides name and that costs more; lower precision one that starts sooner."""
    service = {"task": "inference", "model_name": "llama-3.1-70b", "concurrency": 30, "ttft_slo_ms": 2000}
    found = decided(advisor, {**service, "tpot_slo_ms": 100, "deployment_site": "datacenter"}).trade_offs()
    assert found
    less = [*of_kind(found, "target"), *of_kind(found, "load")]
    assert all(entry.cost_ratio is not None and entry.cost_ratio <= 1 for entry in less)
    balanced = advisor.objectives["balanced"]
    assert all(entry.gain(balanced) >= 1 for entry in of_kind(found, "precision"))


TIGHT = {
    "task": "peft_finetuning",
    "peft_method": "lora",
    "model_name": "llama-3.1-8b",
    "train_tokens_b": 0.05,
    "gpus_owned": ["nvidia-rtx-4090:2"],
}


def test_a_loss_in_chunks_is_offered_where_it_lets_whole_copies_fit(advisor: Advisor) -> None:
    (entry,) = of_kind(decided(advisor, TIGHT).trade_offs(), "technique")
    assert (entry.fact, entry.value) == ("chunked_loss", True)
    again = decided(advisor, {**TIGHT, "chunked_loss": True})
    assert again.outcome.chosen is not None
    assert again.outcome.chosen.ranked.plan.id == entry.plan.id


def test_a_sparse_model_that_is_served_is_offered_shared_experts(advisor: Advisor) -> None:
    """Ranks that split a layer each hold the whole latent cache of such a model; data ranks that of their requests."""
    busy = {"task": "inference", "model_name": "deepseek-v3", "concurrency": 100, "context_tokens": 16384}
    (entry,) = of_kind(decided(advisor, busy).trade_offs(), "technique")
    assert (entry.fact, entry.value) == ("expert_parallel", 8)
    assert entry.cost_ratio is not None
    assert entry.cost_ratio < 1
    dense = {**busy, "model_name": "llama-3.1-405b"}
    stated = {**busy, "expert_parallel": 1}
    assert "technique" not in {option.kind for facts in (dense, stated) for option in options(advisor, facts)}


@pytest.mark.parametrize("more", [{"chunked_loss": False}, {"chunked_loss": True}])
def test_who_says_how_the_loss_is_computed_is_offered_no_other_way(advisor: Advisor, more: dict[str, Any]) -> None:
    assert of_kind(decided(advisor, {**TIGHT, **more}).trade_offs(), "technique") == []


def test_only_language_models_that_train_have_a_loss_in_chunks(advisor: Advisor) -> None:
    pictures = {"task": "pretraining", "model_name": "resnet-50"}
    assert "technique" not in {option.kind for facts in (SERVICE, pictures) for option in options(advisor, facts)}
