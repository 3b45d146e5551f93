"""What the generated evaluator says of rules, of one case and of the rows of a table."""

from __future__ import annotations

import random

import pytest

from whichgpu.engine.core.fact_table import FactTable, NumberColumn, WordColumn, column_of
from whichgpu.engine.rules.inference import evaluator as made_of
from whichgpu.engine.rules.inference.firing import Level
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, FactRef, Has, Known, Member, Not, Or


TRAINING = FactRef("training")
MANY = Compare(">", FactRef("plan.count"), Const(8))
TIGHT = Compare(">", FactRef("plan.needed_gb"), Arith("*", FactRef("gpu.vram_gb"), Const(0.9)))


@pytest.fixture
def level(rule_of) -> Level:
    return Level(
        [
            rule_of("many", TRAINING, MANY),
            rule_of("tight", TIGHT),
            rule_of("workload", TRAINING),
            rule_of("either", Or((MANY, TIGHT))),
            rule_of("mixed", Compare("<=", FactRef("plan.count"), FactRef("max_count"))),
            rule_of("unsaid", Known(FactRef("budget"), negated=True)),
        ]
    )


def test_matches_each_fact_set(level):
    shared = {"training": True, "max_count": 8}
    plans = [
        {"plan.count": 16, "plan.needed_gb": 10, "gpu.vram_gb": 80},
        {"plan.count": 8, "plan.needed_gb": 79, "gpu.vram_gb": 80},
        {},
    ]
    assert level.evaluate(shared, plans).matches == [
        {"many", "workload", "either", "unsaid"},
        {"tight", "workload", "either", "mixed", "unsaid"},
        {"workload", "unsaid"},
    ]


def test_outcome_is_three_valued(level):
    seen = level.evaluate({"training": True, "budget": 5}, [{"plan.count": 2}])
    assert seen.outcomes() == {
        "either": None,
        "many": False,
        "mixed": None,
        "tight": None,
        "unsaid": False,
        "workload": True,
    }
    assert seen.outcome("many", 0) is False


def test_one_false_condition_dismisses_whatever_is_unknown(level, rule_of):
    seen = level.evaluate({"training": False}, [{}])
    assert seen.outcome("many", 0) is False
    assert seen.verdict("many").outcome == "not_fired"
    assert level.evaluate({}, [{"plan.count": 1}]).outcome("many", 0) is False
    assert level.evaluate({}, [{"plan.count": 9}]).outcome("many", 0) is None


def test_verdict_names_the_first_false_condition_and_its_value(level):
    verdict = level.evaluate({"training": True}, [{"plan.count": 4}]).verdict("many")
    assert (verdict.outcome, verdict.failed, verdict.value) == ("not_fired", "line 1", 4)
    two_facts = level.evaluate({}, [{"plan.needed_gb": 1, "gpu.vram_gb": 80}]).verdict("tight")
    assert (two_facts.failed, two_facts.value) == ("line 0", None)


def test_verdict_names_the_missing_facts(level):
    seen = level.evaluate({}, [{"gpu.vram_gb": 80, "plan.count": 2}])
    assert seen.verdict("tight").missing == ("plan.needed_gb",)
    assert seen.verdict("either").missing == ("plan.needed_gb",)
    assert seen.verdict("mixed").missing == ("max_count",)
    assert [verdict.rule for verdict in seen.verdicts()] == ["either", "many", "mixed", "tight", "unsaid", "workload"]
    assert seen.verdict("unsaid").outcome == "fired"


def test_common_conditions_are_evaluated_once(level, monkeypatch):
    calls = []
    real = made_of.compile_expr

    def counting(expr):
        predicate = real(expr)

        def counted(facts):
            calls.append(expr)
            return predicate(facts)

        return counted

    monkeypatch.setattr(made_of, "compile_expr", counting)
    assert level.evaluate({"training": False}, [{"plan.count": 9}] * 20).groups
    assert calls.count(TRAINING) == 1


