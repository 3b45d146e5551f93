from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from whichgpu.engine.core import record_of
from whichgpu.engine.core.errors import InputError, Place
from whichgpu.engine.rules.facts import FactDef, coerce, gpu_and_count, read_value, yes_or_no
from whichgpu.engine.rules.facts.numbers import Refused, read_literal
from whichgpu.engine.rules.facts.units import factor_of, is_known_unit, parse_unit


def fact(**fields: object) -> FactDef:
    return record_of(FactDef, {"name": "f", **fields})


def number(unit: str | None = None, low: float | None = 0, high: float | None = 1e6) -> FactDef:
    return fact(type="number", unit=unit, min=low, max=high)


@pytest.mark.parametrize(
    ("unit", "raw", "value"),
    [
        ("GB", "24 GB", 24.0),
        ("GB", "24GB", 24.0),
        ("GB", " 24 ", 24.0),
        ("GB", "1 TB", 1000.0),
        ("GB", "512 MB", 0.512),
        ("GB", "80 G", 80.0),
        ("GB", "80 GiB", 85.8993459),
        ("GB", "1,024", 1024.0),
        ("GB", 24, 24.0),
        ("B", "70b", 70.0),
        ("billions", "70B", 70.0),
        ("B", "500M", 0.5),
        ("B", "1T", 1000.0),
        ("B", "7 billion parameters", 7.0),
        ("billion tokens", "2 trillion tokens", 2000.0),
        ("hours", "2 weeks", 336.0),
        ("h", "90 min", 1.5),
        ("h", "1 month", 730.0),
        ("months", "1 year", 12.0),
        ("ms", "2 s", 2000.0),
        ("USD", "$3", 3.0),
        ("USD", "$3k", 3000.0),
        ("USD", "0.5M USD", 500000.0),
        ("USD", "250 cents", 2.5),
        ("USD/h", "$2.5/h", 2.5),
        ("USD/h", "2.50 USD/h", 2.5),
        ("USD/h", "2.50 USD per hour", 2.5),
        ("USD/GPU-hour", "$48/day", 2.0),
        ("USD/kWh", "$0.15/kWh", 0.15),
        ("USD/kWh", "15 cents/kWh", 0.15),
        ("%", "80 %", 80.0),
        ("percent", "p95", 95.0),
        ("percent", "P99.9", 99.9),
        ("%", "80%", 80.0),
        (None, "1.5k", 1500.0),
        ("requests/s", "1.5k", 1500.0),
        ("requests/s", "1.5k requests/s", 1500.0),
        ("requests/s", "1.5k qps", 1500.0),
        ("tokens/s", "2k", 2000.0),
        ("W", "1.2 kW", 1200.0),
        ("W", "700 watts", 700.0),
        ("TB/s", "900 GB/s", 0.9),
        ("GB/s", "400 Gbps", 50.0),
        ("requests/s", "50 qps", 50.0),
        ("requests/s", "3000 requests/min", 50.0),
        ("tokens/s", "1k tokens/s", 1000.0),
        ("tokens/s", "1500 tps", 1500.0),
        ("ratio", "80 %", 0.8),
        ("px", "1k px", 1000.0),
        ("samples", "16 samples", 16.0),
    ],
)
def test_numbers_are_read_in_the_unit_of_the_fact(unit: str | None, raw: object, value: float):
    reading = read_value(number(unit), raw)
    assert reading.problems == ()
    assert reading.value == pytest.approx(value, rel=1e-8)
    assert isinstance(reading.value, float)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("24 hours", "wrong-unit"),
        ("24 foo", "wrong-unit"),
        ("24 k", "wrong-unit"),
        ("$24", "wrong-unit"),
        ("nan", "not-a-number"),
        (math.nan, "not-finite"),
        (math.inf, "not-finite"),
        ("inf", "not-a-number"),
        ("1e999", "not-finite"),
        ("1e30", "out-of-range"),
        (10**400, "out-of-range"),
        ("-3", "out-of-range"),
        ("1,5", "not-a-number"),
        ("7-13", "wrong-unit"),
        ("many", "not-a-number"),
        ("9" * 100, "not-a-number"),
        (True, "not-a-number"),
        ([1], "not-a-number"),
        ({"a": 1}, "not-a-number"),
    ],
)
def test_bad_numbers_are_refused_with_the_range(raw: object, code: str):
    place = Place("w.yaml", 3, 5)
    (problem,) = read_value(number("GB"), raw, place).problems
    assert (problem.code, problem.fact, problem.place) == (code, "f", place)
    assert problem.fix


