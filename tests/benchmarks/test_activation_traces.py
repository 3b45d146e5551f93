"""The formulas of training memory agree with traces of real modules, which need no PyTorch to be read."""

from __future__ import annotations

import functools

import pytest
import yaml

from whichgpu.engine.core.folders import locate
from whichgpu.engine.sizing.composed import composed_network, plain_elements
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.job import Job
from whichgpu.engine.sizing.layers import layer_bytes_per_token
from whichgpu.engine.sizing.shape import Shape


#: Formulas may differ from traces by this share: logarithms of sums, which attention keeps for each head, are left out.
TOLERANCE = 0.02
#: And what a layer works with, whose peak moves with the dimensions.
WORKING_TOLERANCE = 0.1
_MODULES = {
    "llama": "gated",
    "qwen3": "gated",
    "mixtral": "gated",
    "vit": "plain",
    "bert": "plain",
    "gpt-neox": "plain",
}
_MODULES |= {"litgpt": "gated", "torchtune": "gated"}
#: Frameworks that do what a technique says, where it is not the job's to say.
_DROPS_OUT, _GATHERS, _EXCHANGES = "trl", "torchtitan", "deepspeed"
_TARGETS = {
    "": (),
    "qv": ("q", "v"),
    "attention": ("q", "k", "v", "o"),
    "all-linear": ("q", "k", "v", "o", "gate", "up", "down"),
}
#: Dimensions of published models: hidden, query, keys and values, feed-forward, heads.
_DIMS = ((4096, 4096, 2048, 14336, 32), (2048, 2048, 1024, 8192, 32), (5120, 5120, 10240, 13824, 40))


@functools.cache
def traces():
    return yaml.safe_load((locate("knowledge") / "activation_traces.yaml").read_text(encoding="utf-8"))


def _rows():
    for row in traces()["layers"]:
        technique = row["technique"]
        if row["module"] in _MODULES and not _apart(row["module"], technique):
            yield pytest.param(row, id=f"{row['module']}-" + "-".join(map(str, technique.values())))


def _apart(module, technique):
    """Cells apart from the formulas (docs/lab.md): litgpt's recipes have dropout."""
    return module == "litgpt" and technique.get("targets") and "adapter_dropout" not in technique


def _framework(module, technique):
    if module in {"litgpt", "torchtune"}:
        return module
    if technique.get("sequence") == "dtensor":
        return _GATHERS
    return _EXCHANGES if technique.get("context_by") == "ulysses" else None


def _job(module, technique, seq):
    targets = _TARGETS[technique.get("targets", "")]
    recipe = technique["recipe"]
    fields = {
        "kind": "lora" if targets else "full",
        "recipe": "mixed" if recipe == "autocast" else recipe,
        "autocasts": recipe == "autocast",
        "checkpointing": technique.get("checkpointing", "none").replace("offloaded", "full"),
        "flash_attention": technique.get("attention") != "eager",
        "lora_targets": targets,
        "weight_decomposed": technique.get("dora", False),
        "adapter_dropout": technique.get("adapter_dropout", 0.0) > 0.0,
        "seq_len_tokens": seq,
        "framework": _framework(module, technique),
        "sequence_parallel": "sequence" in technique,
        "context_parallel": technique.get("context", 1),
    }
    required = dict.fromkeys(Job.__struct_fields__[: len(Job.__struct_fields__) - len(Job.__struct_defaults__)])
    return Job(**(required | fields))


def _shape(module, hidden, query, values, wide, heads, routed):
    required = dict.fromkeys(Shape.__struct_fields__, 0)
    known = {
        "hidden": hidden,
        "heads": heads,
        "head_dim": query // heads,
        "kv_heads": values * heads // (2 * query),
        "intermediate": wide,
        "gated": _MODULES[module] == "gated",
        "experts_per_token": routed,
        "moe": bool(routed),
        "layers": 1,
        "sparse_layers": 1 if routed else 0,
        "qk_norm": module == "qwen3",
        "drops_out": module == "bert",
        "fused_qkv": module == "gpt-neox",
        "parallel_branches": module == "gpt-neox",
        "partial_rotary": module == "gpt-neox",
    }
    return Shape(**(required | known))


