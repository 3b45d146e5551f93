"""Parameters of real modules, made without content: what the reader of configurations is held against.

Usage: python benchmarks/lab/counted.py --write

Counts the modules of transformers for the published configurations in ``model_configs.jsonl`` (key ``modules_b``) of
``tests/engine/catalogue/configurations``, and for the configuration that each class of transformers makes by itself,
whose models nobody chose for these tests (``module_defaults.jsonl``); likewise the denoising transformers of diffusers
(``denoiser_defaults.jsonl``).
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


ROOM = Path(__file__).parents[2] / "tests" / "engine" / "catalogue" / "configurations"
#: Kinds that also fill gaps, and are used for what they write.
_MORE_THAN_MASKED = frozenset(("bart", "mbart", "mvp"))
#: A model is made as the first of these that knows its kind; encoders without the layer that names hidden words.
_HEADS = (
    (modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES.keys() - _MORE_THAN_MASKED, transformers.AutoModel),
    (modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES, transformers.AutoModelForImageTextToText),
    (modeling_auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES, transformers.AutoModelForSpeechSeq2Seq),
    (modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, transformers.AutoModelForSeq2SeqLM),
    (modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, transformers.AutoModelForCausalLM),
    (
        modeling_auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        transformers.AutoModelForZeroShotImageClassification,
    ),
    (modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, transformers.AutoModelForImageClassification),
    (modeling_auto.MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES, transformers.AutoModelForVideoClassification),
    (modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES, transformers.AutoModelForObjectDetection),
    (
        modeling_auto.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES,
        transformers.AutoModelForZeroShotObjectDetection,
    ),
    (modeling_auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES, transformers.AutoModelForDepthEstimation),
    (modeling_auto.MODEL_FOR_MASK_GENERATION_MAPPING_NAMES, transformers.AutoModelForMaskGeneration),
    (modeling_auto.MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING_NAMES, transformers.AutoModelForUniversalSegmentation),
    (modeling_auto.MODEL_FOR_CTC_MAPPING_NAMES, transformers.AutoModelForCTC),
    (modeling_auto.MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES, transformers.AutoModelForTextToWaveform),
    (modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES, transformers.AutoModel),
)
_LABELLED = (
    modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES
    | modeling_auto.MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES
)
#: Keys of a configuration that say nothing of dimensions.
_IDLE = frozenset(
    (
        *("transformers_version", "architectures", "output_hidden_states", "output_attentions", "return_dict", "dtype"),
        *("chunk_size_feed_forward", "id2label", "label2id", "problem_type", "initializer_range", "use_cache"),
        *("pad_token_id", "bos_token_id", "eos_token_id", "_name_or_path", "rope_parameters"),
    )
)


def main() -> int:
    """Count, and write with --write."""
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    path = ROOM / "model_configs.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        plain = {key: value for key, value in row["config"].items() if key != "quantization_config"}
        kind = plain.get("model_type")
        size = counted(CONFIG_MAPPING[kind].from_dict(plain)) if kind in CONFIG_MAPPING else None
        if size:
            row["modules_b"] = size
    defaults = [row for kind in sorted(CONFIG_MAPPING) if (row := default_row(kind))]
    print(f"{sum('modules_b' in row for row in rows)} of {len(rows)} configurations, {len(defaults)} classes")
    if "--write" in sys.argv:
        _write(path, rows)
        _write(ROOM / "module_defaults.jsonl", defaults)
        _write(
            ROOM / "denoiser_defaults.jsonl", [row for name in sorted(dir(diffusers)) if (row := denoiser_row(name))]
        )
    return 0


def counted(config: Any) -> float | None:
    """Parameters of a configuration's module, in thousand millions; None where transformers makes none of it."""
    auto = next((auto for names, auto in _HEADS if config.model_type in names), None)
    if auto is None:
        return None
    try:
        with torch.device("meta"):
            module = auto.from_config(config)
    except Exception as refused:  # noqa: BLE001  # Classes of many authors: what cannot be made is left out, and named.
        print(f"{config.model_type}: {type(refused).__name__}: {str(refused)[:80]}")
        return None
    return round(sum({id(part): part.numel() for part in module.parameters()}.values()) / 1e9, 9)


def default_row(kind: str) -> dict[str, Any] | None:
    """The configuration that a class makes by itself, with the size of its model."""
    if not any(kind in names for names, _ in _HEADS):
        return None
    try:
        config = CONFIG_MAPPING[kind]()
        fields = _fields(config.to_dict())
        if kind in _LABELLED:  # Their last layer is as wide.
            fields["id2label"] = config.id2label
        json.dumps(fields)
    except Exception as refused:  # noqa: BLE001  # As in counted.
        print(f"{kind}: {type(refused).__name__}: {str(refused)[:80]}")
        return None
    size = counted(config)
    return {"kind": kind, "modules_b": size, "config": fields} if size else None


def denoiser_row(name: str) -> dict[str, Any] | None:
    """The configuration that a class of denoising transformers makes by itself, with its size."""
    if not re.fullmatch(r".*(Transformer[123]DModel|TransformerModel|DiTModel)|UNet2DConditionModel", name):
        return None
    try:
        with torch.device("meta"):
            module = getattr(diffusers, name)()
        fields = {key: value for key, value in dict(module.config).items() if not key.startswith("_")}
        json.dumps(fields)
    except Exception as refused:  # noqa: BLE001  # As in counted.
        print(f"{name}: {type(refused).__name__}: {str(refused)[:80]}")
        return None
    size = round(sum(part.numel() for part in module.parameters()) / 1e9, 9)
    return {"modules_b": size, "config": {"_class_name": name, **{k: v for k, v in fields.items() if v is not None}}}


def _fields(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration without keys that say nothing of dimensions."""
    kept = {key: value for key, value in config.items() if key not in _IDLE and not _says_nothing(key, value)}
    return {key: _fields(value) if isinstance(value, dict) else value for key, value in kept.items()}


def _says_nothing(key: str, value: Any) -> bool:
    """Rates and places of words; of numbers with a fraction only ratios of widths matter."""
    fraction = isinstance(value, float) and not any(word in key for word in ("ratio", "mult", "factor", "expan"))
    return value is None or fraction or key.endswith(("_token_id", "_token_index", "_dropout"))


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
