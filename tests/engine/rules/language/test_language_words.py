from __future__ import annotations

import json
import math

import pytest
from msgspec.structs import replace

from whichgpu import Advisor
from whichgpu.engine.core.errors import InputError, RulebookError
from whichgpu.engine.core.values import Value
from whichgpu.engine.core.yaml import MappingNode, Node, SequenceNode, find, read_yaml_text
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language import (
    check_template,
    format_number,
    format_value,
    parse_cell,
    parse_condition,
    parse_expression,
    render,
    template_facts,
    words,
)
from whichgpu.engine.rules.language.tree import And, Compare, Const, Expr, FactRef, Has, Known, Member, Not, Or


FACTS: dict[str, Value] = {
    "training": False,
    "count_a": 16,
    "need_gb": 120.0,
    "have_gb": 80.0,
    "task": "inference",
    "gpu_candidates": ("nvidia-t4", "nvidia-l40s"),
    "params_b": 70.0,
    "plan.link": "pcie",
    "plan.count": 16,
    "price_usd_h": 2.5,
}


@pytest.mark.parametrize(
    ("text", "plain", "with_facts"),
    [
        ("training", "training: yes", "training: yes (it is no)"),
        ("not training", "training: no", "training: no (it is no)"),
        ("training == no", "the training is no", "the training is no (it is no)"),
        ("count_a > 8", "the number of GPUs is more than 8", "the number of GPUs is more than 8 (it is 16)"),
        ("8 < count_a", "the number of GPUs is more than 8", "the number of GPUs is more than 8 (it is 16)"),
        ("run_hours <= 2 weeks", "the hours of a run are at most 336 hours", None),
        ("params_b >= 70b", "the parameters are at least 70 billion", None),
        ("price_usd_h < $3/h", "the price is less than $3/h", "the price is less than $3/h (it is $2.5/h)"),
        ("task == serving", "the task is serve", "the task is serve (it is serve)"),
        ("inference == task", "the task is serve", None),
        ("task != pretraining", "the task is not pretraining", "the task is not pretraining (it is serve)"),
        ("task in [inference]", "the task is serve", None),
        ("task not in [inference]", "the task is not serve", None),
        ("task not in [inference, pretraining]", "the task is none of serve or pretraining", None),
        ("plan.link in [none, pcie, nvlink]", "the link is one of none, PCIe or nvlink", None),
        (
            "gpu_candidates has a10",
            "the GPUs compared include a10",
            "the GPUs compared include a10 (it is nvidia-t4, nvidia-l40s)",
        ),
        ("not (gpu_candidates has a10)", "the GPUs compared do not include a10", None),
        ("regions has eu", "the list of regions includes eu", "the list of regions includes eu (unknown)"),
        ("not (regions has eu)", "the list of regions does not include eu", None),
        ("sizes has 8", "sizes include 8", None),
        ("task is known", "the task is known", "the task is known (it is serve)"),
        ("cadence == daily", "how often jobs run is daily", "how often jobs run is daily (unknown)"),
        ("cadence is unknown", "how often jobs run is unknown", "how often jobs run is unknown"),
        ("tokens_b is unknown", "the training tokens are unknown", "the training tokens are unknown"),
        ("need_gb > have_gb", "the memory needed is more than have_gb", None),
        (
            "need_gb * 1.2 <= have_gb - 2 GB",
            "the memory needed times 1.2 is at most have_gb minus 2 GB",
            "the memory needed times 1.2 is at most have_gb minus 2 GB (144 GB against 78 GB)",
        ),
        (
            "need_gb / have_gb > 1.2",
            "the memory needed divided by have_gb is more than 1.2",
            "the memory needed divided by have_gb is more than 1.2 (it is 1.5)",
        ),
        (
            "tokens_b > 20 * params_b",
            "the training tokens are more than 20 times the parameters",
            "the training tokens are more than 20 times the parameters (unknown against 1,400 billion)",
        ),
        ("(ratio + 1) * 2 > 3", "(ratio plus 1) times 2 is more than 3", None),
        ("2 / need_gb > 3", "2 divided by the memory needed is more than 3", None),
        ("ratio * need_gb > 3 GB", "ratio times the memory needed is more than 3 GB", None),
        (
            "training or count_a > 3 and cuda",
            "training: yes or (the number of GPUs is more than 3 and cuda: yes)",
            None,
        ),
        ("not (training and cuda)", "not (training: yes and cuda: yes)", None),
        ("not training == yes", "not (the training is yes)", None),
    ],
)
def test_conditions_in_words(vocabulary: Vocabulary, text: str, plain: str, with_facts: str | None):
    tree = parse_condition(text, vocabulary, None, "plan")
    assert words(tree, vocabulary) == plain
    if with_facts is not None:
        assert words(tree, vocabulary, FACTS) == with_facts


