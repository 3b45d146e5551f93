from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whichgpu.cli import hardware
from whichgpu.cli.devices import Device, read_devices
from whichgpu.engine.advisor import load_advisor, size_workload


Whichgpu = Callable[..., Any]

MACHINES = Path(__file__).parent / "machines"
#: What each listing is of: entry, count, GB in use on the fullest.
THERE = {
    "a100_list.txt": ("nvidia-a100-80gb-sxm", 2, 0.0),
    "h100x8_query.csv": ("nvidia-h100-80gb-sxm", 8, 0.004),
    "l4_lspci.txt": ("nvidia-l4", 2, 0.0),
    "m3ultra_profiler.json": ("apple-m3-ultra", 1, 0.0),
    "m4max_profiler.txt": ("apple-m4-max", 1, 0.0),
    "mi300x_rocm.json": ("amd-mi300x", 2, 0.297),
    "mixed.csv": ("nvidia-rtx-a6000", 1, 0.537),
    "rtx3090x2_table.txt": ("nvidia-rtx-3090", 2, 1.273),
    "rx7900_rocm.txt": ("amd-rx-7900-xtx", 1, 1.052),
    "spark_table.txt": ("nvidia-dgx-spark", 1, 0.0),
    "t4_noheader.csv": ("nvidia-t4", 1, 0.0),
    "v100_q.txt": ("nvidia-v100-16gb", 1, 0.0),
}


def test_every_listing_is_expected() -> None:
    assert sorted(THERE) == sorted(path.name for path in MACHINES.iterdir())


@pytest.mark.parametrize("name", THERE)
def test_a_listing_names_the_entries_of_the_catalogue(name: str) -> None:
    groups = hardware.groups_in(str(MACHINES / name), load_advisor(tests=False).knowledge)
    first = groups[0]
    assert first.gpu is not None
    assert (first.gpu.id, first.count, round(first.used_gb, 3)) == THERE[name]


def test_gpus_of_another_kind_are_a_group_of_their_own() -> None:
    groups = hardware.groups_in(str(MACHINES / "mixed.csv"), load_advisor(tests=False).knowledge)
    assert [group.gpu.id for group in groups if group.gpu] == ["nvidia-rtx-a6000", "nvidia-gtx-1080-ti"]


@pytest.mark.parametrize(
    ("device", "entry"),
    [
        (Device("NVIDIA A100-SXM4-40GB", 40960.0), "nvidia-a100-40gb-sxm"),
        (Device("NVIDIA GeForce RTX 3080", 12288.0), "nvidia-rtx-3080-12gb"),
        (Device("NVIDIA H200", 143771.0), "nvidia-h200-nvl"),
        (Device("NVIDIA GH200 480GB", 97871.0), "nvidia-gh200"),
        (Device("NVIDIA GeForce RTX 4090 Laptop GPU", 16376.0), "nvidia-rtx-4090-laptop"),
        (Device("Apple M4 Max", 36864.0), None),
        (Device("llvmpipe"), None),
    ],
)
def test_a_device_is_the_entry_of_its_name_and_memory(device: Device, entry: str | None) -> None:
    found, _ = hardware.entry_of(device, load_advisor(tests=False).knowledge)
    assert (found.series if found and entry == "nvidia-h200-nvl" else found.id if found else None) in {
        entry,
        "nvidia-h200",
    }


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": {"b": 1}}', "nothing\nhere", "a,b\n1,2", "\x00\ud800"])
def test_what_no_program_prints_names_no_device(text: str) -> None:
    assert read_devices(text) == []


