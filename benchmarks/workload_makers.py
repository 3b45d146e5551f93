"""Random workloads as people bring them: every fact that bears on the kind of job has a value."""

from __future__ import annotations

import random
from typing import Any


_LLMS = ["llama-3.1-8b", "llama-3.1-70b", "mistral-7b", "qwen2.5-14b", "qwen2.5-32b", "qwen2.5-7b", "gemma-2-27b"]
_VISION_MODELS = ["resnet50", "vit_b_16", "yolo11m", "yolov8x", "efficientnet_b0", "maskrcnn_resnet50_fpn"]
_IMAGE_MODELS = ["sdxl", "flux.1-dev"]


def workload(chance: random.Random) -> dict[str, Any]:
    """One workload: 45 % serving, 35 % fine-tuning, 8 % pre-training, 12 % experiments.

    Language models in seven of ten; two thirds of jobs name their model. Sizes, contexts and batches are those in
    common use; how busy hardware is follows from how often jobs run.
    """
    pick = chance.choices
    task = pick(
        ["inference", "peft_finetuning", "full_finetuning", "pretraining", "experimentation"], [45, 25, 10, 8, 12]
    )[0]
    family = pick(["llm", "diffusion_image", "vision", "multimodal"], [70, 12, 14, 4])[0]
    facts: dict[str, Any] = {"task": task}
    _model(facts, family, chance)
    if task == "inference":
        _serving(facts, family, chance)
    else:
        _learning(facts, family, task, chance)
    _project(facts, task, chance)
    return facts


def _model(facts: dict[str, Any], family: str, chance: random.Random) -> None:
    named = chance.random() < 0.66
    if family == "llm" and named:
        facts["model_name"] = chance.choice(_LLMS)
    elif family == "diffusion_image" and named:
        facts["model_name"] = chance.choice(_IMAGE_MODELS)
    elif family == "vision" and named:
        facts["model_name"] = chance.choice(_VISION_MODELS)
    else:
        sizes = {"llm": [1, 3, 7, 13, 34, 70], "vision": [0.03, 0.1, 0.3], "multimodal": [7, 11, 34]}
        facts["model_family"] = family
        facts["param_count_b"] = chance.choice(sizes.get(family, [0.9, 2.6, 12]))
    if family == "vision":
        facts["vision_task"] = chance.choice(["classification", "detection", "segmentation"])
        facts["input_is_video"] = chance.random() < 0.2
    if family != "llm":
        facts["image_px"] = chance.choice([224, 512, 640, 768, 1024, 2048])


def _serving(facts: dict[str, Any], family: str, chance: random.Random) -> None:
    facts["weight_precision"] = chance.choice(["bf16", "fp16", "fp8", "int8", "int4"])
    if family in ("llm", "multimodal"):
        facts["context_tokens"] = chance.choice([2048, 4096, 8192, 16384, 32768])
    facts["concurrency"] = chance.choice([1, 2, 4, 8, 16, 32, 64])
    facts["serving_mode"] = chance.choice(["realtime", "interactive", "interactive", "batch"])
    if chance.random() < 0.6:
        facts["peak_qps"] = chance.choice([0.2, 0.5, 1, 2, 5, 10])
    else:
        facts["traffic_level"] = chance.choices(["low", "moderate", "high", "massive"], [4, 4, 2, 1])[0]
    facts["always_on"] = chance.random() < 0.6
    if family == "vision":
        facts["video_streams"] = chance.choice([0, 0, 4])


def _learning(facts: dict[str, Any], family: str, task: str, chance: random.Random) -> None:
    if family in ("llm", "multimodal"):
        facts["seq_len_tokens"] = chance.choice([512, 1024, 2048, 4096, 8192])
        facts["train_tokens_b"] = (
            chance.choice([0.01, 0.1, 1, 10]) if task != "pretraining" else chance.choice([10, 100, 300])
        )
    facts["batch_size_per_gpu"] = chance.choice([1, 2, 4, 8]) if family != "vision" else chance.choice([16, 32, 64])
    facts["compute_precision"] = chance.choices(["mixed", "bf16", "fp16", "fp32"], [6, 3, 1, 1])[0]
    if task == "peft_finetuning":
        facts["peft_method"] = chance.choice(["lora", "qlora"])
    facts["run_hours"] = chance.choice([2, 8, 24, 72])
    facts["dataset_scale"] = chance.choice(["small", "medium", "large"])


def _project(facts: dict[str, Any], task: str, chance: random.Random) -> None:
    cadence = chance.choices(["one_off", "sporadic", "weekly", "daily", "continuous"], [1, 3, 2, 3, 3])[0]
    busy = {"one_off": (1, 5), "sporadic": (2, 15), "weekly": (5, 30), "daily": (20, 70), "continuous": (60, 98)}
    low, high = busy[cadence]
    facts["runs_cadence"] = cadence
    facts["utilization_pct"] = chance.randint(low, high)
    facts["gpu_hours_per_year"] = round(8760 * facts["utilization_pct"] / 100)
    facts["project_months"] = chance.choice([3, 6, 12, 24, 36])
    facts["gpu_hours_total"] = round(facts["gpu_hours_per_year"] * facts["project_months"] / 12)
    # A length of the project sets the horizon: somebody who gave both otherwise would have spoken against himself.
    facts["horizon_years"] = max(1, facts["project_months"] // 12)
    facts["demand_predictable"] = chance.random() < 0.5
    facts["burst_or_datacenter_need"] = chance.random() < 0.3
    if task == "inference":
        facts["traffic_pattern"] = chance.choice(["steady", "variable", "bursty", "unpredictable"])
    facts["deployment_site"] = chance.choices(["cloud", "workstation", "datacenter"], [6, 3, 2])[0]
    facts["org_type"] = chance.choice(["student", "individual", "startup", "small_team", "enterprise"])
    facts["lifecycle_stage"] = chance.choice(["prototype", "development", "training", "production"])
    facts["monthly_cloud_spend_usd"] = chance.choice([0, 200, 800, 3000])
    facts["optimised"] = chance.random() < 0.4
    facts["cloud_tested"] = chance.random() < 0.5
    facts["trains_and_serves"] = chance.random() < 0.2
