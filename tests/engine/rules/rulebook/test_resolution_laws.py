from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from hypothesis import given, strategies as st

from whichgpu.engine.core.values import Facts, Scalar
from whichgpu.engine.rules.language.tree import Arith, Compare, Const, FactRef
from whichgpu.engine.rules.rulebook import Collision, Resolution, Resolver, Rule, Verdict, verdict_of
from whichgpu.engine.rules.rulebook.effects import SetFact
from whichgpu.engine.rules.rulebook.model import Condition, HitPolicy


def resolve(matches: Iterable[str], rules: Iterable[Rule], facts: Facts) -> Resolution:
    return Resolver(rules).resolve(matches, facts)


def make(
    rule_id: str,
    *,
    sets: Mapping[str, Scalar] | None = None,
    overrides: tuple[str, ...] = (),
    table: str | None = None,
    row: int = 0,
    hit: HitPolicy = "collect",
    when: tuple[Condition, ...] = (),
) -> Rule:
    effects = tuple(SetFact(fact, Const(value), str(value)) for fact, value in (sets or {}).items())
    return Rule(
        rule_id, rule_id, "derive", "workload", when, effects, "", "because", ("source",),
        overrides=overrides, table=table, row=row, hit=hit,
    )  # fmt: skip


@st.composite
def rulebooks(draw: st.DrawFn) -> tuple[list[Rule], frozenset[str]]:
    """Up to nine rules with acyclic overrides, some of them rows of a ``first`` table, and which of them match."""
    names = [f"r{number}" for number in range(draw(st.integers(1, 9)))]
    rules = []
    for number, name in enumerate(names):
        overrides = draw(st.lists(st.sampled_from(names[:number] or ["none"]), max_size=2, unique=True))
        row = draw(st.booleans())
        rules.append(
            make(
                name,
                sets={draw(st.sampled_from("fg")): draw(st.sampled_from([1, 2, True]))},
                overrides=tuple(overrides),
                table="t" if row else None,
                row=number if row else 0,
                hit="first" if row else "collect",
            )
        )
    return rules, frozenset(draw(st.lists(st.sampled_from(names), unique=True)))


@given(rulebooks(), st.integers())
def test_the_order_of_rules_and_matches_never_matters(book: tuple[list[Rule], frozenset[str]], seed: int) -> None:
    rules, matches = book
    mixed, mixed_matches = list(rules), sorted(matches)
    random.Random(seed).shuffle(mixed)
    random.Random(seed).shuffle(mixed_matches)
    assert resolve(mixed_matches, mixed, {}) == resolve(matches, rules, {})


@given(rulebooks())
def test_every_match_either_fires_or_is_overridden_by_one_that_fires(book: tuple[list[Rule], frozenset[str]]) -> None:
    rules, matches = book
    resolution = resolve(matches, rules, {})
    assert set(resolution.fired) | set(resolution.overridden) == matches
    assert not set(resolution.fired) & set(resolution.overridden)
    assert set(resolution.overridden.values()) <= set(resolution.fired)
    assert bool(matches) == bool(resolution.fired)


@given(rulebooks())
def test_resolving_what_fired_changes_nothing(book: tuple[list[Rule], frozenset[str]]) -> None:
    rules, matches = book
    first = resolve(matches, rules, {})
    again = resolve(first.fired, rules, {})
    assert again.fired == first.fired
    assert (again.values, again.collisions) == (first.values, first.collisions)


@given(rulebooks())
def test_a_fact_has_one_value_or_a_collision(book: tuple[list[Rule], frozenset[str]]) -> None:
    rules, matches = book
    resolution = resolve(matches, rules, {})
    collided = {collision.fact for collision in resolution.collisions}
    written = {fact.fact for rule in rules if rule.id in resolution.fired for fact in rule.effects if isinstance(fact, SetFact)}  # fmt: skip  # noqa: E501
    assert not collided & set(resolution.values)
    assert collided | set(resolution.values) == written


def test_overrides_reach_through_rules_that_do_not_match() -> None:
    rules = [make("general"), make("special", overrides=("general",)), make("exception", overrides=("special",))]
    resolution = resolve({"general", "exception"}, rules, {})
    assert resolution.fired == ("exception",)
    assert resolution.overridden == {"general": "exception"}


