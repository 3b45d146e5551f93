"""Sizes and number formats of a published run, in words of the vocabulary."""

from __future__ import annotations

import re
from typing import Any


Line = dict[str, Any]

#: Sources whose fine-tuning keeps everything in 16 bits, by what they say of their precision.
_PURE = {"bf16-true", "pure bf16"}
#: A frozen model in 8 bits under adapters, as trainers of image generators name it.
_FP8_BASE = re.compile(r"fp8[ _](?:base|scaled)")


def sizes_of(facts: dict[str, Any]) -> Line:
    """Parameters, as far as they are stated, or the dimensions that say how many there are."""
    if "config" in facts:
        return {"config": facts["config"]}
    line: Line = {}
    if facts.get("params_b"):
        line["param_count_b"] = facts["params_b"]
    if facts.get("active_params_b"):
        line["active_param_count_b"] = facts["active_params_b"]
    return line


def precision_of(facts: dict[str, Any], task: str) -> Line:
    """Weights and arithmetic: a quantisation says what the weights are, a precision what is computed."""
    precision = str(facts.get("precision") or "").lower()
    quantised = str(facts.get("quantization") or "").lower()
    line: Line = {}
    if task == "inference":
        weights = _weights(quantised) or _weights(precision)
        if weights:
            line["weight_precision"] = weights
        if facts.get("kv_cache_dtype"):
            named = (kind for kind in ("fp8", "int8", "q8_0", "q4_0") if kind in facts["kv_cache_dtype"])
            line["kv_cache_precision"] = next(named, "fp16")
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
        ("q4_k_m", "q4_k_m"),
        ("q8_0", "q8_0"),
        ("int4", "int4"),
        ("4-bit", "nf4"),
        ("4bit", "nf4"),
        ("fp32", "fp32"),
        ("fp16", "fp16"),
        ("bf16", "bf16"),
    )
    return next((weights for word, weights in named if word in told), None)
