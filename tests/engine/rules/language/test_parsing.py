from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.core.errors import InputError, Place, Problem, RulebookError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import MappingNode, ScalarNode, SequenceNode, read_yaml_text
from whichgpu.engine.rules.facts import Vocabulary, load_vocabulary
from whichgpu.engine.rules.language import parse_condition, parse_expression
from whichgpu.engine.rules.language.tree import And, Arith, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or


GPUS = frozenset({"nvidia-l40s", "nvidia-t4", "amd-mi300x"})
T, C, TASK = FactRef("training"), FactRef("cuda"), FactRef("task")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("training", T),
        ("not training", Not(T)),
        ("not not training", Not(Not(T))),
        ("training and cuda", And((T, C))),
        ("training or cuda and not training", Or((T, And((C, Not(T)))))),
        ("(training or cuda) and training", And((Or((T, C)), T))),
        ("training and cuda and training", And((T, C, T))),
        ("not training == yes", Not(Compare("==", T, Const(True)))),
        ("training != no", Compare("!=", T, Const(False))),
        ("count_a > 8", Compare(">", FactRef("count_a"), Const(8))),
        ("gpu_total > 8", Compare(">", FactRef("count_a"), Const(8))),
        ("8 < count_a", Compare("<", Const(8), FactRef("count_a"))),
        ("count_a < 2.5", Compare("<", FactRef("count_a"), Const(2.5))),
        ("params_b >= 70b", Compare(">=", FactRef("params_b"), Const(70))),
        ("params_b > 0", Compare(">", FactRef("params_b"), Const(0))),
        ("params_b >= 500M", Compare(">=", FactRef("params_b"), Const(0.5))),
        ("need_gb > 1 TB", Compare(">", FactRef("need_gb"), Const(1000))),
        ("run_hours > 2 weeks", Compare(">", FactRef("run_hours"), Const(336))),
        ("price_usd_h <= $2.5/h", Compare("<=", FactRef("price_usd_h"), Const(2.5))),
        ("price_usd_h <= 2.5 USD/h and training", And((Compare("<=", FactRef("price_usd_h"), Const(2.5)), T))),
        ("share_pct >= 80 %", Compare(">=", FactRef("share_pct"), Const(80))),
        ("ratio == -5", Compare("==", FactRef("ratio"), Const(-5))),
        ("ratio - 5 > 1e3", Compare(">", Arith("-", FactRef("ratio"), Const(5)), Const(1000))),
        ("ratio in [-1, 2.5]", Member(FactRef("ratio"), (-1, 2.5))),
        ("task == inference", Compare("==", TASK, Const("inference"))),
        ("inference == task", Compare("==", Const("inference"), TASK)),
        ("task == Full-Finetuning", Compare("==", TASK, Const("full_finetuning"))),
        ("task == 'serving'", Compare("==", TASK, Const("inference"))),
        ("task in [serving, pretraining]", Member(TASK, ("inference", "pretraining"))),
        ("task not in [inference]", Member(TASK, ("inference",), negated=True)),
        ("task == next_task", Compare("==", TASK, FactRef("next_task"))),
        ("mode == training", Compare("==", FactRef("mode"), Const("training"))),
        ("mode == unknown", Compare("==", FactRef("mode"), Const("unknown"))),
        ("model_name == llama-3.1-8b", Compare("==", FactRef("model_name"), Const("llama-3.1-8b"))),
        ("model_name == '4-bit thing'", Compare("==", FactRef("model_name"), Const("4-bit thing"))),
        ("model_name == 4-bit", Compare("==", FactRef("model_name"), Const("4-bit"))),
        ("current_gpu == nvidia-t4", Compare("==", FactRef("current_gpu"), Const("nvidia-t4"))),
        ("current_gpu == NVIDIA-T4", Compare("==", FactRef("current_gpu"), Const("nvidia-t4"))),
        ("gpu_candidates has nvidia-t4", Has(FactRef("gpu_candidates"), "nvidia-t4")),
        ("links_seen has nvlink-bridge", Has(FactRef("links_seen"), "nvlink-bridge")),
        ("regions has eu-west-1", Has(FactRef("regions"), "eu-west-1")),
        ("sizes has 8", Has(FactRef("sizes"), 8)),
        ("task is known", Known(TASK)),
        ("task is not known", Known(TASK, negated=True)),
        ("task is unknown", Known(TASK, negated=True)),
        ("task is not unknown", Known(TASK)),
        ("need_gb / 2 > have_gb", Compare(">", Arith("/", FactRef("need_gb"), Const(2)), FactRef("have_gb"))),
        ("need_gb/have_gb > 2", Compare(">", Arith("/", FactRef("need_gb"), FactRef("have_gb")), Const(2))),
        (
            "need_gb * 1.2 <= have_gb - 2 GB",
            Compare(
                "<=",
                Arith("*", FactRef("need_gb"), Const(1.2)),
                Arith("-", FactRef("have_gb"), Const(2)),
            ),
        ),
        (
            "tokens_b > 20 * params_b",
            Compare(">", FactRef("tokens_b"), Arith("*", Const(20), FactRef("params_b"))),
        ),
        (
            "need_gb * 2 > 1 TB",
            Compare(">", Arith("*", FactRef("need_gb"), Const(2)), Const(1000)),
        ),
        (
            "need_gb * ratio > have_gb",
            Compare(">", Arith("*", FactRef("need_gb"), FactRef("ratio")), FactRef("have_gb")),
        ),
        (
            "need_gb * have_gb > run_hours",  # A product of units is not followed.
            Compare(">", Arith("*", FactRef("need_gb"), FactRef("have_gb")), FactRef("run_hours")),
        ),
        (
            "ratio + 1 - 2 > 3",
            Compare(">", Arith("-", Arith("+", FactRef("ratio"), Const(1)), Const(2)), Const(3)),
        ),
    ],
)
def test_conditions_become_trees(vocabulary: Vocabulary, text: str, tree: Expr):
    assert parse_condition(text, vocabulary, known_gpus=GPUS) == tree


