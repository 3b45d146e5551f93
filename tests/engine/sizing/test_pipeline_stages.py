"""What lies on the stages of a pipeline while a model is trained, by framework."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Gpu, ModelSpec
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts


CARD = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=84.6)
MODEL = ModelSpec(
    id="m", name="m", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=32, intermediate=11008, vocab=103168,
    gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
RUN = {
    "task": "full_finetuning",
    "seq_len_tokens": 2048,
    "batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 64,
    "gradient_checkpointing": "full",
    "compute_precision": "bf16",
}


def estimate(stages: int, framework: str) -> MemoryEstimate:
    facts = {**RUN, "training_framework": framework}
    found = estimate_memory(job_from_facts(facts, MODEL), CARD, Layout(pipeline=stages))
    assert found is not None
    return found


@pytest.mark.parametrize(("stages", "last", "end"), [(3, 11, 11), (4, 8, 8), (5, 7, 6), (6, 6, 5)])
def test_the_last_stages_of_some_have_a_layer_more(stages: int, last: int, end: int) -> None:
    layer, ends = 4 * 4096**2 + 3 * 4096 * 11008, 103168 * 4096

    def on_stage(framework: str) -> float:
        return estimate(stages, framework).breakdown["weights"] * 1e9 / 2.0

    assert on_stage("internevo") == pytest.approx(last * layer + ends, rel=1e-3)
    assert on_stage("megatron") == pytest.approx(max(end * layer + ends, last * layer), rel=1e-3)


def test_what_a_stage_has_sent_on_stays_for_some() -> None:
    """An answer of the stage for each micro-batch in flight, which Megatron lets go as it is sent."""

    def kept(stages: int, framework: str) -> float:
        return estimate(stages, framework).breakdown["activations"] * 1e9 / (2048 * 4096 * 2)

    assert kept(8, "internevo") - kept(8, "megatron") == pytest.approx(8 + kept(1, "internevo") - kept(1, "megatron"))
