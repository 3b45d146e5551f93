"""What was measured, as rows of published runs: for ``benchmarks/accuracy``, beside those that others published.

Usage: python benchmarks/measured/rows.py MEASURED.jsonl > ROWS.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cells import NEW_TOKENS


Found = dict[str, Any]
Line = dict[str, Any]

#: As published rows name a card, its memory in GB, and its id in the catalogue.
_CARDS = {"NVIDIA H100 80GB HBM3": ("NVIDIA H100", 80, "nvidia-h100-80gb-sxm")}
_TASKS = {
    "generate": "inference",
    "embed": "inference",
    "transcribe": "asr_inference",
    "generator": "image_generation",
    "adapter": "train_diffusion",
    "network": "train_vision",
    "detect": "train_vision",
    "classify": "full_finetune",
    "translate": "full_finetune",
}
_BY_TRAINER = frozenset({"train", "classify", "translate"})
#: Facts of releases, by what the machine says.
_RELEASES = (("pytorch", "torch"), ("transformers", "transformers"))
_METHODS = {"lora": "lora", "qlora": "qlora", "full": "full_finetune"}
_OPTIMIZERS = {"8bit": "adamw-8bit", "paged": "paged-adamw-8bit"}


def row_of(found: Found) -> dict[str, Any]:
    """The row of a run: what was run in words of the vocabulary, and the peak that the allocator counted."""
    how, gpu = found["how"], found["machine"]["gpu"]
    task = _METHODS[how["method"]] if found["kind"] == "train" else _TASKS[found["kind"]]
    name, memory, card = _CARDS[gpu]
    line = {
        "id": found["id"],
        "gpu": card,
        "count": 1,
        "model_name": found["model"],
        **_LINES[found["kind"]](how),
    }
    if found["kind"] in _BY_TRAINER:
        line |= {f"{name}_version": found["machine"][key] for name, key in _RELEASES}
        line |= {"optimizer_step": "foreach"} if line["optimizer"] == "adamw" else {}  # It asks for adamw_torch.
    measured = {
        "memory_gb": round(found["allocated_gb"] - found.get("left_gb", 0.0), 4),
        "memory_metric": "torch.cuda.max_memory_allocated",
        "memory_scope": "per_gpu",
        "other": {
            name: found[name] for name in ("allocated_gb", "reserved_gb", "outside_gb", "left_gb") if name in found
        },
    }
    measured |= {"s_per_iter": found["s_per_step"]} if "s_per_step" in found else {}
    if found["kind"] == "generator":
        measured["latency_s"] = found.get("s_per_call")
    failed = bool(found.get("out_of_memory"))
    return {
        "id": found["id"],
        "source": {"repo": "whichgpu", "path": "benchmarks/measured"},
        "kind": "oom" if failed else "memory",
        "facts": {"task": task, "model": found["model"]},
        "line": line,
        "hardware": {"gpu": name, "count": 1, "memory_gb_each": memory},
        "measured": {} if failed else measured,
        "machine": found["machine"],
        "ran_on_hardware": not failed,
        "evidence": "measured",
        "judge": ["feasibility"] if failed else ["memory", "feasibility"],
        # What runs before it in its process left behind may have gone while it ran.
        "trust": "B" if found.get("left_gb") else "A",
        "derived": {},
        "suites": ["feasibility"] if failed else ["memory_error", "feasibility"],
    }


def _trained(how: Line) -> Line:
    line: Line = {
        "batch_size_per_gpu": how["batch"],
        "gradient_checkpointing": "full" if how.get("checkpointing") else "none",
        "optimizer": _OPTIMIZERS.get(how.get("optimizer", ""), how.get("optimizer", "adamw")),
        "training_framework": how.get("trainer", "transformers"),
        "gradient_accumulation_steps": 1,  # As the trainers have it by default.
    }
    if "seq" in how:
        line["seq_len_tokens"] = how["seq"]
    if how.get("zero"):
        line |= {"sharding": f"zero{how['zero']}", "cpu_offload": True, "training_framework": "deepspeed"}
    if how.get("weights") == "fp32":
        return line | {
            "weight_precision": "fp32",
            "compute_precision": "mixed" if how.get("autocast", True) else "fp32",
        }
    return line | {"weight_precision": "bf16", "compute_precision": "bf16"}


def _language(how: Line) -> Line:
    line = _trained(how)
    if how["method"] == "full":
        return {"task": "full_finetuning", **line}
    targets = {"qv": "qv", "qkv": "qkv", "all-linear": "all-linear"}[how["targets"]]
    line |= {"task": "peft_finetuning", "peft_method": how["method"], "lora_rank": how["rank"], "lora_targets": targets}
    line["lora_dropout"] = 0  # PEFT's default.
    if how["method"] == "qlora":
        line["weight_precision"] = "nf4-dq"
    if line["training_framework"] == "transformers":
        line["training_framework"] = "peft"
    return line


def _whole(how: Line) -> Line:
    return {"task": "full_finetuning", **_trained(how)}


def _served(how: Line) -> Line:
    line = {"task": "inference", "weight_precision": how.get("weights", "bf16"), "concurrency": how["batch"]}
    line |= {"serving_engine": "transformers", "serving_engine_version": "5.17.0"}
    if "prompt" in how:
        return line | {"input_tokens": how["prompt"], "output_tokens": NEW_TOKENS}
    return line | ({"input_tokens": how["seq"]} if "seq" in how else {})


def _picture(how: Line) -> Line:
    line = {"image_px": how["px"]} | ({"image_short_px": how["short_px"]} if "short_px" in how else {})
    return line | ({"frames": how["frames"]} if "frames" in how else {})


def _generated(how: Line) -> Line:
    line = {"task": "inference", "weight_precision": "bf16", "concurrency": how["batch"], "serving_engine": "diffusers"}
    return line | _picture(how) | {"denoising_steps": how["steps"]}


def _adapted(how: Line) -> Line:
    line = {"task": "peft_finetuning", "peft_method": "lora", "lora_rank": 16, "encoders_cached": False}
    return line | _trained(how) | _picture(how) | {"training_framework": "diffusers"}


def _network(how: Line) -> Line:
    line = {"task": "full_finetuning", "batch_size_per_gpu": how["batch"], "optimizer": how.get("optimizer", "adamw")}
    return line | _picture(how) | {"compute_precision": how.get("precision", "fp32")}


_LINES: dict[str, Callable[[Line], Line]] = {
    "train": _language,
    "classify": _whole,
    "translate": _whole,
    "generate": _served,
    "embed": _served,
    "transcribe": _served,
    "generator": _generated,
    "adapter": _adapted,
    "network": _network,
    "detect": _network,
}


def main(path: Path) -> None:
    """Print the rows of a file; parts of generators alone are none."""
    for text in path.read_text(encoding="utf-8").splitlines():
        found = json.loads(text)
        if found["kind"] in _LINES and "allocated_gb" in found:
            print(json.dumps(row_of(found)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
