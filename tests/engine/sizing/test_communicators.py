"""What NCCL allocates on a GPU, by how a job is split."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Gpu, ModelSpec, Moe
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts
from whichgpu.engine.sizing.communicators import communicators
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.memory import context_gb
from whichgpu.engine.sizing.rows import rows_of
from whichgpu.engine.sizing.serving_reserve import GIB


CARD = Gpu(id="a", family="a", series="a", name="A100", vendor="nvidia", architecture="ampere", usable_gb=84.6)
DENSE = ModelSpec(
    id="dense", name="d", kind="llm", layers=32, hidden=4096, heads=32, kv_heads=8, intermediate=14336, vocab=128256,
    gated_mlp=True, tied_embeddings=False,
)  # fmt: skip
SPARSE = ModelSpec(
    id="sparse", name="s", kind="llm", layers=48, hidden=2048, heads=32, kv_heads=4, head_dim=128, vocab=151936,
    gated_mlp=True, tied_embeddings=False, moe=Moe(experts=128, experts_per_token=8, expert_intermediate=768),
)  # fmt: skip
RUN = {"task": "pretraining", "seq_len_tokens": 2048, "batch_size_per_gpu": 1}


@pytest.mark.parametrize(("framework", "most"), [("pytorch", 2), ("jax", 1)])
def test_programs_without_process_groups_are_counted_one(framework: str, most: int) -> None:
    job = job_from_facts({**RUN, "framework": framework}, DENSE)
    assert list(communicators(job, rows_of([Layout(tensor=8, data=8), Layout(data=8), Layout()], 1))) == [most, 1, 0]


def estimate(layout: Layout, model: ModelSpec = DENSE, **facts: object) -> MemoryEstimate:
    found = estimate_memory(job_from_facts({**RUN, **facts}, model), CARD, layout)
    assert found is not None
    return found


def buffers(layout: Layout, model: ModelSpec = DENSE, **facts: object) -> tuple[float, float]:
    """Communicators, and GPUs with which tokens are exchanged, of what lies beside the driver's context."""
    found = estimate(layout, model, **facts)
    terms = [term.inputs for term in found.terms if "communicators" in term.inputs]
    told = terms[0] if terms else {"communicators": 0, "exchanging_gpus": 0}
    sizes, groups, peers = sizing_constants().collectives, told["communicators"], told["exchanging_gpus"]
    beside = (found.breakdown["context"] - context_gb(CARD)) / GIB
    assert beside == pytest.approx(groups * sizes.communicator_gib + peers * sizes.peer_gib)
    return groups, peers


@pytest.mark.parametrize(
    ("layout", "groups"),
    [
        (Layout(), 0),
        (Layout(data=8, sharding="fsdp"), 1),
        (Layout(tensor=8), 1),
        (Layout(tensor=4, data=2, sharding="fsdp"), 2),
        (Layout(tensor=4, pipeline=2, data=2), 3),
    ],
)
def test_each_degree_has_a_communicator(layout: Layout, groups: int) -> None:
    assert buffers(layout, training_framework="torchtitan") == (groups, 0)
    apart = layout.tensor * layout.pipeline > 1  # Megatron clips gradients over all ranks of a model.
    assert buffers(layout, training_framework="megatron") == (groups + apart, 0)


@pytest.mark.parametrize(("ranks", "peers"), [(2, 1), (4, 3), (8, 7), (16, 7)])
def test_who_shares_experts_exchanges_tokens_with_the_gpus_of_its_machine(ranks: int, peers: int) -> None:
    facts = {"training_framework": "megatron", "expert_parallel": ranks}
    assert buffers(Layout(pipeline=2, data=16, sharding="zero1"), SPARSE, **facts) == (4, peers)
    assert buffers(Layout(data=16, sharding="zero1"), SPARSE, **facts) == (2, peers)


def test_experts_that_are_split_as_layers_are_exchange_nothing() -> None:
    assert buffers(Layout(tensor=4), SPARSE, training_framework="megatron") == (2, 0)
    assert buffers(Layout(tensor=4), SPARSE, training_framework="megatron", expert_parallel=4) == (3, 3)
    assert buffers(Layout(data=8, sharding="fsdp"), SPARSE, expert_parallel=8) == (1, 0)
