"""Well-known models by the names that papers, documentation and memory tables give them."""

from __future__ import annotations

import pytest

from whichgpu.engine.catalogue import load_knowledge, parameter_count


KNOWLEDGE = load_knowledge()

DECODERS = [
    ("c4ai-command-r+", "command-r-plus"),
    ("EleutherAI/gpt-j-6b", "gpt-j-6b"),
    ("GPT-J 6B", "gpt-j-6b"),
    ("Llama v2 7B", "llama-2-7b"),
    ("GPT-2 345M", "gpt2-medium"),
    ("EleutherAI/gpt-neo-2.7B", "gpt-neo-2.7b"),
    ("EleutherAI/pythia-70m-deduped", "pythia-70m"),
    ("databricks/dolly-v2-12b", "dolly-v2-12b"),
    ("cerebras/Cerebras-GPT-13B", "cerebras-gpt-13b"),
    ("baichuan-inc/Baichuan-13B-Chat", "baichuan-13b"),
    ("THUDM/chatglm-6b-int4", "chatglm-6b"),
    ("internlm/internlm-chat-20b", "internlm-20b"),
    ("bigcode/starcoder", "starcoder"),
    ("Salesforce/codegen-16B-mono", "codegen-16b"),
    ("WizardLM-13B-V1.2", "wizardlm-13b"),
    ("Salesforce/xgen-7b-8k-inst", "xgen-7b-8k"),
    ("command-r", "command-r-35b"),
    ("Phi-3-medium", "phi-3-medium-4k"),
    ("HuggingFaceTB/SmolLM-135M-Instruct", "smollm-135m"),
    ("LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct-AWQ", "exaone-3.5-7.8b"),
    ("RWKV/rwkv-4-14b-pile", "rwkv-4-14b"),
    ("state-spaces/mamba2-2.7b", "mamba2-2.7b"),
    ("bigscience/bloomz-560m", "bloomz-560m"),
    ("ibm-granite/granite-20b-code-instruct-8k", "granite-20b-code"),
    ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes-3-llama-3.1-8b"),
    ("tencent/Tencent-Hunyuan-Large", "hunyuan-large"),
    ("GLM-Z1-32B-0414", "glm-z1-32b-0414"),
]
ENCODERS = [
    ("roberta-large", "roberta-large"),
    ("FacebookAI/xlm-roberta-base", "xlm-roberta-base"),
    ("microsoft/deberta-v3-large", "deberta-v3-large"),
    ("distilbert-base-uncased", "distilbert-base-uncased"),
    ("DistilBERT", "distilbert-base-uncased"),
    ("albert-base-v2", "albert-base-v2"),
    ("google/electra-base-discriminator", "electra-base"),
    ("bert-base-cased", "bert-base-cased"),
    ("answerdotai/ModernBERT-base", "modernbert-base"),
    ("facebook/esm2_t33_650M_UR50D", "esm2-650m"),
]
ENCODER_DECODERS = [
    ("google-t5/t5-11b", "t5-11b"),
    ("T5-XXL", "t5-v1.1-xxl"),
    ("t5-3b", "t5-3b"),
    ("google/mt5-xxl", "mt5-xxl"),
    ("google/byt5-large", "byt5-large"),
    ("bigscience/T0_3B", "t0-3b"),
    ("bigscience/mt0-xxl", "mt0-xxl"),
    ("google/flan-ul2", "flan-ul2"),
    ("facebook/bart-large-cnn", "bart-large"),
    ("google/pegasus-large", "pegasus-large"),
    ("facebook/nllb-200-3.3B", "nllb-200-3.3b"),
    ("facebook/m2m100_418M", "m2m100-418m"),
]
PICTURES = [
    ("mobilenet_v2", "mobilenet_v2"),
    ("facebook/deit-base-patch16-224", "deit_base_patch16_224"),
    ("microsoft/swin-base-patch4-window7-224", "swin_base_patch4_window7_224"),
    ("timm/resnet50.a1_in1k", "resnet50"),
    ("timm/vit_base_patch16_224.augreg2_in21k_ft_in1k", "vit_base_patch16_224"),
    ("yolov5s", "yolov5s"),
    ("yolov8n-seg.pt", "yolov8n-seg"),
    ("YOLOv7", "yolov7"),
    ("YOLOv5-m", "yolov5m"),
    ("pythia-70m", "pythia-70m"),
    ("yolov10x", "yolov10x"),
    ("PekingU/rtdetr_r50vd", "rt-detr-r50"),
    ("facebook/detr-resnet-50", "detr-resnet-50"),
    ("SenseTime/deformable-detr", "deformable-detr"),
    ("nvidia/segformer-b5-finetuned-ade-512-512", "segformer-b5"),
    ("facebook/sam-vit-huge", "sam-vit-h"),
    ("dinov3-7b", "dinov3-vit7b16-pretrain-lvd1689m"),
]
SOUNDS_AND_SCIENCES = [
    ("facebook/musicgen-large", "musicgen-large"),
    ("stabilityai/stable-audio-open-1.0", "stable-audio-open-1.0"),
    ("hubert-xlarge", "hubert-xlarge-ll60k"),
    ("facebook/hf-seamless-m4t-large", "seamless-m4t-large"),
    ("openai/whisper-medium.en", "whisper-medium"),
    ("amazon/chronos-t5-large", "chronos-t5-large"),
    ("facebook/esmfold_v1", "esmfold-v1"),
]
GENERATORS = [
    ("sd-1.4", "stable-diffusion-1.4"),
    ("Stable Diffusion v1.4", "stable-diffusion-1.4"),
    ("sd-1.5", "stable-diffusion-1.5"),
    ("stabilityai/stable-diffusion-2-1", "stable-diffusion-2.1"),
    ("stabilityai/stable-diffusion-2-base", "stable-diffusion-2-base"),
    ("stabilityai/stable-diffusion-3-medium-diffusers", "sd3-medium"),
    ("Wan-AI/Wan2.1-T2V-14B-Diffusers", "wan2.1-14b"),
    ("stabilityai/stable-diffusion-xl-refiner-1.0", "sdxl-refiner-1.0"),
    ("Kwai-Kolors/Kolors-diffusers", "kolors"),
    ("HunyuanDiT", "hunyuan-dit-v1.2"),
    ("Alpha-VLLM/Lumina-Next-SFT-diffusers", "lumina-next-sft"),
    ("THUDM/CogView4-6B", "cogview4-6b"),
    ("kandinsky-2.2", "kandinsky-2.2"),
    ("stable-video-diffusion-img2vid-xt", "stable-video-diffusion-xt"),
    ("hunyuanvideo-i2v", "hunyuanvideo-i2v"),
    ("Wan2.2 14B", "wan2.2-a14b"),
    ("ltx-video-13b", "ltx-video-0.9.7"),
    ("AnimateDiff", "animatediff"),
]


