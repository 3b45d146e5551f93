from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.explain.auditing import (
    _loose,
    audit,
    check_authentic,
    check_complete,
    check_same_today,
    check_silence,
    check_true_then,
    verdict_of,
)
from whichgpu.engine.records.first_form import make_record
from whichgpu.engine.records.reading import Saved, read_saved


Decided = Callable[[str], dict[str, Any]]
MOMENT = datetime(2026, 6, 1, tzinfo=UTC)
EXAMPLES = sorted(path.stem for path in (Path(__file__).parents[3] / "examples").glob("*.yaml"))


def from_disk(decision: dict[str, Any]) -> Saved:
    return read_saved(make_record(decision).to_json(), "record")


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_fresh_record_holds(decided: Decided, advisor: Advisor, example: str) -> None:
    checks = audit(from_disk(decided(example)), advisor, today=MOMENT)
    found = {check.name: check.holds for check in checks}
    assert found == {"authentic": None, "complete": True, "true_then": True, "certificate": None, "same_today": True}
    assert verdict_of(checks) == "unsigned"


def test_odd_workloads_hold_too(decide: Callable[..., dict[str, Any]], advisor: Advisor) -> None:
    for facts in (
        {"task": "inference", "model_name": "llama-3.1-70b", "gpu_candidates": "h100, l4", "current_gpu": "rtx 3090"},
        {"task": "peft_finetuning", "peft_method": "qlora", "param_count_b": 13.1234567, "trains_and_serves": True},
        {"gpu_candidates": "h100"},
        {"task": "inference", "peft_method": "lora", "param_count_b": 7},
        {"task": "pretraining", "param_count_b": 500, "num_gpus": 1, "gpu_candidates": "t4, tpu v5p"},
        {"task": "inference", "param_count_b": 7.61561656, "utilization_pct": 33.3333333},
        {"task": "full_finetuning", "model_name": "qwen2.5-14b", "compute_precision": "fp32", "train_steps": 100},
        {"task": "full_finetuning", "model_name": "qwen2.5-7b", "rl_method": "grpo", "train_steps": 100},
        # Both phases end on one card, with other work on it.
        {
            "task": "inference",
            "model_name": "qwen2.5-14b",
            "context_tokens": 16384,
            "deployment_site": "workstation",
            "trains_and_serves": True,
        },
    ):
        for check in audit(from_disk(decide(**facts)), advisor, today=MOMENT):
            assert check.holds is not False, (facts, check)


@pytest.mark.parametrize(("whole", "places_inside"), [(False, 60), (True, 6)])
def test_any_byte_changed_fails(
    decided: Decided, decide: Callable[..., dict[str, Any]], whole: bool, places_inside: int
) -> None:
    """Every byte at both ends, where the format, the digest and the engine stand, and a sample of what is between."""
    decision = decided("sdxl-training") if whole else decide(gpu_candidates="h100")
    raw = make_record(decision).to_json().encode()
    chance = random.Random(7)
    fired_by = raw.index(b'"fired_by"')
    ends = [*range(30), *range(len(raw) - 110, len(raw)), *range(fired_by, fired_by + 30)]
    places = [*([] if whole else ends), *chance.sample(range(len(raw)), places_inside)]
    for place in places:
        for byte in {raw[place] ^ 1, ord(" "), chance.randrange(32, 127)} - {raw[place]}:
            changed = raw[:place] + bytes([byte]) + raw[place + 1 :]
            try:
                saved = read_saved(changed, "record")
            except InputError:
                continue  # No record at all: refused before it is audited.
            assert check_authentic(saved).holds is False, (place, raw[place], byte)


