"""From a published run to one line for ``whichgpu size --jsonl``: fact names and choices of the vocabulary.

What a row states is passed on; what it leaves open is left open, so that the tool's own assumptions are tested too.
The only things decided here are how a word of a source is spelt in the vocabulary, and which card stands for a row
that names none (memory of a run hardly depends on it).
"""

from __future__ import annotations

import re
from typing import Any


Row = dict[str, Any]
Line = dict[str, Any]

#: Cards by name and memory: a name alone may stand for a series.
_CARDS = {
    ("NVIDIA A100", 40): "nvidia-a100-40gb-sxm",
    ("NVIDIA A100", None): "nvidia-a100-80gb-sxm",
    ("NVIDIA A100", 80): "nvidia-a100-80gb-sxm",
    ("NVIDIA H100", 80): "nvidia-h100-80gb-sxm",
    ("NVIDIA H100", None): "nvidia-h100-80gb-sxm",
    ("NVIDIA H200", 141): "nvidia-h200-sxm",
    ("NVIDIA H200", None): "nvidia-h200-sxm",
    ("NVIDIA H800", 80): "nvidia-h100-80gb-sxm",
    ("NVIDIA V100", 16): "nvidia-v100-16gb",
    ("NVIDIA V100", 32): "nvidia-v100-32gb",
    ("NVIDIA V100", None): "nvidia-v100-32gb",
    ("NVIDIA H100", 96): "nvidia-h100-80gb-sxm",
    ("NVIDIA Blackwell Ultra GPU (GB300)", 277.55): "nvidia-gb300",
    ("Virtualized NVIDIA H200-SXM-141GB", 141): "nvidia-h200-sxm",
}
#: A card that stands for one with more memory: by how many times more.
_MORE_MEMORY = {("NVIDIA H100", 96): 1.2}
#: What a source adds to the name of a card: the system around it in brackets, form and memory as MLPerf writes them.
_ADDED = re.compile(r"\s*\((?:DGX|HBM)[^)]*\)|-PCIe-\d+GB$")
#: A card of that memory, where a row names only the memory.
_BY_MEMORY = {
    8: "nvidia-rtx-3070",
    12: "nvidia-rtx-3060-12gb",
    16: "nvidia-t4",
    24: "nvidia-rtx-4090",
    32: "nvidia-rtx-5090",
    40: "nvidia-a100-40gb-sxm",
    48: "nvidia-l40s",
    80: "nvidia-a100-80gb-sxm",
}
_ANY_CARD = "nvidia-a100-80gb-sxm"
_TASKS = {
    "inference": "inference",
    "image_generation": "inference",
    "video_generation": "inference",
    "asr_inference": "inference",
    "audio_generation": "inference",
    "vision_inference": "inference",
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
}
_FRAMEWORKS = (
    ("torchtune", "torchtune"),
    ("litgpt", "litgpt"),
    ("ms-swift", "ms-swift"),
    ("axolotl", "axolotl"),
    ("unsloth", "unsloth"),
    ("torchtitan", "torchtitan"),
    ("megatron-bridge", "nemo"),
    ("megatron", "megatron"),
    ("nemo", "nemo"),
    ("deepspeed", "deepspeed"),
    ("diffusers", "diffusers"),
    ("peft", "peft"),
    ("hf trainer", "transformers"),
    ("llama-recipes", "transformers"),
    ("transformers", "transformers"),
)
_ENGINES = (
    ("tensorrt", "tensorrt-llm"),
    ("sglang/vllm", "vllm"),
    ("sglang", "sglang"),
    ("vllm", "vllm"),
    ("llama.cpp", "llama.cpp"),
    ("diffusers", "diffusers"),
    ("transformers", "transformers"),
    ("litgpt", "transformers"),
    ("openai/whisper", "openai-whisper"),
)
#: What a source calls its optimiser holds these words, in any case: the first that it holds tells.
_OPTIMIZERS = (
    ("adafactor", "adafactor"),
    ("lamb", "lamb"),
    ("8bit", "adamw-8bit"),
    ("8-bit", "adamw-8bit"),
    ("adam", "adamw"),
)
#: What the rules of MLPerf Inference fix for image generation.
_MLPERF_STEPS = 20
#: Sources whose fine-tuning keeps everything in 16 bits, by what they say of their precision.
_PURE = {"bf16-true", "pure bf16"}
#: Classes of the data sets that segmentations are trained on.
_CLASSES = {"cityscapes": 19, "ade20k": 150, "voc12aug": 21}
#: A frozen model in 8 bits under adapters, as trainers of image generators name it.
_FP8_BASE = re.compile(r"fp8[ _](?:base|scaled)")


