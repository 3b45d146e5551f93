"""A model from the configuration that comes with its weights: a ``config.json``, its folder, or a pipeline's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from whichgpu.engine.catalogue.config_names import PREFIX
from whichgpu.engine.catalogue.configurations.audio_tokens import SPEAKERS, audio_spec, with_audio_tokens
from whichgpu.engine.catalogue.configurations.class_defaults import completed
from whichgpu.engine.catalogue.configurations.detectors import DETECTORS, detector_spec
from whichgpu.engine.catalogue.configurations.image_to_text import IMAGE_TO_TEXT, image_to_text_spec
from whichgpu.engine.catalogue.configurations.kinds import UNSTATED
from whichgpu.engine.catalogue.configurations.pipeline import pipeline_spec
from whichgpu.engine.catalogue.configurations.reader import ConfigReader
from whichgpu.engine.catalogue.configurations.speech import CONFORMERS, WAVES, WHISPERS, conformer_spec, speech_spec
from whichgpu.engine.catalogue.configurations.text import text_spec
from whichgpu.engine.catalogue.configurations.vision import VISION, network_of_size, vision_spec
from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.catalogue.weights import Weights, weights_in
from whichgpu.engine.core import InputError, Place, Problem, unreadable


_MOST_BYTES = 5_000_000
_GIB = 2**30
#: Where models that read images or sound keep the language model's part.
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder_config", "llm")
_SHARED = ("tie_word_embeddings", "quantization_config", "vocab_size")
_NO_LANGUAGE_MODEL = frozenset(("unet",))
#: Only image networks have these beside no words.
_PICTURES = frozenset(("depths", "image_size", "num_channels"))
#: What reads a configuration as a whole, by its kind. Others hold a language model, alone or with encoders.
_READERS: tuple[tuple[frozenset[str], Callable[[ConfigReader, str], ModelSpec]], ...] = (
    (WHISPERS | WAVES, speech_spec),
    (CONFORMERS, conformer_spec),
    (VISION, vision_spec),
    (DETECTORS, detector_spec),
    (IMAGE_TO_TEXT, image_to_text_spec),
    (SPEAKERS, audio_spec),
)
_INDEXES = ("model.safetensors.index.json", "diffusion_pytorch_model.safetensors.index.json")


def model_from_config(source: Path | str | Mapping[str, Any]) -> ModelSpec:
    """Read a Hugging Face ``config.json`` or the folder of a diffusion pipeline.

    Args:
        source: a path to the file or to the folder that holds it, ``hf:ORG/NAME``, or its content. Beside a file, the
            index of its weights gives the bytes that they take.

    Returns:
        The model, with its parameters counted from its dimensions where the layout is covered; its notes say what was
        assumed.

    Raises:
        InputError: the file is not there, not JSON, not a model's that is known, or lacks a key; all of it at once.
    """
    path = None if isinstance(source, Mapping) else _local(source)
    if path is not None and (path.name == "model_index.json" or (path / "model_index.json").is_file()):
        return pipeline_spec(path if path.is_dir() else path.parent, read_config)
    name, content, text = _content(source if path is None else path)
    folder = None if path is None else path if path.is_dir() else path.parent
    weights = weights_in(folder) if folder else None
    spec = _spec(name, content, text, weights)
    if folder is None:
        return spec
    spec = _with_files(spec, folder, weights)
    return replace(spec, id=identity_of(str(source)), name=str(source)) if str(source).startswith(PREFIX) else spec


def _local(source: Path | str) -> Path:
    if not str(source).startswith(PREFIX):
        return Path(source)
    from whichgpu.engine.catalogue.hub import hub_folder  # noqa: PLC0415  # Where the hub is asked for alone.

    return hub_folder(str(source))


def _spec(name: str, content: Mapping[str, Any], text: str, weights: Weights | None) -> ModelSpec:
    kind = str(content.get("model_type") or "")
    content = {**UNSTATED[kind], **content} if kind in UNSTATED else content
    stated, content = content, completed(content)
    outer = ConfigReader(content, name, text)
    read = next((read for kinds, read in _READERS if kind in kinds), None)
    if read is not None:
        return read(outer, _identity(content, name))
    if "_class_name" in content:
        message = f"{name} describes one part of a pipeline, a {content['_class_name']}"
        raise InputError(Problem("part-of-a-pipeline", message, fix="name the folder with its model_index.json"))
    if kind in _NO_LANGUAGE_MODEL or (_PICTURES & content.keys() and not _names_words(content)):
        if weights is not None and weights.parameters:
            return network_of_size(outer, _identity(content, name), weights.parameters)
        message = f"{name} describes a vision network ({kind}), which is not read from its configuration"
        fix = "name a model of the catalogue (`whichgpu models`) or a folder with weights too, or state param_count_b"
        raise InputError(Problem("unread-network", message, fix=fix))
    if kind == "t5gemma":
        content = _halves_joined(content)
    nested = _language_part(content)
    inner = content
    if nested is not None:  # Some keys it leaves to the outer one, before what its class takes.
        shared = {key: content[key] for key in _SHARED if key in content}
        inner = {**nested, **shared, **(_language_part(stated) or {})}
    seeing = outer.nested("thinker_config") if "thinker_config" in content else outer
    spec = text_spec(ConfigReader(inner, name, text), _identity(content, name), seeing)
    return with_audio_tokens(spec, outer)


def _language_part(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The configuration of the language model inside another; None where it is that of the whole."""
    parts = (content.get(key) for key in _NESTED)
    nested: Mapping[str, Any] | None = next((part for part in parts if isinstance(part, Mapping)), None)
    if nested is None:
        return None
    # Qwen-Omni: the language model stands one level deeper.
    deeper = (nested.get(key) for key in _NESTED)
    return next((part for part in deeper if isinstance(part, Mapping)), nested)


