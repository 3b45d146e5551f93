"""Workloads as people bring them, over every kind of job, made from a seed.

Each workload has a source of chance of its own, so the first hundred of four hundred are the hundred of ``--sample 100``.
Values are those in common use; a wish (a budget, a target, a place) is stated in a fair share, and seldom two of a kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any


Facts = dict[str, Any]

SMALL_LLMS = ["llama-3.2-3b", "qwen2.5-7b", "llama-3.1-8b", "mistral-7b-v0.3", "gemma-2-9b", "phi-4", "qwen3-8b"]
LARGE_LLMS = ["qwen2.5-32b", "gemma-2-27b", "llama-3.1-70b", "llama-3.3-70b", "qwen2.5-72b", "mixtral-8x7b"]
HUGE_LLMS = ["llama-3.1-405b", "qwen3-235b-a22b", "deepseek-v3", "gpt-oss-120b", "mistral-large-2407"]
ENCODERS = ["bert-base-uncased", "bert-large", "all-minilm-l6-v2", "t5-large", "flan-t5-xl"]
VISION = ["resnet50", "vit_b_16", "vit_h_14", "yolo11m", "yolov8x", "efficientnet_b7", "maskrcnn_resnet50_fpn"]
IMAGE = ["sdxl-base-1.0", "stable-diffusion-1.5", "sd3.5-large", "sd3-medium", "flux.1-dev"]
VIDEO = ["wan2.1-1.3b", "wan2.1-14b", "cogvideox1.5-5b", "ltx-video-0.9.7"]
SPEECH = ["whisper-large", "whisper-medium", "whisper-turbo", "whisper-small"]
MULTIMODAL = ["pixtral-12b", "qwen3-vl-8b", "qwen3-vl-32b", "llava-7b"]
SIZES = [0.5, 1, 3, 7, 8, 13, 14, 32, 34, 70, 180]

OWNED = [
    "nvidia-t4:1",
    "nvidia-l4:2",
    "nvidia-rtx-3090:1",
    "nvidia-rtx-3090:2",
    "nvidia-rtx-4090:1",
    "nvidia-rtx-4090:4",
    "nvidia-rtx-5090:1",
    "nvidia-rtx-a6000:2",
    "nvidia-l40s:4",
    "nvidia-a100-40gb-pcie:2",
    "nvidia-a100-80gb-sxm:8",
    "nvidia-h100-80gb-sxm:8",
    "amd-mi300x:8",
    "amd-rx-7900-xtx:1",
]
CANDIDATES = [
    ["nvidia-l4", "nvidia-a10g", "nvidia-l40s"],
    ["nvidia-rtx-4090", "nvidia-rtx-5090", "nvidia-rtx-3090"],
    ["nvidia-a100-80gb-sxm", "nvidia-h100-80gb-sxm"],
    ["nvidia-h100-80gb-sxm", "nvidia-h200-sxm", "nvidia-b200", "amd-mi300x"],
    ["nvidia-a100-40gb-sxm", "nvidia-a100-80gb-sxm", "nvidia-l40s"],
]


def workloads(amount: int, seed: int = 11) -> dict[str, Facts]:
    """So many workloads by their name, such as ``w017-serve_llm``."""
    made: dict[str, Facts] = {}
    for number in range(amount):
        chance = random.Random(f"{seed}/{number}")
        kind = chance.choices(list(_KINDS), [share for share, _ in _KINDS.values()])[0]
        facts = _KINDS[kind][1](chance)
        _wishes(facts, chance)
        made[f"w{number:03d}-{kind}"] = facts
    return made


def _serve_llm(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference"} | _llm(chance, [5, 4, 1])
    mode = chance.choice([None, "realtime", "interactive", "interactive", "batch"])
    if mode:
        facts["serving_mode"] = mode
    if chance.random() < 0.55:
        facts["weight_precision"] = chance.choice(["bf16", "fp16", "fp8", "int8", "int4", "awq-int4"])
    if chance.random() < 0.7:
        facts["context_tokens"] = chance.choice([2048, 4096, 8192, 16384, 32768])
    if chance.random() < 0.65:
        facts["concurrency"] = chance.choice([1, 4, 8, 16, 32, 64, 128])
    if mode != "batch" and chance.random() < 0.35:
        facts["peak_qps"] = chance.choice([0.2, 0.5, 1, 2, 5, 10, 40])
    if mode != "batch" and chance.random() < 0.4:
        facts |= chance.choice(
            [
                {"ttft_slo_ms": chance.choice([300, 500, 1000, 2000])},
                {"tpot_slo_ms": chance.choice([20, 35, 50, 100])},
                {"ttft_slo_ms": chance.choice([500, 1000]), "tpot_slo_ms": chance.choice([30, 50])},
                {"latency_slo_ms": chance.choice([2000, 5000, 10000, 30000])},
            ]
        )
    if chance.random() < 0.12:
        facts["min_tokens_per_s"] = chance.choice([30, 100, 500, 2000, 10000])
    return facts


def _serve_encoder(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(ENCODERS)}
    return facts | _rates(chance, qps=[1, 10, 50, 200], latency=[20, 50, 100, 500])


def _serve_vision(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(VISION)}
    if chance.random() < 0.5:
        facts["image_px"] = chance.choice([224, 640, 1024, 1280])
    if chance.random() < 0.3:
        facts["video_streams"] = chance.choice([1, 4, 16])
    return facts | _rates(chance, qps=[1, 10, 30, 100], latency=[10, 33, 50, 100, 500])


def _serve_image(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(IMAGE), "image_px": chance.choice([512, 1024])}
    return facts | _rates(chance, qps=[0.02, 0.1, 0.5, 2], latency=[3000, 8000, 20000])


def _serve_video(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(VIDEO)}
    if chance.random() < 0.5:
        facts |= {"image_px": chance.choice([832, 1280]), "frames": chance.choice([49, 81])}
    return facts | _rates(chance, qps=[0.001, 0.01], latency=[120_000, 600_000])


def _serve_speech(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(SPEECH)}
    return facts | _rates(chance, qps=[0.1, 1, 5, 20], latency=[500, 2000, 5000])


def _serve_multimodal(chance: random.Random) -> Facts:
    facts: Facts = {"task": "inference", "model_name": chance.choice(MULTIMODAL), "model_family": "multimodal"}
    facts["concurrency"] = chance.choice([1, 4, 16])
    return facts


def _pretrain(chance: random.Random) -> Facts:
    if chance.random() < 0.2:
        return {
            "task": "pretraining",
            "model_name": chance.choice(["resnet50", "vit_b_16", "vit_h_14"]),
            "train_steps": chance.choice([100_000, 450_000]),
            "batch_size_per_gpu": chance.choice([32, 64, 128]),
        }
    facts: Facts = {"task": "pretraining", "model_family": "llm", "param_count_b": chance.choice([0.3, 1, 1.3, 7, 13])}
    facts["train_tokens_b"] = chance.choice([5, 20, 100, 300])
    return facts | _training(chance, deadlines=[168, 336, 720, 2160])


def _finetune(chance: random.Random) -> Facts:
    facts: Facts = {"task": "full_finetuning"} | _llm(chance, [8, 2, 0], largest=34)
    if chance.random() < 0.75:
        facts["train_tokens_b"] = chance.choice([0.005, 0.02, 0.1, 0.5, 2])
    return facts | _training(chance, deadlines=[12, 24, 72, 168])


def _finetune_vision(chance: random.Random) -> Facts:
    facts: Facts = {"task": "full_finetuning", "model_name": chance.choice(VISION)}
    facts |= {"batch_size_per_gpu": chance.choice([16, 32, 64]), "train_steps": chance.choice([2000, 10_000, 50_000])}
    return facts


def _lora(chance: random.Random) -> Facts:
    facts: Facts = {"task": "peft_finetuning", "peft_method": "lora"} | _llm(chance, [6, 4, 0], largest=70)
    facts |= _adapters(chance)
    return facts | _training(chance, deadlines=[6, 12, 24, 72])


def _qlora(chance: random.Random) -> Facts:
    facts: Facts = {"task": "peft_finetuning", "peft_method": "qlora"} | _llm(chance, [6, 4, 0], largest=70)
    facts |= _adapters(chance)
    return facts | _training(chance, deadlines=[6, 12, 24, 72])


def _lora_image(chance: random.Random) -> Facts:
    facts: Facts = {"task": "peft_finetuning", "peft_method": "lora", "model_name": chance.choice(IMAGE)}
    return facts | {"train_steps": chance.choice([1000, 3000, 10_000]), "batch_size_per_gpu": chance.choice([1, 2, 4])}


def _experiment(chance: random.Random) -> Facts:
    if chance.random() < 0.5:
        return {"task": "experimentation"} | _llm(chance, [8, 2, 0])
    return {"task": "experimentation", "model_name": chance.choice([*VISION, *IMAGE, *ENCODERS])}


_KINDS: dict[str, tuple[int, Callable[[random.Random], Facts]]] = {
    "serve_llm": (36, _serve_llm),
    "serve_encoder": (4, _serve_encoder),
    "serve_vision": (7, _serve_vision),
    "serve_image": (5, _serve_image),
    "serve_video": (2, _serve_video),
    "serve_speech": (4, _serve_speech),
    "serve_multimodal": (2, _serve_multimodal),
    "pretrain": (7, _pretrain),
    "finetune": (7, _finetune),
    "finetune_vision": (3, _finetune_vision),
    "lora": (8, _lora),
    "qlora": (7, _qlora),
    "lora_image": (3, _lora_image),
    "experiment": (5, _experiment),
}


def _llm(chance: random.Random, weights: list[int], largest: float = 1000) -> Facts:
    """A model by name in two of three, else its size."""
    if chance.random() < 0.66:
        return {"model_name": chance.choice(chance.choices([SMALL_LLMS, LARGE_LLMS, HUGE_LLMS], weights)[0])}
    return {"model_family": "llm", "param_count_b": chance.choice([size for size in SIZES if size <= largest])}


def _rates(chance: random.Random, *, qps: list[float], latency: list[int]) -> Facts:
    facts: Facts = {}
    if chance.random() < 0.5:
        facts["peak_qps"] = chance.choice(qps)
    if chance.random() < 0.35:
        facts["latency_slo_ms"] = chance.choice(latency)
    if chance.random() < 0.5:
        facts["serving_mode"] = "batch" if "latency_slo_ms" not in facts and chance.random() < 0.4 else "realtime"
    if chance.random() < 0.3:
        facts["concurrency"] = chance.choice([1, 4, 16])
    return facts


def _training(chance: random.Random, *, deadlines: list[int]) -> Facts:
    facts: Facts = {}
    if chance.random() < 0.5:
        facts["seq_len_tokens"] = chance.choice([512, 1024, 2048, 4096, 8192])
    if chance.random() < 0.4:
        facts["batch_size_per_gpu"] = chance.choice([1, 2, 4, 8])
    if chance.random() < 0.25:
        facts["gradient_checkpointing"] = chance.choice(["none", "full"])
    if chance.random() < 0.35:
        facts["deadline_hours"] = chance.choice(deadlines)
    return facts


def _adapters(chance: random.Random) -> Facts:
    facts: Facts = {"train_tokens_b": chance.choice([0.002, 0.01, 0.05, 0.2])} if chance.random() < 0.75 else {}
    if chance.random() < 0.4:
        facts["lora_rank"] = chance.choice([8, 16, 64])
    return facts


def _wishes(facts: Facts, chance: random.Random) -> None:
    """What people wish beside the job: an objective, a place, a budget, hardware they have, providers, how critical."""
    objective = chance.choices([None, "cheapest", "fastest", "balanced"], [22, 36, 26, 16])[0]
    site = chance.choices([None, "cloud", "workstation", "datacenter", "edge"], [38, 28, 18, 12, 4])[0]
    facts |= {"objective": objective} if objective else {}
    facts |= {"deployment_site": site} if site else {}
    serving, large = facts["task"] in ("inference", "experimentation"), facts.get("param_count_b", 0) >= 32
    if site != "edge" and chance.random() < 0.14:
        facts |= _budget(chance, serving=serving, large=large or facts["task"] == "pretraining")
    if chance.random() < 0.15:
        facts["gpus_owned"] = [chance.choice(OWNED)]
    if "gpus_owned" not in facts and site not in ("edge", "workstation") and chance.random() < 0.08:
        facts["gpu_candidates"] = chance.choice(CANDIDATES)
    if site != "edge" and chance.random() < 0.06:
        facts["providers_allowed"] = chance.choice(
            [
                ["aws"],
                ["gcp", "aws"],
                ["azure"],
                ["neocloud"],
                ["hyperscaler"],
                ["runpod", "lambda"],
                ["neocloud", "aws"],
            ]
        )
    if chance.random() < 0.16:
        facts["lifecycle_stage"] = chance.choice(["prototype", "development", "production", "production"])
    if facts["task"] == "inference" and chance.random() < 0.05:
        facts["mission_critical"] = True
    if chance.random() < 0.06:
        facts["needs_ecc"] = True
    if chance.random() < 0.12:
        facts["cuda_required"] = chance.random() < 0.7
    if chance.random() < 0.35:
        facts["utilization_pct"] = chance.choice([5, 15, 30, 50, 65, 75, 90])
    if chance.random() < 0.15:
        facts["horizon_years"] = chance.choice([1, 2, 3, 5])
    if chance.random() < 0.1:
        facts["procurement_wish"] = chance.choice(["rent", "buy"])
    if chance.random() < 0.06:
        facts["monthly_cloud_spend_usd"] = chance.choice([200, 1500, 6000, 25_000])
    if chance.random() < 0.2:
        facts["org_type"] = chance.choice(["student", "individual", "startup", "small_team", "enterprise"])


def _budget(chance: random.Random, *, serving: bool, large: bool) -> Facts:
    scale = 8 if large else 1
    if serving:
        return chance.choice(
            [
                {"budget_usd_per_hour": chance.choice([0.5, 1, 2, 5]) * scale},
                {"budget_usd_per_month": chance.choice([300, 1000, 3000]) * scale},
            ]
        )
    return chance.choice(
        [
            {"budget_usd_per_hour": chance.choice([1, 3, 10]) * scale},
            {"budget_usd_total": chance.choice([50, 300, 2000]) * scale},
        ]
    )
