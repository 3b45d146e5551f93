"""Models all over the catalogue are answered, and every answer adds up."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


def check(answer):
    assert answer["low_gb"] <= answer["needed_gb"] * 1.0001
    assert answer["needed_gb"] <= answer["high_gb"] * 1.0001
    assert sum(answer["breakdown"].values()) == pytest.approx(answer["per_gpu_gb"], rel=1e-3)
    assert all(value >= 0 for value in answer["breakdown"].values())
    assert answer["allocated_gb"] <= answer["needed_gb"] * 1.0001
    assert answer["band_reason"]


@pytest.mark.parametrize(
    ("facts", "every"),
    [
        ({"task": "inference"}, 4),
        ({"task": "full_finetuning", "batch_size_per_gpu": 2}, 16),
        ({"task": "peft_finetuning", "peft_method": "qlora"}, 20),
    ],
)
def test_models_all_over_the_catalogue_are_answered(advisor, facts, every):
    sized = [model.id for model in advisor.knowledge.models.values() if model.params_b or model.components_b]
    assert len(sized) > 100
    for name in sorted(sized)[::every]:
        workload = advisor.read({**facts, "model_name": name, "gpu": "nvidia-h100-80gb-sxm", "count": 8})
        check(size_workload(advisor, workload))
