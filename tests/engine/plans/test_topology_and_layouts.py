from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core.values import Facts
from whichgpu.engine.plans.constants import plan_constants
from whichgpu.engine.plans.layouts import divisors, layouts, split_options_of
from whichgpu.engine.plans.topology import FabricTable, fabric_of, ladder
from whichgpu.engine.sizing.intake import job_from_facts
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layout import Layout


KNOWLEDGE = load_knowledge()
GPUS = KNOWLEDGE.gpus


H100 = "nvidia-h100-80gb-sxm"


def tensor_most(gpu: str, count: int) -> int:
    return int(FabricTable([fabric_of(GPUS[gpu])], count).tensor_most(np.array([0]), np.array([count]))[0])


def laid_out(job: Job, gpu: str, count: int) -> list[Layout]:
    return list(layouts(split_options_of(job), count, tensor_most(gpu, count)))


def rounded_up(count: int, machine: int, most: int, together: int = 1) -> int | None:
    fabric = fabric_of(GPUS[H100])._replace(node_gpus=machine, machine=machine)
    return int(FabricTable([fabric], most, together).rounded_up(np.array([0]), np.array([count]))[0]) or None


def job(facts: Facts, model: str | None = None) -> Job:
    return job_from_facts(facts, KNOWLEDGE.find_model(model).spec if model else None)


@pytest.mark.parametrize(
    ("gpu", "count", "link", "node_link", "nodes"),
    [
        ("nvidia-h100-80gb-sxm", 1, "none", "none", 1),
        ("nvidia-h100-80gb-sxm", 8, "nvlink", "none", 1),
        ("nvidia-h100-80gb-sxm", 16, "nvlink", "infiniband", 2),
        ("nvidia-a100-80gb-pcie", 2, "nvlink-bridge", "none", 1),
        ("nvidia-a100-80gb-pcie", 4, "pcie", "none", 1),
        ("nvidia-a100-80gb-pcie", 16, "pcie", "roce", 2),
        ("nvidia-l40s", 8, "pcie", "none", 1),
        ("nvidia-l40s", 16, "pcie", "ethernet", 2),
        ("nvidia-rtx-4090", 4, "pcie", "none", 1),
        ("nvidia-rtx-3090", 2, "nvlink-bridge", "none", 1),
        ("amd-mi300x", 16, "xgmi", "roce", 2),
        ("nvidia-gb200", 72, "nvlink", "none", 1),
        ("nvidia-gb200", 144, "nvlink", "infiniband", 2),
        ("google-tpu-v5e", 256, "ici", "none", 1),
        ("google-tpu-v5e", 512, "ici", "ici", 2),
        ("nvidia-dgx-spark", 2, "none", "ethernet", 2),
    ],
)
def test_how_gpus_are_joined(gpu: str, count: int, link: str, node_link: str, nodes: int) -> None:
    fabric = fabric_of(GPUS[gpu])
    assert (fabric.link_of(count), fabric.node_link_of(count), fabric.nodes(count)) == (link, node_link, nodes)


def test_no_more_cards_than_their_place_holds() -> None:
    assert fabric_of(GPUS["nvidia-rtx-4090"]).most == plan_constants().most_consumer.value
    assert fabric_of(GPUS["nvidia-rtx-4090"], desk=True).most == plan_constants().most_in_a_desk.value
    assert fabric_of(GPUS["nvidia-l4"]).most == plan_constants().most_slow_link.value
    assert fabric_of(GPUS["nvidia-h100-80gb-sxm"]).most > 1024
    assert fabric_of(GPUS["apple-m4-max"]).most == 1
    assert fabric_of(GPUS["nvidia-dgx-spark"]).most == 2


def test_layers_are_split_widely_only_over_fast_links() -> None:
    assert tensor_most(H100, 16) == 8
    assert tensor_most("nvidia-l40s", 8) == 4
    assert tensor_most("nvidia-gb200", 72) == 16
    assert tensor_most("nvidia-a100-80gb-pcie", 2) == 2


def test_counts_that_one_can_have() -> None:
    assert ladder(8, 64) == (1, 2, 4, 8, 16, 32, 64)
    assert ladder(6, 24) == (1, 2, 4, 6, 12, 24)
    assert ladder(8, 4) == (1, 2, 4)
    assert ladder(1, 1) == (1,)
    assert ladder(8, 32, every=True) == (1, 2, 3, 4, 5, 6, 7, 8, 16, 32)
    assert rounded_up(3, 8, 64) == 4
    assert rounded_up(9, 8, 64) == 16
    assert rounded_up(17, 8, 64) == 24
    assert rounded_up(65, 8, 64) is None
    assert rounded_up(6, 8, 4) is None
    assert rounded_up(9, 8, 64, 12) == 12
    assert rounded_up(13, 8, 64, 12) == 24
    assert rounded_up(60, 8, 64, 12) is None