def test_negations_reach_into_groups(rule_of):
    neither = Not(Or((TRAINING, And((MANY, Compare("==", FactRef("gpu.link"), Const("pcie")))))))
    level = Level([rule_of("neither", neither)])
    plans = [{"plan.count": 9, "gpu.link": "nvlink"}, {"plan.count": 9, "gpu.link": "pcie"}]
    assert level.evaluate({"training": False}, plans).matches == [{"neither"}, frozenset()]
    assert level.evaluate({"training": False}, [{"plan.count": 9}]).outcome("neither", 0) is None


def test_order_of_rules_and_conditions_changes_nothing(generator, rule_of):
    dice = random.Random(2)
    made = generator(dice)
    rules = made.rules(60)
    shared, plans = made.values(("",), 0.2), [made.values(("plan.", "gpu."), 0.2) for _ in range(5)]
    before = Level(rules).evaluate(shared, plans)
    shuffled = [rule_of(rule.id, *reversed([condition.expr for condition in rule.when])) for rule in reversed(rules)]
    after = Level(shuffled).evaluate(dict(reversed(shared.items())), list(reversed(plans)))
    assert after.matches == list(reversed(before.matches))
    assert [after.outcomes(4 - index) for index in range(5)] == [before.outcomes(index) for index in range(5)]


def same(evaluation, rules, fact_sets, shared, oracle):
    """Every word of an evaluation is the oracle's."""
    assert list(evaluation.matches) == oracle.matches(rules, fact_sets, shared)
    for row, facts in enumerate(fact_sets):
        whole = {**shared, **facts}
        by_id = sorted(rules, key=lambda rule: rule.id)
        assert evaluation.outcomes(row) == {rule.id: oracle.outcome(rule, whole) for rule in by_id}
        assert evaluation.verdicts(row) == [oracle.verdict(rule, whole) for rule in by_id]


@pytest.mark.parametrize("odd", [0.0, 0.1])
def test_cases_tables_and_the_oracle_say_the_same(generator, oracle, odd):
    made = generator(random.Random(9), odd=odd)
    rules = made.rules(150)
    level = Level(rules)
    for missing in (0.0, 0.3, 0.8):
        shared = made.values(("",), missing)
        fact_sets = [made.values(("plan.", "gpu."), missing) for _ in range(7)]
        same(level.evaluate(shared, fact_sets), rules, fact_sets, shared, oracle)
        for facts in fact_sets:
            same(level.evaluate(shared, [facts]), rules, [facts], shared, oracle)


def test_facts_that_rows_share_are_judged_on_their_own_table_once(generator, oracle, monkeypatch):
    made = generator(random.Random(4))
    rules = made.rules(150)
    level = Level(rules)
    gpus = [made.values(("gpu.",), 0.2) for _ in range(5)]
    cards = FactTable.of(gpus)
    asked = []
    real = made_of.Evaluator.holds

    def counting(self, part, view):
        if view.table is cards:
            asked.append(part)
        return real(self, part, view)

    monkeypatch.setattr(made_of.Evaluator, "holds", counting)
    for _ in range(3):
        shared = made.values(("",), 0.2)
        which = [made.dice.randrange(5) for _ in range(20)]
        plans = [made.values(("plan.",), 0.2) for _ in which]
        table = FactTable.of(plans).sharing(cards, column_of(which).values.astype(int))
        fact_sets = [{**gpus[card], **plan} for card, plan in zip(which, plans, strict=True)]
        same(level.evaluate_table(shared, table), rules, fact_sets, shared, oracle)
    assert len(asked) == len(set(asked)) > 20


def test_a_fact_of_its_own_counts_before_the_shared_one(rule_of):
    level = Level([rule_of("big", Compare(">", FactRef("gpu.gb"), Const(40))), rule_of("x", FactRef("gpu.x"))])
    cards = FactTable.of([{"gpu.gb": 80, "gpu.x": True}])
    table = FactTable(2, {"gpu.gb": column_of([24, 48])}, cards)
    assert level.evaluate_table({}, table).matches == [{"x"}, {"x", "big"}]
    assert level.evaluate_table({}, FactTable(1, {}, cards)).matches == [{"x", "big"}]