def line_of(row: Row) -> Line:
    """The size line of a published run: its id, facts, GPU and count."""
    facts, hardware = row["facts"], row.get("hardware", {})
    task = facts["task"]
    line: Line = {
        "id": row["id"],
        "task": _TASKS[task],
        "gpu": _card(hardware),
        "count": int(hardware.get("count") or 1),
    }
    diffusion = task == "train_diffusion"
    if task == "rl" and _adapters(facts):
        line["task"] = "peft_finetuning"
    if diffusion:
        line["task"] = "peft_finetuning" if _adapters(facts) else "full_finetuning"
        line["model_family"] = "diffusion_video" if facts.get("frames") else "diffusion_image"
    elif task in _FAMILIES:
        line["model_family"] = _FAMILIES[task]
    if line["task"] == "peft_finetuning":
        line["peft_method"] = "qlora" if task == "qlora" else "lora"
    # "Llama 3/3.1 70B" is one architecture under two names: the later one stands for both.
    line["model_name"] = re.sub(r"\b[\d.]+/([\d.]+)\b", r"\1", facts["model"])
    line |= _sizes(facts) | _precision(facts, line["task"]) | _parallelism(facts)
    line |= _offload(facts, row["id"])
    # Examples of a library that name no other run in it.
    facts = facts | {"framework": facts.get("framework") or str(row.get("source", {}).get("repo") or "")}
    line |= _serving(facts) if line["task"] == "inference" else _training(facts)
    if line["task"] == "peft_finetuning" and "on attention qkv (DEFAULT)" in str(row.get("note")):
        line.setdefault("lora_targets", "qkv")
    if line["task"] == "inference" and "concurrency" not in line and row.get("measured", {}).get("tokens_per_s"):
        line["serving_mode"] = "batch"  # A rate without a load is that of as many requests as the server holds.
    if "resolution" in facts:
        pixels = _pixels(facts["resolution"])
        if pixels:
            line["image_px"] = pixels
            line |= _short_edge(facts["resolution"])
    if facts.get("frames"):
        line["frames"] = facts["frames"]
    if line.get("model_family") == "vision":
        told = str(facts.get("task_detail")).lower()
        classes = next((number for name, number in _CLASSES.items() if name in told), None)
        line |= {"classes": classes} if classes else {}
    if line.get("model_family", "").startswith("diffusion"):
        line |= _steps(str(facts.get("task_detail"))) | _components(row, line.get("weight_precision"))
    return line


def _steps(told: str) -> Line:
    found = re.search(r"\b(\d+) steps", told)
    if found:
        return {"denoising_steps": int(found.group(1))}
    return {"denoising_steps": _MLPERF_STEPS} if "MLPerf Inference" in told else {}


def _components(row: Row, weights: str | None) -> Line:
    """What a row says of the parts of a generator beside its denoiser."""
    line: Line = {}
    detail, quantised = (str(row["facts"].get(name)).lower() for name in ("task_detail", "quantization"))
    listed = re.search(r"text encoders quantized: ([\d,]+|none)", detail)
    # The third of three, T5, is nine tenths of their size.
    with_them = "text encoder quantized: true" in detail or (listed is not None and "3" in listed[1])
    if "text encoder quantized: none" in detail or "text encoder quantized: false" in detail:
        line["text_encoder_precision"] = "bf16" if "int4 (bf16)" in quantised else "fp16"
    elif listed and not with_them:
        line["text_encoder_precision"] = "fp16"
    elif weights and (with_them or "Transformer and T5 quantized" in str(row.get("note"))):
        line["text_encoder_precision"] = weights
    if "cached latents" in detail or "cached te" in detail:
        line["encoders_cached"] = True
    return line


def _adapters(facts: dict[str, Any]) -> bool:
    told = f"{facts.get('task_detail', '')} {facts.get('lora', '')}".lower()
    return "lora" in facts or "lora" in told


def _card(hardware: dict[str, Any]) -> str:
    name, memory = hardware.get("gpu"), hardware.get("memory_gb_each")
    if name is None:
        return _BY_MEMORY.get(memory, _ANY_CARD)
    plain = _ADDED.sub("", str(name))
    return _CARDS.get((plain, memory), plain)


def memory_beyond(row: Row) -> float:
    """How many times the memory of the asked card the row's own card has."""
    hardware = row.get("hardware", {})
    named = _ADDED.sub("", str(hardware.get("gpu"))), hardware.get("memory_gb_each")
    return _MORE_MEMORY.get(named, 1.0)


