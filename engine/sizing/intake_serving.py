"""What of a job only serving asks: lengths, requests at a time, engine; and the format of the weights."""

from __future__ import annotations

import math
from typing import Any

from whichgpu.engine.catalogue import Family, ModelSpec
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.constants_of_training import Framework
from whichgpu.engine.sizing.fact_reader import FactReader
from whichgpu.engine.sizing.job import Kind
from whichgpu.engine.sizing.recognisers import FASTER_WHISPER, WHISPER
from whichgpu.engine.sizing.versions import older


#: Ways of serving in which somebody waits.
_WAITED_FOR = frozenset(("interactive", "realtime"))
_ENCODER_TOKENS = 512  # What BERT and the like read at most.
#: Steps of lengths of texts from one power of two to the next, six percent each; as the series R40 has them.
_STEPS = 12
#: Bytes a parameter up to which a format counts as quantised: 8 bits with their scales.
_NARROW = 1.1


def serving_of(reader: FactReader, kind: Kind, family: Family, model: ModelSpec | None) -> dict[str, Any]:
    """The fields of a job that serving reads; training takes their defaults."""
    context, asked, output, concurrency, engine = _lengths(reader, kind, family, model)
    precision = _weight_precision(reader, kind, model)
    return {
        "weight_precision": precision,
        "kv_precision": _kv_precision(reader),
        "expert_precision": _expert_precision(reader, kind, model, precision, engine),
        "beams": reader.whole("beams") or None,
        "text_encoder_precision": reader.text("text_encoder_precision"),
        "encoders_cached": reader.flag("encoders_cached"),
        "sliced_decoding": bool(reader.flag("sliced_decoding")),
        "pytorch_version": reader.text("pytorch_version"),
        "fuses_modules": bool(reader.flag("fuses_modules")),
        "context_tokens": context,
        "input_tokens": asked,
        "output_tokens": output,
        "concurrency": concurrency,
        "requests_total": reader.number("requests_total") if kind == "inference" else None,
        "models_served": max(1, reader.whole("num_models_served") or 1),
        "engine": engine,
        "engine_version": reader.text("serving_engine_version"),
        "engine_stated": kind == "inference" and reader.known("serving_engine"),
        "prefix_share": (reader.number("prefix_cache_hit_pct") or 0.0) / 100.0,
        "draft_tokens": reader.whole("draft_tokens") or 0,
        "draft_acceptance": _draft_acceptance(reader),
        "lookups": reader.whole("embedding_lookups") or 0,
        "lookup_width": _lookup_width(reader),
    }


def _why_wide(reader: FactReader, defaults: Framework | None) -> str | None:
    """Why a base of adapters lies in 32 bits where it is not stated in what; None where it does not."""
    if not reader.known("compute_precision"):
        return defaults.source if defaults and defaults.loads_32bit else None
    wide = reader.text("compute_precision") == "fp32"
    return "arithmetic in 32 bits without autocast needs a base in 32 bits" if wide else None


def _weight_precision(reader: FactReader, kind: Kind, model: ModelSpec | None) -> str:
    stated = reader.text("weight_precision")
    formats = sizing_constants().weights
    if stated not in formats:
        stated = None
    if kind == "qlora":
        narrow = stated is not None and reader.known("weight_precision") and formats[stated].body <= _NARROW
        return stated if stated is not None and narrow and stated != "int4" else "nf4-dq"
    if kind == "lora" and stated == "mxfp4":
        # No library learns over experts in this format: it is unpacked while the model is loaded.
        return reader.assume(
            "weight_precision", "bf16", "transformers Mxfp4Config(dequantize=True), as its guides train"
        )
    if stated is not None and reader.known("weight_precision"):
        return stated
    defaults = sizing_constants().training.frameworks.get(reader.text("training_framework") or "")
    wide = kind == "lora" and _why_wide(reader, defaults)
    if wide:
        return reader.assume("weight_precision", "fp32", wide)
    native = model.native_precision if model else None
    if kind == "inference" and native in formats:
        return reader.assume("weight_precision", native, "the precision in which the model was published")
    return (
        "bf16"
        if kind in {"full", "pretraining"}
        else stated or reader.assume("weight_precision", "bf16", "sixteen bits is how most models are published")
    )


def _kv_precision(reader: FactReader) -> str:
    stated = reader.text("kv_cache_precision")
    return stated if stated in sizing_constants().kv_cache else "fp16"


