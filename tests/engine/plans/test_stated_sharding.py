"""A stated sharding over data ranks is not turned into a split of layers."""

from __future__ import annotations

import pytest

from whichgpu.engine.advisor.size_answer import size_workload


FACTS = {"task": "full_finetuning", "model_name": "llama-3.1-70b", "gpu": "nvidia-h100-80gb-sxm", "count": 8}


@pytest.mark.parametrize(
    ("facts", "tensor", "data"),
    [
        ({"sharding": "zero3"}, 1, 8),
        ({"sharding": "zero3", "tensor_parallel": 4}, 4, 2),
        ({"sharding": "fsdp", "data_parallel": 4}, 2, 4),
    ],
)
def test_the_layout_is_as_stated(advisor, facts, tensor, data):
    found = size_workload(advisor, advisor.read({**FACTS, **facts}))["parallelism"]
    assert (found["tensor"], found["data"]) == (tensor, data)
