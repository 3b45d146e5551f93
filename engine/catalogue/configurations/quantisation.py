"""How the weights of a configuration are stored, from the quantization block of any maker."""

from __future__ import annotations

import re
from collections.abc import Callable

from whichgpu.engine.catalogue.configurations.reader import ConfigReader


#: Formats whose own name stands as the method.
_AS_NAMED = frozenset({"fp8", "mxfp4", "nvfp4"})
_BITS = {4: "int4", 8: "int8"}
#: torchao names its kinds by weights last: Int8DynamicActivationInt4WeightConfig, int4_weight_only.
_TORCHAO = re.compile(r"(float8|int8|int4)_?weight")


def native_precision(reader: ConfigReader) -> str | None:
    """How the weights are stored, where that is not as their floats; None as well where it cannot be determined."""
    block = reader.nested("quantization_config")
    method = _method(block)
    if method not in _READ and block.word("quant_algo"):
        method = "modelopt"
    return _READ[method](block) if method in _READ else method if method in _AS_NAMED else None


def native_expert_precision(reader: ConfigReader) -> str | None:
    """How the experts are stored, where a configuration says so beside the rest (DeepSeek-V4: ``expert_dtype``).

    Four bits there are MXFP4 (vLLM models/deepseek_v4/quant_config.py, DeepseekV4FP8Config).
    """
    named = reader.word("expert_dtype") or reader.nested("quantization_config").word("expert_dtype")
    return "mxfp4" if named == "fp4" else None


def unread(reader: ConfigReader) -> str | None:
    """What to say of a block whose format cannot be determined."""
    block = reader.nested("quantization_config")
    if not block.content or native_precision(reader) is not None:
        return None
    named = _method(block) or "without quant_method"
    return f"the format of the quantization block ({named}) is not known: weights are taken to be of 16 bits"


def _method(block: ConfigReader) -> str:
    return block.word("quant_method").replace("_", "-")


def _bits(block: ConfigReader) -> str | None:
    return _BITS.get(block.maybe("bits", "w_bit") or 4)


def _of_gptq(block: ConfigReader) -> str | None:
    kind = _bits(block)
    return f"gptq-{kind}" if kind else None


def _of_awq(block: ConfigReader) -> str | None:
    kind = _bits(block)
    return "awq-int4" if kind == "int4" else kind


def _of_bitsandbytes(block: ConfigReader) -> str:
    if not block.flag("load_in_4bit", "_load_in_4bit", default=False):
        return "int8"
    if block.word("bnb_4bit_quant_type") == "fp4":
        return "fp4"
    return "nf4-dq" if block.flag("bnb_4bit_use_double_quant", default=False) else "nf4"


def _of_tensors(block: ConfigReader) -> str | None:
    group = next((group for group in block.nested("config_groups").groups()), None)
    weights = group.nested("weights") if group else block
    if weights.word("type") == "float" and weights.maybe("num_bits") == 8:
        return "fp8"
    return _of_words(block.word("format")) or _BITS.get(weights.maybe("num_bits") or 0)


def _of_torchao(block: ConfigReader) -> str | None:
    kind = block.word("quant_type") or block.nested("quant_type").nested("default").word("_type")
    found = _TORCHAO.search(kind.casefold())
    return _of_word(found.group(1)) if found else None


def _of_word(word: str) -> str | None:
    return "fp8" if word == "float8" else word if word in _BITS.values() else None


def _of_words(text: str) -> str | None:
    plain = text.casefold()
    return next((name for name in ("nvfp4", "mxfp4", "fp8") if name in plain), None)


_READ: dict[str, Callable[[ConfigReader], str | None]] = {
    "awq": _of_awq,
    "gptq": _of_gptq,
    "auto-round": _bits,
    "intel/auto-round": _bits,
    "bitsandbytes": _of_bitsandbytes,
    "modelopt": lambda block: _of_words(block.word("quant_algo")),
    "compressed-tensors": _of_tensors,
    "quanto": lambda block: _of_word(block.word("weights") or "int8"),
    "eetq": lambda _: "int8",
    "hqq": lambda block: _BITS.get(block.nested("quant_config").nested("weight_quant_params").maybe("nbits") or 0),
    "torchao": _of_torchao,
    "fbgemm-fp8": lambda _: "fp8",
}