@pytest.mark.parametrize(
    ("gpu", "parts"), [("nvidia-h100-80gb-sxm", [3, 5, 6, 7]), ("nvidia-l40s", []), ("nvidia-rtx-4090", [])]
)
def test_which_counts_are_rented_as_a_larger_part_of_a_board(gpu: str, parts: list[int]) -> None:
    table = FabricTable([fabric_of(GPUS[gpu])], 64)
    counts = np.arange(1, 17)
    found = counts[table.part_of_a_board(np.zeros_like(counts), counts)]
    assert found.tolist() == parts


def test_divisors() -> None:
    assert divisors(12) == (1, 2, 3, 4, 6, 12)
    assert divisors(1) == (1,)
    assert divisors(36) == (1, 2, 3, 4, 6, 9, 12, 18, 36)


@given(
    st.sampled_from(["qwen2.5-7b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3", "qwen2.5-0.5b"]),
    st.sampled_from(["inference", "full_finetuning", "peft_finetuning"]),
    st.sampled_from(["nvidia-h100-80gb-sxm", "nvidia-l40s", "nvidia-rtx-4090", "nvidia-gb200", "amd-mi300x"]),
    st.sampled_from([1, 2, 3, 4, 6, 7, 8, 16, 24, 32, 72]),
)
def test_every_layout_uses_all_gpus_and_respects_heads_and_layers(model: str, task: str, gpu: str, count: int) -> None:
    what = job({"task": task}, model)
    shape = what.shape
    assert shape is not None
    found = laid_out(what, gpu, count)
    assert found
    assert len(set(found)) == len(found)
    for layout in found:
        assert layout.count == count
        assert shape.heads % layout.tensor == 0
        assert layout.pipeline <= shape.layers
        assert layout.tensor <= tensor_most(gpu, count)
        if not shape.latent:
            assert shape.kv_heads % layout.tensor == 0 or layout.tensor % shape.kv_heads == 0
        if not what.training or layout.data == 1:
            assert layout.sharding == "none"
    splits = [layout.tensor * layout.pipeline for layout in found]
    assert splits == sorted(splits)


def test_training_shards_before_it_splits_layers() -> None:
    what = job({"task": "full_finetuning"}, "llama-3.1-8b")
    first = laid_out(what, H100, 8)[:5]
    assert [(layout.tensor, layout.data, layout.sharding) for layout in first] == [
        (1, 8, "none"),
        (1, 8, "zero1"),
        (1, 8, "fsdp"),
        (2, 4, "zero1"),
        (2, 4, "fsdp"),
    ]
    adapters = job({"task": "peft_finetuning", "peft_method": "lora"}, "llama-3.1-8b")
    assert "zero1" not in {layout.sharding for layout in laid_out(adapters, H100, 8)}
    deepspeed = job({"task": "full_finetuning", "training_framework": "deepspeed"}, "llama-3.1-8b")
    assert laid_out(deepspeed, H100, 8)[2].sharding == "zero3"
    stated = job({"task": "full_finetuning", "sharding": "zero2"}, "llama-3.1-8b")
    assert {layout.sharding for layout in laid_out(stated, H100, 8)} == {"zero2"}


def test_pipelines_of_training_shard_only_the_optimiser() -> None:
    what = job({"task": "full_finetuning"}, "llama-3.1-70b")
    staged = [layout for layout in laid_out(what, H100, 32) if layout.pipeline > 1]
    assert staged
    assert {(layout.sharding, layout.data > 1) for layout in staged} <= {("zero1", True), ("none", False)}


def test_stated_degrees_bind() -> None:
    what = job({"task": "inference", "tensor_parallel": 4}, "llama-3.1-8b")
    assert {layout.tensor for layout in laid_out(what, H100, 8)} == {4}
    piped = job({"task": "inference", "pipeline_parallel": 2, "data_parallel": 2}, "llama-3.1-8b")
    assert {(layout.pipeline, layout.data) for layout in laid_out(piped, H100, 8)} == {(2, 2)}
    # Degrees that the count cannot hold do not leave the plan without a layout.
    assert laid_out(job({"task": "inference", "tensor_parallel": 3}, "llama-3.1-8b"), H100, 8)


def test_networks_without_layers_only_copy() -> None:
    what = job({"task": "inference"}, "sdxl")
    assert [layout.data for layout in laid_out(what, H100, 8)] == [8]


@pytest.mark.parametrize("task", ["inference", "peft_finetuning"])
def test_a_denoiser_is_split_only_where_that_is_stated(task: str) -> None:
    """Servers of generators split a denoiser over the ranks that they are given; nobody does so of himself."""
    told = laid_out(job({"task": task, "tensor_parallel": 4}, "flux.1-dev"), H100, 8)
    assert {(layout.tensor, layout.pipeline, layout.data) for layout in told} == {(4, 1, 2)}
    assert {layout.tensor for layout in laid_out(job({"task": task}, "flux.1-dev"), H100, 8)} == {1}