def _measures(row, dims, seq):
    """What the coefficients of a row are multiplied with, and the shape and job that they are of."""
    hidden, query, values, wide, heads = dims
    technique = row["technique"]
    tensor = technique.get("tensor", 1)
    if row["module"] in {"vit", "bert", "gpt-neox"}:  # Query, keys and values are as wide as the hidden states.
        query, values = hidden, 2 * hidden
    if row["module"] == "torchtune":
        query = hidden
    routed = 2 if row["module"] == "mixtral" else 0
    measures = {
        "hidden": hidden,
        "query": query / tensor,
        "keys_values": values / tensor,
        "feed_forward": wide / tensor,
        "heads": heads / tensor,
        "scores": heads * seq / tensor,
        "routed": hidden * routed,
    }
    return (
        measures,
        _job(row["module"], technique, seq),
        _shape(row["module"], hidden, query, values, wide, heads, routed),
        tensor,
    )


@pytest.mark.parametrize("row", list(_rows()))
@pytest.mark.parametrize("dims", _DIMS, ids=str)
def test_a_layer_keeps_what_was_traced(row, dims):
    measures, job, shape, tensor = _measures(row, dims, 2048)
    kept = sum(value * measures[name] for name, value in row["kept"].items())
    _, stored, checkpoint = layer_bytes_per_token(job, shape, tensor)
    wanted = row["technique"].get("checkpointing")
    held = checkpoint if wanted == "full" else 0.0 if wanted == "offloaded" else stored
    # litgpt was traced with fewer keys than queries, for which it copies keys.
    tolerance = 3 * TOLERANCE if row["module"] == "litgpt" else TOLERANCE
    assert float(held) == pytest.approx(kept, rel=tolerance, abs=1.0)


def _at_work():
    for row in traces()["layers"]:
        technique = row["technique"]
        plain = row["module"] in {"llama", "qwen3"} and technique.get("attention") != "eager"
        whole = technique["recipe"] == "pure" and technique.get("tensor", 1) == 1 and "dora" not in technique
        anew = technique.get("checkpointing") == "full" and technique.get("context_by") != "ulysses"
        if plain and whole and (anew or set(technique) == {"recipe"}):
            yield pytest.param(row, id=f"{row['module']}-" + "-".join(map(str, technique.values())))


@pytest.mark.parametrize("row", list(_at_work()))
@pytest.mark.parametrize("dims", _DIMS, ids=str)
def test_a_layer_works_with_what_was_traced(row, dims):
    measures, job, shape, tensor = _measures(row, dims, 2048)
    working = sum(value * measures[name] for name, value in row["working"].items())
    found, _, _ = layer_bytes_per_token(job, shape, tensor)
    assert float(found) == pytest.approx(working, rel=WORKING_TOLERANCE)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("sequence", ["megatron", "dtensor"])
def test_ranks_that_share_tokens_work_with_what_was_traced(ranks, sequence):
    """Of 8B and 70B; the peak is in another place at each width, so that only sums are compared."""
    wanted = {"recipe": "pure", "checkpointing": "full", "tensor": ranks, "sequence": sequence}
    (row,) = (row for row in traces()["layers"] if row["technique"] == wanted)
    for dims in ((4096, 4096, 2048, 14336, 32), (8192, 8192, 2048, 28672, 64)):
        measures, job, shape, tensor = _measures(row, dims, 8192)
        working = sum(value * measures[name] for name, value in row["working"].items())
        found, _, _ = layer_bytes_per_token(job, shape, tensor)
        assert float(found) == pytest.approx(working, rel=0.2)


@pytest.mark.parametrize("way", ["ring", "gather", "ulysses"])
def test_a_shared_context_keeps_on_each_rank_what_its_tokens_keep_alone(way):
    kept = {
        row["technique"].get("context_by"): row["kept"]
        for row in traces()["layers"]
        if row["module"] == "llama" and set(row["technique"]) <= {"recipe", "context", "context_by"}
        and row["technique"]["recipe"] == "pure" and row["technique"].get("context", 4) == 4
    }  # fmt: skip
    more = {"query": kept[None]["query"] + 2.0} if way == "ulysses" else {}
    assert kept[way] == kept[None] | more


def test_fsdp_gathers_what_was_traced():
    """In 16 bits; the trace also holds the product of one matrix at the peak."""
    each = sizing_constants().training.fetched_layer_bytes.value / 2.0
    for row in traces()["sharded"]:
        assert row["root"] == 1.0
        if row["units"] == 1 and row["reshards"]:
            assert each == pytest.approx(row["layer"], rel=0.12)


