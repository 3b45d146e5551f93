"""Dimensions that are missing, odd or contradictory never give an absurd model."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue.model import Mla, ModelSpec, Moe
from whichgpu.engine.sizing.shape import shape_of


DIMS = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "intermediate": 14336, "vocab": 32000}


def spec(**changes) -> ModelSpec:
    return ModelSpec(**{"id": "m", "name": "m", "kind": "llm", "gated_mlp": True, **DIMS, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab": None},
        {"intermediate": None},
        {"linear_layers": 24},
        {"moe": Moe(experts=8, experts_per_token=2)},
        {"mla": Mla(kv_lora_rank=512, qk_rope_head_dim=64)},
        {"kind": "encoder_decoder"},
    ],
)
def test_a_part_that_is_not_published_leaves_the_published_size(changes):
    shape = shape_of(spec(params_b=20.0, **changes), 20.0)
    assert shape is not None
    assert (shape.params, shape.known, shape.exact) == (20e9, True, False)
    assert shape_of(spec(**changes), None) is None


def test_without_dimensions_the_shape_is_typical():
    shape = shape_of(ModelSpec(id="x", name="x", kind="llm", params_b=7.0), None)
    assert shape is not None
    assert not shape.known
    assert 30 <= shape.layers <= 36
    assert 3900 <= shape.hidden <= 4500
    assert shape.body + shape.embedding + shape.head == pytest.approx(7e9)


def test_a_typical_sparse_model_has_the_dimensions_of_its_active_size():
    dense, sparse = shape_of(None, 7.0), shape_of(None, 100.0, 7.0)
    assert dense is not None
    assert sparse is not None
    assert (sparse.layers, sparse.hidden, sparse.params) == (dense.layers, dense.hidden, 100e9)
    assert sparse.moe
    assert not dense.moe


def test_an_embedding_larger_than_the_model_is_left_out():
    shape = shape_of(spec(params_b=0.1, vocab=256000), 0.1)
    assert shape is not None
    assert (shape.embedding, shape.head) == (0.0, 0.0)


def test_latent_attention_without_a_query_rank():
    mla = Mla(kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128)
    shape = shape_of(spec(mla=mla), None)
    assert shape is not None
    assert shape.exact
    assert shape.latent == 576


def test_nothing_known_gives_no_shape():
    assert shape_of(None, None) is None
    assert shape_of(None, 0.0) is None
