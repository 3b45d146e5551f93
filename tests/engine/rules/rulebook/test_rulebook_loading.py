from __future__ import annotations

from collections.abc import Callable

from whichgpu.engine.rules.rulebook import Rulebook
from whichgpu.engine.rules.rulebook.effects import Reject


RULE = """
- id: nvlink-beyond-eight
  title: More than eight training GPUs need a fast link
  stage: reject
  each: plan
  when:
    - training
    - plan.count > 8
    - any:
        - plan.link in [none, pcie]
        - plan.headroom_pct < 5
  then:
    reject: "{plan.count} GPUs; {gpu.name} would do it over {plan.link}"
  because: Gradient exchange grows
    with the number of GPUs.
  sources: [fpt/3.4, runpod/multi-gpu-scaling]
  encodes: [fpt-slow-sync]
  tests:
    - given: {training: yes, param_count_b: 70b}
      plan: {gpu: nvidia-l40s, count: 16, link: pcie}
      fires: true
    - near_miss: {plan.count: 8}
    - near_miss: {training: no}
    - near_miss: {plan.link: unknown}
"""


def test_a_rule_has_everything_that_was_written(load: Callable[[str], Rulebook]) -> None:
    rule = load(RULE).rule("nvlink-beyond-eight")
    assert [condition.text for condition in rule.when] == [
        "training",
        "plan.count > 8",
        "(plan.link in [none, pcie]) or (plan.headroom_pct < 5)",
    ]
    assert rule.effects == (Reject("{plan.count} GPUs; {gpu.name} would do it over {plan.link}"),)
    assert rule.because == "Gradient exchange grows with the number of GPUs."
    assert rule.sources == ("fpt/3.4", "runpod/multi-gpu-scaling")
    assert rule.reads == {"training", "plan.count", "plan.link", "plan.headroom_pct"}
    assert rule.mentions == {"plan.count", "gpu.name", "plan.link"}
    assert rule.writes == frozenset()
    assert (rule.place.line, rule.place.column) == (2, 7)
    assert (rule.status, rule.each, rule.topic) == ("stable", "plan", "rules")


def test_a_near_miss_is_the_test_above_with_one_change(load: Callable[[str], Rulebook]) -> None:
    fires, *misses = load(RULE).rule("nvlink-beyond-eight").tests
    assert fires.given == {"training": True, "param_count_b": 70.0}
    assert fires.plan == {"gpu": "nvidia-l40s", "count": 16, "plan.link": "pcie"}
    assert [(miss.fires, miss.near_miss) for miss in misses] == [
        (False, {"count": 8}),
        (False, {"training": False}),
        (False, {"plan.link": "unknown"}),
    ]
    assert misses[0].plan == {**fires.plan, "count": 8}
    assert misses[1].given == {**fires.given, "training": False}