def test_a_file_without_gpus_is_reported(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "listing.txt"
    file.write_text("no such thing", "utf-8")
    ran = whichgpu("fit", "--from", str(file))
    assert ran.code == 2
    assert "names no GPU in a form of nvidia-smi" in ran.err


def test_a_machine_without_gpus_is_reported(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "PROGRAMS", ())
    for command in (("here",), ("fit",), ("size", "-", "--here")):
        ran = whichgpu(*command, stdin="task: inference\nmodel_name: llama-3.1-8b\n")
        assert ran.code == 2
        assert "no GPU was found on this machine" in ran.err
    stated = whichgpu("recommend", "--here", "--set", "task=inference")
    assert (stated.code, "--gpu" in stated.err) == (2, False)  # It has no such option.
    assert "--set gpus_owned=" in stated.err


def test_the_gpus_of_this_machine_are_owned(whichgpu: Whichgpu, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (MACHINES / "rtx3090x2_table.txt").read_text("utf-8")
    monkeypatch.setattr(hardware, "_printed_by", lambda _program: text)
    workload = "task: inference\nmodel_name: llama-3.1-8b\nobjective: cheapest\n"
    ran = whichgpu("recommend", "-", "--here", "--format", "json", stdin=workload)
    answer = json.loads(ran.out)
    assert answer["facts"]["gpus_owned"]["value"] == ["nvidia-rtx-3090:2"]
    assert answer["recommendation"]["gpu"] == "nvidia-rtx-3090"
    sized = json.loads(whichgpu("size", "-", "--here", "--format", "json", stdin=workload).out)
    assert (sized["gpu"], sized["count"]) == ("nvidia-rtx-3090", 2)


def _agrees(name: str, listed: list[dict[str, Any]]) -> None:
    """Every model that is listed fits by ``size``, in the memory that others leave."""
    advisor = load_advisor(tests=False)
    gpu, count, used = THERE[name]
    for model in listed:
        facts: dict[str, Any] = {
            "task": "inference",
            "model_name": model["model"],
            "weight_precision": model["precision"],
        }
        contexts = {model["context_tokens"], model["longest_context_tokens"]}
        for context in contexts:
            stated = facts if context is None else facts | {"context_tokens": context, "concurrency": 1}
            sized = size_workload(advisor, advisor.read(stated), gpu=gpu, count=count)
            there = sized["available_per_gpu_gb"]
            assert sized["fits"], (name, model)
            assert there is not None
            assert sized["per_gpu_gb"] <= there - used + 0.001, (name, model)


def test_models_that_fit_fit_by_size(whichgpu: Whichgpu) -> None:
    name = "rtx3090x2_table.txt"
    ran = whichgpu("fit", "qwen", "--from", str(MACHINES / name), "--limit", "4", "--format", "json")
    listed = json.loads(ran.out)
    assert ran.code == 0
    assert {"precision", "longest_context_tokens", "speed"} <= listed[0].keys()
    _agrees(name, listed)


@pytest.mark.slow
@pytest.mark.parametrize("name", THERE)
def test_models_that_fit_a_machine_fit_by_size(name: str, whichgpu: Whichgpu) -> None:
    ran = whichgpu("fit", "--from", str(MACHINES / name), "--limit", "3", "--format", "json")
    listed = json.loads(ran.out)
    assert len(listed) > 10
    _agrees(name, listed)


def test_the_table_can_be_sorted_and_read_by_programs(whichgpu: Whichgpu) -> None:
    ran = whichgpu("fit", "llama", "--gpu", "L40S", "--sort", "context", "--format", "csv", "--max-params", "20")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    for kind in {row["kind"] for row in rows}:
        longest = [int(row["longest_context_tokens"] or 0) for row in rows if row["kind"] == kind]
        assert longest == sorted(longest, reverse=True)
    assert all(float(row["params_b"]) <= 20 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gpu", "RTX 9999"), "no GPU is called"),
        (("--gpu", "L4", "--kind", "llms"), "llm"),
        (("--gpu", "L4", "--precision", "awq4"), "there is no number format 'awq4'"),
        (("no-such-model", "--gpu", "L4"), "whichgpu models lists them"),
        (("--from", str(MACHINES / "t4_noheader.csv"), "--count", "2"), "there are 1"),
        (("--from", "x", "--gpu", "L4"), "give one of them"),
    ],
)
def test_what_is_wrong_is_reported(arguments: tuple[str, ...], said: str, whichgpu: Whichgpu) -> None:
    ran = whichgpu("fit", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_nothing_fits_a_card_that_is_full(whichgpu: Whichgpu, tmp_path: Path) -> None:
    file = tmp_path / "full.csv"
    file.write_text("name, memory.total [MiB], memory.used [MiB]\nNVIDIA L4, 23034 MiB, 23000 MiB\n", "utf-8")
    ran = whichgpu("fit", "llama", "--from", str(file))
    assert ran.code == 1
    assert "fits." in ran.out