@pytest.mark.parametrize(
    ("name", "expected"), [*DECODERS, *ENCODERS, *ENCODER_DECODERS, *PICTURES, *SOUNDS_AND_SCIENCES, *GENERATORS]
)
def test_a_well_known_name_is_found(name: str, expected: str) -> None:
    match = KNOWLEDGE.find_model(name)
    assert match.spec is not None
    assert match.spec.id == expected


@pytest.mark.parametrize(
    "name",
    ["starcoder-3b", "codegen", "bloomz-13b", "gpt-neo", "rwkv", "cerebras-gpt", "open-sora", "magi-1", "uae-base"],
)
def test_a_size_that_was_not_published_and_a_family_without_one_are_not_guessed(name: str) -> None:
    assert KNOWLEDGE.find_model(name).spec is None


@pytest.mark.parametrize(
    ("key", "published"),
    [
        ("gpt-j-6b", 6_050_882_784),
        ("pythia-70m", 70_426_624),
        ("baichuan-7b", 7_000_559_616),
        ("baichuan-13b", 13_264_901_120),
        ("chatglm-6b", 6_173_286_400),
        ("starcoder", 15_517_456_384),
        ("snowflake-arctic", 478_584_608_768),
        ("granite-20b-code", 20_066_993_152),
        ("glm-z1-32b-0414", 32_566_081_536),
        ("roberta-large", 355_359_744),
        ("esm2-650m", 651_043_254),
        ("nllb-200-3.3b", 3_344_863_232),
        ("mt5-xl", 3_742_619_648),
    ],
)
def test_the_dimensions_of_a_well_known_model_give_its_published_count(key: str, published: int) -> None:
    counted = parameter_count(KNOWLEDGE.models[key])
    assert counted is not None
    assert counted.total == pytest.approx(published, rel=0.001)
    assert (KNOWLEDGE.models[key].params_b or 0.0) * 1e9 == pytest.approx(published, rel=1e-6)
