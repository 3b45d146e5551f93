"""Intake: what people write becomes checked facts, or an error that says what was meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError, Problem
from whichgpu.engine.core.yaml import read_yaml, read_yaml_text


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


def problems(advisor: Advisor, raw: object, changes: tuple[str, ...] = ()) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        advisor.read(raw, changes)  # type: ignore[arg-type]
    return caught.value.problems


def only_problem(advisor: Advisor, raw: object, changes: tuple[str, ...] = ()) -> Problem:
    found = problems(advisor, raw, changes)
    assert len(found) == 1, found
    return found[0]


def test_values_are_typed_by_the_fact_they_stand_for(advisor: Advisor) -> None:
    raw = {"task": "Inference", "param_count_b": "70b", "required_vram_gb": "24 GiB", "always_on": "yes"}
    assert advisor.read(raw).given == {
        "task": "inference",
        "param_count_b": 70,
        "required_vram_gb": pytest.approx(25.77, rel=1e-3),
        "always_on": True,
    }


@pytest.mark.parametrize(
    ("alias", "fact", "value"),
    [
        ("model", "model_name", "llama-3.1-8b"),
        ("params", "param_count_b", 8),
        ("qps", "peak_qps", 2),
        ("tp", "tensor_parallel", 2),
    ],
)
def test_an_alias_is_its_fact(advisor: Advisor, alias: str, fact: str, value: object) -> None:
    assert advisor.read({alias: value}).given == {fact: value}


def test_a_name_with_two_meanings_is_the_wish_where_the_answer_has_the_other(advisor: Advisor) -> None:
    assert advisor.read({"procurement": "buy"}).given == {"procurement_wish": "buy"}


def test_a_conditional_alias_gives_way_to_the_fact_itself(advisor: Advisor) -> None:
    found = only_problem(advisor, {"procurement": "buy", "procurement_wish": "rent"})
    assert found.code == "output-given"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("nvidia-h100-sxm-80gb", "nvidia-h100-80gb-sxm"),
        ("RTX 4090", "nvidia-rtx-4090"),
        ("4090", "nvidia-rtx-4090"),
        ("l40s", "nvidia-l40s"),
    ],
)
def test_gpus_are_known_by_any_spelling(advisor: Advisor, written: str, meant: str) -> None:
    assert advisor.read({"current_gpu": written}).given["current_gpu"] == meant


def test_a_gpu_is_listed_once_and_a_family_by_its_name(advisor: Advisor) -> None:
    given = advisor.read({"gpu_candidates": ["nvidia-a100-80gb", "T4", "tesla t4", "NVIDIA A100 80GB"]}).given
    assert given["gpu_candidates"][:2] == ("nvidia-a100-80gb", "nvidia-t4")
    assert len(given["gpu_candidates"]) == len(set(given["gpu_candidates"]))


def test_a_name_of_several_cards_is_their_series_where_one_is_asked(advisor: Advisor) -> None:
    assert advisor.read({"current_gpu": "nvidia-a100"}).given["current_gpu"] == "nvidia-a100"


def test_sizing_on_a_family_means_its_last_member(advisor: Advisor) -> None:
    assert advisor.read({"gpu": "nvidia-a100-80gb"}).gpu == "nvidia-a100-80gb-sxm"


def test_owned_gpus_keep_their_counts(advisor: Advisor) -> None:
    given = advisor.read({"gpus_owned": ["l40s:8", "T4"]}).given
    assert given["gpus_owned"] == ("nvidia-l40s:8", "nvidia-t4:1")
    for written in ("rtx 4090", ["RTX 4090"], "rtx 4090 x 1", "geforce rtx 4090"):
        assert advisor.read({"gpus_owned": written}).given["gpus_owned"] == ("nvidia-rtx-4090:1",), written
    with pytest.raises(InputError, match="no GPU is called 'rtx 4091'\n  did you mean nvidia-rtx-4090"):
        advisor.read({"gpus_owned": "rtx 4091"})
    assert advisor.read({"gpus_owned": "2x3090, 4x4090"}).given["gpus_owned"] == (
        "nvidia-rtx-3090:2",
        "nvidia-rtx-4090:4",
    )


def test_unknown_stays_unknown(advisor: Advisor) -> None:
    assert advisor.read({"task": "inference", "param_count_b": None, "peak_qps": "unknown"}).given == {
        "task": "inference"
    }


def test_reserved_keys_are_kept_apart(advisor: Advisor) -> None:
    workload = advisor.read({"id": 7, "gpu": "L40S", "count": "2", "task": "inference"})
    assert (workload.id, workload.gpu, workload.count) == (7, "nvidia-l40s", 2)
    assert workload.given == {"task": "inference"}


def test_an_open_choice_is_taken_as_other_with_a_remark(advisor: Advisor) -> None:
    workload = advisor.read({"optimizer": "shampoo"})
    assert workload.given == {"optimizer": "other"}
    assert [remark.fact for remark in workload.remarks] == ["optimizer"]


@pytest.mark.parametrize(
    ("raw", "code", "nearest"),
    [
        ({"taks": "inference"}, "unknown-fact", "task"),
        ({"param_count": 8}, "unknown-fact", "param_count_b"),
        ({"task": "infrence"}, None, "inference"),
        ({"current_gpu": "nvidia-l40z"}, "unknown-gpu", "nvidia-l40s"),
        ({"gpu_candidates": ["T4", "RTX 4099"]}, "unknown-gpu", "nvidia-rtx-4090"),
        ({"gpu": "h10"}, "unknown-gpu", None),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(
    advisor: Advisor, raw: dict[str, object], code: str | None, nearest: str | None
) -> None:
    found = only_problem(advisor, raw)
    assert code in (None, found.code)
    assert nearest is None or nearest in found.nearest
    assert found.fix or found.nearest


@pytest.mark.parametrize(
    "raw",
    [
        {"param_count_b": "24 GB"},
        {"param_count_b": -7},
        {"param_count_b": 0},
        {"param_count_b": 1e30},
        {"param_count_b": "1e30"},
        {"param_count_b": float("nan")},
        {"param_count_b": float("inf")},
        {"param_count_b": [7]},
        {"param_count_b": {"b": 7}},
        {"param_count_b": True},
        {"num_gpus": 1.5},
        {"always_on": "perhaps"},
        {"gpus_owned": ["l40s:0"]},
        {"count": "many"},
    ],
)
def test_a_value_that_cannot_be_is_refused_with_a_fix(advisor: Advisor, raw: dict[str, object]) -> None:
    found = only_problem(advisor, raw)
    assert found.fact or found.nearest
    assert found.fix, found


def test_a_value_in_place_of_a_fact_is_answered_with_the_facts_that_take_it(advisor: Advisor) -> None:
    with pytest.raises(InputError) as caught:
        advisor.read({"task": "inference", "production": True})
    (problem,) = caught.value.problems
    assert (problem.code, problem.fix) == ("unknown-fact", "write lifecycle_stage: production")


def test_what_the_answer_says_cannot_be_given(advisor: Advisor) -> None:
    assert only_problem(advisor, {"monthly_rent_usd": 5}).code == "output-given"


@pytest.mark.parametrize("name", ["plan.count", "gpu.vram_gb", "candidate.verdict"])
def test_what_belongs_to_a_plan_cannot_be_given(advisor: Advisor, name: str) -> None:
    assert only_problem(advisor, {name: 2}).code == "unknown-fact"


def test_a_fact_given_by_two_names_is_refused(advisor: Advisor) -> None:
    found = only_problem(advisor, {"model": "gpt-2", "model_name": "llama-3.1-8b"})
    assert (found.code, found.fact) == ("given-twice", "model_name")


def test_all_problems_are_reported_at_once(advisor: Advisor) -> None:
    found = problems(advisor, {"taks": "x", "param_count_b": -1, "current_gpu": "zzz"}, ("nonsense",))
    assert {problem.code for problem in found} >= {"unknown-fact", "unknown-gpu", "bad-set"}
    assert len(found) == 4


@pytest.mark.parametrize("raw", [["task"], "inference", 3])
def test_a_workload_is_a_mapping(advisor: Advisor, raw: object) -> None:
    text = read_yaml_text(f"{raw}\n", "w.yaml", error=InputError)
    assert only_problem(advisor, text).code == "not-a-workload"


def test_a_change_takes_the_place_of_what_was_written_by_whatever_name(advisor: Advisor) -> None:
    raw = {"task": "inference", "model": "gpt-2"}
    assert advisor.read(raw, ["model_name=llama-3.1-8b"]).given["model_name"] == "llama-3.1-8b"
    assert advisor.read({"model_name": "gpt-2"}, ["model=llama-3.1-8b"]).given["model_name"] == "llama-3.1-8b"


def test_the_last_change_of_a_fact_counts(advisor: Advisor) -> None:
    assert advisor.read({}, ["param_count_b=7", "params= 8 "]).given == {"param_count_b": 8}


def test_a_change_may_forget_a_fact_and_hold_an_equals_sign(advisor: Advisor) -> None:
    assert advisor.read({"peak_qps": 3}, ["peak_qps=unknown"]).given == {}
    assert advisor.read({}, ["model_name=a=b"]).given == {"model_name": "a=b"}


@pytest.mark.parametrize("change", ["param_count_b", "=8", "", " = "])
def test_a_change_needs_a_fact_and_a_value(advisor: Advisor, change: str) -> None:
    found = only_problem(advisor, {}, (change,))
    assert found.code == "bad-set"
    assert "--set" in (found.fix or "")


def test_a_change_may_set_reserved_keys(advisor: Advisor) -> None:
    assert advisor.read({"gpu": "T4"}, ["gpu=L4", "count=3"]).gpu == "nvidia-l4"


def test_mistakes_in_a_file_have_their_place(advisor: Advisor, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("task: inference\nparam_count_b: 7\ncurrent_gpu: nvidia-l40z\n")
    found = only_problem(advisor, read_yaml(path, error=InputError))
    assert found.place is not None
    assert (found.place.line, found.place.column) == (3, 14)
    assert "^" in found.render()


def test_a_list_in_a_file_is_read_as_one(advisor: Advisor) -> None:
    node = read_yaml_text("gpu_candidates: [T4, L4]\n", "w.yaml", error=InputError)
    assert advisor.read(node).given["gpu_candidates"] == ("nvidia-t4", "nvidia-l4")


@pytest.mark.parametrize(
    ("written", "engine", "version"),
    [
        ("vLLM 0.10.0, RHEL 9.6", "vllm", "0.10.0"),
        ("vllm ~0.6.4", "vllm", "0.6.4"),
        ("transformers 4.51.3", "transformers", "4.51.3"),
        ("vllm", "vllm", None),
        ("SGLang on H100", "sglang", None),
    ],
)
def test_a_version_beside_the_engine_is_its_version(
    advisor: Advisor, written: str, engine: str, version: str | None
) -> None:
    given = advisor.read({"task": "inference", "serving_engine": written}).given
    assert given["serving_engine"] == engine
    assert given.get("serving_engine_version") == version


def test_a_stated_version_counts(advisor: Advisor) -> None:
    raw = {"serving_engine": "vLLM 0.10.0", "serving_engine_version": "0.11"}
    assert advisor.read(raw).given["serving_engine_version"] == "0.11"


@pytest.mark.parametrize(
    ("stated", "fact", "value"),
    [
        ({"task": "qlora"}, "peft_method", "qlora"),
        ({"task": "QLoRA fine-tuning"}, "peft_method", "qlora"),
        ({"task": "text-to-image"}, "model_family", "diffusion_image"),
        ({"task": "qlora", "peft_method": "lora"}, "peft_method", "lora"),
        ({"task": "chat", "model_family": "multimodal"}, "model_family", "multimodal"),
    ],
)
def test_a_word_that_says_more_states_more_unless_that_is_stated(
    advisor: Advisor, stated: dict[str, str], fact: str, value: str
) -> None:
    assert advisor.read(stated).given[fact] == value


def test_what_a_model_is_its_name_tells_better_than_a_word_for_the_job(advisor: Advisor) -> None:
    assert "model_family" not in advisor.read({"task": "chat", "model_name": "qwen2-vl-7b"}).given


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("budget_a_month", "budget_usd_per_month"),
        ("users_count", "concurrency"),
        ("model_sizes", "param_count_b"),
        ("deadline_days", "deadline_hours"),
        ("utilisation_percent", "utilization_pct"),
    ],
)
def test_a_name_with_parts_in_common_is_shown_the_fact_that_may_be_stated(
    advisor: Advisor, written: str, meant: str
) -> None:
    assert only_problem(advisor, {"task": "inference", written: "8"}).nearest[0] == meant


@pytest.mark.parametrize(
    ("raw", "fix"),
    [
        ({"milieu": "on_prem"}, "write deployment_site: datacenter"),
        ({"library": "axolotl"}, "write training_framework: axolotl"),
        ({"adapter": "qlora"}, "write peft_method: qlora"),  # a value of another fact itself
        ({"precision_used": "int4"}, "write weight_precision: int4 or expert_precision: int4"),  # what is asked first
        ({"lora": "yes"}, "write peft_method: lora or task: peft_finetuning"),  # the name itself is a value
        ({"param_count": "8"}, "write param_count_b"),
    ],
)
def test_a_name_that_is_none_is_mended_by_its_value_or_its_spelling(
    advisor: Advisor, raw: dict[str, object], fix: str
) -> None:
    assert only_problem(advisor, raw).fix == fix


@pytest.mark.parametrize("raw", [{"data_sensitivity": "confidential"}, {"use_stage": "hobby"}, {"max_gpus": 4}])
def test_nobody_is_told_to_write_what_only_looks_alike_in_part(advisor: Advisor, raw: dict[str, object]) -> None:
    assert only_problem(advisor, raw).fix == "see: whichgpu facts"


def test_no_output_is_named_as_what_may_have_been_meant(advisor: Advisor) -> None:
    nearest = only_problem(advisor, {"task": "inference", "monthly_rents": "8"}).nearest
    assert all(advisor.vocabulary.facts[name].role != "output" for name in nearest)


@pytest.mark.parametrize("written", ["Llama-3.1-8B", "LLAMA-3.1-8b"])
def test_a_model_goes_by_its_id_and_what_was_written_is_kept(advisor: Advisor, written: str) -> None:
    read = advisor.read({"task": "inference", "model_name": written})
    assert (read.given["model_name"], read.as_written) == ("llama-3.1-8b", {"model_name": written})


@pytest.mark.parametrize("written", ["llama-3.1-8b", "our-own-model-7b", "meta-llama/Llama-3.1-8B-Instruct-FP8"])
def test_an_id_an_unknown_name_and_one_that_tells_more_stay(advisor: Advisor, written: str) -> None:
    read = advisor.read({"task": "inference", "model_name": written})
    assert (read.given["model_name"], read.as_written) == (written, {})


def test_what_a_look_up_finds_wrong_says_where_it_stands(advisor: Advisor) -> None:
    text = "task: inference\nmodel_name: zorglub-9000\n"
    workload = advisor.read(read_yaml_text(text, "w.yaml", error=InputError))
    with pytest.raises(InputError, match=r"^w\.yaml:2:13: no model is called 'zorglub-9000'"):
        advisor.decide(workload, decided_at=MOMENT)
    with pytest.raises(InputError, match=r"^w\.yaml:2:13: no model"):
        size_workload(advisor, workload, gpu="nvidia-l4", count=1)
    with pytest.raises(InputError, match=r"^no model is called 'x9'"):  # It is in no file.
        advisor.choose(advisor.read({"task": "inference", "model_name": "x9"}))


def test_the_model_most_like_the_word_is_named_first(advisor: Advisor) -> None:
    with pytest.raises(InputError, match=r"did you mean llama-3\.1-8b or"):
        advisor.choose(advisor.read({"task": "inference", "model_name": "llama-3.1-8"}))
