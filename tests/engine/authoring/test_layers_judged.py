"""A layer over the shipped rules: one line changes a number everywhere, and only what its author wrote is judged."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring import inspect
from whichgpu.engine.core.errors import WhichgpuError


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Advisor:
    """A company that rents below 60 percent of use, approves two series and one provider, and has a guide."""
    folder: Path = tmp_path_factory.mktemp("house")
    (folder / "parameters.yaml").write_text(
        "parameters:\n  rent_below_utilization_pct: {value: 60, because: Our finance department says so.}\n"
    )
    (folder / "policy.yaml").write_text(
        "because: We have contracts for these.\napproved: {gpus: [nvidia-l40s, nvidia-h100], providers: [aws]}\n"
    )
    (folder / "heuristics.yaml").write_text(
        "heuristics:\n  - {id: house-1, guide: house, section: A, paraphrase: Quiet cards only, numbers: []}\n"
    )
    (folder / "ours.yaml").write_text(
        "- id: ours\n  title: Ours\n  stage: prefer\n  each: plan\n  when: [gpu.series == nvidia-l40s]\n"
        "  then: {points: 1, reason: wish}\n  because: B.\n  sources: [whichgpu-judgement]\n  encodes: [house-1]\n"
        "  tests:\n    - {plan: {gpu: nvidia-l40s, count: 1}, prefers: nvidia-l40s over nvidia-h100-80gb-sxm}\n"
        "    - near_miss: {gpu: nvidia-l4}\n"
    )
    return load_advisor([folder])


def test_one_line_moves_the_number_everywhere(house: Advisor) -> None:
    assert house.rules["use-below-the-line"].when[0].text == "utilization_pct < 60"
    assert house.rules["use-below-the-line"].title == "Below 60 percent of use the guides rent"
    assert house.knowledge.figures["rent_below_utilization_pct"]["value"] == 60
    facts = {"task": "inference", "model_family": "llm", "param_count_b": 8, "utilization_pct": 65}
    moment = datetime.datetime(2026, 11, 20, tzinfo=datetime.UTC)
    answer = house.decide(facts, decided_at=moment).to_dict()
    (line,) = (line for line in answer["procurement"]["thresholds"] if line["id"] == "utilization")
    assert line["limit"] == "rent below 60 %, own from 80 % over 3 years"
    plan = answer["recommendation"]
    assert plan is not None
    assert plan["gpu"].startswith(("nvidia-l40s", "nvidia-h100"))
    assert {offer.provider for offer in house.knowledge.offers} == {"aws"}


def test_only_the_layer_is_judged(house: Advisor) -> None:
    found = inspect(house, datetime.date(2026, 11, 20))
    assert [finding for finding in found if finding.severity != "info"] == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("approved: {gpus: [nvidia-l41]}", "'nvidia-l41', which is no GPU"),
        ("because: B.\nforbidden: {providers: [azuer]}", "'azuer', which is no provider"),
        ("because: B.\nforbidden: {regions: [atlantis]}", "'atlantis', which is no region"),
        ("because: B.\nforbiden: {gpus: []}", "forbiden"),
    ],
)
def test_a_policy_of_wrong_names_is_refused(policy: str, said: str, tmp_path: Path) -> None:
    text = policy if policy.startswith("because") else f"because: B.\n{policy}"
    (tmp_path / "policy.yaml").write_text(text)
    with pytest.raises(WhichgpuError, match=said):
        load_advisor([tmp_path], tests=False)
