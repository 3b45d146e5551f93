"""Input that nobody meant: it is refused with what helps, and no file is lost by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli.main import run


Whichgpu = Callable[..., Any]
EXAMPLE = str(Path(__file__).parents[2] / "examples" / "llm-chat-8b.yaml")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A record's bytes."""
    file = tmp_path_factory.mktemp("saved") / "record.json"
    assert run(["recommend", EXAMPLE, "--save", str(file), "--format", "json"]) == 0
    return file.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "FILE", "-o", "FILE"], "it is what is read"),
        (["recommend", "FILE", "--save", "FILE"], "it is what is read"),
        (["ask", "--session", "FILE"], "FILE is there already"),
        (["rules", "fmt", "FILE"], "FILE holds no list of rules"),
        (["resume", "FILE"], "FILE holds no interview"),
    ],
)
def test_no_command_writes_over_a_file_that_is_something_else(
    whichgpu: Whichgpu, tmp_path: Path, saved: bytes, arguments: list[str], said: str
) -> None:
    file = tmp_path / "record.json"
    file.write_bytes(saved)
    ran = whichgpu(*(str(file) if word == "FILE" else word for word in arguments), stdin="skip\ninference\nquit\n")
    assert ran.code == 2
    assert said.replace("FILE", str(file)) in ran.err
    assert file.read_bytes() == saved


def test_an_interview_of_before_is_not_lost(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    begun = whichgpu("ask", "--session", str(file), stdin="skip\ninference\n")
    assert "still missing: model_name" in begun.err
    before = file.read_bytes()
    again = whichgpu("ask", "--session", str(file), stdin="skip\ntraining\nquit\n")
    assert again.code == 2
    assert f"whichgpu resume {file}" in again.err
    assert file.read_bytes() == before


def test_an_interview_that_ends_before_its_first_question_names_no_empty_list(
    whichgpu: Whichgpu, tmp_path: Path
) -> None:
    ran = whichgpu("ask", "--session", str(tmp_path / "s.json"), stdin="\n")
    assert ran.code == 2
    assert "before the questions did. Everything is kept" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["size", EXAMPLE, "--gpu", "h100", "--count", "9" * 20], "count: 99999999999999999999 is too large"),
        (["recommend", EXAMPLE, "--full"], "--full goes with --jsonl"),
        (["recommend", EXAMPLE, "--save", "nowhere/x"], "make the folder nowhere first"),
        (["gpus", "--min-memory", "nan"], "'nan' is not a number above 0"),
        (["gpus", "--max-price", "inf"], "'inf' is not a number above 0"),
        (["fit", "--gpu", "l4", "--max-params", "-3"], "--max-params"),
        (["fit", "--gpu", "l4", "lamma-3.1-8b"], "did you mean llama-3.1-8b"),
        (["prices", "show", "--provider", "lamda"], "did you mean lambda"),
        (["rules", "lnt"], "Did you mean lint?"),
        (["register", "ad"], "Did you mean add?"),
        (["why", "nowhere.json"], "there is no file nowhere.json"),
        (["why", "."], ". is a folder"),
    ],
)
def test_a_slip_on_the_command_line_is_named(whichgpu: Whichgpu, arguments: list[str], said: str) -> None:
    ran = whichgpu(*arguments)
    assert ran.code == 2
    assert said in ran.err


def test_the_facts_that_a_usage_error_proposes_give_an_answer(whichgpu: Whichgpu) -> None:
    proposed = whichgpu("recommend").err.partition("state facts: ")[2].strip().rstrip(".").split()
    assert proposed[0] == "--set"
    assert whichgpu("recommend", *proposed).code == 0


def test_a_gpu_of_a_file_that_no_one_knows_is_shown_where_it_stands(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text("task: inference\nmodel_name: llama-3.1-8b\ngpu: h101\ncount: many\n")
    ran = whichgpu("size", str(file))
    assert f"{file}:3:6: no GPU is called 'h101'" in ran.err
    assert f"{file}:4:8: count: 'many'" in ran.err


def test_nothing_is_asked_about_nothing(whichgpu: Whichgpu, tmp_path: Path, saved: bytes) -> None:
    (tmp_path / "record.json").write_bytes(saved)
    ran = whichgpu("why", str(tmp_path / "record.json"), "")
    assert ran.code == 2
    assert "says nothing of ''" in ran.err


def test_a_configuration_of_more_layers_than_any_network_has_is_refused(whichgpu: Whichgpu, tmp_path: Path) -> None:
    dims = '"hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000'
    (tmp_path / "config.json").write_text(f'{{"model_type": "llama", "num_hidden_layers": 99999999, {dims}}}')
    ran = whichgpu("recommend", "--set", "task=inference", "--set", f"model_name={tmp_path}/config.json")
    assert ran.code == 2
    assert "num_hidden_layers is 99999999, not a whole number of 0 or more up to 10,000" in " ".join(ran.err.split())


def test_a_configuration_of_an_impossible_model_is_refused(whichgpu: Whichgpu, tmp_path: Path) -> None:
    dims = '"hidden_size": 409600, "num_attention_heads": 32, "intermediate_size": 1100800, "vocab_size": 32000'
    (tmp_path / "config.json").write_text(f'{{"model_type": "llama", "num_hidden_layers": 9999, {dims}}}')
    ran = whichgpu("recommend", "--set", "task=inference", "--set", f"model_name={tmp_path}/config.json")
    assert ran.code == 2
    assert "billion parameters, more than 100,000" in ran.err


def test_a_misspelt_file_of_a_layer_is_answered_with_its_name(whichgpu: Whichgpu, tmp_path: Path) -> None:
    (tmp_path / "parameter.yaml").write_text("parameters: {}\n")
    ran = whichgpu("rules", "lint", "--rules", str(tmp_path))
    assert ran.code == 2
    assert "did you mean parameters.yaml" in ran.err + ran.out


MODEL = "models:\n  - {id: m, name: M, kind: llm, sources: [whichgpu-judgement], "
GPU = "gpus:\n  - {id: g, family: g, series: g, name: G, vendor: v, sources: [whichgpu-judgement], "


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("models.yaml", MODEL + "params_b: -1}", "models.0.params_b: should be greater than 0"),
        ("models.yaml", MODEL + "moe: {experts: 0, experts_per_token: 1}}", "models.0.moe.experts: should be greater"),
        ("gpus.yaml", GPU + "vram_gb: 0}", "gpus.0.vram_gb: should be greater than 0"),
        ("gpus.yaml", GPU + "tflops: {bf16: -9}}", "gpus.0.tflops.bf16: should be greater than 0"),
        ("gpus.yaml", GPU + "tdp_w: .inf}", "gpus.0.tdp_w: should be less than or equal to"),
        ("figures.yaml", "figures: [3]", "figures must be entries by id"),
        ("disagreements.yaml", "disagreements: {X: 3}", "'X' should be a mapping"),
        ("coverage.yaml", "[]", "lists no coverage"),
        ("plans.yaml", "because: x\nmost_gpus: 3", "most_gpus: should be a mapping"),
        ("economics.yaml", "because: x\nutilisation: 3", "the key 'utilisation' is not known here"),
    ],
)
def test_lint_reads_every_file_of_a_layer(whichgpu: Whichgpu, tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text + "\n")
    ran = whichgpu("rules", "lint", "--rules", str(tmp_path))
    assert ran.code == 2
    assert said in ran.err
    assert f"{name}:" in ran.err