def test_values_in_words(vocabulary: Vocabulary):
    assert words(Const(True), vocabulary) == "yes"
    assert words(Const("x"), vocabulary) == "x"
    assert words(parse_expression("ratio * 2", vocabulary), vocabulary) == "ratio times 2"
    assert words(FactRef("nowhere"), vocabulary) == "nowhere"
    assert words(Compare(">", FactRef("nowhere"), Const(3)), vocabulary, {"nowhere": 4.5}) == (
        "nowhere is more than 3 (it is 4.5)"
    )
    assert words(Has(FactRef("nowhere"), "x"), vocabulary, {"nowhere": ()}) == "nowhere includes x (it is none)"
    assert words(Compare("==", Not(FactRef("cuda")), Const(True)), vocabulary) == "cuda: no is yes"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("need_gb", 24.0, "24 GB"),
        ("need_gb", 24.123456789, "24.1235 GB"),
        ("need_gb", 1234567.0, "1,234,570 GB"),
        ("need_gb", 0.00001234, "0.00001234 GB"),
        ("need_gb", 1e20, "100,000,000,000,000,000,000 GB"),
        ("need_gb", None, "unknown"),
        ("params_b", 70, "70 billion"),
        ("count_a", 1234567, "1,234,567"),
        ("run_hours", 1, "1 hour"),
        ("run_hours", 1.5, "1.5 hours"),
        ("project_months", 1.0, "1 month"),
        ("share_pct", 80, "80 %"),
        ("price_usd_h", 2.5, "$2.5/h"),
        ("price_usd_h", -2, "-$2/h"),
        ("launch_year", 2022, "2022"),
        ("launch_year", 2022.0, "2022"),
        ("training", True, "yes"),
        ("task", "inference", "serve"),
        ("task", "full_finetuning", "full finetuning"),
        ("model_name", "my_model", "my_model"),
        ("owned", ("nvidia-l40s:8", "nvidia-t4:1"), "8 x nvidia-l40s, 1 x nvidia-t4"),
        ("sizes", (1000, 2), "1,000, 2"),
        ("links_seen", ("pcie",), "pcie"),
        ("gpu_candidates", (), "none"),
    ],
)
def test_values_are_formatted(vocabulary: Vocabulary, name: str, value: Value | None, text: str):
    fact = vocabulary.fact(name)
    assert fact is not None
    assert format_value(fact, value) == text


def test_numbers_that_are_none():
    assert format_number(math.inf) == "unlimited"
    assert format_number(math.nan) == "unknown"
    assert format_number(-0.0) == "0"


def test_templates_show_this_case(vocabulary: Vocabulary):
    template = "{plan.count} GPUs over { plan.link } for {need_gb}; {tokens_b} {{raw}} {nothing}"
    text = render(template, FACTS, vocabulary)
    assert text == "16 GPUs over PCIe for 120 GB; unknown {raw} {nothing}"
    assert template_facts(template) == ("plan.count", "plan.link", "need_gb", "tokens_b", "nothing")


