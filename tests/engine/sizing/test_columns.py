"""Formulas run over many plans at once: each row is what the plan is alone, whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.catalogue import Gpu
from whichgpu.engine.plans.layouts import columns_of
from whichgpu.engine.plans.maker import PlanMaker
from whichgpu.engine.sizing.layout import Layout
from whichgpu.engine.sizing.memory import memory_columns
from whichgpu.engine.sizing.rows import SHARDINGS, rows_of
from whichgpu.engine.sizing.speed import rows_of_values


ADVISOR = shipped_advisor()
GPUS = list(ADVISOR.knowledge.plannable)
WORKLOADS = [
    {"task": "inference", "model_name": "llama-3.1-8b", "concurrency": 24, "context_tokens": 4096},
    {"task": "inference", "model_name": "deepseek-v3", "peak_qps": 3, "tpot_slo_ms": 60},
    {"task": "inference", "model_name": "gpt-oss-120b", "weight_precision": "mxfp4", "serving_engine": "transformers"},
    {"task": "inference", "model_name": "bert-large", "latency_slo_ms": 40},
    {"task": "full_finetuning", "model_name": "mixtral-8x7b", "training_framework": "megatron"},
    {"task": "pretraining", "model_name": "llama-3.1-70b", "train_tokens_b": 200, "deadline_hours": 900},
    {"task": "peft_finetuning", "peft_method": "lora", "model_name": "qwen2.5-32b", "training_framework": "torchtune"},
    {"task": "peft_finetuning", "peft_method": "qlora", "model_name": "llama-3.1-70b"},
    {"task": "full_finetuning", "model_name": "llama-3.1-8b", "cpu_offload": True, "sharding": "zero2"},
    {"task": "inference", "model_name": "sdxl-base-1.0"},
    {"task": "peft_finetuning", "peft_method": "lora", "model_name": "flux.1-dev"},
    {"task": "inference", "model_name": "wan2.1-14b"},
    {"task": "full_finetuning", "model_name": "resnet50"},
    {"task": "inference", "model_name": "whisper-large"},
]


def maker_of(facts: dict[str, object]) -> PlanMaker:
    intake, model = ADVISOR.context.resolve(ADVISOR.read(facts).given)
    return ADVISOR.context.plan_maker(model, intake)


MAKERS = [maker_of(facts) for facts in WORKLOADS]
LAYOUTS = st.builds(
    Layout,
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 1, 2, 3, 4]),
    st.sampled_from([1, 2, 3, 8, 16]),
    st.sampled_from(SHARDINGS),
)


@given(
    st.sampled_from(MAKERS),
    st.lists(
        st.tuples(LAYOUTS, st.integers(1, 64), st.sampled_from([0.4, 0.7]), st.booleans()), min_size=1, max_size=8
    ),
)
def test_memory_of_a_row_does_not_hang_on_the_other_rows(
    maker: PlanMaker, plans: list[tuple[Layout, int, float, bool]]
) -> None:
    layouts, batches, contexts, small = zip(*plans, strict=True)
    together = memory_columns(maker.job, rows_of(layouts, batches, np.array(contexts), np.array(small)))
    assert together is not None
    for (layout, batch, context, is_small), row in zip(plans, together.rows(), strict=True):
        alone = memory_columns(maker.job, rows_of([layout], batch, context, is_small))
        assert alone is not None
        only = alone.rows()[0]
        assert row == only
        assert row.terms == only.terms
        assert sum(term.value for term in row.terms) == pytest.approx(row.per_gpu_gb)
        assert 0 <= row.low_gb <= row.per_gpu_gb <= row.high_gb


@given(st.sampled_from(MAKERS), st.lists(st.tuples(st.sampled_from(GPUS), LAYOUTS), min_size=1, max_size=12))
def test_speed_of_many_plans_is_that_of_each_alone(maker: PlanMaker, plans: list[tuple[Gpu, Layout]]) -> None:
    if not maker.job.training:
        plans = [(gpu, layout._replace(sharding="none")) for gpu, layout in plans]
    gpus, layouts = zip(*plans, strict=True)
    which = np.array([maker.columns.gpus.position[gpu.id] for gpu in gpus])
    together = rows_of_values(maker.columns.speed(which, columns_of(layouts)))
    for (gpu, layout), values in zip(plans, together, strict=True):
        speed, _ = maker.speed(gpu, layout)
        assert (speed.values if speed is not None else {}) == pytest.approx(values, rel=1e-12)
        if speed is None:
            continue
        figures = speed.figures  # Built for the plan alone, with the ends of its bands.
        assert {name: figure.value for name, figure in figures.items()} == pytest.approx(speed.values, rel=1e-12)
        assert all(figure.low <= figure.value <= figure.high for figure in figures.values())