def test_without_known_gpus_any_word_is_a_gpu_but_a_fact_is_a_fact(vocabulary: Vocabulary):
    assert parse_condition("current_gpu == whatever", vocabulary) == Compare(
        "==", FactRef("current_gpu"), Const("whatever")
    )
    assert parse_condition("gpu.id == current_gpu", vocabulary, each="plan") == Compare(
        "==", FactRef("gpu.id"), FactRef("current_gpu")
    )


def fail(vocabulary: Vocabulary, text: str, each: str = "workload") -> tuple[Problem, ...]:
    with pytest.raises(RulebookError) as caught:
        parse_condition(text, vocabulary, None, each, known_gpus=GPUS)  # type: ignore[arg-type]
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("tsk == inference", "unknown-fact", "tsk"),
        ("qqqqq", "unknown-fact", "qqqqq"),
        ("count_a-1 > 3", "unknown-fact", "count_a-1"),
        ("a == b", "unknown-fact", "a"),
        ("task == inferense", "unknown-choice", "inferense"),
        ("task in [inference, pretraning]", "unknown-choice", "pretraning"),
        ("task in [inference, serving]", "twice", "serving"),
        ("task == 5", "unknown-choice", "5"),
        ("task == unknown", "unknown-compared", "unknown"),
        ("model_name == unknown", "unknown-compared", "unknown"),
        ("task < inference", "no-order", "<"),
        ("training > yes", "no-order", ">"),
        ("task < next_task", "no-order", "<"),
        ("task == node_link", "type-mismatch", "task == node_link"),
        ("count_a == task", "type-mismatch", "count_a == task"),
        ("count_a == many", "type-mismatch", "many"),
        ("task == count_a + 1", "type-mismatch", "count_a + 1"),
        ("task == (training and cuda)", "type-mismatch", "training and cuda"),
        ("training == maybe", "type-mismatch", "maybe"),
        ("training + 1 > 2", "type-mismatch", "training"),
        ("count_a", "not-a-condition", "count_a"),
        ("task", "not-a-condition", "task"),
        ("5", "not-a-condition", "5"),
        ("count_a + 1", "not-a-condition", "count_a + 1"),
        ("true", "not-a-condition", "true"),
        ("'x'", "not-a-condition", "'x'"),
        ("params_b > 24 GB", "wrong-unit", "24 GB"),
        ("need_gb > 24 hours", "wrong-unit", "24 hours"),
        ("need_gb * 2 > 24 hours", "wrong-unit", "24 hours"),
        ("need_gb * 2 GB > 24", "wrong-unit", "2 GB"),
        ("need_gb > $3", "wrong-unit", "$3"),
        ("need_gb > run_hours", "unit-mismatch", "need_gb > run_hours"),
        ("run_hours > project_months", "unit-mismatch", "run_hours > project_months"),
        ("batch > params_b", "unit-mismatch", "batch > params_b"),
        ("need_gb + run_hours > 3", "unit-mismatch", "need_gb + run_hours"),
        ("share_pct > 150", "out-of-range", "150"),
        ("count_a > 1e30", "out-of-range", "1e30"),
        ("count_a == 2.5", "never-equal", "count_a == 2.5"),
        ("2 > 1", "constant", "2 > 1"),
        ("yes == no", "unknown-fact", "yes"),
        ("'a' == 'b'", "no-fact", "'a' == 'b'"),
        ("ratio / 0 > 1", "division-by-zero", "0"),
        ("current_gpu == nvidia-l40x", "unknown-gpu", "nvidia-l40x"),
        ("gpu_candidates has nvidia-l40x", "unknown-gpu", "nvidia-l40x"),
        ("gpu_candidates == nvidia-t4", "list-compared", "gpu_candidates == nvidia-t4"),
        ("gpu_candidates == current_gpu", "list-compared", "gpu_candidates == current_gpu"),
        ("gpu_candidates in [nvidia-t4]", "list-compared", "gpu_candidates"),
        ("task has inference", "has-without-list", "task"),
        ("owned has nvidia-t4", "has-without-list", "owned"),
        ("sizes has x", "type-mismatch", "x"),
        ("task in current_gpu", "bad-list", "current_gpu"),
        ("task in [inference", "unclosed-bracket", "["),
        ("task in [(]", "bad-list", "("),
        ("task in []", "bad-list", "]"),
        ("task is inference", "bad-is", "inference"),
        ("5 is known", "no-fact", "5"),
        ("5 in [1]", "no-fact", "5"),
        ("5 has 1", "no-fact", "5"),
        ("task has", "bad-list", " "),
        ("3 < count_a < 5", "chained", "<"),
        ("count_a = 5", "bad-character", "="),
        ("training && cuda", "bad-character", "&"),
        ("count_a in [1..3]", "bad-character", "."),
        ("count_a >", "incomplete", " "),
        ("(training", "unclosed-bracket", "("),
        ("training)", "unexpected", ")"),
        ("training cuda", "unexpected", "cuda"),
        ("and training", "unexpected", "and"),
        ("   ", "empty-expression", " "),
        ("training and " * 400, "expression-too-long", "t"),
        ("(" * 60, "expression-too-deep", "("),
        ("not " * 60 + "training", "expression-too-deep", "not"),
        ("1" + " + 1" * 60 + " > count_a", "expression-too-deep", "+"),
        ("+" * 1500, "expression-too-long", "+"),
    ],
)
def test_mistakes_are_marked_exactly(vocabulary: Vocabulary, text: str, code: str, marked: str):
    (problem,) = fail(vocabulary, text)
    assert problem.code == code
    assert problem.place is not None
    start = problem.place.column - 1
    assert (text + " ")[start : start + problem.place.length] == marked