def test_a_sentence_has_no_more_digits_than_are_known(vocabulary: Vocabulary):
    assert render("{share_pct} of {need_gb}", {"share_pct": 9.8341, "need_gb": 172.7345}, vocabulary) == (
        "9.83 % of 172.7 GB"
    )


def test_long_times_are_said_in_seconds(vocabulary: Vocabulary):
    fact = vocabulary.fact("need_gb")
    assert fact is not None
    wait = replace(fact, unit="ms")
    assert [format_value(wait, value) for value in (441, 9_999, 10_000, 104_100)] == [
        "441 ms",
        "9,999 ms",
        "10 s",
        "104.1 s",
    ]


def test_templates_are_checked(vocabulary: Vocabulary):
    template = "{plan.cuont} and {x and {need_gb} GB of {plan.count}, {{fine}} {gpu_total}"
    found = check_template(template, vocabulary, None, "workload")
    assert [problem.code for problem in found] == ["unknown-fact", "stray-brace", "unit-twice", "out-of-scope"]
    assert found[0].nearest[0] == "plan.count"
    assert [problem.place.column for problem in found if problem.place] == [1, 18, 25, 41]
    assert check_template("{plan.count} GPUs, {need_gb} in all", vocabulary, None, "plan") == ()
    assert check_template("{plan.count}", vocabulary) == ()


COUNT, PARAMS, TASK = FactRef("count_a"), FactRef("params_b"), FactRef("task")
SEVEN_TO_THIRTEEN = And((Compare(">=", PARAMS, Const(7)), Compare("<=", PARAMS, Const(13))))


def _node(cell: object) -> Node:
    """A cell as a rule file holds it."""
    node = read_yaml_text(f"- {json.dumps(cell)}\n", "t.yaml", error=InputError)
    assert isinstance(node, SequenceNode)
    return node.items[0]