def test_a_figure_that_was_changed_and_sealed_again_does_not_trace(decided: Decided, advisor: Advisor) -> None:
    def changed(edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        decision = decided("qlora-7b")
        edit(decision)
        return decision

    edits: list[Callable[[dict[str, Any]], object]] = [
        lambda d: d["recommendation"]["memory"].update(needed_gb=1.0),
        lambda d: d["recommendation"]["memory"]["breakdown"].update(weights_gb=1.0),
        lambda d: d["recommendation"]["speed"].update(tokens_per_s=99999.0),
        lambda d: d["recommendation"]["cost"].update(usd_per_month=1.0),
        lambda d: d["recommendation"]["points"][0].update(points=9),
        lambda d: d["recommendation"].update(score=99.0),
        lambda d: d["recommendation"].update(power_w=1),
        lambda d: d["alternatives"][0]["memory"].update(per_gpu_gb=1.0),
        lambda d: d["facts"]["weights_gb"].update(value=1.0),
        lambda d: d["facts"]["weights_gb"].update(seq=None),
        lambda d: d["facts"]["param_count_b"].update(origin="given"),
        lambda d: d["rejected"][0].update(counts=[77]),
        lambda d: d["rejected"][0].update(rule="made-up"),
        lambda d: d["warnings"][0].update(rule="made-up"),
        lambda d: d["warnings"][0].update(rule=None, sources=[]),
        lambda d: d["procurement"].update(rules=["made-up"]),
        lambda d: next(iter(d["figures"].values())).update(sources=[]),
        lambda d: d["disagreements"][0].update(positions=[]),
        lambda d: d["assumptions"][0].update(because=""),
        lambda d: next(e for e in d["trace"] if e["kind"] == "derived")["matched"][0].update(seq=9999),
        lambda d: next(e for e in d["trace"] if e["kind"] == "scored").update(sources=[]),
        lambda d: next(e for e in d["trace"] if e["kind"] == "assumed").update(because=None),
    ]
    for number, edit in enumerate(edits):
        decision = changed(edit)
        assert check_complete(from_disk(decision)).holds is False, number
    assert check_complete(from_disk(decided("llm-serving-70b"))).holds


def test_another_answer_under_a_good_seal_is_not_reproduced(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    decision["recommendation"], decision["alternatives"][0] = decision["alternatives"][0], decision["recommendation"]
    check = check_true_then(from_disk(decision), advisor)
    assert check.holds is None  # The program may have changed since, of which a record of the first form says nothing.
    assert any("recommendation" in finding for finding in check.findings)


def test_the_engine_that_fired_does_not_matter(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b") | {"fired_by": "reference", "engine_version": "0.0.1"}
    assert check_true_then(from_disk(decision), advisor).holds


def test_facts_that_are_not_taken_any_more_are_named(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    decision["facts"]["moon_phase"] = {"value": "full", "origin": "given", "seq": 1}
    decision["facts"]["task"] = {**decision["facts"]["task"], "value": "astrology"}
    check = check_same_today(from_disk(decision), advisor, MOMENT)
    assert check.holds is False
    assert "moon_phase" in " ".join(check.findings)
    assert "astrology" in " ".join(check.findings)
    broken = decided("qlora-7b") | {"decided_at": "2026-99-99"}
    assert check_true_then(from_disk(broken), advisor).holds is None


BAN = """\
- id: our-own-ban
  title: We have had enough of this card
  stage: reject
  each: plan
  when: [gpu.id == CARD]
  then: {reject: Not that one}
  because: It is ours to say.
  sources: [whichgpu-judgement]
"""


def test_a_changed_rule_is_named(decided: Decided, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    shipped = Path(__file__).parents[3] / "rules"
    for file in shipped.glob("*.yaml"):
        (rules / file.name).write_text(file.read_text())
    decision = decided("llm-serving-70b")
    card = decision["recommendation"]["gpu"]
    (rules / "ours.yaml").write_text(BAN.replace("CARD", card))
    other = load_advisor(own_rules=rules)
    assert check_true_then(from_disk(decision), other).holds is None  # Other rules cannot decide it.
    check = check_same_today(from_disk(decision), other, MOMENT)
    assert check.holds is False
    assert any(finding.startswith(f"gpu: {card} became ") for finding in check.findings), check.findings
    assert "our-own-ban: is new in the rulebook" in check.findings


def test_a_certificate_that_claims_too_much_is_found_out(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    decision["interview"] = {"unasked": [{"fact": "seq_len_tokens", "why": "", "checked": ""}]}
    assert check_silence(decision, advisor, 20).holds is False
    decision["interview"] = {"unasked": [{"fact": "no_such_fact", "why": "", "checked": ""}]}
    assert check_silence(decision, advisor, 5).holds is False
    decision["interview"] = {"unasked": []}
    assert check_silence(decision, advisor, 5).holds


def test_a_decision_survives_the_way_to_disk(decided: Decided) -> None:
    decision = decided("qlora-7b")
    saved = from_disk(copy.deepcopy(decision))
    assert json.loads(make_record(decision).to_json())["decision"] == saved.decision
    assert check_authentic(saved).holds is None


def test_one_loose_end_is_counted_as_one() -> None:
    assert [_loose(ends) for ends in (1, 2, 1500)] == ["1 loose end", "2 loose ends", "1,500 loose ends"]
