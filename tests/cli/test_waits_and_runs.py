"""What a page says of waits is at the share of requests by which they are judged; a run of assumed length says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest


Whichgpu = Callable[..., Any]
SERVICE = ("task=inference", "model_name=llama-3.1-8b", "peak_qps=5", "input_tokens=1000", "output_tokens=200")
TUNING = ("task=full_finetuning", "model_name=phi-4", "dataset_samples=20000")


def _page(whichgpu: Whichgpu, *facts: str) -> str:
    said = whichgpu("recommend", *(word for fact in facts for word in ("--set", fact)), "--set", "ttft_slo_ms=1500")
    return " ".join(said.out.split())


def _first_token_ms(page: str) -> float:
    found = re.search(r"first token within ([\d,.]+) (ms|s) \(1.5 s asked: met", page)
    assert found, page
    return float(found[1].replace(",", "")) * (1000 if found[2] == "s" else 1)


@pytest.mark.parametrize(("share", "lead"), [("99", "99 of 100 requests"), ("99.9", "99.9 % of requests")])
def test_waits_are_those_of_the_stated_share(whichgpu: Whichgpu, share: str, lead: str) -> None:
    page = _page(whichgpu, *SERVICE, "gpu_candidates=h100", "num_gpus=2", f"slo_percentile={share}")
    usual = _page(whichgpu, *SERVICE, "gpu_candidates=h100", "num_gpus=2")
    assert f"Time: {lead}: first token within" in page
    assert "95 of 100 requests: first token within" in usual
    assert _first_token_ms(page) > _first_token_ms(usual)


def test_a_run_whose_epochs_are_assumed_says_how_many(whichgpu: Whichgpu) -> None:
    facts = [word for fact in TUNING for word in ("--set", fact)]
    assumed = " ".join(whichgpu("recommend", *facts).out.split())
    assert re.search(r"Time: one pass over the data, as epochs are not stated, takes [\d.]+ minutes", assumed)
    assert re.search(r"\$[\d.]+ for the run", assumed)
    three = " ".join(whichgpu("recommend", *facts, "--set", "epochs=3").out.split())
    assert re.search(r"Time: the run takes [\d.]+", three)


def test_epochs_of_pictures_are_not_assumed(whichgpu: Whichgpu) -> None:
    facts = ("task=peft_finetuning", "model_name=sdxl", "dataset_samples=200")
    page = " ".join(whichgpu("recommend", *(word for fact in facts for word in ("--set", fact))).out.split())
    assert "pass over the data" not in page
    assert "for the run" not in page.partition("Memory:")[0]