def test_the_fix_of_a_number_says_what_would_do():
    fix = read_value(fact(type="number", unit="GB", min=0, exclusive_min=True, max=8), "24 hours").problems[0].fix
    assert fix == "write a number of more than 0 and at most 8 GB, such as '8 GB'"
    fix = read_value(fact(type="number", unit="GB", min=20.5), "x").problems[0].fix
    assert fix == "write a number of at least 20.5 GB, such as '20.5 GB'"
    assert read_value(fact(type="number", unit="GB"), "x").problems[0].fix == (
        "write a plain number in GB, such as '16 GB'"
    )
    assert read_value(number("GB"), "1,5").problems[0].fix == "write 1.5, with a point"
    assert read_value(fact(type="number"), "x").problems[0].fix == "write a plain number"


def test_excluded_minimum_and_missing_bounds():
    positive = fact(type="number", min=0, exclusive_min=True)
    assert read_value(positive, "0").problems[0].code == "out-of-range"
    assert read_value(positive, "1e17").value == 1e17
    assert read_value(positive, "1e19").problems[0].code == "out-of-range"
    assert read_value(fact(type="number"), "-1e19").problems[0].code == "out-of-range"


def test_int_facts_take_whole_numbers_only():
    count = fact(type="int", unit="tokens", min=1, max=10**7)
    for raw, value in [("1.5k", 1500), ("4096 tokens", 4096), ("1e3", 1000), (8.0, 8), ("0.1M", 100000)]:
        result = coerce(count, raw)
        assert result == value
        assert type(result) is int
    (problem,) = read_value(count, "1.5").problems
    assert (problem.code, problem.fix) == ("not-whole", "write 1 or 2")


def test_minus_zero_becomes_zero():
    value = coerce(number(None), -0.0)
    assert isinstance(value, float)
    assert math.copysign(1.0, value) == 1.0


def test_truth_values():
    flag = fact(type="bool", synonyms={"sure": "yes"})
    for raw in (True, "yes", "True", "ON", "y", "sure"):
        assert coerce(flag, raw) is True
    for raw in (False, "no", "off", "N"):
        assert coerce(flag, raw) is False
    for raw in ("maybe", 1, 0, [True]):
        assert read_value(flag, raw).problems[0].code == "not-a-bool"
    assert yes_or_no("perhaps") is None


TASK = fact(
    type="enum",
    choices=("full_finetuning", "inference", "none", "q4_k_m"),
    synonyms={"serving": "inference", "true": "full_finetuning"},
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("inference", "inference"),
        ("INFERENCE", "inference"),
        ("Full-Finetuning", "full_finetuning"),
        ("full finetuning", "full_finetuning"),
        ("serving", "inference"),
        ("Q4-K-M", "q4_k_m"),
        ("none", "none"),
        (True, "full_finetuning"),
        ("unknown", None),
        ("Don't know", None),
        ("?", None),
        ("", None),
        (None, None),
    ],
)
def test_choices_are_folded(raw: object, value: str | None):
    assert coerce(TASK, raw) == value


def test_a_wrong_choice_names_the_nearest_and_all():
    with pytest.raises(InputError) as caught:
        coerce(TASK, "inferense")
    (problem,) = caught.value.problems
    assert problem.code == "unknown-choice"
    assert problem.nearest[0] == "inference"
    assert problem.fix == "write one of full_finetuning, inference, none, q4_k_m"
    assert read_value(TASK, "servign").problems[0].nearest == ("inference",)
    assert read_value(TASK, False).problems[0].code == "unknown-choice"
    assert read_value(TASK, {"a": 1}).problems[0].code == "wrong-type"
    assert read_value(TASK, "x" * 500).problems[0].code == "text-too-long"


def test_a_fact_with_other_choices_or_another_unit_is_read_by_those():
    fact = FactDef(name="size", type="enum", choices=("small", "large"), synonyms={"big": "large"})
    assert fact.choice("big") == "large"
    changed = replace(fact, choices=("low", "high"), synonyms={"big": "high"})
    assert [changed.choice(word) for word in ("big", "low", "small")] == ["high", "low", None]
    length = FactDef(name="length", type="number", unit="GB")
    assert length.parsed_unit == parse_unit("GB")
    assert replace(length, unit="hours").parsed_unit == parse_unit("hours")


