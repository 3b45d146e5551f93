from __future__ import annotations

from collections.abc import Callable

import pytest

from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.tree import Arith, Const, FactRef
from whichgpu.engine.rules.rulebook import Rulebook
from whichgpu.engine.rules.rulebook.effects import (
    Ask,
    ConsiderCounts,
    Disagree,
    Fallback,
    Monitor,
    Points,
    Reject,
    Say,
    SetFact,
    ShowFigure,
)
from whichgpu.engine.rules.rulebook.model import Claim, Effect
from whichgpu.engine.rules.rulebook.phases import setting_complaint


CASES: list[tuple[str, str, str, tuple[Effect, ...]]] = [
    ("derive", "workload", "{set: {size_class: small}}", (SetFact("size_class", Const("small"), "small"),)),
    ("derive", "workload", "{set: {size: small}}", (SetFact("size_class", Const("small"), "small"),)),
    (
        "derive",
        "workload",
        "{set: {run_hours: 2 days, num_models: param_count_b * 2}}",
        (
            SetFact("num_models", Arith("*", FactRef("param_count_b"), Const(2)), "param_count_b * 2"),
            SetFact("run_hours", Const(48.0), "2 days"),
        ),
    ),
    ("derive", "plan", "{set: {plan.crowded: true}}", (SetFact("plan.crowded", Const(True), "true"),)),
    ("derive", "workload", "{consider_counts: [8, 4]}", (ConsiderCounts((4, 8)),)),
    ("derive", "workload", "{consider_counts: 4, ask: run_hours}", (ConsiderCounts((4,)), Ask("run_hours"))),
    ("reject", "plan", "{reject: no room}", (Reject("no room"),)),
    ("prefer", "plan", "{fallback: only without others}", (Fallback("only without others"),)),
    (
        "prefer",
        "plan",
        "{points: -2, reason: fit, fallback: only without others}",
        (Fallback("only without others"), Points(-2, "fit")),
    ),
    ("prefer", "plan", "{points: +4, reason: fit}", (Points(4, "fit"),)),
    ("prefer", "plan", "{points: -0.5, reason: wish}", (Points(-0.5, "wish"),)),
    ("prefer", "plan", "{points: 2, reason: speed, claim: speed}", (Points(2, "speed", Claim("speed")),)),
    (
        "prefer",
        "plan",
        "{claim: {over: nvidia-t4, ratio: 2, quantity: throughput_per_usd}, points: 2, reason: cost}",
        (Points(2, "cost", Claim("throughput_per_usd", 2, "nvidia-t4")),),
    ),
    ("prefer", "plan", "{points: -3, reason: cost, claim: {quantity: cost}}", (Points(-3, "cost", Claim("cost")),)),
    ("prefer", "plan", "{points: 3, reason: fit, band: cards}", (Points(3, "fit", None, "cards"),)),
    ("prefer", "plan", "{points: 3, reason: scale, band: counts}", (Points(3, "scale", None, "counts"),)),
    (
        "advise",
        "chosen",
        "{warn: [W-NO-ECC, W-PCIE-BOTTLENECK], advise: A-FP8, figure: [cloud_idle_pct], disagree: C13, ask: [size]}",
        (
            Say("advise", "A-FP8"),
            Say("warn", "W-NO-ECC"),
            Say("warn", "W-PCIE-BOTTLENECK"),
            Ask("size_class"),
            ShowFigure("cloud_idle_pct"),
            Disagree("C13"),
        ),
    ),
    (
        "advise",
        "workload",
        "{monitor: {gpu_util_pct: [70, 90], drops: 0}, set: {procurement: rent}}",
        (
            SetFact("procurement", Const("rent"), "rent"),
            Monitor("gpu_util_pct", 70, 90),
            Monitor("drops", 0, None),
        ),
    ),
    ("advise", "candidate", "{warn: W-NO-ECC}", (Say("warn", "W-NO-ECC"),)),
]


def text_of(stage: str, each: str, then: str) -> str:
    return f"- {{id: r, title: T, stage: {stage}, each: {each}, when: [training], because: B., then: {then}}}\n"


@pytest.mark.parametrize(("stage", "each", "then", "effects"), CASES, ids=lambda x: str(x)[:60])
def test_effects_are_read_in_a_fixed_order(
    load: Callable[[str], Rulebook], stage: str, each: str, then: str, effects: tuple[Effect, ...]
) -> None:
    rule = load(text_of(stage, each, then)).rule("r")
    assert rule.effects == effects
    assert rule.writes == {effect.fact for effect in effects if isinstance(effect, SetFact)}


def test_no_rule_sets_a_fact_that_is_read_as_it_was_stated() -> None:
    fact = FactDef(name="aim", type="text", stated_only=True)
    complaint = setting_complaint(fact, "derive", "workload")
    assert complaint is not None
    assert "read as it was stated" in complaint[0]
    assert setting_complaint(FactDef(name="aim", type="text"), "derive", "workload") is None


LATE = [
    ("derive", "workload", "[surviving_plans > 3]", "{set: {size_class: small}}", "1:107: `size_class` is final"),
    ("derive", "workload", "[training]", "{set: {num_models: surviving_plans}}", "`surviving_plans` is known"),
    (
        "derive",
        "workload",
        "[training]",
        "{set: {size_class: small, surviving_plans: 3}}",
        "`surviving_plans` is known",
    ),
    ("derive", "workload", "[surviving_plans > 3]", "{consider_counts: 4}", "before `surviving_plans` is known"),
    ("derive", "plan", "[plan.cost_vs_cheapest > 2]", "{set: {plan.crowded: true}}", "too late for a derive rule"),
    ("derive", "plan", "[training]", "{set: {plan.nodes: 3}}", "is computed with the plan"),
    ("advise", "candidate", "[training]", "{set: {candidate.verdict: rejected}}", "nothing reads it"),
]


@pytest.mark.parametrize(("stage", "each", "when", "then", "said"), LATE)
def test_a_fact_is_final_in_its_phase(
    errors: Callable[[str], str], stage: str, each: str, when: str, then: str, said: str
) -> None:
    assert said in errors(text_of(stage, each, then).replace("[training]", when))
