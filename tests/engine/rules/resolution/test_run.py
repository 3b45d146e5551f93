"""Resolving: precedence of producers, what was overruled, collisions, defaults, cycles."""

from __future__ import annotations

import pytest

from whichgpu.engine.core.calculators import Calculator
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.language.tree import Arith, Compare, Const, FactRef, Known
from whichgpu.engine.rules.resolution.model import FactCandidate, differ
from whichgpu.engine.rules.resolution.run import Default, FactResolver
from whichgpu.engine.rules.rulebook.effects import SetFact
from whichgpu.engine.rules.rulebook.model import Condition, Rule


def rule(
    name: str, when: object, fact: str, value: object, *, reads: set[str], overrides: tuple[str, ...] = ()
) -> Rule:
    expr = value if not isinstance(value, bool | int | float | str) else Const(value)
    return Rule(
        name,
        name,
        "derive",
        "workload",
        (Condition(when, "when"),),
        (SetFact(fact, expr, "value"),),
        "",
        "because",
        ("guide",),
        overrides=overrides,
        reads=frozenset(reads),
        writes=frozenset({fact}),
    )


def calculator(output: str, needs: tuple[str, ...], function: object, uses: tuple[str, ...] = ()) -> Calculator:
    return Calculator(f"sizing.{output}", function, output, "GB", needs, uses, {}, "formula", "paper")


SMALL = Compare("<=", FactRef("size"), Const(3))
LARGE = Compare(">", FactRef("size"), Const(3))


def test_a_chain_of_producers_resolves_in_order() -> None:
    resolver = FactResolver(
        [calculator("weights", ("size",), lambda size: size * 2.0)],
        [rule("heavy", Compare(">", FactRef("weights"), Const(10)), "class", "large", reads={"weights"})],
        [],
        Level,
    )
    resolved = resolver.run({"size": 7.0})
    assert resolved.facts == {"size": 7.0, "weights": 14.0, "class": "large"}
    assert resolved.resolved["class"].candidate == FactCandidate(
        "derived", "heavy", "large", ("weights",), sources=("guide",)
    )
    assert resolved.resolved["weights"].candidate.inputs == ("size",)


def test_a_given_value_stands_and_what_was_overruled_is_kept() -> None:
    resolver = FactResolver([calculator("weights", ("size",), lambda size: size * 2.0)], [], [], Level)
    resolved = resolver.run({"size": 7.0, "weights": 20.0})
    assert resolved.facts["weights"] == 20.0
    assert [candidate.value for candidate in resolved.resolved["weights"].overruled] == [14.0]
    assert [(fact.name, candidate.value) for fact, candidate in resolved.contradictions()] == [("weights", 14.0)]


def test_a_small_difference_is_no_contradiction() -> None:
    resolver = FactResolver([calculator("weights", ("size",), lambda size: size * 2.0)], [], [], Level)
    assert resolver.run({"size": 7.0, "weights": 14.5}).contradictions() == []


def test_looked_up_beats_computed_beats_derived_beats_assumed() -> None:
    resolver = FactResolver(
        [calculator("weights", (), lambda: 2.0)],
        [rule("r", SMALL, "weights", 3.0, reads={"size"})],
        [Default("weights", 4.0, "usual")],
        Level,
    )
    looked_up = resolver.run({"size": 1.0}, extra={"weights": [FactCandidate("looked_up", "catalogue", 1.0)]})
    assert looked_up.facts["weights"] == 1.0
    assert resolver.run({"size": 1.0}).facts["weights"] == 2.0
    without = FactResolver(
        [], [rule("r", SMALL, "weights", 3.0, reads={"size"})], [Default("weights", 4.0, "usual")], Level
    )
    assert without.run({"size": 1.0}).facts["weights"] == 3.0
    assert without.run({"size": 9.0}).resolved["weights"].candidate.origin == "assumed"


def test_rules_that_collide_leave_the_fact_unknown_and_are_named() -> None:
    rules = [rule("a", SMALL, "class", "x", reads={"size"}), rule("b", SMALL, "class", "y", reads={"size"})]
    resolved = FactResolver([], rules, [Default("class", "z", "usual")], Level).run({"size": 1.0})
    assert "class" not in resolved.facts
    assert [(c.fact, c.rules, c.values) for c in resolved.collisions] == [("class", ("a", "b"), ("x", "y"))]