def test_an_open_choice_becomes_other_with_a_warning():
    engine = fact(type="enum", choices=("vllm", "other"), open=True)
    reading = read_value(engine, "vlm2")
    assert reading.value == "other"
    (warning,) = reading.warnings
    assert warning.code == "unknown-choice"
    assert "vllm" in warning.nearest


@pytest.mark.parametrize(
    ("written", "choice"),
    [
        ("vLLM 0.10.0, RHEL 9.6", "vllm"),
        ("TensorRT-LLM (PyTorch backend)", "tensorrt-llm"),
        ("HF Trainer on vLLM", "transformers"),
        ("something other", "other"),
        ("vllmish", "other"),
    ],
)
def test_an_open_choice_is_found_inside_a_longer_text(written, choice):
    choices = ("vllm", "tensorrt-llm", "transformers", "other")
    engine = fact(
        type="enum", choices=choices, synonyms={"tensorrt": "tensorrt-llm", "hf trainer": "transformers"}, open=True
    )
    reading = read_value(engine, written)
    assert reading.value == choice
    assert [warning.code for warning in reading.warnings] == ["unknown-choice" if choice == "other" else "taken-as"]


def test_a_choice_called_unknown_is_a_value():
    assert coerce(fact(type="enum", choices=("unknown", "a")), "unknown") == "unknown"


def test_texts():
    name = fact(type="text", synonyms={"llama 8b": "llama-3.1-8b"})
    assert coerce(name, "  Some Model ") == "Some Model"
    assert coerce(name, "Llama-8B") == "llama-3.1-8b"
    assert coerce(name, 4.5) == "4.5"
    assert coerce(name, "unknown") is None
    assert read_value(name, "a\x1b[31m").problems[0].code == "control-character"
    assert read_value(name, True).problems[0].code == "wrong-type"


def test_gpu_names_are_checked_where_they_are_known():
    gpu = fact(type="gpu")
    known = frozenset({"nvidia-l40s", "nvidia-t4"})
    assert coerce(gpu, "anything") == "anything"
    assert coerce(gpu, "NVIDIA L40S", known_gpus=known) == "nvidia-l40s"
    assert coerce(gpu, "nvidia-t4", known_gpus=known) == "nvidia-t4"
    (problem,) = read_value(gpu, "nvidia-l40x", known_gpus=known).problems
    assert (problem.code, problem.nearest[0]) == ("unknown-gpu", "nvidia-l40s")


def test_lists():
    gpus = fact(type="list", items="gpu")
    assert coerce(gpus, "a, b ,, a") == ("a", "b")
    assert coerce(gpus, ["a", "b"]) == ("a", "b")
    assert coerce(gpus, "none") == ()
    assert coerce(gpus, []) == ()
    assert coerce(gpus, "unknown") is None
    assert coerce(fact(type="list", items="int", min=1), "4, 8") == (4, 8)
    assert coerce(fact(type="list", items="enum", choices=("x", "none")), "none, X") == ("none", "x")
    assert coerce(fact(type="list", items="text"), 5) == ("5",)
    for raw in (["a", ["b"]], [None]):
        assert read_value(gpus, raw).problems[0].code == "not-an-item"
    assert read_value(gpus, ["a"] * 300).problems[0].code == "list-too-long"


@pytest.mark.parametrize(
    "raw",
    [
        "8 x nvidia-l40s",
        "8x nvidia-l40s",
        "8xnvidia-l40s",
        "8Xnvidia-l40s",
        "8 nvidia-l40s",
        "nvidia-l40s x 8",
        "nvidia-l40s x8",
        "nvidia-l40s:8",
        "8 \N{MULTIPLICATION SIGN} nvidia-l40s",
        {"gpu": "nvidia-l40s", "count": 8},
        {"gpu": "nvidia-l40s", "count": "8"},
        [{"gpu": "nvidia-l40s", "count": 8}],
    ],
)
def test_gpus_with_counts(raw: object):
    value = coerce(fact(type="list", items="gpu_count"), raw)
    assert value == ("nvidia-l40s:8",)
    assert gpu_and_count("nvidia-l40s:8") == ("nvidia-l40s", 8)


