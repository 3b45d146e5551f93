"""Encoding a prompt and decoding a latent: which traced part a model's own is, and how long both take."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import job_from_facts
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.generator_parts import traced_denoiser
from whichgpu.engine.sizing.generator_sizes import generator_of
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.speed_constants import speed_constants
from whichgpu.engine.sizing.speed_encode_decode import decoder_of, decoding_s, encode_and_decode_s, encoding_s


KNOWLEDGE = load_knowledge(locate("knowledge"))
H100 = GpuTable([KNOWLEDGE.gpus["nvidia-h100-80gb-sxm"]])
FIRST = np.zeros(1, np.int64)


def job(model: str, **facts):
    return job_from_facts({"task": "inference", "weight_precision": "bf16", **facts}, KNOWLEDGE.models[model])


def decoding(model: str, px: int = 1024, frames: int = 1, **facts) -> float:
    return float(decoding_s(job(model, **facts), H100, float(px * px), frames, "value")[0])


def encoding(model: str, batch: float = 1.0, passes: float = 1.0) -> float:
    return float(encoding_s(job(model), H100, FIRST, passes, "value")(batch)[0])


@pytest.mark.parametrize(
    ("model", "decoder"),
    [
        ("sdxl-turbo", "kl-4"),
        ("flux.1-schnell", "kl-16"),
        ("sd3.5-large-turbo", "kl-16"),
        ("qwen-image", "qwen-image"),
        ("cogview4-6b", "kl-cogview"),
        ("wan2.1-14b", "wan"),
        ("hunyuanvideo", "hunyuanvideo"),
        ("cogvideox-5b", "cogvideox"),
        ("ltx-video-2b", "ltx"),
        ("ltx-video-0.9.7-distilled", "ltx-0.9.7"),
        ("cosmos-predict2-2b-video2world", "wan"),
    ],
)
def test_a_decoder_is_known_by_its_latent_space_and_size(model, decoder):
    assert decoder_of(job(model)) is speed_constants().diffusion.decoders[decoder]


def test_latents_that_nobody_traced_are_decoded_as_others_of_their_compression():
    hunyuan = decoder_of(job("hunyuanimage-2.1"))
    assert hunyuan.latent[1:] == (32, 1)


@pytest.mark.parametrize(
    ("sibling", "elder"),
    [
        ("sdxl-turbo", "sdxl-base-1.0"),
        ("sd3.5-large-turbo", "sd3.5-large"),
        ("ltx-video-0.9.7-distilled", "ltx-video-0.9.7"),
        ("skyreels-v2-14b", "wan2.1-14b"),
        ("flux.1-canny-dev", "flux.1-dev"),
        ("sd-turbo", "stable-diffusion-2.1"),
    ],
)
def test_siblings_have_the_trace_of_their_architecture(sibling, elder):
    assert generator_of(job(sibling)).traced is not None
    assert generator_of(job(sibling)).traced is generator_of(job(elder)).traced


@pytest.mark.parametrize("model", ["cosmos-predict2-14b-text2image", "cosmos-predict1-7b-text2world", "latte-1"])
def test_what_is_only_as_large_or_as_wide_has_no_trace(model):
    """As large as Wan 14B to 2 %, as wide and deep as CogView4, as wide as PixArt."""
    spec = KNOWLEDGE.models[model]
    assert traced_denoiser(spec, spec.components_b["transformer"]) is None


def test_decoding_grows_with_pixels_and_frames_and_faster_where_pixels_attend_to_each_other():
    assert decoding("cogvideox-5b", frames=8) == pytest.approx(8 * decoding("cogvideox-5b"))
    assert decoding("flux.1-dev", px=2048) > 4 * decoding("flux.1-dev", px=1024)
    assert decoding("sana-1.6b", px=2048) == pytest.approx(4 * decoding("sana-1.6b", px=1024))


def test_sdxl_decodes_in_32_bits_where_the_rest_is_fp16():
    """At half the rate of products, and twice the bytes."""
    assert decoding("sdxl-base-1.0", weight_precision="fp16") == pytest.approx(2 * decoding("sdxl-base-1.0"), rel=0.01)
    assert decoding("sd3-medium", weight_precision="fp16") == pytest.approx(decoding("sd3-medium"))


def test_a_short_prompt_takes_as_long_as_its_kernels_and_many_as_long_as_their_products():
    diffusion = speed_constants().diffusion
    layers = diffusion.text_encoders["t5-xxl"].layers + diffusion.text_encoders["clip-vit-l"].layers
    assert encoding("flux.1-dev") == pytest.approx(layers * diffusion.launch_us_per_layer.value * 1e-6)
    assert encoding("flux.1-dev", 64.0) > 2 * encoding("flux.1-dev", 16.0)
    assert encoding("flux.1-dev", 64.0, passes=2.0) > 1.8 * encoding("flux.1-dev", 64.0)


def test_a_denoiser_that_reads_prompts_itself_encodes_nothing():
    assert encoding("omnigen") == 0.0


def test_what_stands_around_the_steps_is_both():
    batch = 4.0
    both = encode_and_decode_s(job("flux.1-schnell"), H100, FIRST, 1.0, 1024.0**2, 1, "value")(batch)
    assert float(both[0]) == pytest.approx(batch * decoding("flux.1-schnell") + encoding("flux.1-schnell", batch))


def traces():
    return yaml.safe_load((locate("knowledge") / "activation_traces.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", traces()["decoders"], ids=lambda row: row["decoder"])
def test_decoders_are_as_traced(row):
    known = speed_constants().diffusion.decoders[row["decoder"]]
    assert (known.params_b, known.flops, known.attended, known.bytes) == pytest.approx(
        (row["params_b"], row["flops"], row["attended"], row["bytes"])
    )


@pytest.mark.parametrize("row", traces()["clips"], ids=lambda row: row["decoder"])
def test_clips_that_are_decoded_whole_are_as_traced(row):
    known = sizing_constants().diffusion.clip_decoders[row["decoder"]]
    assert [list(one) for one in known.held] == row["held"]


@pytest.mark.parametrize("row", traces()["text_encoders"], ids=lambda row: row["encoder"])
def test_text_encoders_are_as_traced_two_operations_a_parameter_outside_the_table_of_words(row):
    known = speed_constants().diffusion.text_encoders[row["encoder"]]
    assert known.flops == pytest.approx(row["flops"], rel=1e-5)
    assert known.flops == pytest.approx(2e9 * (row["params_b"] - row["table_b"]), rel=0.05)
