"""Plans that are made before all is known: what counts that rules may want do to them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.core import Value
from whichgpu.engine.interview.partial_plans import difference, partial_plans
from whichgpu.engine.interview.plan_variations import PlanVariations
from whichgpu.engine.interview.planner import Interviewer
from whichgpu.engine.interview.rule_index import index_rules
from whichgpu.engine.interview.state import State


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
SERVING: dict[str, Value] = {"task": "inference", "model_name": "llama-3.1-8b", "deployment_site": "cloud"}
LOAD: dict[str, Value] = {"context_tokens": 8192, "peak_qps": 2.0, "concurrency": 16, "weight_precision": "bf16"}
TUNING: dict[str, Value] = {"task": "peft_finetuning", "model_name": "llama-3.1-8b", "peft_method": "lora"}


@pytest.mark.parametrize("given", [SERVING, {**SERVING, **LOAD}, {"task": "inference", "param_count_b": 70.0}])
def test_counts_that_rules_want_leave_the_other_plans_as_they_were(given: dict[str, Value]) -> None:
    advisor = shipped_advisor()
    without, wider = partial_plans(advisor, given), partial_plans(advisor, given, (2, 4))
    kept = wider.among(without.ids)
    assert kept is not None
    assert kept.ids == without.ids
    assert difference(kept, without) == frozenset()


def test_plans_of_a_job_are_measured_beside_each_other() -> None:
    found = partial_plans(shipped_advisor(), TUNING)
    assert found.among(found.ids) is None


def test_what_is_not_planned_is_not_among_them() -> None:
    assert partial_plans(shipped_advisor(), SERVING).among(["no-such-plan"]) is None


def test_what_was_found_holds_for_fewer_counts() -> None:
    advisor = shipped_advisor()
    interviewer = Interviewer(advisor, MOMENT)
    given = {**SERVING, **LOAD, "serving_mode": "interactive"}
    view = interviewer.view(State().state_facts(given, "file"))
    variations = PlanVariations(index_rules(advisor))
    found = variations.shapes(given, view.open_facts, [], (2,))
    made = len(variations._made)
    assert variations.shapes(given, view.open_facts, [], ()) is found
    assert len(variations._made) == made + 1