def test_several_mistakes_are_reported_together(vocabulary: Vocabulary):
    found = fail(vocabulary, "tsk == x and (task == inferense or not need_gb > 3 h)")
    assert [problem.code for problem in found] == ["unknown-fact", "unknown-choice", "wrong-unit"]
    assert [problem.place.column for problem in found if problem.place] == [1, 23, 50]
    assert found[0].nearest[0] == "task"
    assert found[1].nearest == ("inference",)


def test_hints_point_at_the_usual_slips(vocabulary: Vocabulary):
    assert "count_a - 1" in str(fail(vocabulary, "count_a-1 > 3")[0].fix)
    assert "==" in str(fail(vocabulary, "count_a = 5")[0].fix)
    assert "operator" in str(fail(vocabulary, "count_a task")[0].fix)
    assert fail(vocabulary, "count_a == trainin")[0].nearest == ("training",)


@pytest.mark.parametrize(
    ("text", "each", "fine"),
    [
        ("plan.count > 8", "workload", False),
        ("plan.count > 8", "plan", True),
        ("plan.count > 8", "chosen", True),
        ("gpu.vram_gb > 8 and plan.link == pcie", "candidate", True),
        ("gpu.vram_gb > 8", "workload", False),
        ("gpu.id == current_gpu", "workload", False),
        ("plan.link in [pcie]", "workload", False),
        ("pcie == plan.link", "workload", False),
        ("plan.link == foo", "workload", False),
        ("candidate.is_current", "plan", False),
        ("candidate.is_current", "candidate", True),
        ("training", "candidate", True),
    ],
)
def test_a_rule_reads_only_its_scope(vocabulary: Vocabulary, text: str, each: str, fine: bool):
    if fine:
        assert parse_condition(text, vocabulary, None, each)  # type: ignore[arg-type]
    else:
        assert "out-of-scope" in {problem.code for problem in fail(vocabulary, text, each)}