def _lengths(reader: FactReader, kind: Kind, family: Family, model: ModelSpec | None) -> tuple[int, int, int, int, str]:
    """Context, input, output, concurrency, engine."""
    given_in, given_out = reader.whole("input_tokens"), reader.whole("output_tokens")
    context = reader.whole("context_tokens")
    if not reader.known("context_tokens"):
        if given_in is not None or given_out is not None:
            context = (given_in or 0) + (given_out or 0)
        elif kind == "inference" and reader.whole("seq_len_tokens"):
            context = reader.whole("seq_len_tokens")
    if not context:
        context = reader.default("context_tokens") if kind == "inference" and family == "llm" else 512
    if family == "encoder" and not reader.known("context_tokens"):
        context = min(context, _ENCODER_TOKENS, (model.max_context if model else None) or _ENCODER_TOKENS)
    output = given_out if given_out is not None else max(1, context - given_in) if given_in else None
    known = reader.known("context_tokens") or given_out is None
    filled = _to_a_step(context) if kind == "inference" and family == "llm" and known else context
    if output is None:
        output = min(512, max(1, filled // 4))
    asked = given_in if given_in is not None else max(1, filled - output)
    concurrency = reader.whole("concurrency")
    if not reader.known("concurrency") and kind == "inference" and reader.whole("batch_size_per_gpu"):
        concurrency = reader.whole("batch_size_per_gpu")
    if not concurrency:
        concurrency = reader.default("concurrency") if kind == "inference" else 1
    return max(1, context), asked, output, max(1, concurrency), _engine(reader, kind, family, model)


def _to_a_step(tokens: int) -> int:
    """A length of texts as it is known where the length of prompts is not stated: to the nearest step.

    Prompts that fill what a context leaves them are an assumption. Two percent more context are no other requests, and
    would be on the other side of some edge of time.
    """
    return round(2.0 ** (round(_STEPS * math.log2(tokens)) / _STEPS)) if tokens > 0 else tokens


def _engine(reader: FactReader, kind: Kind, family: Family, model: ModelSpec | None) -> str:
    stated = reader.text("serving_engine")
    if stated in sizing_constants().engines or (family == "speech" and stated in {WHISPER, FASTER_WHISPER}):
        return stated
    if kind != "inference":
        return "transformers"
    if family != "llm":
        return _engine_of_networks(reader, family, model)
    if model is not None and model.kind == "encoder_decoder":
        several = reader.known("peak_qps") or (reader.number("concurrency") or 0) > 1
        batched = "tgi", "a server that batches requests as they come, and runs T5 and its kin; TensorRT-LLM is another"
        single = "transformers", "one request at a time asks for no server of batches"
        return reader.assume("serving_engine", *(batched if several else single))
    weights = reader.text("weight_precision") or ""
    if weights.startswith(("q", "iq")):
        return reader.assume("serving_engine", "llama.cpp", "GGUF weights are served by llama.cpp")
    return reader.assume("serving_engine", "vllm", "the most used open serving engine")


def _engine_of_networks(reader: FactReader, family: Family, model: ModelSpec | None) -> str:
    """What serves no language model, where it is not stated."""
    if family != "speech":
        return "diffusers" if family.startswith("diffusion") else "transformers"
    if model is None or model.decoder_layers:
        if reader.known("latency_slo_ms") or reader.text("serving_mode") in _WAITED_FOR:
            because = "where somebody waits for the text, a server of language models, which starts its steps as graphs"
            return reader.assume("serving_engine", "vllm", because)
        return reader.assume("serving_engine", FASTER_WHISPER, "the open program that most people run Whisper with")
    return reader.assume("serving_engine", "transformers", "it runs recognisers that write no text token by token")


def _expert_precision(
    reader: FactReader, kind: Kind, model: ModelSpec | None, precision: str, engine: str
) -> str | None:
    """As stated or published; 16 bits where a quantiser of linear layers leaves a table of experts; None: as the rest.

    They are one from a release of transformers on, of some models in every release; a framework that trains through it
    follows.
    """
    stated = reader.text("expert_precision")
    fused = sizing_constants().fused_experts
    if stated is not None or model is None:
        return stated
    if kind == "inference" and precision == model.native_precision and model.native_expert_precision:
        published = model.native_expert_precision
        return reader.assume("expert_precision", published, "the format in which the model's experts were published")
    if model.moe is None or precision not in fused.formats:
        return None
    if kind == "inference":
        version, skips = reader.text("serving_engine_version"), engine == "transformers"
    else:
        defaults = sizing_constants().training.frameworks.get(reader.text("training_framework") or "")
        version = reader.text("transformers_version")
        skips = defaults is not None and defaults.quantizes_experts is False
    skipped = skips and (model.moe.one_table or not older(version, fused.since))
    return reader.assume("expert_precision", "bf16", fused.source) if skipped else None


def _draft_acceptance(reader: FactReader) -> float:
    """How likely a drafted token is accepted; the usual chance where drafts are stated without one."""
    stated = reader.number("draft_acceptance_pct")
    if stated is None:
        stated = reader.default("draft_acceptance_pct") if reader.whole("draft_tokens") else 0
    return stated / 100.0


def _lookup_width(reader: FactReader) -> int:
    """Numbers of a looked-up vector; the usual ones where look-ups are stated without them."""
    if not reader.whole("embedding_lookups"):
        return 0
    return reader.whole("embedding_width") or reader.default("embedding_width")