def test_bad_gpus_with_counts():
    owned = fact(type="list", items="gpu_count")
    assert coerce(owned, "nvidia-t4") == ("nvidia-t4:1",)
    for raw in ({"gpu": "a", "count": 0}, {"gpu": "a", "count": True}, {"count": 3}, {"gpu": "a", "n": 1}, "a x 0"):
        assert read_value(owned, [raw]).problems[0].code == "not-a-gpu-count"


def test_literals_of_rules_may_touch_the_ends():
    share = fact(type="int", unit="%", min=0, max=100, exclusive_min=True)
    assert read_literal("0", share) == 0
    assert read_literal("2.5", share) == 2.5
    assert read_literal("1k", None) == 1000
    assert read_literal("2 weeks", None, parse_unit("h")) == 336
    for text, code in [("101", "out-of-range"), ("-1", "out-of-range"), ("1e999", "not-finite"), ("3 h", "wrong-unit")]:
        with pytest.raises(Refused) as caught:
            read_literal(text, share)
        assert caught.value.code == code
    with pytest.raises(Refused, match="data"):
        read_literal("3 h", None, parse_unit("GB"))


@pytest.mark.parametrize(
    ("unit", "raw", "value"),
    [
        ("requests", "10 million documents", 10_000_000),
        ("requests", "500k pictures", 500_000),
        ("requests", "3 pages", 3),
        ("audio hours", "20,000 hours", 20_000),
        ("audio hours", "20k hours of audio", 20_000),
        ("audio hours", "1.2 million minutes", 20_000),
        ("audio hours", "20k", 20_000),
        ("video hours", "90 min", 1.5),
        ("video hours", "2 days of video", 48),
    ],
)
def test_work_in_all_is_written_as_people_speak(unit, raw, value):
    assert coerce(number(unit, high=1e12), raw) == pytest.approx(value)


def test_what_does_not_last_takes_no_time():
    assert read_value(number("audio hours"), "20 GB").problems[0].code == "wrong-unit"
    assert read_value(number("requests"), "20 hours").problems[0].code == "wrong-unit"


def test_units_know_what_they_measure():
    assert parse_unit("GB").comparable(parse_unit("GB"))
    assert not parse_unit("GB").comparable(parse_unit("TB"))
    assert not parse_unit("GB").comparable(parse_unit("h"))
    assert parse_unit("billion tokens").comparable(parse_unit("B"))
    assert not parse_unit("tokens").comparable(parse_unit("B"))
    assert not parse_unit("tokens").comparable(parse_unit("h"))
    assert parse_unit("USD/GPU-hour") == parse_unit("USD/h")
    assert parse_unit("million") == parse_unit("millions")
    assert is_known_unit("GB/s")
    assert not is_known_unit("foo")
    assert factor_of("b", None) == 1e9
    assert factor_of("GB", None) is None
    assert factor_of("k hours", parse_unit("tokens")) is None
    assert factor_of("k", parse_unit("h")) is None
    assert factor_of("GB", parse_unit("GB/s")) is None


ANY_FACT = st.sampled_from(
    [
        number("GB"),
        fact(type="int"),
        fact(type="bool"),
        TASK,
        fact(type="text"),
        fact(type="gpu"),
        fact(type="list", items="gpu_count"),
        fact(type="list", items="int"),
    ]
)
RAW = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)


@given(ANY_FACT, RAW)
def test_any_raw_value_is_typed_or_refused(definition: FactDef, raw: object):
    reading = read_value(definition, raw)
    if reading.problems:
        with pytest.raises(InputError, match="f: "):
            coerce(definition, raw)
    else:
        assert reading.value is None or coerce(definition, reading.value) == reading.value


@given(st.floats(1e-3, 1e5), st.sampled_from(["GB", "TB", "GiB", "MB"]))
def test_a_written_size_is_the_product_of_number_and_unit(size: float, unit: str):
    factor = {"GB": 1.0, "TB": 1e3, "GiB": 1.073741824, "MB": 1e-3}[unit]
    value = coerce(fact(type="number", unit="GB", min=0), f"{size:.6f} {unit}")
    assert value == pytest.approx(float(f"{size:.6f}") * factor, rel=1e-9)
