"""Models: names as people write them, and parameters counted from dimensions against published counts."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.catalogue import ModelNames, load_knowledge, parameter_count
from whichgpu.engine.catalogue.model import Mla, ModelSpec, Moe
from whichgpu.engine.core import record_of


KNOWLEDGE = load_knowledge()
MODELS = KNOWLEDGE.models


@pytest.mark.parametrize(
    ("name", "expected", "precision"),
    [
        ("Llama 3.1 8B", "llama-3.1-8b", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b", None),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b", None),
        ("llama3.1:8b", "llama-3.1-8b", None),
        ("llama3:70b-instruct-q4_K_M", "llama-3-70b", "q4_k_m"),
        ("llama-3-8b-instruct-awq", "llama-3-8b", "awq-int4"),
        ("Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen2.5-7b", "gptq-int4"),
        ("Qwen2.5-7B-Instruct-GPTQ-Int8", "qwen2.5-7b", "gptq-int8"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b-2507", "fp8"),
        ("nvidia/Llama-3.3-70B-Instruct-NVFP4", "llama-3.3-70b", "nvfp4"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama-3.1-8b", "nf4"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llama-3.1-8b", "q4_k_m"),
        ("Meta-Llama-3.1-8B-Instruct-Q8_0.gguf", "llama-3.1-8b", "q8_0"),
        ("Meta-Llama-3.1-8B-Instruct-IQ4_XS", "llama-3.1-8b", "iq4_xs"),
        ("neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w4a16", "llama-3.1-70b", "int4"),
        ("RedHatAI/Meta-Llama-3.1-8B-quantized.w8a8", "llama-3.1-8b", "int8"),
        ("TheBloke/Llama-2-13B-chat-GPTQ", "llama-2-13b", "gptq-int4"),
        ("llama-3.1-8b-bf16", "llama-3.1-8b", "bf16"),
        ("Mistral-7B-Instruct-v0.2", "mistral-7b-v0.2", None),
        ("mixtral 8x7b", "mixtral-8x7b", None),
        ("deepseek-r1:671b", "deepseek-r1", None),
        ("DeepSeek-V3-0324", "deepseek-v3", None),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek-r1-distill-llama-8b", None),
        ("phi4:14b", "phi-4", None),
        ("gemma2:9b", "gemma-2-9b", None),
        ("google/gemma-3-27b-it", "gemma-3-27b", None),
        ("openai/gpt-oss-120b", "gpt-oss-120b", None),
        ("qwq", "qwq-32b", None),
        ("GPT-2 XL", "gpt2-xl", None),
        ("code llama 34b", "codellama-34b", None),
        ("LLaMA 65B", "llama-1-65b", None),
        ("resnet-50", "resnet50", None),
        ("vit-b/16", "vit_b_16", None),
        ("Mask R-CNN", "maskrcnn_resnet50_fpn", None),
        ("sdxl", "sdxl-base-1.0", None),
        ("whisper large-v3", "whisper-large", None),
        ("Wan2.1 14B 720p", "wan2.1-14b", None),
    ],
)
def test_names_as_people_write_them(name: str, expected: str, precision: str | None) -> None:
    match = KNOWLEDGE.find_model(name)
    assert match.spec is not None
    assert (match.spec.id, match.weight_precision) == (expected, precision)


def test_a_fine_tune_is_known_by_what_it_was_made_from() -> None:
    match = KNOWLEDGE.find_model("someone/Aurora-3-Llama-3.1-8B")
    assert match.spec is MODELS["llama-3.1-8b"]
    assert match.how == "part of the name"


@pytest.mark.parametrize(
    ("family", "size", "expected"),
    [
        ("llama", 7, "llama-2-7b"),
        ("llama", 13, "llama-2-13b"),
        ("llama", 8, "llama-3.1-8b"),
        ("llama", 70, "llama-3.3-70b"),
        ("llama", 65, "llama-1-65b"),
        ("gpt-2", 1.5, "gpt2-xl"),
        ("gpt-2", 0.124, "gpt2"),
        ("mistral", 7, "mistral-7b-v0.3"),
        ("qwen", 7, "qwen2.5-7b"),
        ("mixtral", 47, "mixtral-8x7b"),
        ("resnet", 0.0256, "resnet50"),
    ],
)
def test_a_family_with_a_size_means_its_newest_model_of_that_size(family: str, size: float, expected: str) -> None:
    match = KNOWLEDGE.find_model(family, size)
    assert match.spec is not None
    assert match.spec.id == expected


@pytest.mark.parametrize(
    "name", ["llama", "qwen", "mistral", "yolo", "resnet", "whisper", "phi", "stable diffusion", "vit"]
)
def test_a_bare_family_name_means_nothing_in_particular_but_suggests(name: str) -> None:
    match = KNOWLEDGE.find_model(name)
    assert not match.found
    assert match.nearest


@pytest.mark.parametrize(
    ("name", "size"), [("", None), ("gpt-4", None), ("llama", 21), ("nonesuch-7b", None), ("llama 11b", None)]
)
def test_what_is_not_known_is_not_guessed(name: str, size: float | None) -> None:
    match = KNOWLEDGE.find_model(name, size)
    assert match.spec is None
    assert match.how == ""


def test_a_misspelt_name_has_the_right_one_among_the_suggestions() -> None:
    assert "llama-3.1-8b" in KNOWLEDGE.find_model("lama 3.1 8b").nearest
    assert "qwen2.5-7b" in KNOWLEDGE.find_model("qwem2.5-7b").nearest


@given(st.sampled_from(sorted(MODELS)), st.sampled_from(["", "-instruct", "-chat-hf", "-GGUF", "-fp16"]))
def test_an_id_with_a_variants_suffix_is_the_same_network(key: str, suffix: str) -> None:
    match = KNOWLEDGE.find_model(f"someone/{key.upper()}{suffix}")
    assert match.spec is not None
    if MODELS[key].params_b:
        assert match.spec.params_b == MODELS[key].params_b


@given(st.text(max_size=60), st.none() | st.floats(min_value=0.01, max_value=2000))
def test_any_text_gets_an_answer(text: str, size: float | None) -> None:
    assert KNOWLEDGE.find_model(text, size).asked == text


def test_the_order_of_the_catalogue_does_not_matter() -> None:
    backwards = ModelNames(dict(reversed(list(MODELS.items()))))
    for name in ("llama3.1:8b", "Qwen2.5-7B-Instruct", "mistral:7b", "lama 3.1 8b", "yolo"):
        assert backwards.find(name) == KNOWLEDGE.find_model(name)


# ---------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("key", "published"),
    [
        ("llama-2-7b", 6_738_415_616),
        ("llama-3.1-8b", 8_030_261_248),
        ("llama-3.1-70b", 70_553_706_496),
        ("llama-3.1-405b", 405_853_388_800),
        ("llama-3.2-1b", 1_235_814_400),
        ("mistral-7b-v0.1", 7_241_732_096),
        ("mixtral-8x7b", 46_702_792_704),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-0.5b", 494_032_768),
        ("gpt2", 124_439_808),
        ("gpt2-xl", 1_557_611_200),
        ("falcon-7b", 6_921_720_704),
        ("t5-small", 60_506_624),
        ("bert-base-uncased", 109_482_240),
        ("deepseek-v3", 671_026_419_200),
        ("qwen3-8b", 8_190_735_360),
        ("gpt-oss-20b", 20_914_757_184),
        ("opt-13b", 12_853_473_280),
        ("phi-4", 14_659_507_200),
        ("gemma-2-9b", 9_241_705_984),
        ("qwen3-235b-a22b", 235_093_634_560),
        ("glm-4.5", 352_797_829_120),
    ],
)
def test_dimensions_give_the_published_count(key: str, published: int) -> None:
    count = parameter_count(MODELS[key])
    assert count is not None
    assert count.total == pytest.approx(published, rel=6e-4)


def test_every_countable_model_agrees_with_its_stated_size() -> None:
    counted = 0
    for model in MODELS.values():
        count = parameter_count(model)
        if count is None or model.params_b is None or model.dims_differ_because:
            continue
        counted += 1
        published = model.components_b.get("language", model.params_b)
        assert count.total / 1e9 == pytest.approx(published, rel=0.015), model.id
        if model.active_params_b:
            # Publishers leave embeddings out, or in; gpt-oss and GLM state less than one pass touches.
            assert count.active / 1e9 == pytest.approx(model.active_params_b, rel=0.2), model.id
    assert counted >= 380


def test_the_parts_make_up_the_whole() -> None:
    for model in MODELS.values():
        count = parameter_count(model)
        if count is not None:
            parts = count.embedding + count.head + count.attention + count.mlp + count.norms
            assert parts == count.total
            assert count.active <= count.total


def test_tied_embeddings_have_no_head_of_their_own() -> None:
    tied, untied = parameter_count(MODELS["llama-3.2-1b"]), parameter_count(MODELS["llama-3.1-8b"])
    assert tied is not None
    assert untied is not None
    assert tied.head == 0
    assert untied.head == untied.embedding == 128256 * 4096


def test_nothing_is_counted_from_half_of_the_dimensions() -> None:
    def spec(**fields: object) -> ModelSpec:
        full = {"layers": 2, "hidden": 8, "heads": 2, "kv_heads": 2, "vocab": 10, "intermediate": 16, "gated_mlp": True}
        return record_of(ModelSpec, {"id": "x", "name": "x", "kind": "llm", **full, **fields})

    assert parameter_count(spec()) is not None
    for missing in ("layers", "hidden", "heads", "kv_heads", "vocab", "intermediate"):
        assert parameter_count(spec(**{missing: None})) is None, missing
    assert parameter_count(spec(linear_layers=1)) is None
    assert parameter_count(spec(dims_partial=True)) is None
    assert parameter_count(spec(kind="vision")) is None
    assert parameter_count(spec(kind="encoder_decoder", intermediate=None)) is None
    moe = Moe(experts=4, experts_per_token=1, expert_intermediate=8, first_dense_layers=1)
    assert parameter_count(spec(moe=moe)) is not None
    assert parameter_count(spec(moe=moe, intermediate=None)) is None  # the dense layer has no width


@given(
    st.integers(1, 8),
    st.sampled_from([8, 16, 64]),
    st.integers(2, 16),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from(["none", "qkv", "all"]),
)
def test_more_experts_weigh_more_and_cost_the_same_per_token(
    layers: int, hidden: int, experts: int, per_token: int, gated: bool, bias: str
) -> None:
    def count(number: int) -> tuple[int, int]:
        moe = Moe(experts=number, experts_per_token=min(per_token, 2), expert_intermediate=32, shared_intermediate=16)
        spec = ModelSpec(
            id="x", name="x", kind="llm", layers=layers, hidden=hidden, heads=2, kv_heads=1, vocab=100,
            gated_mlp=gated, moe=moe, bias=bias, tied_embeddings=True,
        )  # fmt: skip
        counted = parameter_count(spec)
        assert counted is not None
        return counted.total, counted.active

    fewer, more = count(experts), count(experts + 1)
    assert more[0] > fewer[0]
    router = layers * (hidden + (1 if bias == "all" else 0))
    assert more[1] - fewer[1] == router


def test_latent_attention_without_a_query_rank() -> None:
    """DeepSeek-V2-Lite projects queries in one step: 2048 x 16 x 192 per layer."""
    mla = Mla(kv_lora_rank=512, qk_rope_head_dim=64, q_lora_rank=None, qk_nope_head_dim=128, v_head_dim=128)
    spec = ModelSpec(
        id="x", name="x", kind="llm", layers=1, hidden=2048, heads=16, vocab=10, intermediate=8, gated_mlp=True,
        mla=mla, tied_embeddings=True,
    )  # fmt: skip
    count = parameter_count(spec)
    assert count is not None
    assert count.attention == 2048 * 16 * 192 + 2048 * 576 + 512 + 512 * 16 * 256 + 16 * 128 * 2048


def test_cache_relevant_dimensions_of_models_with_windows() -> None:
    gemma, oss, mistral = MODELS["gemma-3-27b"], MODELS["gpt-oss-20b"], MODELS["mistral-7b-v0.1"]
    assert (gemma.full_attention_layers, gemma.sliding_layers, gemma.sliding_window) == (10, 52, 1024)
    assert (oss.full_attention_layers, oss.sliding_layers, oss.sliding_window) == (12, 12, 128)
    assert (mistral.full_attention_layers, mistral.sliding_layers) == (0, 32)
    assert MODELS["qwen2.5-7b"].sliding_window is None  # its configuration names a window and switches it off
    assert (MODELS["qwen3.5-27b"].full_attention_layers, MODELS["qwen3.5-27b"].linear_layers) == (16, 48)
    for model in MODELS.values():
        if model.sliding_layers is not None and model.layers is not None:
            whole, fixed = model.full_attention_layers or 0, model.linear_layers or 0
            assert whole + model.sliding_layers + fixed == model.layers, model.id
        assert (model.sliding_window is None) == (model.sliding_layers is None), model.id
