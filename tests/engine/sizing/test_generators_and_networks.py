"""Memory of image and video generators, vision networks, speech recognisers and others."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from whichgpu.engine.catalogue import load_knowledge
from whichgpu.engine.catalogue.model import Gpu, Latent, ModelSpec
from whichgpu.engine.core import locate
from whichgpu.engine.sizing import Layout, MemoryEstimate, estimate_memory, job_from_facts, sizing_constants


GIB = 1.073741824
CARD = Gpu(id="h", family="h", series="h", name="H100", vendor="nvidia", architecture="hopper", usable_gb=84.2)


def generator(name: str, kind: str = "diffusion_image", px: int | None = 1024, **components) -> ModelSpec:
    return ModelSpec(
        id=name,
        name=name,
        kind=kind,
        params_b=next(iter(components.values())),
        resolution_px=px,
        components_b=components,
    )


T5 = 4.762311
FLUX = generator("flux", transformer=11.901, text_encoder=T5, text_encoder_clip=0.1231)
SD3 = generator("sd3", transformer=2.028, text_encoder=T5, text_encoder_clip=0.818)
SD14 = generator("sd14", px=512, unet=0.8595, text_encoder=0.1236)
SDXL = generator("sdxl", unet=2.567, text_encoder=0.8183)
HUNYUAN = generator("hunyuan", "diffusion_video", None, transformer=13.0, text_encoder=8.1)
COG = ModelSpec(id="cogvideox1.5-5b", name="cog", kind="diffusion_video", params_b=5.57)
INFER = {"task": "inference"}
LORA = {"task": "peft_finetuning", "peft_method": "lora"}
FULL = {"task": "full_finetuning"}
FP32 = {"compute_precision": "fp32", "weight_precision": "fp32"}
#: PEFT's DreamBooth command of January 2023: a picture of prior preservation beside each, and no fused attention.
DREAM = {
    **FP32,
    "gradient_checkpointing": "none",
    "batch_size_per_gpu": 2,
    "gradient_accumulation_steps": 1,
    "image_px": 512,
    "flash_attention": False,
}


def estimate(model: ModelSpec | None, layout: Layout | None = None, **facts) -> MemoryEstimate:
    found = estimate_memory(job_from_facts(facts, model), CARD, layout or Layout())
    assert found is not None
    return found


@pytest.mark.parametrize(("precision", "left"), [("nf4", 4.0), ("fp16", 4.0), ("int8", 2.0)])
def test_of_text_encoders_those_of_t5s_kind_alone_keep_projections_wide(precision, left):
    """24 x 10240 x 4096 parameters of an XXL encoder, whatever its vocabulary; none of a language model."""

    def weights(size: float) -> float:
        model = generator("one", transformer=2.0, text_encoder=size)
        return estimate(model, **INFER, weight_precision=precision).breakdown["weights"]

    plain = sizing_constants().weights[precision].body
    for size, projections in ((T5, 1.00663), (5.68091, 1.00663), (8.721798, 2.14748), (8.779194, 0.0), (24.0, 0.0)):
        expected = size * plain + projections * (left - plain)
        assert weights(size) - weights(0.0) == pytest.approx(expected, rel=1e-3)


# FLUX.1-dev and SD3 medium at 1024 px on an H100 (Hugging Face blogs), SDXL and video by their makers; GB.
@pytest.mark.parametrize(
    ("model", "facts", "gb", "within"),
    [
        (FLUX, {**INFER, "weight_precision": "bf16"}, 36.166 * GIB, 0.03),
        (FLUX, {**INFER, "weight_precision": "fp8"}, 20.898 * GIB, 0.10),
        (FLUX, {**INFER, "weight_precision": "int8"}, 21.814 * GIB, 0.12),
        (FLUX, {**INFER, "weight_precision": "nf4"}, 17.281 * GIB, 0.09),
        (FLUX, {**INFER, "weight_precision": "int4"}, 14.654 * GIB, 0.20),
        (SD3, {**INFER, "weight_precision": "fp16"}, 18.765 * GIB, 0.12),
        (HUNYUAN, {**INFER, "image_px": 1280, "frames": 129}, 60.0, 0.10),
        (HUNYUAN, {**INFER, "image_px": 960, "frames": 129}, 45.0, 0.25),
        (FLUX, {**LORA, "lora_rank": 16}, 40.0, 0.05),
        (FLUX, {**LORA, "sharding": "zero2"}, 44.9, 0.15),
        (SD14, {**LORA, **DREAM}, 15.5, 0.10),
        (SD14, {**FULL, **DREAM}, 27.5, 0.20),  # which trains the text encoder too
        (SDXL, {**FULL, "gradient_checkpointing": "full"}, 48.0, 0.20),
    ],
)
def test_published_figures_of_generators(model, facts, gb, within):
    assert estimate(model, **facts).per_gpu_gb == pytest.approx(gb, rel=within)


def test_flux_loads_what_its_components_weigh():
    assert estimate(FLUX, **INFER, weight_precision="bf16").breakdown["weights"] == pytest.approx(
        31.447 * GIB, rel=0.01
    )


UNET_SD1 = ModelSpec(
    id="stable-diffusion-1.4", name="sd14", kind="diffusion_image", params_b=0.859521, resolution_px=512,
    components_b={"unet": 0.859521, "text_encoder": 0.12306, "vae": 0.083654},
    latent=Latent(channels=4, spatial=8, temporal=1),
)  # fmt: skip
UNET_SDXL = replace(UNET_SD1, id="xl", params_b=2.567464, resolution_px=1024, components_b={"unet": 2.567464})


def test_an_autoencoder_that_overflows_decodes_in_thirty_two_bits():
    maps = {
        form: estimate(UNET_SDXL, **INFER, weight_precision=form).breakdown["activations"] for form in ("fp16", "bf16")
    }
    assert maps == {"fp16": pytest.approx(1024**2 * 4096e-9), "bf16": pytest.approx(1024**2 * 2432e-9)}
    kolors = replace(UNET_SDXL, params_b=2.579459, components_b={"unet": 2.579459})
    assert estimate(kolors, **INFER, weight_precision="fp16").breakdown["activations"] == maps["bf16"]


def test_pictures_that_are_decoded_together_share_what_is_held_once():
    """Two decoders on an H100, beside their weights (benchmarks/measured/h100.jsonl): 2.587 GB, and 8.627 of four."""
    facts = {**INFER, "weight_precision": "bf16"}
    maps = [estimate(UNET_SDXL, **{**facts, "concurrency": pictures}).breakdown["activations"] for pictures in (1, 4)]
    assert maps == [pytest.approx(2.587, rel=0.02), pytest.approx(8.627, rel=0.01)]
    sliced = estimate(UNET_SDXL, **{**facts, "concurrency": 4}, sliced_decoding=True).breakdown["activations"]
    assert sliced == pytest.approx(maps[0])


def test_an_autoencoder_of_pictures_gets_a_clip_in_chunks():
    clips = replace(UNET_SD1, kind="diffusion_video")
    facts = {**INFER, "weight_precision": "bf16", "image_px": 512, "image_short_px": 512}
    maps = {frames: estimate(clips, **facts, frames=frames).breakdown["activations"] for frames in (4, 14, 28)}
    assert maps[14] - maps[4] == pytest.approx(10 * 512**2 * 1920e-9)
    assert maps[28] == maps[14]


def test_a_unet_that_does_not_fuse_attention_holds_scores():
    facts = {**INFER, **FP32, "image_px": 512, "image_short_px": 512, "concurrency": 3}
    fused, old = (estimate(UNET_SD1, **facts, **more) for more in ({}, {"pytorch_version": "1.11"}))
    # Eight heads over 64 x 64 places, for the prompt and the empty one, scores and softmax in 32 bits.
    scores = 3 * 8 * 4096**2 * 2 * 8 / 1e9
    assert old.breakdown["activations"] > scores > fused.breakdown["activations"]
    narrow = {**facts, "compute_precision": "fp16", "weight_precision": "fp16", "pytorch_version": "1.13"}
    by_diffusers = estimate(UNET_SD1, **narrow, serving_engine="diffusers").breakdown["activations"]
    assert by_diffusers < old.breakdown["activations"]


@pytest.mark.parametrize(("model", "frames"), [("qwen-image", 1), ("wan2.1-14b", 4)])
def test_a_release_of_pytorch_convolves_clips_by_columns(model, frames):
    made = load_knowledge(locate("knowledge")).models[model]
    facts = {**INFER, "weight_precision": "bf16", "image_px": 2048, "image_short_px": 2048, "frames": 5}
    maps = {
        release: estimate(made, **facts, pytorch_version=release).breakdown["activations"]
        for release in ("2.8", "2.9.1", "2.10")
    }
    assert maps["2.9.1"] - maps["2.8"] == pytest.approx(frames * 2048**2 * 96 * 27 * 2 / 1e9)
    assert maps["2.10"] == maps["2.8"]
    wide = {**facts, "weight_precision": "fp32"}
    assert estimate(made, **wide, pytorch_version="2.9.1") == estimate(made, **wide, pytorch_version="2.8")


def test_the_authors_own_code_of_a_generator_holds_what_was_traced():
    made = load_knowledge(locate("knowledge")).models["hunyuanvideo"]
    facts = {**INFER, "weight_precision": "bf16", "image_px": 1280, "image_short_px": 720, "frames": 129}
    own = estimate(made, **facts, serving_engine="transformers").breakdown["activations"]
    assert own == pytest.approx((33 * 45 * 80 + 256) * 3072 * 2 * 28.2 / 1e9)
    assert own > 2 * estimate(made, **facts, cpu_offload=True).breakdown["activations"]


def test_offload_keeps_the_largest_component_only():
    found = estimate(FLUX, **INFER, weight_precision="bf16", cpu_offload=True)
    assert found.breakdown["weights"] == pytest.approx(11.901 * 2)


def test_of_several_networks_one_is_trained_and_one_computes_at_a_time():
    """Stages and experts by noise: trainers have a run for each, and under offload the others wait."""
    pair = generator("pair", "diffusion_video", None, transformer=14.0, transformer_2=14.0, text_encoder=5.7)
    one = generator("one", "diffusion_video", None, transformer=14.0, text_encoder=5.7)
    told = {**INFER, "weight_precision": "bf16"}
    whole = estimate(pair, **told).breakdown["weights"] - estimate(one, **told).breakdown["weights"]
    assert whole == pytest.approx(28.0)
    for facts in ({**told, "cpu_offload": True}, {**LORA, "weight_precision": "bf16"}, FULL):
        assert estimate(pair, **facts).breakdown == pytest.approx(estimate(one, **facts).breakdown), facts


def test_what_joins_an_encoder_to_a_denoiser_computes_with_it():
    joined = generator("joined", transformer=12.0, connector=0.5, text_encoder=8.0)
    whole = generator("whole", transformer=12.5, text_encoder=8.0)
    facts = {**INFER, "weight_precision": "bf16", "cpu_offload": True}
    assert estimate(joined, **facts).breakdown["weights"] == estimate(whole, **facts).breakdown["weights"]


def test_what_looks_at_pictures_stays_under_offload():
    plain = generator("sd", unet=0.8595, text_encoder=0.1231, vae=0.0837)
    looked = generator("sd", unet=0.8595, text_encoder=0.1231, vae=0.0837, safety_checker=0.304)
    for offload in (False, True):
        facts = {**INFER, "weight_precision": "fp16", "cpu_offload": offload}
        more = estimate(looked, **facts).breakdown["weights"] - estimate(plain, **facts).breakdown["weights"]
        assert more == pytest.approx(0.608)


def test_prompts_that_are_encoded_elsewhere_need_no_encoder_here():
    facts = {**INFER, "weight_precision": "bf16"}
    assert estimate(FLUX, **facts, encoders_cached=True).breakdown["weights"] == pytest.approx(
        2 * (11.901 + 0.084), 0.01
    )


def test_an_unlisted_video_generator_reads_prompts_by_more_than_clip():
    facts = {**INFER, "model_family": "diffusion_video", "weight_precision": "bf16", "param_count_b": 1.4}
    assert estimate(None, **facts).breakdown["weights"] == pytest.approx(2 * (1.4 + 4.885 + 0.084))


@pytest.mark.parametrize(("denoiser", "text"), [(0.86, 0.123), (2.567, 0.818), (8.0, 4.885)])
def test_unlisted_text_encoders_go_by_the_denoisers_size(denoiser, text):
    found = estimate(None, **INFER, model_family="diffusion_image", param_count_b=denoiser, weight_precision="bf16")
    assert found.breakdown["weights"] == pytest.approx((denoiser + text + 0.084) * 2)
    assert found.method == "rule of thumb"


def test_a_denoiser_that_reads_prompts_itself_has_no_text_encoder():
    alone = generator("omni", transformer=3.762, text_encoder=0.0, vae=0.0837)
    assert estimate(alone, **INFER).breakdown["weights"] == pytest.approx(2 * (3.762 + 0.0837))


def test_longer_and_larger_videos_take_more():
    small = estimate(HUNYUAN, **INFER, image_px=960, frames=49).per_gpu_gb
    assert estimate(HUNYUAN, **INFER, image_px=960, frames=129).per_gpu_gb > small
    assert estimate(HUNYUAN, **INFER, image_px=1280, frames=49).per_gpu_gb > small


def test_video_training_caches_what_encoders_give():
    facts = {**FULL, "image_px": 1360, "frames": 81, "gradient_checkpointing": "full"}
    assert estimate(COG, **facts).breakdown["frozen_components"] == 0.0
    # 8 x A100, ZeRO-2: 55 GB per GPU as its authors state.
    assert estimate(COG, Layout(data=8, sharding="zero2"), **facts).per_gpu_gb == pytest.approx(55.0, rel=0.10)


def test_generator_adapters_shard_and_offload_the_frozen_denoiser():
    whole = estimate(FLUX, **LORA).breakdown["weights"]
    assert estimate(FLUX, Layout(data=4, sharding="fsdp"), **LORA).breakdown["weights"] == pytest.approx(whole / 4)
    assert estimate(FLUX, **LORA, cpu_offload=True).breakdown["weights"] < whole / 10


def test_matrices_that_stream_their_weights_keep_their_inputs():
    # SimpleTuner's RamTorch saves the input of every such matrix, so that adapters keep what full training keeps.
    def kept(task: dict[str, str], **facts: object) -> float:
        return estimate(FLUX, **task, gradient_checkpointing="none", **facts).breakdown["activations"]

    ours = {"training_framework": "simpletuner"}
    assert kept(LORA, cpu_offload=True, **ours) == pytest.approx(kept(FULL, **ours))
    assert kept(LORA, **ours) < kept(FULL, **ours)
    assert kept(LORA, cpu_offload=True) == pytest.approx(kept(LORA))


@pytest.mark.parametrize("trainer", ["ai-toolkit", "diffusion-pipe", "diffsynth-studio", "musubi-tuner", "flymyai"])
def test_trainers_of_generators_recompute_where_nothing_is_said(trainer):
    said = estimate(FLUX, **LORA, gradient_checkpointing="full", lora_rank=16, batch_size_per_gpu=1)
    found = estimate(FLUX, **LORA, training_framework=trainer, lora_rank=16, batch_size_per_gpu=1)
    assert found.breakdown["activations"] == pytest.approx(said.breakdown["activations"])


def test_weights_that_are_cast_from_eight_bits_wait_for_the_backward_pass_as_they_were_cast():
    flux = replace(FLUX, layers=57)
    facts = {**LORA, "weight_precision": "fp8", "lora_rank": 16, "encoders_cached": True}

    def found(trainer: str, checkpointing: str) -> dict[str, float]:
        return estimate(flux, **facts, training_framework=trainer, gradient_checkpointing=checkpointing).breakdown

    layer = found("sd-scripts", "full")
    assert layer["dequantised_layer"] == pytest.approx(2 * layer["weights"] / 57)
    assert found("sd-scripts", "none")["dequantised_layer"] == pytest.approx(57 * layer["dequantised_layer"])
    assert found("musubi-tuner", "full")["weights"] == pytest.approx(1.0625 * layer["weights"])
    assert "dequantised_layer" not in found("ai-toolkit", "full")


def test_blocks_that_wait_leave_the_others_the_one_that_computes_and_the_next():
    flux = replace(FLUX, layers=57)
    served = {"task": "inference", "encoders_cached": True, "concurrency": 1}
    whole = estimate(flux, **served, cpu_offload=True).breakdown["weights"]
    swapped = estimate(flux, **served, blocks_offloaded=20).breakdown["weights"]
    assert swapped == pytest.approx(whole * (57 - 20 + 2) / 57)
    plain = estimate(flux, **LORA).breakdown["weights"]
    trained = estimate(flux, **LORA, blocks_offloaded=20).breakdown["weights"]
    assert trained == pytest.approx(plain * (57 - 20 + 2) / 57)
    every = estimate(flux, **LORA, cpu_offload=True).breakdown["weights"]
    assert estimate(flux, **LORA, blocks_offloaded=57).breakdown["weights"] == pytest.approx(every)


def test_where_all_blocks_wait_encoders_are_fetched_layer_by_layer_too():
    """What is largest of them is two layers of an encoder of 24, or the table of its tokens."""
    wan = ModelSpec(
        id="wan", name="Wan", kind="diffusion_video", layers=40, hidden=5120,
        components_b={"transformer": 14.29, "text_encoder": 5.68091, "vae": 0.127},
    )  # fmt: skip
    served = {"task": "inference", "image_px": 64, "image_short_px": 64, "frames": 5, "weight_precision": "bf16"}
    assert estimate(wan, **served, blocks_offloaded=39).breakdown["weights"] > 11
    assert estimate(wan, **served, blocks_offloaded=40).breakdown["weights"] == pytest.approx(2 * 256384 * 4096 / 1e9)
    t5 = replace(wan, components_b={"transformer": 1.42, "text_encoder": 4.762311, "vae": 0.127})
    layers = 2 * 2 * (4.762311 - 0.131596) / 24
    assert estimate(t5, **served, blocks_offloaded=40).breakdown["weights"] == pytest.approx(layers, rel=1e-3)


def test_trainers_that_group_pictures_by_shape_fragment_memory():
    flux = replace(FLUX, layers=57)
    plain, grouped = (estimate(flux, **LORA, training_framework="sd-scripts", packing=one) for one in (True, False))
    more = grouped.breakdown["allocator"] - plain.breakdown["allocator"]
    assert more == pytest.approx(sizing_constants().training.fragmentation.value * grouped.breakdown["activations"])
    assert grouped.high_gb / grouped.per_gpu_gb == pytest.approx(plain.high_gb / plain.per_gpu_gb, rel=0.1)


def test_an_editing_model_reads_the_given_picture_too():
    edits = replace(FLUX, pictures_read=1)
    plain, given = (estimate(m, **LORA).breakdown["activations"] for m in (FLUX, edits))
    assert 1.5 < given / plain < 2  # Of its tokens only those of the prompt are not doubled.


def test_selective_checkpointing_lies_between():
    sizes = [
        estimate(FLUX, **LORA, gradient_checkpointing=setting).breakdown["activations"]
        for setting in ("none", "selective", "full")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1] > sizes[2]


def vision(name: str, params_b: float, gmacs: float | None = None, px: int | None = None, kind="vision") -> ModelSpec:
    return ModelSpec(id=name, name=name, kind=kind, params_b=params_b, gmacs_per_image=gmacs, resolution_px=px)


MASK_RCNN = vision("maskrcnn_resnet50_fpn", 0.0444, 134.4, None, "detection")
RESNET50 = vision("resnet50", 0.025557, 4.089, 224)


def test_a_detector_trains_in_about_what_detectron_reports():
    # Mask R-CNN R-101 FPN, two images a GPU, fp32, SGD: 4.6 GB; by arithmetic alone, which tells networks apart poorly.
    larger = vision("r101", 0.063, 210.0, 1033, "detection")
    found = estimate(
        larger, **FULL, **FP32, batch_size_per_gpu=2, image_px=1033, optimizer="sgd", gradient_checkpointing="none"
    )
    assert found.allocated_gb == pytest.approx(4.6, rel=0.3)
    assert found.low_gb < 4.6 < found.high_gb


def test_a_detector_without_a_size_is_counted_at_its_usual_one():
    facts = {**INFER, "image_px": 1033}
    assert (
        estimate(MASK_RCNN, **facts).per_gpu_gb == estimate(replace(MASK_RCNN, resolution_px=1033), **facts).per_gpu_gb
    )


def test_feature_maps_grow_with_the_pixels():
    facts = {**FULL, "batch_size_per_gpu": 8, "gradient_checkpointing": "none"}
    one = estimate(RESNET50, **facts, image_px=224).breakdown["activations"]
    four = estimate(RESNET50, **facts, image_px=448).breakdown["activations"]
    assert four == pytest.approx(4 * one)
    # ResNet-50 keeps 85.3 MB a picture of 224 px in 32 bits, as traced.
    assert one == pytest.approx(8 * 85.3e6 / 2 / 1e9, rel=0.01)
    assert (
        estimate(RESNET50, **{**facts, "gradient_checkpointing": "full"}, image_px=224).breakdown["activations"] < one
    )


def test_a_vision_network_known_by_size_is_a_rule_of_thumb():
    found = estimate(None, **INFER, model_family="vision", param_count_b=0.3, image_px=512)
    assert found.method == "rule of thumb"
    assert 0.6 < found.per_gpu_gb < 3.0


def test_vision_adapters_freeze_the_network():
    found = estimate(vision("vit_h_14", 0.633, 1016.7, 518), **LORA)
    assert found.breakdown["weights"] == pytest.approx(0.633 * 2)
    assert found.breakdown["adapters"] < 0.2


@pytest.mark.parametrize(
    ("params_b", "width", "layers", "gb"),
    [(0.074, 512, 6, 1.0), (0.244, 768, 12, 2.0), (0.769, 1024, 24, 5.0), (1.55, 1280, 32, 10.0)],
)
def test_whisper_takes_about_what_its_authors_state(params_b, width, layers, gb):
    model = ModelSpec(id="w", name="w", kind="speech", params_b=params_b, hidden=width, decoder_layers=layers)
    named = estimate(model, **(INFER | {"serving_engine": "openai-whisper", "weight_precision": "fp16"}))
    assert named.per_gpu_gb == pytest.approx(gb, rel=0.15)  # They say about, in whole GB.


def test_speech_is_taken_in_sixteen_bits_where_nobody_says_by_what_program():
    model = ModelSpec(id="w", name="w", kind="speech", params_b=1.55)
    found = estimate(model, **INFER)
    assert found.breakdown["weights"] == pytest.approx(3.1)
    assert found.high_gb > 8.0  # One program keeps 32 bits.


WHISPER = ModelSpec(id="w", name="w", kind="speech", params_b=1.55, hidden=1280, layers=32, decoder_layers=32)
CACHED = 4 * 1280 * 32 / 1e9


def heard(model=WHISPER, **facts):
    return estimate(model, **(INFER | {"weight_precision": "fp16"} | facts)).breakdown["activations"]


def test_programs_over_pytorch_repeat_what_was_heard_for_each_beam():
    five, one = (heard(serving_engine="transformers", beams=beams) for beams in (5, 1))
    assert five - one == pytest.approx(4 * (1500 + 448) * CACHED)
    five, one = (heard(serving_engine="other", beams=beams) for beams in (5, 1))
    assert five - one == pytest.approx(4 * 448 * CACHED)


def test_beams_are_the_programs_where_nobody_states_them():
    assert heard(serving_engine="transformers") == heard(serving_engine="transformers", beams=1)
    assert heard() == heard(beams=5)


def test_a_window_for_each_request_and_a_layer_for_each_of_the_decoder():
    assert heard(concurrency=2) == pytest.approx(2 * heard())
    turbo = replace(WHISPER, params_b=0.809, decoder_layers=4)
    assert heard() - heard(turbo) == pytest.approx((1500 + 5 * 448) * CACHED * 28 / 32)


def test_speech_in_eight_bits_is_smaller():
    model = ModelSpec(id="w", name="w", kind="speech", params_b=1.55)
    assert estimate(model, **INFER, weight_precision="int8").per_gpu_gb < estimate(model, **INFER).per_gpu_gb / 1.5


def test_other_networks_train_in_sixteen_bytes_a_parameter_and_some():
    found = estimate(None, task="pretraining", model_family="other", param_count_b=1.0)
    assert found.allocated_gb == pytest.approx(16 + 4 - 0.0, rel=0.15)
    alone = estimate(None, task="pretraining", model_family="other", param_count_b=0.5)
    assert alone.breakdown["optimizer_step"] > 0


def test_an_encoder_keeps_no_logits():
    bert = ModelSpec(
        id="bert-large", name="b", kind="encoder", params_b=0.335, layers=24, hidden=1024, heads=16, intermediate=4096,
        vocab=30522, gated_mlp=False, tied_embeddings=True,
    )  # fmt: skip
    found = estimate(bert, **FULL, seq_len_tokens=512, batch_size_per_gpu=8)
    assert "logits" not in found.breakdown
    assert found.method == "architecture"
    assert "kv_cache" not in estimate(bert, **INFER, context_tokens=512, concurrency=32).breakdown


def test_an_encoder_decoder_is_run_by_transformers_until_requests_come_side_by_side():
    t5 = ModelSpec(
        id="t5", name="t5", kind="encoder_decoder", params_b=11.1, layers=24, hidden=4096, heads=64, intermediate=10240
    )
    assert job_from_facts(INFER, t5).engine == "transformers"
    assert job_from_facts({**INFER, "concurrency": 1}, t5).engine == "transformers"
    assert job_from_facts({**INFER, "concurrency": 2}, t5).engine == "tgi"
    assert job_from_facts({**INFER, "peak_qps": 0.5}, t5).engine == "tgi"
    assert estimate(t5, **INFER).breakdown["weights"] == pytest.approx(22.2)


def test_gradients_of_a_single_micro_batch_are_there_in_its_step():
    facts = {**FULL, **FP32, "optimizer": "adamw-8bit", "image_px": 512, "encoders_cached": True}
    once = estimate(SD14, **facts, gradient_accumulation_steps=1, gradient_checkpointing="full")
    # Weights, gradients and moments of 8 bits, whatever the pass before takes.
    assert once.per_gpu_gb > 0.8595 * (4 + 4 + 2)


def test_parts_under_offload_are_there_with_their_own_maps():
    facts = {**INFER, "weight_precision": "bf16", "cpu_offload": True, "concurrency": 4, "image_px": 512}
    sliced = estimate(FLUX, **facts, sliced_decoding=True).per_gpu_gb
    assert sliced == pytest.approx(estimate(FLUX, **{**facts, "concurrency": 1}).per_gpu_gb, rel=0.05)


def test_a_network_that_trains_at_many_sizes_takes_what_the_largest_pictures_take():
    spec = ModelSpec(id="y", name="y", kind="detection", params_b=0.05, gmacs_per_image=78.0, resolution_px=640)
    facts = {"task": "full_finetuning", "batch_size_per_gpu": 8, "image_px": 640, "model_family": "vision"}

    def maps(model, **more):
        found = estimate_memory(job_from_facts(facts | more, model), CARD, Layout())
        return found.breakdown["activations"]

    wide = replace(spec, trains_px_above=160)
    assert maps(wide) == pytest.approx(maps(spec) * (800 / 640) ** 2)
    assert maps(wide, task="inference", concurrency=8) == maps(spec, task="inference", concurrency=8)


def test_a_network_that_was_traced_keeps_so_much_of_each_pixel():
    facts = {"task": "full_finetuning", "model_family": "vision", "batch_size_per_gpu": 16, "image_px": 640}
    spec = ModelSpec(
        id="net", name="net", kind="detection", params_b=0.0465, gmacs_per_image=54.55, resolution_px=640,
        kept_per_pixel=563.0,
    )  # fmt: skip
    stated = {"image_short_px": 640, **facts}
    narrow, wide = (estimate(spec, **stated, compute_precision=kind) for kind in ("fp16", "fp32"))
    assert narrow.breakdown["activations"] == pytest.approx(16 * 640**2 * 563.0 * 2 / 1e9)
    assert wide.breakdown["activations"] == pytest.approx(2 * narrow.breakdown["activations"])
    largest = estimate(replace(spec, trains_px_above=160), **stated, compute_precision="fp16")
    assert largest.breakdown["activations"] == pytest.approx(narrow.breakdown["activations"] * (800 / 640) ** 2)
    by_law = estimate(replace(spec, kept_per_pixel=None), **stated, compute_precision="fp16")
    assert by_law.breakdown["activations"] < 0.8 * narrow.breakdown["activations"]


def test_a_traced_network_keeps_more_under_autocast_and_for_more_classes():
    facts = {"task": "full_finetuning", "model_family": "vision", "batch_size_per_gpu": 2, "image_px": 512}
    spec = ModelSpec(
        id="seg", name="seg", kind="vision", params_b=0.014, gmacs_per_image=16.0, resolution_px=512,
        kept_per_pixel=498.4, kept_per_pixel_mixed=620.0, kept_classes=19,
    )  # fmt: skip

    def maps(**more: object) -> float:
        return estimate(spec, **facts, **more).breakdown["activations"]

    assert maps(compute_precision="fp32") == pytest.approx(2 * 512**2 * 498.4 * 4 / 1e9)
    assert maps() == pytest.approx(2 * 512**2 * 620.0 * 2 / 1e9)
    assert maps(classes=150) - maps() == pytest.approx(2 * 512**2 * 131 * 2 * 2 * 2 / 1e9)


def test_a_detector_of_a_traced_family_keeps_what_the_family_does():
    facts = {"task": "full_finetuning", "model_family": "vision", "batch_size_per_gpu": 16, "image_px": 640}
    other = vision("net", 0.02, 51.0, 640, "detection")
    ratio = [estimate(replace(other, id=name), **facts).breakdown["activations"] for name in ("yolov9c", "net")]
    assert ratio[0] / ratio[1] == pytest.approx(3.85 / 2.5)


def test_a_detector_that_matches_its_answers_holds_them_beside_its_maps():
    facts = {"task": "full_finetuning", "model_family": "vision", "batch_size_per_gpu": 16, "image_px": 640}
    facts["image_short_px"] = 640
    spec = vision("net", 0.0112, 14.3, 640, "detection")

    def matched(name: str, **more: object) -> float:
        return estimate(replace(spec, id=name), **facts, **more).breakdown.get("logits", 0.0)

    assert matched("yolov8s") == pytest.approx(16 * 8400 * (512 + 27 * 80) / 1e9)
    assert matched("yolov8s", classes=1) == pytest.approx(16 * 8400 * 539 / 1e9)
    assert matched("yolov10s") == pytest.approx(2 * matched("yolo11s"))
    assert matched("yolov5s") == matched("yolov7") == matched("yolos-tiny") == 0.0
