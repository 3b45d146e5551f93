from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from whichgpu.cli.render.names import Names
from whichgpu.cli.render.screen import Screen
from whichgpu.cli.render.size import size_blocks
from whichgpu.cli.render.text import to_text
from whichgpu.engine.advisor.answer.schema import schema_of


Whichgpu = Callable[..., Any]

CHAT = str(Path(__file__).parents[2] / "examples" / "llm-chat-8b.yaml")


def complaints(value: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema_of("size_answer", closed=True)).iter_errors(value)]


def test_a_size_answer_follows_the_contract(whichgpu: Whichgpu) -> None:
    ran = whichgpu("size", CHAT, "--gpu", "L40S", "--count", "2", "--format", "json")
    answer = json.loads(ran.out)
    assert complaints(answer) == []
    assert (ran.code, answer["id"], answer["gpu"], answer["count"], answer["fits"]) == (
        0,
        "llm-chat-8b",
        "nvidia-l40s",
        2,
        True,
    )
    assert answer["needed_gb"] == pytest.approx(2 * answer["per_gpu_gb"], rel=1e-4)
    assert sum(answer["breakdown"].values()) == pytest.approx(answer["per_gpu_gb"], rel=1e-4)


def test_what_does_not_fit_exits_with_one(whichgpu: Whichgpu) -> None:
    ran = whichgpu("size", CHAT, "--gpu", "nvidia-rtx-3070")
    assert ran.code == 1
    assert "It does not fit. The job needs" in ran.out
    assert "Estimated as if the job fitted, over all GPUs" in ran.out


def test_text_and_markdown(whichgpu: Whichgpu) -> None:
    text = whichgpu("size", CHAT, "--gpu", "L40S").out
    assert text.splitlines()[2].startswith("It fits. The job needs")
    assert "GiB" in text
    assert "tokens per second" in text
    assert "Estimated, over all GPUs" in text
    assert not re.search(r"\(([^()]+) to \1\)", text)  # What is stated has no band.
    assert whichgpu("size", CHAT, "--gpu", "L40S", "--format", "markdown").out.startswith("# 1 x ")


@pytest.mark.parametrize(
    ("options", "says"), [((), "no GPU is named"), (("--gpu", "nvidia-l44"), "did you mean"), (("--count", "0"), "0")]
)
def test_a_wrong_configuration(whichgpu: Whichgpu, options: tuple[str, ...], says: str) -> None:
    ran = whichgpu("size", CHAT, *options)
    assert ran.code == 2
    assert says in ran.err


def test_each_line_names_its_own_configuration(whichgpu: Whichgpu) -> None:
    base = {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 4}
    lines = [
        {"id": 1, **base, "gpu": "nvidia-l40s", "count": 1},
        {"id": 2, **base, "gpu": "nvidia-l44"},
        {"id": 3, **base, "gpu": "nvidia-h100-80gb-sxm", "count": 2},
    ]
    ran = whichgpu("size", "-", "--jsonl", stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert ran.code == 2
    replies = [json.loads(line) for line in ran.out.splitlines()]
    assert [reply["id"] for reply in replies] == [1, 2, 3]
    assert complaints(replies[0]) == complaints(replies[2]) == []
    assert (replies[2]["gpu"], replies[2]["count"]) == ("nvidia-h100-80gb-sxm", 2)
    assert replies[1]["error"]["code"] == "unknown-gpu"


def test_unknown_memory_of_the_gpu() -> None:
    answer = {
        "id": None,
        "gpu": "nvidia-b100",
        "count": 1,
        "fits": None,
        "needed_gb": 20.0,
        "per_gpu_gb": 20.0,
        "allocated_gb": 18.0,
        "available_per_gpu_gb": None,
        "low_gb": 19.0,
        "high_gb": 22.0,
        "breakdown": {"weights_gb": 20.0},
        "speed": {},
    }
    page = " ".join(to_text(size_blocks(answer, Names()), Screen()).split())
    assert "Whether it fits is unknown." in page
    assert "how much the GPU has is unknown" in page
