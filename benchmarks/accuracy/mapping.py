"""From a published run to one line for ``whichgpu size --jsonl``: fact names and choices of the vocabulary.

What a row states is passed on; what it leaves open is left open, so that the tool's own assumptions are tested too.
The only things decided here are how a word of a source is spelt in the vocabulary, and which card stands for a row
that names none (memory of a run hardly depends on it).
"""

from __future__ import annotations

import re
from typing import Any

from row_cards import card_of
from row_formats import precision_of, sizes_of
from row_pictures import CLASSES, components_of, pixels_of, short_edge_of, steps_of
from row_training import has_adapters, offload_of, parallelism_of, reinforcement_of, training_of


Row = dict[str, Any]
Line = dict[str, Any]
#: Kernels that are not started one by one.
_COMPILED = re.compile(r"torch\.compile|cuda graph")
_TASKS = {
    "inference": "inference",
    "image_generation": "inference",
    "video_generation": "inference",
    "asr_inference": "inference",
    "audio_generation": "inference",
    "vision_inference": "inference",
    "embedding": "inference",
    "lora": "peft_finetuning",
    "qlora": "peft_finetuning",
    "pretrain": "pretraining",
    "full_finetune": "full_finetuning",
    "rl": "full_finetuning",
    "train_vision": "full_finetuning",
    "train_diffusion": "full_finetuning",
}
_FAMILIES = {
    "image_generation": "diffusion_image",
    "video_generation": "diffusion_video",
    "vision_inference": "vision",
    "train_vision": "vision",
    "embedding": "encoder",
}
_ENGINES = (
    ("tensorrt", "tensorrt-llm"),
    ("sglang/vllm", "vllm"),
    ("sglang", "sglang"),
    ("vllm", "vllm"),
    ("text-generation-inference", "tgi"),
    ("llama.cpp", "llama.cpp"),
    ("diffusers", "diffusers"),
    ("transformers", "transformers"),
    ("timm", "transformers"),  # plain PyTorch
    ("own code (plain pytorch", "transformers"),
    ("hunyuanvideo", "transformers"),  # the same
    ("litgpt", "transformers"),
    ("openai/whisper", "openai-whisper"),
    ("faster-whisper", "faster-whisper"),
    ("text-embeddings-inference", "other"),
    ("infinity", "other"),
    ("cuda graphs", "other"),
)
#: The release of software that serves language models, as a source writes it.
_RELEASE = re.compile(r"(?:vLLM|transformers|SGLang|text-generation-inference)\s*~?(\d+\.\d+(?:\.\d+)?)")


def line_of(row: Row) -> Line:
    """The size line of a published run: its id, facts, GPU and count; a run of our own states it itself."""
    return dict(row["line"]) if "line" in row else _read(row)


def _read(row: Row) -> Line:
    facts, hardware = row["facts"], row.get("hardware", {})
    task = facts["task"]
    line: Line = {
        "id": row["id"],
        "task": _TASKS[task],
        "gpu": card_of(hardware),
        "count": int(hardware.get("count") or 1),
    }
    diffusion = task == "train_diffusion"
    if task == "rl" and has_adapters(facts):
        line["task"] = "peft_finetuning"
    if diffusion:
        line["task"] = "peft_finetuning" if has_adapters(facts) else "full_finetuning"
        line["model_family"] = "diffusion_video" if facts.get("frames") else "diffusion_image"
    elif task in _FAMILIES:
        line["model_family"] = _FAMILIES[task]
    if line["task"] == "peft_finetuning":
        line["peft_method"] = "qlora" if task == "qlora" else "lora"
    # "Llama 3/3.1 70B" is one architecture under two names: the later one stands for both.
    line["model_name"] = re.sub(r"\b[\d.]+/([\d.]+)\b", r"\1", facts["model"])
    line |= sizes_of(facts) | precision_of(facts, line["task"]) | parallelism_of(facts)
    line |= offload_of(facts, row["id"])
    # Examples of a library that name no other run in it.
    facts = facts | {"framework": facts.get("framework") or str(row.get("source", {}).get("repo") or "")}
    line |= _serving(facts) if line["task"] == "inference" else training_of(facts)
    line |= reinforcement_of(facts)
    if line["task"] == "peft_finetuning" and "on attention qkv (DEFAULT)" in str(row.get("note")):
        line.setdefault("lora_targets", "qkv")
    if line["task"] == "inference" and "concurrency" not in line and row.get("measured", {}).get("tokens_per_s"):
        line["serving_mode"] = "batch"  # A rate without a load is that of as many requests as the server holds.
    if "resolution" in facts:
        pixels = pixels_of(facts["resolution"])
        if pixels:
            line["image_px"] = pixels
            line |= short_edge_of(facts["resolution"])
    if facts.get("frames"):
        line["frames"] = facts["frames"]
    if line.get("model_family") == "vision":
        told = str(facts.get("task_detail")).lower()
        classes = next((number for name, number in CLASSES.items() if name in told), None)
        line |= {"classes": classes} if classes else {}
    if line.get("model_family", "").startswith("diffusion"):
        line |= steps_of(str(facts.get("task_detail"))) | components_of(row, line.get("weight_precision"))
    return line


def _serving(facts: dict[str, Any]) -> Line:
    line: Line = {}
    for name, fact in (
        ("context_len", "context_tokens"),
        ("input_len", "input_tokens"),
        ("output_len", "output_tokens"),
    ):
        if facts.get(name):
            line[fact] = facts[name]
    if line.keys() == {"output_tokens"}:
        line["input_tokens"] = 1  # Who tells only how much was generated measured generation, from hardly a prompt.
    batch = facts.get("batch_global") or facts.get("batch_per_gpu")
    most = re.search(r"\bbatch <= (\d+)", str(facts.get("task_detail")))
    if batch or most:
        line["concurrency"] = batch or int(most.group(1))  # type: ignore[union-attr]
    for name in ("flash_attention", "pytorch_version"):
        if facts.get(name) is not None:
            line[name] = facts[name]
    beams = re.search(r"\bbeam(?: size)? (\d+)", str(facts.get("task_detail")))
    if beams:
        line["beams"] = int(beams.group(1))
    software = str(facts.get("framework") or "")
    engine = next((engine for word, engine in _ENGINES if word in software.lower()), None)
    if engine:
        line["serving_engine"] = engine
        version = _RELEASE.search(software)
        if version:
            line["serving_engine_version"] = version.group(1)
    if "autoawq" in software.lower():
        line["fuses_modules"] = True
    if facts["task"] in {"image_generation", "video_generation"} and _COMPILED.search(software.lower()):
        line["compiled"] = True
    return line