def test_an_overriding_rule_wins() -> None:
    rules = [
        rule("a", SMALL, "class", "x", reads={"size"}),
        rule("b", SMALL, "class", "y", reads={"size"}, overrides=("a",)),
    ]
    resolved = FactResolver([], rules, [], Level).run({"size": 1.0})
    assert resolved.facts["class"] == "y"
    assert resolved.judged[0].resolution.overridden == {"a": "b"}


def test_the_first_default_that_applies_counts() -> None:
    defaults = [
        Default("precision", "int4", "small card", when=Compare("==", FactRef("class"), Const("small"))),
        Default("precision", "fp16", "usual"),
    ]
    rules = [rule("s", SMALL, "class", "small", reads={"size"}), rule("l", LARGE, "class", "large", reads={"size"})]
    resolver = FactResolver([], rules, defaults, Level)
    assert resolver.run({"size": 1.0}).facts["precision"] == "int4"
    assert resolver.run({"size": 9.0}).facts["precision"] == "fp16"
    assert resolver.run({"size": 9.0, "precision": "fp8"}).facts["precision"] == "fp8"


def test_an_unknown_input_leaves_the_output_unknown() -> None:
    resolver = FactResolver([calculator("weights", ("size",), lambda size: size * 2.0)], [], [], Level)
    assert resolver.run({}).facts == {}


def test_a_calculator_may_decline() -> None:
    resolver = FactResolver([calculator("weights", (), lambda **_: None, uses=("size",))], [], [], Level)
    assert resolver.run({}).facts == {}


def test_a_value_may_be_an_expression_over_facts() -> None:
    doubled = Arith("*", FactRef("size"), Const(2))
    resolver = FactResolver([], [rule("r", SMALL, "weights", doubled, reads={"size"})], [], Level)
    assert resolver.run({"size": 2.0}).facts["weights"] == 4.0


def test_an_earlier_resolution_stands() -> None:
    before = FactResolver([], [], [], Level).run({"size": 1.0})
    resolved = FactResolver([], [rule("r", SMALL, "class", "small", reads={"size"})], [], Level).run({}, before=before)
    assert resolved.facts == {"size": 1.0, "class": "small"}


def test_rules_may_read_a_context_of_another_scope_that_does_not_become_a_fact() -> None:
    cheap = Compare("<", FactRef("plan.usd_per_hour"), Const(2))
    resolver = FactResolver([], [rule("r", cheap, "verdict", "rent", reads={"plan.usd_per_hour"})], [], Level)
    resolved = resolver.run({}, context={"plan.usd_per_hour": 1.0})
    assert resolved.facts == {"verdict": "rent"}


def test_a_circle_of_producers_is_refused_with_its_path() -> None:
    rules = [
        rule("one", Known(FactRef("b")), "a", 1.0, reads={"b"}),
        rule("two", Known(FactRef("a")), "b", 1.0, reads={"a"}),
    ]
    with pytest.raises(RulebookError, match=r"one \(sets a\) -> two \(sets b\) -> one"):
        FactResolver([], rules, [], Level)


@pytest.mark.parametrize(
    ("left", "right", "expected"), [(1.0, 1.04, False), (1.0, 1.06, True), ("a", "b", True), (True, True, False)]
)
def test_differ(left: object, right: object, expected: bool) -> None:
    assert differ(left, right, 0.05) is expected


def test_claims_from_outside_are_resolved_behind_what_they_are_made_from() -> None:
    extra = {
        "a": [FactCandidate("computed", "x", 1.0, ("c", "elsewhere"))],
        "b": [FactCandidate("computed", "x", 2.0)],
        "c": [FactCandidate("computed", "x", 3.0, ("b",))],
    }
    assert list(FactResolver([], [], [], Level).run({}, extra=extra).resolved) == ["b", "c", "a"]
    circle = {"a": [FactCandidate("computed", "x", 1.0, ("b",))], "b": [FactCandidate("computed", "x", 2.0, ("a",))]}
    assert set(FactResolver([], [], [], Level).run({}, extra=circle).resolved) == {"a", "b"}
