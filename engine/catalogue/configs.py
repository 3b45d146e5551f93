"""A model from the ``config.json`` that comes with its weights."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from whichgpu.engine.catalogue.config_reader import ConfigReader, layer_kinds
from whichgpu.engine.catalogue.model import Mla, ModelKind, ModelSpec, Moe
from whichgpu.engine.catalogue.parameters import parameter_count
from whichgpu.engine.core import InputError, Place, Problem


_MOST_BYTES = 5_000_000
#: Where models that read images or sound keep the language model's part.
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder_config")
_SHARED = ("tie_word_embeddings", "quantization_config", "vocab_size")

#: Series that are built alike in what their configurations leave out.
_FALCONS = frozenset(("RefinedWeb", "RefinedWebModel", "falcon"))
_BERTS = frozenset(("bert", "distilbert", "roberta", "xlm-roberta"))
_GPTS = frozenset(("bloom", "gpt2", "gpt_bigcode", "opt", "starcoder2"))
_UNTIED = frozenset(("codegen", "electra", "gpt_neox", "gptj", "phi"))
_GEMMAS = frozenset(("gemma", "gemma2", "gemma3", "gemma3_text"))

_NOT_GATED = _FALCONS | _BERTS | _GPTS | _UNTIED | {"gpt_neo", "mbart", "mpt", "nemotron", "nomic_bert", "whisper"}
_ALL_BIAS = _BERTS | _GPTS | _UNTIED | {"gpt_oss"}
_QKV_BIAS = frozenset(("qwen", "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "glm", "glm4_moe", "chatglm"))
_TIED = _FALCONS | _BERTS | _GPTS | _GEMMAS | {"cohere", "cohere2", "mpt", "t5"}
_LEARNED_POSITIONS = {"gpt2": 0, "gpt_bigcode": 0, "opt": 2, "bert": 2, "roberta": 1, "xlm-roberta": 1, "electra": 2}
_ENCODERS = _BERTS | {"electra", "nomic_bert", "modernbert"}
_ENCODER_DECODERS = frozenset(("t5", "mt5", "umt5", "bart", "mbart", "pegasus"))
_NO_LANGUAGE_MODEL = frozenset(("vit", "clip", "resnet", "swin", "detr", "wav2vec2", "unet", "convnext", "segformer"))


def model_from_config(source: Path | str | Mapping[str, Any]) -> ModelSpec:
    """Read a Hugging Face ``config.json``.

    Args:
        source: a path to the file or to the folder that holds it, or its content.

    Returns:
        The model, with its parameters counted from its dimensions where the layout is covered.

    Raises:
        InputError: the file is not there, not JSON, not a language model's, or lacks a key; all of it at once.
    """
    name, content, text = _content(source)
    kind = str(content.get("model_type") or "")
    if kind in _NO_LANGUAGE_MODEL:
        raise InputError(Problem("not-a-language-model", f"{name} describes a {kind} model, not a language model"))
    nested = next((content[key] for key in _NESTED if isinstance(content.get(key), Mapping)), None)
    # Some keys nested configurations leave to the outer one.
    shared = {key: content[key] for key in _SHARED if key in content}
    reader = ConfigReader(content if nested is None else {**shared, **nested}, name, text)
    spec = _spec(reader, _identity(content, name), multimodal=nested is not None)
    reader.finish()
    count = parameter_count(spec)
    if count is None:
        return spec
    active = round(count.active / 1e9, 9) if spec.moe else None
    return replace(spec, params_b=round(count.total / 1e9, 9), active_params_b=active)


def _content(source: Path | str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any], str]:
    if isinstance(source, Mapping):
        return "config.json", source, ""
    path = Path(source)
    path = path / "config.json" if path.is_dir() else path
    try:
        raw = path.read_bytes()
        text = raw[:_MOST_BYTES].decode("utf-8-sig")
        content = json.loads(text)
    except FileNotFoundError:
        raise InputError(Problem("file-missing", f"there is no file {path}", fix="check the path")) from None
    except OSError as error:
        raise InputError(Problem("file-unreadable", f"{path} cannot be read: {error.strerror or error}")) from None
    except json.JSONDecodeError as error:
        place = Place(str(path), error.lineno, error.colno, 1, text.splitlines()[error.lineno - 1] if text else "")
        raise InputError(Problem("not-json", f"{path} is not JSON: {error.msg}", place)) from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError(Problem("not-json", f"{path} is not JSON text")) from None
    if not isinstance(content, Mapping):
        raise InputError(Problem("not-a-config", f"{path} holds no mapping of keys", fix="name a config.json"))
    return str(path), content, text


def _identity(content: Mapping[str, Any], name: str) -> str:
    named = content.get("_name_or_path")
    path = Path(name)
    if isinstance(named, str) and named.strip("./ "):
        stem = named
    elif path.name != "config.json":
        stem = path.stem
    else:
        stem = path.parent.name or str(content.get("model_type") or "model")
    return re.sub(r"[^a-z0-9.]+", "-", stem.rsplit("/", 1)[-1].casefold()).strip("-") or "model"


def _spec(reader: ConfigReader, identity: str, *, multimodal: bool) -> ModelSpec:
    kind = reader.word("model_type")
    layers = reader.count("num_hidden_layers", "n_layers", "n_layer", "num_layers", "num_decoder_layers")
    hidden = reader.count("hidden_size", "d_model", "n_embd", "dim")
    heads = reader.count("num_attention_heads", "n_heads", "n_head", "num_heads")
    vocab = reader.count("vocab_size", "padded_vocab_size", "n_vocab")
    mla = _mla(reader)
    kv_heads = _kv_heads(reader, kind, heads)
    spread = layer_kinds(reader, kind, layers)
    qkv_keys = ("attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias")
    has_qkv_bias = reader.flag(*qkv_keys, default=kind in _QKV_BIAS)
    return ModelSpec(
        id=identity,
        name=identity,
        kind=_model_kind(reader, kind, multimodal=multimodal),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=_head_dim(reader, hidden, heads, has_mla=mla is not None),
        intermediate=_intermediate(reader, kind, hidden),
        vocab=vocab,
        max_context=reader.maybe("max_position_embeddings", "max_seq_len", "n_positions", "n_ctx", "seq_length"),
        gated_mlp=_gated(reader, kind),
        tied_embeddings=reader.flag("tie_word_embeddings", default=kind in _TIED),
        bias="all" if kind in _ALL_BIAS else "qkv" if has_qkv_bias else "none",
        learned_positions=_learned_positions(reader, kind),
        decoder_layers=reader.maybe("num_decoder_layers", "decoder_layers")
        or (layers if kind in _ENCODER_DECODERS else None),
        sliding_window=spread.window,
        full_attention_layers=spread.full,
        sliding_layers=spread.sliding,
        linear_layers=spread.linear,
        moe=_moe(reader),
        mla=mla,
        native_precision=_native_precision(reader),
        dims_partial=spread.unclear,
        sources=("config.json",),
    )


def _model_kind(reader: ConfigReader, kind: str, *, multimodal: bool) -> ModelKind:
    if kind in _ENCODER_DECODERS or reader.flag("is_encoder_decoder", default=False):
        return "encoder_decoder"
    if kind in _ENCODERS:
        return "encoder"
    return "multimodal" if multimodal else "llm"


def _kv_heads(reader: ConfigReader, kind: str, heads: int | None) -> int | None:
    stated = reader.maybe("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "n_kv_heads")
    stated = stated or reader.nested("attn_config").maybe("kv_n_heads")
    new_falcon = reader.flag("new_decoder_architecture", default=False)
    if kind in _FALCONS and not new_falcon:
        return 1 if reader.flag("multi_query", default=True) else heads
    if kind == "gpt_bigcode" and reader.flag("multi_query", default=True):
        return 1
    return stated or heads


def _head_dim(reader: ConfigReader, hidden: int | None, heads: int | None, *, has_mla: bool) -> int | None:
    stated = reader.maybe("head_dim", "kv_channels", "attention_head_dim", "d_kv")
    if has_mla:
        return None
    return stated or (hidden // heads if hidden and heads else None)


def _intermediate(reader: ConfigReader, kind: str, hidden: int | None) -> int | None:
    stated = reader.maybe("intermediate_size", "ffn_hidden_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_dim")
    if stated is not None:
        # Qwen 1 states the width of both gates together.
        return stated // 2 if kind == "qwen" else stated
    nested = reader.nested("ffn_config").maybe("ffn_hidden_size")
    if nested is not None:
        return nested
    ratio = reader.maybe("expansion_ratio") or 4
    if kind in _NOT_GATED and hidden:
        return ratio * hidden
    if reader.maybe("moe_intermediate_size") is None:
        reader.required("intermediate_size")
    return None


def _gated(reader: ConfigReader, kind: str) -> bool:
    projection = reader.word("feed_forward_proj")
    if projection:
        return projection.startswith("gated")
    return kind not in _NOT_GATED and kind not in _ENCODER_DECODERS


def _learned_positions(reader: ConfigReader, kind: str) -> int | None:
    if kind not in _LEARNED_POSITIONS:
        return None
    rows = reader.maybe("max_position_embeddings", "n_positions", "n_ctx")
    return rows + _LEARNED_POSITIONS[kind] if rows else None


def _mla(reader: ConfigReader) -> Mla | None:
    rank = reader.maybe("kv_lora_rank")
    if rank is None:
        return None
    return Mla(
        kv_lora_rank=rank,
        qk_rope_head_dim=reader.count("qk_rope_head_dim") or 0,
        q_lora_rank=reader.maybe("q_lora_rank"),
        qk_nope_head_dim=reader.count("qk_nope_head_dim"),
        v_head_dim=reader.count("v_head_dim"),
    )


def _moe(reader: ConfigReader) -> Moe | None:
    inner = reader.nested("ffn_config")
    experts = reader.maybe("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts")
    experts = experts or inner.maybe("moe_num_experts")
    if not experts or experts == 1:
        return None
    per_token = reader.maybe(
        "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "experts_per_token"
    )
    per_token = per_token or inner.maybe("moe_top_k")
    width = reader.maybe("moe_intermediate_size", "expert_ffn_hidden_size") or inner.maybe("ffn_hidden_size")
    width = width or reader.maybe("intermediate_size")
    shared = reader.maybe("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
    if shared is None and width:
        shared = (reader.maybe("n_shared_experts", "num_shared_experts") or 0) * width or None
    if reader.word("model_type") == "llama4_text":
        shared = width
    if per_token is None:
        reader.required("num_experts_per_tok")
    return Moe(
        experts=experts,
        experts_per_token=per_token or 1,
        expert_intermediate=width,
        shared_intermediate=shared,
        first_dense_layers=reader.maybe("first_k_dense_replace", "moe_layer_start_index") or 0,
        every=reader.maybe("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_freq") or 1,
    )


def _native_precision(reader: ConfigReader) -> str | None:
    quantization = reader.nested("quantization_config")
    method = quantization.word("quant_method")
    if not method:
        return None
    bits = quantization.maybe("bits", "w_bit")
    if method in {"awq", "gptq"}:
        return f"{method}-int{bits or 4}"
    if method == "bitsandbytes":
        return "nf4" if quantization.flag("load_in_4bit", default=False) else "int8"
    return method if method in {"fp8", "mxfp4", "nvfp4"} else None