def test_what_fsdp_gathers_depends_on_neither_ranks_nor_layers():
    plain = [row for row in traces()["sharded"] if row["units"] == 1 and row["reshards"] and row["hidden"] == 1024]
    assert {row["ranks"] for row in plain} == {2, 8, 64}
    assert {row["layers"] for row in plain} == {6, 12}
    assert len({row["layer"] for row in plain}) == 1


def test_weights_that_are_not_resharded_are_whole_as_under_zero_2():
    for row in traces()["sharded"]:
        if not row["reshards"]:
            assert 1.0 < row["layer"] - row["layers"] < 2.0


def test_a_prompt_takes_what_was_traced():
    """Three feed-forward and three hidden widths a token, ten bytes a score of eager attention, one layer's keys."""
    plain = sizing_constants().plain_code
    for row in traces()["prompts"]:
        if row["attention"] == "eager":
            assert row["score"] == pytest.approx(plain.score_bytes, rel=0.02)
        else:
            assert row["token_over_three_widths"] == pytest.approx(1.0, rel=0.1)
            assert row["cache_twice"] == pytest.approx(0.5 / 4, rel=0.02)


def test_traces_solved_on_some_dimensions_hold_for_others():
    for row in traces()["layers"]:
        assert row["off_pct"] < 1.0, row
        assert row["trace"].startswith("benchmarks/lab/")


@pytest.mark.parametrize("name", ["resnet50", "resnet101"])
def test_maps_of_a_classifier_are_counted_right(name):
    traced = next(row for row in traces()["networks"] if row["network"] == name and row["precision"] == "fp32")
    assert 4.0 * traced["side"] ** 2 * plain_elements(name) == pytest.approx(traced["kept"], rel=0.01)


@pytest.mark.parametrize(("network", "name"), [("resnet50-fpn", "R_50_FPN"), ("resnet101-fpn", "R_101_FPN")])
def test_maps_of_a_detector_are_counted_right(network, name):
    """The trace has no proposals, which keep the pyramid's maps; it strides in the second convolution."""
    traced = next(row for row in traces()["networks"] if row["network"] == network)
    found, parts = composed_network(f"faster_rcnn_{name}"), sizing_constants().vision.parts
    kept = found.kept_per_pixel - parts.heads["proposals"].per_pixel - parts.heads["fpn"].per_pixel / 2.0
    assert 4.0 * traced["side"] ** 2 * kept == pytest.approx(traced["kept"], rel=0.09)
    assert 4.0 * traced["side"] ** 2 * found.working_per_pixel == pytest.approx(
        traced["peak"] - traced["kept"], rel=0.01
    )


def test_maps_of_a_segmenter_are_counted_right():
    """Torchvision's has a plain stem, 256 channels in its head and no auxiliary one."""
    traced = next(row for row in traces()["networks"] if row["network"] == "deeplabv3_resnet50")
    found = composed_network("DeepLabV3 R-50-D8")
    assert 4.0 * traced["side"] ** 2 * found.kept_per_pixel == pytest.approx(traced["kept"], rel=0.12)
    assert 4.0 * traced["side"] ** 2 * found.working_per_pixel == pytest.approx(
        traced["peak"] - traced["kept"], rel=0.05
    )


_WAYS = {
    ("all", "pure"): "full",
    ("all", "autocast"): "full_autocast",
    ("adapters", "pure"): "lora",
    ("adapters", "autocast"): "lora_autocast",
}


@pytest.mark.parametrize("row", traces()["denoisers"], ids=lambda row: "-".join(map(str, list(row.values())[:4])))
def test_denoisers_keep_what_was_traced(row):
    known = sizing_constants().diffusion.denoisers[row["denoiser"]]
    if row["checkpointing"] == "full":
        assert known.checkpointed == pytest.approx(row["kept"], rel=TOLERANCE)
        return
    across = known.hidden * known.layers if known.hidden else 1
    way = _WAYS[row["learns"], row["precision"]]
    assert getattr(known.kept, way) * across == pytest.approx(row["kept"], rel=TOLERANCE)
    if row["precision"] == "pure" and row["learns"] == "adapters" and known.hidden:
        assert known.text_tokens == pytest.approx(row["text_tokens"], rel=0.25, abs=10)


def test_no_denoiser_is_without_a_trace():
    assert set(sizing_constants().diffusion.denoisers) == {row["denoiser"] for row in traces()["denoisers"]}