def _sizes(facts: dict[str, Any]) -> Line:
    line: Line = {}
    if facts.get("params_b"):
        line["param_count_b"] = facts["params_b"]
    if facts.get("active_params_b"):
        line["active_param_count_b"] = facts["active_params_b"]
    return line


def _precision(facts: dict[str, Any], task: str) -> Line:
    """Weights and arithmetic: a quantisation says what the weights are, a precision what is computed."""
    precision = str(facts.get("precision") or "").lower()
    quantised = str(facts.get("quantization") or "").lower()
    line: Line = {}
    if task == "inference":
        weights = _weights(quantised) or _weights(precision)
        if weights:
            line["weight_precision"] = weights
        if facts.get("kv_cache_dtype"):
            line["kv_cache_precision"] = "fp8" if "fp8" in facts["kv_cache_dtype"] else "fp16"
        return line
    detail = str(facts.get("task_detail") or "").lower()
    if not quantised and ("8-bit base" in detail or "int8 base" in detail):
        quantised = "int8"
    # Of what kind a bare "4-bit" is, QLoRA's default says; a format without an entry stays open.
    if quantised and not quantised.startswith(("4-bit", "4bit")) and _weights(quantised):
        line["weight_precision"] = _weights(quantised)
    if task == "peft_finetuning" and _FP8_BASE.search(f"{precision} {detail}"):
        line["weight_precision"] = "fp8"
    if precision in _PURE or "pure bf16" in detail:
        line["compute_precision"] = "bf16"
        line.setdefault("weight_precision", "bf16")
    elif precision.startswith("fp32"):
        line["compute_precision"] = "fp32"
    elif re.search(r"fp8|float8|fp4", precision):
        line["compute_precision"] = "fp8"
    elif precision.startswith(("bf16", "fp16")):
        line["compute_precision"] = precision[:4]
    elif precision:
        line["compute_precision"] = "mixed"
    return line


def _weights(told: str) -> str | None:
    named = (
        ("gptq-int4", "gptq-int4"),
        ("int4 (gptq", "gptq-int4"),
        ("int4 (autogptq", "gptq-int4"),
        ("gptq 4-bit", "gptq-int4"),
        ("gptq-int8", "gptq-int8"),
        ("int8 (autogptq", "gptq-int8"),
        ("int8 (gptq", "gptq-int8"),
        ("int4 (bnb", "nf4"),
        ("awq", "awq-int4"),
        ("nf4 nested", "nf4-dq"),
        ("nf4 + double quant", "nf4-dq"),
        ("nf4", "nf4"),
        ("nvfp4", "nvfp4"),
        ("mxfp4", "mxfp4"),
        ("fp4", "nvfp4"),
        ("mxfp8", "fp8"),
        ("fp8", "fp8"),
        ("float8", "fp8"),
        ("int8", "int8"),
        ("8bit", "int8"),
        ("8-bit", "int8"),
        ("int4", "int4"),
        ("4-bit", "nf4"),
        ("4bit", "nf4"),
        ("fp32", "fp32"),
        ("fp16", "fp16"),
        ("bf16", "bf16"),
    )
    return next((weights for word, weights in named if word in told), None)


def _parallelism(facts: dict[str, Any]) -> Line:
    told = facts.get("parallelism", {})
    line: Line = {}
    for word, fact in (("tp", "tensor_parallel"), ("pp", "pipeline_parallel")):
        if told.get(word):
            line[fact] = told[word]
    if facts["task"] != "inference":
        if told.get("dp"):
            line["data_parallel"] = told["dp"]
        if isinstance(told.get("ep"), int):
            line["expert_parallel"] = told["ep"]
        if (told.get("cp") or 1) > 1:
            line["context_parallel"] = told["cp"]
    if told.get("zero_stage"):
        line["sharding"] = f"zero{told['zero_stage']}"
    elif told.get("fsdp"):
        line["sharding"] = "fsdp"
    return line


def _offload(facts: dict[str, Any], name: str) -> Line:
    """What waits in host memory while a step is computed: any share of the optimiser's state counts as all of it.

    What frameworks of reinforcement learning park between their phases comes back for the step, and is not meant.
    """
    told = str(facts.get("offload") or "").lower()
    parked = f"{facts.get('task_detail')} {told}".lower()
    fraction = re.search(r"(?:offload_fraction|optimizer fraction)\s+([\d.]+)", parked)
    if fraction:
        return {"cpu_offload": True} if float(fraction.group(1)) > 0 else {}
    named = "cpu offload" in parked and "no cpu offload" not in parked
    if named or re.search(r"fsdp\d?-offload", name):
        return {"cpu_offload": True}
    if told.startswith(("cpu", "fsdp cpu", "optimizer", "block swap", "offload_model")):
        return {"cpu_offload": True}
    return {"activation_offload": True} if told.startswith("activations") else {}


