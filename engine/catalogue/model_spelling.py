"""Spellings of model names: split into words, with what a name says about quantization set apart."""

from __future__ import annotations

import re

from msgspec import Struct


#: Name fragments that state how the weights are stored, most specific first, and the ``weight_precision`` they mean.
_QUANTIZATIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])"), precision)
    for pattern, precision in (
        (r"iq([234])_?[a-z]{1,3}", "gguf-iq"),
        (r"(?:ud-)?q([2-8])_?k(?:_?([sml]|xl))?", "gguf-k"),
        (r"q([458])_?([01])", "gguf"),
        (r"gptq(?:[-_]?(?:int)?8(?:[-_]?bits?)?)(?!b)", "gptq-int8"),
        (r"gptq(?:[-_]?(?:int)?4(?:[-_]?bits?)?)?", "gptq-int4"),
        (r"awq(?:[-_]?(?:int)?4(?:[-_]?bits?)?)?", "awq-int4"),
        (r"nvfp4|fp4", "nvfp4"),
        (r"mxfp4(?:-moe)?", "mxfp4"),
        (r"(?:bnb[-_]?)?nf4|bnb[-_]?4[-_]?bits?|unsloth-bnb-4bit|qlora", "nf4"),
        (r"bnb[-_]?8[-_]?bits?|int8|w8a8|w8a16|8[-_]?bits?", "int8"),
        (r"mxfp8|fp8(?:[-_](?:dynamic|static|kv|block|pertensor|per[-_]tensor|e4m3))*", "fp8"),
        (r"int4|w4a16(?:[-_]ct)?|w4a8|4[-_]?bits?|autoround|hqq|exl[23]", "int4"),
        (r"bf16|bfloat16", "bf16"),
        (r"fp16|float16|f16", "fp16"),
        (r"fp32|float32|f32", "fp32"),
    )
)
#: By bits, whatever letter stands behind them; Q4_K_S alone is smaller.
_GGUF_K = {"2": "q2_k", "3": "q3_k_m", "4": "q4_k_m", "5": "q5_k_m", "6": "q6_k", "7": "q8_0", "8": "q8_0"}
_IQ = {"2": "iq2_xs", "3": "iq3_xs", "4": "iq4_xs"}

_WORD = re.compile(r"\d+x\d+(?:\.\d+)?b(?![a-z])|[ae]?\d+(?:\.\d+)?[btm](?![a-z])|\d+(?:\.\d+)*|[a-z]+")
_SIZE = re.compile(r"\d+x\d+(?:\.\d+)?b|\d+(?:\.\d+)?[btm]")
#: What timm puts behind a network's name: by which recipe and on which data its weights were trained (``.a1_in1k``).
_TRAINED_ON = re.compile(r"\.[a-z0-9_]*in\d+k[a-z0-9_]*$")
#: Words that mark a variant of the same network.
VARIANT_WORDS = frozenset(
    (
        "a",
        "abliterated",
        "aqlm",
        "awq",
        "base",
        "bit",
        "bits",
        "block",
        "causallm",
        "chat",
        "community",
        "ct",
        "dequantized",
        "diffusers",
        "dpo",
        "dspark",
        "dynamic",
        "exl",
        "fast",
        "fine",
        "finetune",
        "finetuned",
        "fp",
        "ggml",
        "gguf",
        "gptq",
        "hf",
        "instruct",
        "instruction",
        "int",
        "it",
        "kv",
        "latest",
        "marlin",
        "mlx",
        "model",
        "moe",
        "official",
        "original",
        "per",
        "preview",
        "pro",
        "pt",
        "qat",
        "quantised",
        "quantized",
        "reasoning",
        "release",
        "rlhf",
        "safetensors",
        "sft",
        "sharded",
        "static",
        "tensor",
        "text",
        "thinking",
        "tune",
        "tuned",
        "turbo",
        "uncensored",
        "unsloth",
        "vllm",
        "w",
    )
)
#: Publishers whose name is put before a model's.
PUBLISHERS = frozenset(
    (
        "amd",
        "deepseekai",
        "google",
        "hugging",
        "meta",
        "microsoft",
        "mistralai",
        "nvidia",
        "openai",
        "quants",
        "redhatai",
        "thebloke",
        "zai",
    )
)


class Spelling(Struct, frozen=True):
    """A model's name taken apart."""

    words: tuple[str, ...]  # all words without the quantization
    weight_precision: str | None  # what the name says about the stored weights

    @property
    def sizes(self) -> tuple[str, ...]:
        """Words that state a size, such as 8b or 8x7b."""
        return tuple(word for word in self.words if _SIZE.fullmatch(word))


def spelling(name: str) -> Spelling:
    """Take a name apart: hub path, file name, ollama tag or plain words."""
    text = name.strip().casefold().rstrip("/")
    publisher, slash, tail = text.rpartition("/")
    # "vit-b/16" has a slash inside; a hub path has a name behind it.
    text = tail if slash and re.search(r"[a-z]", tail) else publisher + tail if slash else text
    text = _TRAINED_ON.sub("", text.removesuffix(".gguf").removesuffix(".safetensors")).replace(":", "-")
    text, precision = _without_quantization(text)
    text = re.sub(r"(?<=\d)_(?=\d)", ".", text)
    text = re.sub(r"(?<=\d) +(?=[bm]\b)", "", text)
    text = re.sub(r"\bv(?=\d)", "v ", text)
    text = re.sub(r"\+(?![\w+])", " plus", text)  # "Command R+" is not Command R.
    return Spelling(tuple(_WORD.findall(text)), precision)


def _without_quantization(text: str) -> tuple[str, str | None]:
    found: str | None = None
    for pattern, precision in _QUANTIZATIONS:
        match = pattern.search(text)
        if match is None:
            continue
        found = found or _precision(precision, match)
        text = pattern.sub(" ", text)
    return text, found


def _precision(kind: str, match: re.Match[str]) -> str:
    if kind == "gguf-iq":
        return _IQ[match.group(1)]
    if kind == "gguf-k":
        return "q4_k_s" if match.groups() == ("4", "s") else _GGUF_K[match.group(1)]
    if kind == "gguf":
        return {"4": "q4_0", "5": "q5_k_m", "8": "q8_0"}[match.group(1)]
    return kind
