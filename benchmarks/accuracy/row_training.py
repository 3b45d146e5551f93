"""What a published run says of its training: batches, parallelism, offload, adapters, framework."""

from __future__ import annotations

import re
from typing import Any


Line = dict[str, Any]

_FRAMEWORKS = (
    ("openrlhf", "openrlhf"),
    ("torchtune", "torchtune"),
    ("litgpt", "litgpt"),
    ("ms-swift", "ms-swift"),
    ("axolotl", "axolotl"),
    ("unsloth", "unsloth"),
    ("torchtitan", "torchtitan"),
    ("megatron-bridge", "nemo"),
    ("megatron-deepspeed", "megatron-deepspeed"),
    ("internevo", "internevo"),
    ("xtuner", "xtuner"),
    # verl over Megatron splits and shards as Megatron does.
    ("megatron", "megatron"),
    ("automodel", "nemo-automodel"),
    ("nemo", "nemo"),
    ("deepspeed", "deepspeed"),
    ("verl", "verl"),
    ("finetrainers", "finetrainers"),
    ("simpletuner", "simpletuner"),
    ("ai-toolkit", "ai-toolkit"),
    ("diffusion-pipe", "diffusion-pipe"),
    ("diffsynth", "diffsynth-studio"),
    ("musubi", "musubi-tuner"),
    ("sd-scripts", "sd-scripts"),
    ("kohya", "sd-scripts"),
    ("onetrainer", "onetrainer"),
    ("flymyai", "flymyai"),
    ("diffusers", "diffusers"),
    ("llama-factory", "llama-factory"),
    # Its supervised trainer is as the libraries below were when runs were published: the loss in chunks is of 2026.
    ("grpotrainer", "trl"),
    ("peft", "peft"),
    ("hf trainer", "transformers"),
    ("llama-recipes", "transformers"),
    ("transformers", "transformers"),
)
#: What a source calls its optimiser holds these words, in any case: the first that it holds tells.
_OPTIMIZERS = (
    ("adafactor", "adafactor"),
    ("lamb", "lamb"),
    ("8bit", "adamw-8bit"),
    ("8-bit", "adamw-8bit"),
    ("adam", "adamw"),
    ("sgd", "sgd"),
)
#: Choices of adapted matrices, narrowest first, with the names of what they hold.
_TARGETS = (
    ("qv", {"q", "v"}),
    ("qkv", {"q", "k", "v", "qkv", "query_key_value"}),
    ("attention", {"q", "k", "v", "o", "out", "qkv", "query_key_value"}),
)
#: How a source says that its AdamW steps; PyTorch's own, by its name, goes over all parameters at once.
_STEPS = (
    ("fused", "fused"),
    ("hybridadam", "fused"),  # ColossalAI's, over a kernel of its own
    ("one by one", "one-by-one"),
    ("torch.optim", "foreach"),
    ("adamw_torch_8bit", "one-by-one"),
    ("adamw_torch", "foreach"),
)


def parallelism_of(facts: dict[str, Any]) -> Line:
    """Degrees of parallelism and sharding."""
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
    # Who names both has FSDP, and a stage to say how much of it.
    if told.get("fsdp"):
        line["sharding"] = "none" if told["fsdp"] == "no_shard" else "fsdp"
    elif told.get("zero_stage") is not None:
        line["sharding"] = f"zero{told['zero_stage']}" if told["zero_stage"] else "none"
    return line


def offload_of(facts: dict[str, Any], name: str) -> Line:
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
    if told.startswith("optimizer and gradients") and not facts.get("parallelism"):
        return {"cpu_offload": True, "sharding": "zero2"}  # Weights stay: an optimiser of torchao's kind.
    if told.startswith("optimizer") and not told.startswith("optimizer+"):
        return {"cpu_offload": True, "offloaded_state": "optimizer"}
    blocks = re.search(r"(\d+) blocks\b", told)
    if blocks:
        return {"cpu_offload": True, "blocks_offloaded": int(blocks.group(1))}
    if told.startswith(("cpu", "fsdp cpu", "optimizer", "block swap", "offload_model")):
        return {"cpu_offload": True}
    return {"activation_offload": True} if told.startswith("activations") else {}


def training_of(facts: dict[str, Any]) -> Line:
    """Batches, optimiser, checkpointing, adapters and framework."""
    line: Line = {}
    for name, fact in (
        ("seq_len", "seq_len_tokens"),
        ("batch_per_gpu", "batch_size_per_gpu"),
        ("batch_global", "global_batch_size"),
        ("grad_accum", "gradient_accumulation_steps"),
    ):
        if facts.get(name):
            line[fact] = int(facts[name])
    line |= _optimizer(facts) | _releases(facts)
    recomputed = facts.get("grad_checkpointing")
    if recomputed is not None:
        line["gradient_checkpointing"] = recomputed if isinstance(recomputed, str) else "full" if recomputed else "none"
    elif "activation checkpointing" in str(facts.get("parallelism", {}).get("fsdp")):
        line["gradient_checkpointing"] = "full"
    line |= _adapter(facts)
    if "liger" in f"{facts.get('framework')} {facts.get('task_detail')}".lower():
        line["liger_kernels"] = True
    if "base in 32 bits" in str(facts.get("task_detail")):
        line["weight_precision"] = "fp32"
    software = f"{facts.get('framework') or ''} {facts.get('offload') or ''}".lower()
    named = str(facts.get("framework") or "").lower()
    framework = next((own for told in (named, software) for word, own in _FRAMEWORKS if word in told), None)
    if framework:
        line["training_framework"] = framework
        release = re.search(rf"{re.escape(framework)} v?(\d+(?:\.\d+)+)", named)
        line |= {"training_framework_version": release.group(1)} if release else {}
    line |= _own_loop(facts, named)
    if "sample_packing" in software:
        line["packing"] = True
    if "torch.compile" in software:
        line["compiled"] = True
    detail = str(facts.get("task_detail") or "").lower()
    if "loss in chunks" in detail:
        line["chunked_loss"] = True
    if framework == "torchtune" and "cumulative" in detail:
        line |= _torchtune_ladder(detail)
    return line