def _serving(facts: dict[str, Any]) -> Line:
    line: Line = {}
    for name, fact in (
        ("context_len", "context_tokens"),
        ("input_len", "input_tokens"),
        ("output_len", "output_tokens"),
    ):
        if facts.get(name):
            line[fact] = facts[name]
    batch = facts.get("batch_global") or facts.get("batch_per_gpu")
    most = re.search(r"\bbatch <= (\d+)", str(facts.get("task_detail")))
    if batch or most:
        line["concurrency"] = batch or int(most.group(1))  # type: ignore[union-attr]
    software = str(facts.get("framework") or "")
    engine = next((engine for word, engine in _ENGINES if word in software.lower()), None)
    if engine:
        line["serving_engine"] = engine
        version = re.search(r"(?:vLLM|transformers|SGLang)\s*~?(\d+\.\d+(?:\.\d+)?)", software)
        if version:
            line["serving_engine_version"] = version.group(1)
    return line


def _training(facts: dict[str, Any]) -> Line:
    line: Line = {}
    for name, fact in (
        ("seq_len", "seq_len_tokens"),
        ("batch_per_gpu", "batch_size_per_gpu"),
        ("batch_global", "global_batch_size"),
        ("grad_accum", "gradient_accumulation_steps"),
    ):
        if facts.get(name):
            line[fact] = int(facts[name])
    told = str(facts.get("optimizer") or "").lower()
    optimizer = next((optimizer for word, optimizer in _OPTIMIZERS if word in told), None)
    if optimizer:
        line["optimizer"] = optimizer
    recomputed = facts.get("grad_checkpointing")
    if recomputed is not None:
        line["gradient_checkpointing"] = recomputed if isinstance(recomputed, str) else "full" if recomputed else "none"
    elif "activation checkpointing" in str(facts.get("parallelism", {}).get("fsdp")):
        line["gradient_checkpointing"] = "full"
    if facts.get("flash_attention") is not None:
        line["flash_attention"] = facts["flash_attention"]
    line |= _adapter(facts)
    software = f"{facts.get('framework') or ''} {facts.get('offload') or ''}".lower()
    framework = next((framework for word, framework in _FRAMEWORKS if word in software), None)
    if framework:
        line["training_framework"] = framework
    if "sample_packing" in software:
        line["packing"] = True
    if "torch.compile" in software:
        line["compiled"] = True
    detail = str(facts.get("task_detail") or "").lower()
    if framework == "torchtune" and "cumulative" in detail:
        line |= _torchtune_ladder(detail)
    return line


def _adapter(facts: dict[str, Any]) -> Line:
    line: Line = {}
    rank = facts.get("lora", {}).get("rank")
    if isinstance(rank, int):
        line["lora_rank"] = rank
    lora = facts.get("lora", {})
    if str(lora.get("target_linear")).lower() == "true" or str(lora.get("targets")).lower() in {"all", "all linear"}:
        line["lora_targets"] = "all-linear"
    if "lora (emb)" in str(facts.get("task_detail") or "").lower():
        line["trains_embeddings"] = True
    return line


def _torchtune_ladder(detail: str) -> Line:
    """The published ladder says which techniques are on; each row has those of the rows before it."""
    later = any(word in detail for word in ("...", "ac+", "+ac", "as lora"))
    return {
        "chunked_loss": later or "chunkedce" in detail,
        "compiled": later or "compile" in detail,
        "optimizer_in_backward": "..." in detail,
    }


def _short_edge(told: str) -> Line:
    """The short edge, where a source states both."""
    edges = re.fullmatch(r"(?:\d+x)?(\d+)x(\d+)", str(told))
    return {"image_short_px": min(int(edge) for edge in edges.groups())} if edges else {}


def _pixels(told: str) -> int | None:
    """The long edge of a picture; a range of sizes by its largest short side gives its usual long side."""
    text = str(told)
    if "shorter side" in text:
        return 1333
    named = {"480p": 832, "720p": 1280, "1080p": 1920}
    for word, pixels in named.items():
        if word in text:
            return pixels
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if not numbers:
        return None
    if text.count("x") == 2:  # Frames x height x width.
        numbers = numbers[1:]
    return max(numbers)