def _halves_joined(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """T5Gemma states each half alone; halves of one width are read as the encoder-decoders that state both at once."""
    halves = [content.get(key) for key in ("encoder", "decoder")]
    reading, writing = (half if isinstance(half, Mapping) else {} for half in halves)
    if not writing or any(reading.get(key) != writing.get(key) for key in ("hidden_size", "intermediate_size")):
        return content
    layers = {"num_hidden_layers": reading.get("num_hidden_layers"), "decoder_layers": writing.get("num_hidden_layers")}
    return {**content, **writing, **layers, "is_encoder_decoder": True, "model_type": "t5gemma"}


def _names_words(content: Mapping[str, Any]) -> bool:
    """Whether a configuration, or one inside it, has a vocabulary."""
    inner = [value for value in content.values() if isinstance(value, Mapping)]
    return any("vocab" in key for part in (content, *inner) for key in part) or any(map(_names_words, inner))


def read_config(path: Path) -> ConfigReader:
    """A reader of a JSON file. Raises InputError as ``model_from_config``."""
    return ConfigReader(*_swapped(_content(path)))


def _swapped(found: tuple[str, Mapping[str, Any], str]) -> tuple[Mapping[str, Any], str, str]:
    name, content, text = found
    return content, name, text


def _with_files(spec: ModelSpec, folder: Path, weights: Weights | None) -> ModelSpec:
    """What lies beside the configuration: the bytes of the weights, and how their maker quantized them."""
    index = next((folder / name for name in _INDEXES if (folder / name).is_file()), None)
    total = read_config(index).nested("metadata").maybe("total_size") if index is not None else None
    total = total or (weights.size_bytes if weights else None)
    if total:
        spec = replace(spec, published_file_gib=round(total / _GIB, 3))
    if weights is not None and weights.parameters:
        spec = _with_parameters(spec, weights.parameters)
    quantized = folder / "hf_quant_config.json"
    if spec.native_precision is None and quantized.is_file():
        algorithm = read_config(quantized).nested("quantization").word("quant_algo").casefold()
        spec = replace(spec, native_precision=next((name for name in ("nvfp4", "fp8") if name in algorithm), None))
    return spec


def _with_parameters(spec: ModelSpec, parameters: int) -> ModelSpec:
    """A model of a kind that is not known with as many parameters as its weights have.

    Of a kind that is known the count from its dimensions stands: files may also hold buffers, or layers for drafts.
    """
    if spec.params_b is not None and not spec.notes:
        return spec
    size = round(parameters / 1e9, 9)
    active = min(size, spec.active_params_b) if spec.active_params_b else None
    counted = f"{size:.4g} B parameters are counted in its weights"
    return replace(spec, params_b=size, active_params_b=active, components_b={}, notes=(*spec.notes, counted))


def _content(source: Path | str | Mapping[str, Any]) -> tuple[str, Mapping[str, Any], str]:
    if isinstance(source, Mapping):
        return "config.json", source, ""
    path = Path(source)
    path = path / "config.json" if path.is_dir() else path
    try:
        raw = path.read_bytes()
        text = raw[:_MOST_BYTES].decode("utf-8-sig")
        content = json.loads(text)
    except OSError as error:
        raise InputError(unreadable(path, error)) from None
    except json.JSONDecodeError as error:
        place = Place(str(path), error.lineno, error.colno, 1, text.splitlines()[error.lineno - 1] if text else "")
        raise InputError(Problem("not-json", f"{path} is not JSON: {error.msg}", place)) from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError(Problem("not-json", f"{path} is not JSON text", fix="name a config.json")) from None
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
    return identity_of(stem)


def identity_of(stem: str) -> str:
    """An id from a name or path: its last part in lower case, with dashes."""
    last = stem.rsplit("/", 1)[-1].split("@", maxsplit=1)[0]
    return re.sub(r"[^a-z0-9.]+", "-", last.casefold()).strip("-") or "model"