def test_groups_are_the_distinct_matches(level):
    plans = [{"plan.count": count} for count in (9, 2, 9, 16, 2)]
    seen = level.evaluate({"training": True, "max_count": 12}, plans)
    assert len(seen.groups) == 3
    assert [seen.groups[code] for code in seen.codes] == seen.matches
    assert ["many" in rules for rules in seen.matches] == [True, False, True, True, False]


def test_undecided_rows_stand_together(level):
    plans = [
        {"plan.count": 2},
        {"plan.count": 2, "gpu.vram_gb": 80},
        {"plan.count": 3},
        {"plan.needed_gb": 1, "gpu.vram_gb": 2},
    ]
    seen = level.evaluate({}, plans)
    assert sorted(map(list, seen.undecided_alike("tight"))) == [[0, 2], [1]]
    assert [list(rows) for rows in seen.undecided_alike("mixed")] == [[0, 1, 2], [3]]
    assert [list(rows) for rows in seen.undecided_alike("workload")] == [[0, 1, 2, 3]]
    assert list(seen.undecided_alike("unsaid")) == []
    assert list(level.evaluate({"training": True}, [{}]).undecided_alike("many")) == [[0]]
    assert list(level.evaluate({"training": False}, [{}]).undecided_alike("many")) == []


def test_tables_of_no_rows_and_levels_of_no_rules(level, rule_of):
    nothing = level.evaluate_table({}, FactTable(0, {}))
    assert (nothing.matches, nothing.groups, nothing.codes.tolist()) == ([], [], [])
    assert Level([]).evaluate_table({}, FactTable(2, {})).matches == [frozenset()] * 2
    assert Level([rule_of("r")]).evaluate_table({}, FactTable(2, {})).groups == [{"r"}]


def test_numbers_that_no_double_holds_are_judged_row_by_row(rule_of, oracle):
    big = 2**53
    a, b = FactRef("plan.a"), FactRef("plan.b")
    rules = [
        rule_of("equal", Compare("==", a, Const(big + 1))),
        rule_of("more", Compare(">", a, FactRef("n"))),
        rule_of("facts", Compare("<", a, b)),
        rule_of("sum", Compare(">", Arith("+", a, Const(10**400)), b)),
        rule_of("in", Member(a, (big + 1, 3))),
        rule_of("word", Compare("==", a, Const("x"))),
    ]
    fact_sets = [{"plan.a": value, "plan.b": 3.5} for value in (big, big + 1, 3, 10**400, 2)]
    for some in (fact_sets, fact_sets[2::2]):
        same(Level(rules).evaluate({"n": big + 1}, some), rules, some, {"n": big + 1}, oracle)


def test_columns_of_each_kind(rule_of, oracle):
    rules = [
        rule_of("has", Has(FactRef("plan.list"), "a")),
        rule_of("known", Known(FactRef("plan.list"))),
        rule_of("lacks", Not(Has(FactRef("plan.list"), "a"))),
        rule_of("same word", Compare("==", FactRef("plan.one"), FactRef("plan.other"))),
        rule_of("the word", Compare("==", FactRef("word"), FactRef("plan.one"))),
        rule_of("no word", Compare("!=", FactRef("plan.one"), FactRef("word"))),
        rule_of("of no row", Compare("!=", FactRef("plan.nowhere"), FactRef("word"))),
        rule_of("by nothing", Compare(">", Arith("/", FactRef("plan.n"), FactRef("plan.m")), Const(0))),
        rule_of("none of", Member(FactRef("plan.n"), (1, "a"), negated=True)),
    ]
    fact_sets = [
        {"plan.list": ("a", "b"), "plan.one": "x", "plan.other": "x", "plan.n": 1, "plan.m": 0},
        {"plan.list": (), "plan.one": "y", "plan.other": "x", "plan.n": 2.5, "plan.m": -1},
        {"plan.other": "y", "plan.m": 1},
    ]
    table = FactTable.of(fact_sets)
    assert isinstance(table.own("plan.n"), NumberColumn)
    assert isinstance(table.own("plan.list"), WordColumn)
    for shared in ({"word": "x"}, {}):
        same(Level(rules).evaluate_table(shared, table), rules, fact_sets, shared, oracle)