@pytest.mark.parametrize(
    ("column", "cell", "tree"),
    [
        ("params_b", "-", None),
        ("params_b", "7..13", SEVEN_TO_THIRTEEN),
        ("params_b", "7b .. 13b", SEVEN_TO_THIRTEEN),
        ("params_b", 7, Compare("==", PARAMS, Const(7))),
        ("params_b", 7.5, Compare("==", PARAMS, Const(7.5))),
        ("params_b", "< 3", Compare("<", PARAMS, Const(3))),
        ("params_b", ">= 70b", Compare(">=", PARAMS, Const(70))),
        ("params_b", "> 3 and <= 30", And((Compare(">", PARAMS, Const(3)), Compare("<=", PARAMS, Const(30))))),
        ("params_b", "< 3 or > 30", Or((Compare("<", PARAMS, Const(3)), Compare(">", PARAMS, Const(30))))),
        ("params_b", "not in [1, 2]", Member(PARAMS, (1, 2), negated=True)),
        ("params_b", "> tokens_b", Compare(">", PARAMS, FactRef("tokens_b"))),
        ("params_b", [1, "7..13"], Or((Compare("==", PARAMS, Const(1)), SEVEN_TO_THIRTEEN))),
        ("params_b", ["7..13"], SEVEN_TO_THIRTEEN),
        ("task", "serving", Compare("==", TASK, Const("inference"))),
        ("task", "!= inference", Compare("!=", TASK, Const("inference"))),
        ("task", ["inference", "pretraining"], Member(TASK, ("inference", "pretraining"))),
        ("task", ["inference"], Compare("==", TASK, Const("inference"))),
        ("task", "is known", Known(TASK)),
        ("task", "is unknown", Known(TASK, negated=True)),
        ("task", "unknown", Known(TASK, negated=True)),
        ("task", "known", Known(TASK)),
        ("mode", "unknown", Compare("==", FactRef("mode"), Const("unknown"))),
        ("training", True, FactRef("training")),
        ("training", "no", Not(FactRef("training"))),
        ("gpu_candidates", "nvidia-t4", Has(FactRef("gpu_candidates"), "nvidia-t4")),
        (
            "gpu_candidates",
            ["nvidia-t4", "amd-mi300x"],
            Or((Has(FactRef("gpu_candidates"), "nvidia-t4"), Has(FactRef("gpu_candidates"), "amd-mi300x"))),
        ),
        ("sizes", 8, Has(FactRef("sizes"), 8)),
        ("model_name", "Some Model 2", Compare("==", FactRef("model_name"), Const("Some Model 2"))),
        ("plan.link", "nvlink-bridge", Compare("==", FactRef("plan.link"), Const("nvlink-bridge"))),
    ],
)
def test_cells_become_conditions(vocabulary: Vocabulary, column: str, cell: object, tree: Expr | None):
    fact = vocabulary.fact(column)
    assert fact is not None
    known = frozenset({"nvidia-t4", "amd-mi300x"})
    assert parse_cell(_node(cell), fact, vocabulary, "plan", known_gpus=known) == tree


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        ("task", "inferense", "unknown-choice"),
        ("task", ["inference", "x"], "unknown-choice"),
        ("task", "== x", "unknown-choice"),
        ("params_b", "13..7", "empty-range"),
        ("params_b", "7..x", "not-a-number"),
        ("params_b", "many", "not-a-number"),
        ("params_b", "7 GB", "wrong-unit"),
        ("training", "maybe", "type-mismatch"),
        ("current_gpu", "nvidia-x", "unknown-gpu"),
        ("task", "", "bad-cell"),
        ("task", [], "bad-cell"),
        ("task", ["-", "inference"], "bad-cell"),
        ("task", [["inference"]], "bad-cell"),
        ("candidate.is_current", "yes", "out-of-scope"),
        ("model_name", "x" * 400, "wrong-value"),
        ("params_b", ". " * 5000, "expression-too-long"),
    ],
)
def test_bad_cells(vocabulary: Vocabulary, column: str, cell: object, code: str):
    fact = vocabulary.fact(column)
    assert fact is not None
    with pytest.raises(RulebookError) as caught:
        parse_cell(_node(cell), fact, vocabulary, "plan", known_gpus=frozenset({"nvidia-t4"}))
    assert [problem.code for problem in caught.value.problems] == [code]
    assert caught.value.problems[0].place is None or caught.value.problems[0].place.column >= 1


def test_cells_of_a_file_have_places(vocabulary: Vocabulary):
    text = "if: [7..13, [inference, inferense], {a: b}, 'zzz', \"> 3 and < x\"]\n"
    node = read_yaml_text(text, "t.yaml", error=InputError)
    cells = find(node, ("if",))
    assert isinstance(cells, SequenceNode)
    task, params = vocabulary.fact("task"), vocabulary.fact("params_b")
    assert task is not None
    assert params is not None
    assert parse_cell(cells.items[0], params, vocabulary) == SEVEN_TO_THIRTEEN

    def column(index: int) -> int:
        with pytest.raises(RulebookError) as caught:
            parse_cell(cells.items[index], params if index == 4 else task, vocabulary)
        place = caught.value.problems[0].place
        assert place is not None
        return place.column

    assert column(1) == text.index("inferense") + 1
    assert column(2) == text.index("{") + 1
    assert column(3) == text.index("zzz") + 1
    assert column(4) == text.index('x"') + 1
    assert isinstance(node, MappingNode)


def test_out_of_scope_columns_are_placed(vocabulary: Vocabulary):
    node = read_yaml_text("- 3\n", "t.yaml", error=InputError)
    fact = vocabulary.fact("plan.count")
    assert fact is not None
    assert isinstance(node, SequenceNode)
    with pytest.raises(RulebookError, match=r"t\.yaml:1:3"):
        parse_cell(node.items[0], fact, vocabulary)


def test_so_many_per_year_is_no_year(advisor: Advisor):
    assert format_value(advisor.vocabulary.facts["gpu_hours_per_year"], 26300.0) == "26,300 hours"