def _optimizer(facts: dict[str, Any]) -> Line:
    """The update rule and how it steps."""
    told = str(facts.get("optimizer") or "").lower()
    optimizer = next((optimizer for word, optimizer in _OPTIMIZERS if word in told), None)
    step = next((step for word, step in _STEPS if word in told), None)
    return ({"optimizer": optimizer} if optimizer else {}) | ({"optimizer_step": step} if step else {})


def _releases(facts: dict[str, Any]) -> Line:
    """Releases of software, and whether attention is fused."""
    line = {name: facts[name] for name in ("pytorch_version", "flash_attention") if facts.get(name) is not None}
    version = re.search(r"transformers (\d+\.\d+(?:\.\d+)?)", str(facts.get("framework") or ""))
    return line | ({"transformers_version": version.group(1)} if version else {})


def _own_loop(facts: dict[str, Any], software: str) -> Line:
    """A loop of one's own takes the loss from the answers as they are, and fuses nothing."""
    wide = str(facts.get("precision")).startswith("fp32")
    line: Line = {"loss_precision": "fp32" if wide else "bf16"} if "own loop" in software else {}
    if "holds logits" in software:  # Such a loop may leave the loss to the model, which takes it in 32 bits.
        line["holds_logits"] = True
    return line | ({"holds_logits": False} if "frees logits" in software else {})


def _adapter(facts: dict[str, Any]) -> Line:
    line: Line = {}
    rank = facts.get("lora", {}).get("rank")
    if isinstance(rank, int):
        line["lora_rank"] = rank
    lora = facts.get("lora", {})
    targets = "all" if str(lora.get("target_linear")).lower() == "true" else str(lora.get("targets") or "").lower()
    if targets:
        line |= _targets(targets)
    for name, fact in (("dropout", "lora_dropout"), ("precision", "adapter_precision")):
        if lora.get(name) is not None:
            line[fact] = lora[name]
    if "lora (vision)" in str(facts.get("task_detail") or "").lower():
        line["trains_encoders"] = True
    if re.search(r"\bdora\b|use_dora=true", str(facts.get("task_detail") or "").lower()):
        line["weight_decomposed"] = True
    if "lora (emb)" in str(facts.get("task_detail") or "").lower():
        line["trains_embeddings"] = True
    return line


def _targets(told: str) -> Line:
    """The narrowest choice that holds all matrices that are named."""
    if told in {"all", "all linear", "all-linear"}:
        return {"lora_targets": "all-linear"}
    if told == "attention":
        return {"lora_targets": "attention"}
    named = set(re.findall(r"query_key_value|qkv|gate|up|down|mlp|fc\d|(?<![a-z])(?:[qkvo]|out)(?![a-z])", told))
    for choice, holds in _TARGETS:
        if named and named <= holds:
            return {"lora_targets": choice}
    return {"lora_targets": "all-linear"} if named else {}


def _torchtune_ladder(detail: str) -> Line:
    """The published ladder says which techniques are on; each row has those of the rows before it."""
    later = any(word in detail for word in ("...", "ac+", "+ac", "as lora"))
    return {
        "chunked_loss": later or "chunkedce" in detail,
        "compiled": later or "compile" in detail,
        "optimizer_in_backward": "..." in detail,
    }


def has_adapters(facts: dict[str, Any]) -> bool:
    """Whether only adapters are trained."""
    told = f"{facts.get('task_detail', '')} {facts.get('lora', '')}".lower()
    return "lora" in facts or "lora" in told


def reinforcement_of(facts: dict[str, Any]) -> Line:
    """The method of reinforcement learning, the models that it keeps beside the actor, and what is parked."""
    if facts["task"] != "rl":
        return {}
    told = str(facts.get("task_detail") or "").lower()
    method = next((method for method in ("grpo", "ppo", "dpo") if method in told), None)
    line: Line = {"rl_method": method} if method else {}
    rewards = re.search(r"(\d+)m reward model", told)
    if rewards:  # The critic starts from it.
        line["critic_params_b"] = int(rewards[1]) / 1000
        line["resident_params_b"] = facts["params_b"] + int(rewards[1]) / 1000
    if "all memory optimisations" in str(facts.get("offload")):
        line |= {"models_take_turns": True, "gradient_checkpointing": "full"}
    if facts.get("output_len"):
        line["output_tokens"] = facts["output_len"]
    if "offload_optim true" in told:
        line["models_take_turns"] = True
    return line