def test_a_chain_names_the_rule_that_fired() -> None:
    rules = [make("a", overrides=("b",)), make("b", overrides=("c",)), make("c")]
    assert resolve({"a", "b", "c"}, rules, {}).overridden == {"b": "a", "c": "a"}
    assert resolve({"b", "c"}, rules, {}).overridden == {"c": "b"}


def test_the_first_matching_row_beats_the_later_ones() -> None:
    rows = [make(f"t/{name}", table="t", row=number, hit="first") for number, name in enumerate("zyx")]
    assert resolve({"t/x", "t/y"}, rows, {}).overridden == {"t/x": "t/y"}
    collecting = [make(f"t/{name}", table="t", row=number) for number, name in enumerate("zyx")]
    assert resolve({"t/x", "t/y"}, collecting, {}).fired == ("t/x", "t/y")


def test_a_row_beaten_by_a_row_that_is_overridden_names_what_fired() -> None:
    rules = [
        make("t/a", table="t", row=0, hit="first"),
        make("t/b", table="t", row=1, hit="first"),
        make("exception", overrides=("t/a",)),
    ]
    resolution = resolve({"t/a", "t/b", "exception"}, rules, {})
    assert resolution.fired == ("exception",)
    assert resolution.overridden == {"t/a": "exception", "t/b": "exception"}


def test_different_values_leave_the_fact_unknown_and_name_both_rules() -> None:
    rules = [make("a", sets={"f": 1}), make("b", sets={"f": 2, "g": 3}), make("c", sets={"g": 3})]
    resolution = resolve({"a", "b", "c"}, rules, {})
    assert resolution.values == {"g": 3}
    assert resolution.set_by == {"g": ("b", "c")}
    assert resolution.collisions == (Collision("f", ("a", "b"), (1, 2)),)


def test_true_and_one_collide() -> None:
    resolution = resolve({"a", "b"}, [make("a", sets={"f": 1}), make("b", sets={"f": True})], {})
    assert resolution.values == {}
    assert resolution.collisions[0].rules == ("a", "b")


def test_an_expression_over_unknown_facts_sets_nothing() -> None:
    double = SetFact("f", Arith("*", FactRef("x"), Const(2)), "x * 2")
    rule = Rule("r", "r", "derive", "workload", (), (double,), "", "because", ("source",))
    assert resolve({"r"}, [rule], {}).values == {}
    assert resolve({"r"}, [rule], {"x": 4}).values == {"f": 8}


def test_verdicts_say_what_became_of_each_rule() -> None:
    above = Condition(Compare(">", FactRef("x"), Const(3)), "x > 3")
    both = Condition(Compare("<", FactRef("x"), FactRef("y")), "x < y")
    rules = [
        make("above", when=(above,)),
        make("beaten", when=(above,)),
        make("winner", when=(above,), overrides=("beaten",)),
        make("both", when=(above, both)),
    ]
    facts = {"x": 4}
    resolution = resolve({"above", "beaten", "winner"}, rules, facts)
    assert tuple(verdict_of(rule, facts, resolution) for rule in sorted(rules, key=lambda rule: rule.id)) == (
        Verdict("above", "fired"),
        Verdict("beaten", "overridden", by="winner"),
        Verdict("both", "undecided", missing=("y",)),
        Verdict("winner", "fired"),
    )
    assert verdict_of(rules[0], {"x": 3}) == Verdict("above", "not_fired", failed="x > 3", value=3)
    assert verdict_of(rules[3], {"x": 4, "y": 2}) == Verdict("both", "not_fired", failed="x < y")


def test_a_false_condition_resolves_a_rule_whatever_is_unknown() -> None:
    unknown = Condition(FactRef("u"), "u")
    false = Condition(Compare(">", FactRef("x"), Const(3)), "x > 3")
    assert verdict_of(make("r", when=(unknown, false)), {"x": 1}).outcome == "not_fired"
    assert verdict_of(make("r", when=(unknown, false)), {"x": 9}).missing == ("u",)


def test_a_division_by_zero_is_undecided_without_a_missing_fact() -> None:
    ratio = Condition(Compare(">", Arith("/", Const(1), FactRef("x")), Const(3)), "1 / x > 3")
    assert verdict_of(make("r", when=(ratio,)), {"x": 0}) == Verdict("r", "undecided")
