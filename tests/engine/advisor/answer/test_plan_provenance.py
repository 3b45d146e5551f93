"""What a plan's facts are worked out from: nothing else is shown to whoever asks why."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.answer.plan_provenance import (
    LAYOUT_FACTS,
    PLAN_PROVENANCE,
    PRICE_LIST_FACTS,
    by_provenance,
)


def test_every_fact_of_a_plan_has_its_provenance(advisor):
    known = [f"plan.{name}" for provenance in PLAN_PROVENANCE for name in provenance.facts]
    assert len(known) == len(set(known))
    asked = {name for name in advisor.vocabulary.facts if name.startswith("plan.")}
    assert asked - LAYOUT_FACTS - PRICE_LIST_FACTS == set(known)


def test_what_a_provenance_reads_are_facts(advisor):
    known = advisor.vocabulary.facts.keys()
    assert {name for provenance in PLAN_PROVENANCE for name in provenance.reads} <= known


def test_what_no_provenance_names_is_worked_out_from_everything():
    ((provenance, names),) = by_provenance(["plan.of_another_day"])
    assert names == ["plan.of_another_day"]
    assert {"memory.", "speed."} <= set(provenance.figures)


@pytest.fixture
def inputs_of(decide):
    owned = {"task": "inference", "model_name": "llama-3.1-8b", "peak_qps": 2, "ttft_slo_ms": 800}
    answer = decide({**owned, "gpus_owned": ["nvidia-l40s:1"]}).to_dict()
    plan = answer["recommendation"]
    scope = f"{plan['gpu']}x{plan['count']}"

    def call(fact):
        (entry,) = [e for e in answer["trace"] if e["scope"] == scope and fact in e["effects"]]
        return {item["fact"] for item in entry["matched"]}

    return call


def test_hardware_is_owned_because_it_was_stated(inputs_of):
    assert inputs_of("plan.owned") == {"gpus_owned", "plan.gpu", "plan.count"}


def test_a_target_is_met_by_the_speed_and_what_was_stated(inputs_of):
    found = inputs_of("plan.meets_target")
    assert {"ttft_slo_ms", "peak_qps"} <= found
    assert any(name.startswith("speed.") for name in found)
    assert not any(name.startswith(("memory.", "cost.", "gpu.")) for name in found)


def test_room_is_of_memory_alone(inputs_of):
    found = inputs_of("plan.headroom_pct")
    assert {"gpu.usable_gb", "plan.count"} <= found
    assert all(name.startswith("memory.") for name in found - {"gpu.usable_gb", "plan.count"})
