"""Real modules of transformers with random weights, by the dimensions of the catalogue: nothing is downloaded."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from clock import DEVICE


_MODELS = Path(__file__).resolve().parents[2] / "knowledge" / "models"
#: Configuration class by the beginning of a model's id; the first that fits.
_CLASSES = (
    ("qwen3-embedding", "Qwen3Config"),
    ("qwen3-30b-a3b", "Qwen3MoeConfig"),
    ("qwen3", "Qwen3Config"),
    ("qwen2.5", "Qwen2Config"),
    ("llama", "LlamaConfig"),
    ("smollm2", "LlamaConfig"),
    ("mistral", "MistralConfig"),
    ("phi-4", "Phi3Config"),
    ("gemma-2", "Gemma2Config"),
    ("pythia", "GPTNeoXConfig"),
    ("opt", "OPTConfig"),
    ("gpt2", "GPT2Config"),
    ("falcon", "FalconConfig"),
    ("bert", "BertConfig"),
    ("bge", "BertConfig"),
    ("roberta", "RobertaConfig"),
    ("modernbert", "ModernBertConfig"),
    ("flan-t5", "T5Config"),
    ("whisper", "WhisperConfig"),
)
_HEADS = {
    "causal": "AutoModelForCausalLM",
    "classifier": "AutoModelForSequenceClassification",
    "plain": "AutoModel",
    "translator": "AutoModelForSeq2SeqLM",
    "speech": "AutoModelForSpeechSeq2Seq",
}
_PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32, "fp16": torch.float16}
_LONG = 1 << 15


@cache
def _entries() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(_MODELS.iterdir()):
        text = path.read_text()
        for entry in (json.loads(text) if path.suffix == ".json" else yaml.safe_load(text))["models"]:
            found[entry["id"]] = entry
    return found


def entry_of(model: str) -> dict[str, Any]:
    """The catalogue's entry of a model."""
    return _entries()[model]


def config_of(model: str, layers: int | None = None) -> Any:
    """The configuration of a model, of fewer layers for a trial."""
    kind = next(kind for start, kind in _CLASSES if model.startswith(start))
    entry = entry_of(model)
    settings = _special(kind, entry, layers or entry.get("layers") or 0)
    if settings is None:
        settings = {
            "vocab_size": entry["vocab"],
            "hidden_size": entry["hidden"],
            "num_hidden_layers": layers or entry["layers"],
            "num_attention_heads": entry["heads"],
            "intermediate_size": entry["intermediate"],
            "max_position_embeddings": _LONG,
        }
        if kind not in {"BertConfig", "RobertaConfig", "ModernBertConfig", "GPTNeoXConfig"}:
            settings |= {"num_key_value_heads": entry.get("kv_heads") or entry["heads"]}
            settings |= {"tie_word_embeddings": bool(entry.get("tied_embeddings")), "pad_token_id": 0}
        if kind in {"Qwen3Config", "Qwen3MoeConfig", "Gemma2Config", "LlamaConfig", "MistralConfig"}:
            settings["head_dim"] = entry.get("head_dim") or entry["hidden"] // entry["heads"]
        if kind == "MistralConfig":
            settings["sliding_window"] = None
        if kind == "Qwen3MoeConfig":
            experts = ("experts", "experts_per_token", "expert_intermediate")
            number, chosen, width = (entry["moe"][name] for name in experts)
            settings |= {"num_experts": number, "num_experts_per_tok": chosen, "moe_intermediate_size": width}
    return getattr(transformers, kind)(**settings)


def _special(kind: str, entry: dict[str, Any], layers: int) -> dict[str, Any] | None:
    """Settings of configurations that name their dimensions in words of their own."""
    hidden, heads = entry.get("hidden"), entry.get("heads")
    if kind == "GPT2Config":
        return {"n_embd": hidden, "n_head": heads, "n_layer": layers, "n_positions": 2048}
    if kind == "OPTConfig":
        named = {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers}
        return {**named, "ffn_dim": entry["intermediate"], "word_embed_proj_dim": hidden}
    if kind == "FalconConfig":
        # Its file: one head of keys and values, attention and MLP side by side.
        named = {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers}
        return {**named, "vocab_size": 65024, "multi_query": True, "parallel_attn": True, "bias": False, "alibi": False}
    if kind == "T5Config":
        # google/flan-t5-xl: 24 layers on each side, gated.
        named = {"d_model": 2048, "d_ff": 5120, "d_kv": 64, "num_heads": 32, "feed_forward_proj": "gated-gelu"}
        return {**named, "num_layers": min(layers, 24), "vocab_size": 32128, "decoder_start_token_id": 0}
    if kind == "WhisperConfig":
        sides = {
            f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("layers", 32), ("ffn_dim", 5120))
        }
        if 0 < layers < 4:
            sides |= {"encoder_layers": layers, "decoder_layers": layers}
        heads = {f"{side}_attention_heads": 20 for side in ("encoder", "decoder")}
        return {**sides, **heads, "d_model": 1280, "num_mel_bins": 128, "vocab_size": 51866}
    return None


def model_of(model: str, head: str, weights: str = "bf16", layers: int | None = None) -> Any:
    """A model with random weights on the device, made there."""
    config = config_of(model, layers)
    with torch.device(DEVICE):
        return getattr(transformers, _HEADS[head]).from_config(config, dtype=_PRECISIONS[weights])


def quantised(model: Any, weights: str) -> Any:
    """Its matrices as bitsandbytes keeps them, but for the head: nf4 with nested scales, or int8."""
    import bitsandbytes  # noqa: PLC0415  (it begins to use the GPU)

    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if not isinstance(child, torch.nn.Linear) or "lm_head" in f"{name}.{child_name}":
                continue
            setattr(module, child_name, _quantised_matrix(child, weights, bitsandbytes.nn))
    # By these words PEFT and the Trainer know what they have.
    model.is_loaded_in_4bit, model.is_loaded_in_8bit = weights == "nf4", weights == "int8"
    return model


def _quantised_matrix(matrix: Any, weights: str, kinds: Any) -> Any:
    size = (matrix.in_features, matrix.out_features, matrix.bias is not None)
    if weights == "nf4":
        made = kinds.Linear4bit(
            *size, compute_dtype=torch.bfloat16, compress_statistics=True, quant_type="nf4", device="meta"
        )
        made.weight = kinds.Params4bit(matrix.weight.data, requires_grad=False, quant_type="nf4", module=made)
    else:
        made = kinds.Linear8bitLt(*size, has_fp16_weights=False, device="meta")
        made.weight = kinds.Int8Params(matrix.weight.data.half(), requires_grad=False, has_fp16_weights=False)
    if matrix.bias is not None:
        made.bias = matrix.bias
    matrix.weight.data = torch.empty(0)
    return made.to(DEVICE)