def scalar_of(text: str) -> ScalarNode:
    node = read_yaml_text(text, "rules/x.yaml", error=InputError)
    assert isinstance(node, MappingNode)
    when = node.get("when")
    assert isinstance(when, SequenceNode)
    scalar = when.items[0]
    assert isinstance(scalar, ScalarNode)
    return scalar


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("when:\n  - training and tsk == a\n", 2, 18),
        ("when:\n  - 'training and tsk == a'\n", 2, 19),
        ("when:\n  - training\n    and tsk == a\n", 3, 9),
    ],
)
def test_places_lie_in_the_file(vocabulary: Vocabulary, text: str, line: int, column: int):
    scalar = scalar_of(text)
    with pytest.raises(RulebookError) as caught:
        parse_condition(scalar.text, vocabulary, scalar)
    place = caught.value.problems[0].place
    assert place is not None
    assert (place.path, place.line, place.column, place.length) == ("rules/x.yaml", line, column, 3)


def test_a_place_is_shifted_or_kept(vocabulary: Vocabulary):
    def column(place: Place) -> int:
        with pytest.raises(InputError) as caught:
            parse_condition("tsk == a", vocabulary, place, error=InputError)
        found = caught.value.problems[0].place
        assert found is not None
        return found.column

    assert column(Place("f", 1, 3, 1, "- tsk == a")) == 3
    assert column(Place("f", 1, 3, 1, '- "tsk == a"')) == 4
    assert column(Place("f", 1, 3, 1, "- something else")) == 3


