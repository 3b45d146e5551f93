"""The eighteen training runs of ``train_anchors``, the serving reserves, speeds and common workloads as size lines."""

from __future__ import annotations

from typing import Any


Line = dict[str, Any]

_MODELS = {
    "llama-2-7b": "llama-2-7b",
    "llama-2-13b": "llama-2-13b",
    "qwen-7b": "qwen-7b",
    "qwen-14b": "qwen-14b",
    "llama-3.1-8b": "llama-3.1-8b",
    "llama-3.2-1b": "llama-3.2-1b",
    "llama-3.2-3b": "llama-3.2-3b",
}
#: The rows that vramcalc, the best other tool, sizes and was not calibrated on.
OTHERS_BEST = ("LG1", "LG2", "LG4", "QW1", "QW2", "QW3", "QW6", "TT1")


def training_line(row: dict[str, Any]) -> Line:
    """A training anchor as a size line. What its source's scripts fix (targets, framework) is stated."""
    line: Line = {
        "id": row["id"],
        "model_name": _MODELS[row["arch"]],
        "task": "full_finetuning" if row["method"] == "full" else "peft_finetuning",
        "seq_len_tokens": row["seq"],
        "batch_size_per_gpu": row["batch"],
        "gradient_checkpointing": "full" if row["ckpt"] else "none",
        "compute_precision": "bf16" if row["precision"] == "pure" else "mixed",
        "gpu": "nvidia-a100-80gb-sxm",
        "count": 1,
    }
    if row["method"] == "full" and row["precision"] == "pure":
        line["weight_precision"] = "bf16"
    if row["method"] != "full":
        line |= {"peft_method": row["method"], "lora_rank": row["rank"]}
    source = row["id"][:2]
    if source == "LG":
        line["training_framework"] = "litgpt"
    elif source == "QW":
        line["lora_targets"] = "all-linear"
        if row["method"] == "qlora":  # finetune/finetune_qlora_single_gpu.sh trains in fp16 under DeepSpeed.
            line |= {"weight_precision": "gptq-int4", "training_framework": "deepspeed"}
    elif source == "TT":
        line |= {"training_framework": "torchtune", "chunked_loss": False}
    else:
        line |= {"gpu": "nvidia-rtx-a6000", "training_framework": "transformers"}
    return line


_SERVED = {
    "Llama-3.1-8B": ("llama-3.1-8b", 1, None),
    "Qwen2.5-7B": ("qwen2.5-7b", 1, None),
    "Qwen3-32B": ("qwen3-32b", 1, None),
    "Qwen3-32B tp2": ("qwen3-32b", 2, None),
    "Llama-3.3-70B-FP8 tp2": ("llama-3.3-70b", 2, "fp8"),
    "gpt-oss-20b": ("gpt-oss-20b", 1, None),
    "Mistral-Small-24B (mm)": ("mistral-small-24b", 1, None),
}


def reserve_lines(rows: list[dict[str, Any]]) -> list[Line]:
    """The serving runs on H100s, of which only what lies beside weights and cache was recorded."""
    lines = []
    for number, row in enumerate(rows):
        model, tensor, weights = _SERVED[row["run"]]
        line: Line = {
            "id": number,
            "task": "inference",
            "model_name": model,
            "serving_engine": "vllm",
            "serving_engine_version": row["vllm"],
            "tensor_parallel": tensor,
            "context_tokens": 8192,
            "concurrency": 1,
            "gpu": "nvidia-h100-80gb-sxm",
            "count": tensor,
        }
        if weights:
            line["weight_precision"] = weights
        lines.append(line)
    return lines


_TPOT_CARDS = {
    "H100-SXM": "nvidia-h100-80gb-sxm",
    "A100-PCIe-80": "nvidia-a100-80gb-pcie",
    "RTX-4090": "nvidia-rtx-4090",
}


def tpot_line(gpu: str) -> Line:
    """Qwen2.5-7B, 2,048 tokens in, 256 out, eight at a time (KV-planner's validation runs of vLLM 0.19.1)."""
    return {
        "id": gpu,
        "task": "inference",
        "model_name": "qwen2.5-7b",
        "serving_engine": "vllm",
        "serving_engine_version": "0.19.1",
        "input_tokens": 2048,
        "output_tokens": 256,
        "concurrency": 8,
        "prefix_cache_hit_pct": 100,  # measured once all eight prompts had passed, with none to follow
        "gpu": _TPOT_CARDS[gpu],
        "count": 1,
    }


def workload_lines(work: dict[str, Any]) -> list[Line]:
    """A common workload as one size line, or one for each count of GPUs."""
    line: Line = {"id": work["id"], "model_name": work["model"], "gpu": "nvidia-h100-80gb-sxm"}
    if work["task"] == "inference":
        line |= {
            "task": "inference",
            "context_tokens": work["ctx"],
            "input_tokens": work["isl"],
            "output_tokens": work["osl"],
            "concurrency": work["batch"],
            "weight_precision": {16: "bf16", 8: "fp8", 4: "int4"}[work["bits"]],
            "serving_engine": "vllm",
            "tensor_parallel": work["tp"],
            "count": work["tp"],
        }
        return [line]
    line |= {
        "task": {"full": "full_finetuning", "pretrain": "pretraining"}.get(work["task"], "peft_finetuning"),
        "seq_len_tokens": work["seq"],
        "batch_size_per_gpu": work["batch"],
        "gradient_checkpointing": "full" if work["grad_ckpt"] else "none",
    }
    if work["task"] in {"lora", "qlora"}:
        line |= {"peft_method": work["task"], "lora_rank": work["rank"]}
    if "zero" in work:
        line["sharding"] = f"zero{work['zero']}"
    if "tokens" in work:
        line["train_tokens_b"] = work["tokens"] / 1e9
        line["global_batch_size"] = work["global_batch_tokens"] // work["seq"]
    counts = work["gpus"] if isinstance(work["gpus"], list) else [work["gpus"]]
    return [line | {"id": f"{work['id']} x{count}", "count": count} for count in counts]