@pytest.mark.parametrize(
    ("target", "text", "tree"),
    [
        ("count_a", "8", Const(8)),
        ("count_a", "plan.count * 2", Arith("*", FactRef("plan.count"), Const(2))),
        ("need_gb", "1 TB", Const(1000)),
        ("need_gb", "have_gb + 2 GB", Arith("+", FactRef("have_gb"), Const(2))),
        ("task", "serving", Const("inference")),
        ("task", "next_task", FactRef("next_task")),
        ("training", "yes", Const(True)),
        ("training", "cuda", FactRef("cuda")),
        ("training", "count_a > 3", Compare(">", FactRef("count_a"), Const(3))),
        ("model_name", "any text: at all", Const("any text: at all")),
        ("model_name", "'quoted'", Const("quoted")),
        ("model_name", "task", FactRef("task")),
        ("current_gpu", "nvidia-t4", Const("nvidia-t4")),
        ("current_gpu", "gpu.id", FactRef("gpu.id")),
    ],
)
def test_expressions_fit_their_target(vocabulary: Vocabulary, target: str, text: str, tree: Expr):
    fact = vocabulary.fact(target)
    assert parse_expression(text, vocabulary, None, "plan", target=fact, known_gpus=GPUS) == tree


@pytest.mark.parametrize(
    ("target", "text", "code"),
    [
        ("count_a", "task", "type-mismatch"),
        ("count_a", "5000", "out-of-range"),
        ("count_a", "x +", "incomplete"),
        ("need_gb", "run_hours", "unit-mismatch"),
        ("need_gb", "3 h", "wrong-unit"),
        ("task", "inferense", "unknown-choice"),
        ("task", "count_a", "type-mismatch"),
        ("task", "count_a > 3", "type-mismatch"),
        ("task", "1 + 2", "type-mismatch"),
        ("training", "maybe", "type-mismatch"),
        ("training", "count_a", "type-mismatch"),
        ("training", "candidate.is_current", "out-of-scope"),
        ("gpu_candidates", "nvidia-t4", "list-value"),
        ("current_gpu", "nvidia-x", "unknown-gpu"),
        ("model_name", "", "empty-expression"),
    ],
)
def test_expressions_that_do_not_fit(vocabulary: Vocabulary, target: str, text: str, code: str):
    fact = vocabulary.fact(target)
    with pytest.raises(RulebookError) as caught:
        parse_expression(text, vocabulary, None, "plan", target=fact, known_gpus=GPUS)
    assert [problem.code for problem in caught.value.problems] == [code]


def test_expressions_without_target(vocabulary: Vocabulary):
    assert parse_expression("task", vocabulary) == TASK
    assert parse_expression("5", vocabulary) == Const(5)
    assert parse_expression("ratio * 2", vocabulary) == Arith("*", FactRef("ratio"), Const(2))
    assert parse_expression("ratio > 2", vocabulary) == Compare(">", FactRef("ratio"), Const(2))
    for text in ("nothing", "5 GB", "'x'"):
        with pytest.raises(RulebookError):
            parse_expression(text, vocabulary)


PIECES = st.sampled_from(
    [
        "training",
        "cuda",
        "task",
        "need_gb",
        "count_a",
        "and",
        "or",
        "not",
        "in",
        "has",
        "is",
        "known",
        "unknown",
        "==",
        "!=",
        "<",
        "<=",
        "(",
        ")",
        "[",
        "]",
        ",",
        "+",
        "-",
        "*",
        "/",
        "5",
        "24",
        "GB",
        "70b",
        "inference",
        "'x'",
        "$3",
        "1e30",
        "gpu_candidates",
        "nvidia-t4",
        ".",
        "=",
        "\x00",
        "\u2028",
        "{",
    ]
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_parses_or_is_explained(text: str):
    vocabulary = _shared()
    try:
        tree = parse_condition(text, vocabulary)
    except RulebookError as error:
        report = str(error)
    else:
        report = repr(tree)
    assert report


_CACHE: list[Vocabulary] = []


def _shared() -> Vocabulary:
    if not _CACHE:
        _CACHE.append(load_vocabulary(locate("knowledge"), cached=False))
    return _CACHE[0]


def test_every_condition_of_the_real_vocabulary_parses():
    vocabulary = _shared()
    texts = [fact.alias_when for fact in vocabulary.facts.values() if fact.alias_when]
    texts += [entry.when for fact in vocabulary.facts.values() for entry in fact.assumptions if entry.when]
    assert texts
    for text in texts:
        assert parse_condition(text, vocabulary)
