"""From workload facts and a catalogue record to a Job, noting every input that was not stated."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TypeVar, assert_never

from msgspec.structs import replace

from whichgpu.engine.catalogue import Family, ModelSpec, job_of_name, job_profile, profile_of
from whichgpu.engine.core import Facts
from whichgpu.engine.sizing.band_constants import memory_bands
from whichgpu.engine.sizing.constants import sizing_constants
from whichgpu.engine.sizing.fact_reader import TRANSFORMERS, FactReader
from whichgpu.engine.sizing.intake_serving import serving_of
from whichgpu.engine.sizing.intake_training import training_of
from whichgpu.engine.sizing.job import Job, Kind
from whichgpu.engine.sizing.shape import shape_of


Plain = TypeVar("Plain", int, float, str, bool)

#: Facts that only somebody states who means a language model.
_OF_LANGUAGE = (
    "context_tokens",
    "input_tokens",
    "min_tokens_per_s",
    "output_tokens",
    "peft_method",
    "seq_len_tokens",
    "tpot_slo_ms",
    "train_tokens_b",
    "ttft_slo_ms",
)
#: Billions of parameters from which a model of unknown kind is taken for a language model.
_LEAST_LANGUAGE_B = 0.5
#: Inputs that, left open, widen the band of an estimate; speed is then computed for usual ones.
_LOADS = (
    "batch_size_per_gpu",
    "concurrency",
    "context_tokens",
    "frames",
    "gradient_checkpointing",
    "image_px",
    "output_tokens",
    "seq_len_tokens",
    "weight_precision",
)
_NAMED_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?) ?b(?![a-z])")


def job_from_facts(facts: Facts, model: ModelSpec | None, *, assumed: Container[str] = ()) -> Job:
    """Resolve everything that the memory and speed formulas need.

    Args:
        facts: workload facts by their vocabulary names; unknown facts are absent.
        model: the catalogue record of the named model, if it has one.
        assumed: names of facts whose value the vocabulary assumed. What a training framework is known to do is
            believed over such an assumption.
    """
    reader = FactReader(facts, assumed)
    kind = _kind(reader)
    profile = _profile(reader, model)
    family = job_profile(profile).family
    params_b, active_b = _size(reader, model)
    if _says_nothing_of_memory(profile, kind):
        params_b = active_b = None
    encoders_b = _encoders_b(reader, profile, model, params_b)
    shape = shape_of(model, params_b, active_b, encoders_b) if family in TRANSFORMERS else None
    if shape is not None and shape.exact:
        params_b = shape.params / 1e9
    defaults = sizing_constants().training.frameworks.get(reader.text("training_framework") or "")
    if shape is not None and defaults is not None and defaults.unties_head and not shape.head and kind != "inference":
        shape = replace(shape, params=shape.params + shape.embedding, head=shape.embedding)
    stated, stated_high = (None, None) if params_b is not None else _stated_memory(reader)
    return Job(
        kind=kind,
        family=family,
        model=model,
        shape=shape,
        params_b=params_b,
        active_params_b=shape.active_params / 1e9 if shape is not None else active_b or params_b,
        image_px=_image_px(reader, family, model),
        image_short_px=reader.whole("image_short_px") if reader.known("image_px") else None,
        classes=reader.whole("classes"),
        frames=_frames(reader, family, model),
        denoising_steps=reader.whole("denoising_steps") or (model.denoising_steps if model else None),
        cpu_offload=bool(reader.flag("cpu_offload")) or any(map(reader.known, ("blocks_offloaded", "offloaded_state"))),
        weights_not_offloaded=reader.text("offloaded_state") == "optimizer",
        blocks_offloaded=reader.whole("blocks_offloaded") or None,
        sharding=reader.text("sharding"),
        tensor_parallel=reader.whole("tensor_parallel"),
        pipeline_parallel=reader.whole("pipeline_parallel"),
        train_tokens=_billions(reader.number("train_tokens_b")),
        train_steps=reader.whole("train_steps"),
        train_samples=reader.number("train_samples"),
        stated_gb=stated,
        stated_high_gb=stated_high,
        unstated=_unstated_loads(reader, kind),
        open_facts=_open_facts(reader, kind),
        profile=profile,
        **serving_of(reader, kind, family, model),
        **training_of(reader, kind, family, params_b, model),
        assumed=tuple(reader.assumed),
    )


def _unstated_loads(reader: FactReader, kind: Kind) -> frozenset[str]:
    """Which of the loads are not stated: speed is then computed for a usual one, where memory takes the assumed one."""
    missing = {name for name in _LOADS if not reader.known(name)}
    if kind == "inference" and "batch_size_per_gpu" not in missing:
        missing.discard("concurrency")
    if any(reader.known(name) for name in ("input_tokens", "output_tokens", "seq_len_tokens")):
        missing.discard("context_tokens")
    return frozenset(missing)


def _open_facts(reader: FactReader, kind: Kind) -> frozenset[str]:
    """Facts that widen the band of memory because they are not stated."""
    bands = memory_bands()
    widening = bands.open_inference if kind == "inference" else bands.open_training
    return frozenset(name for name in widening if not reader.known(name))


def _billions(value: float | None) -> float | None:
    return None if value is None else value * 1e9


def _kind(reader: FactReader) -> Kind:
    task = reader.text("task") or _task_assumed(reader)
    method = reader.text("peft_method")
    sized_as = profile_of(task).sized_as
    match sized_as:
        case "serving":
            return "inference"
        case "full":
            return "full"
        case "from_scratch":
            return "pretraining"
        case "adapters":
            if method not in {"lora", "qlora"}:
                method = reader.assume("peft_method", "lora", "the plainest adapter method")
            return "qlora" if method == "qlora" else "lora"
        case "trial":
            if method in {"lora", "qlora"}:
                return "qlora" if method == "qlora" else "lora"
            reader.assume("task", "inference", "trying out a model needs at least the memory to run it")
            return "inference"
        case _:
            assert_never(sized_as)


def _task_assumed(reader: FactReader) -> str:
    if reader.text("peft_method") in {"lora", "qlora"}:
        return reader.assume("task", "peft_finetuning", "an adapter method is named")
    if reader.flag("training") or reader.text("training_task"):
        return reader.assume("task", reader.text("training_task") or "full_finetuning", "the workload trains")
    return reader.assume("task", "inference", "no task was given")


def _profile(reader: FactReader, model: ModelSpec | None) -> str:
    """The kind of job: as the model's name tells, else as the catalogue has it, else by what is stated."""
    stated = reader.text("model_family")
    named_kind = job_of_name(reader.text("model_name"))
    # A name may be chosen freely, so that it only tells what the stated kind leaves open.
    if named_kind is not None and (
        model is not None or stated in {None, "llm", "other", job_profile(named_kind).model_family}
    ):
        return named_kind
    if model is not None:
        kind = job_of_name(model.id) or model.kind
        # One denoiser may come as a model of pictures and as one of clips.
        both = kind.startswith("diffusion") and stated in {"diffusion_image", "diffusion_video"}
        return stated if both and stated else kind
    return _profile_stated(reader, stated)


def _profile_stated(reader: FactReader, stated: str | None) -> str:
    network = reader.text("model_architecture")
    if stated == "llm" and network in {"cnn", "other"}:  # Recurrent and state-space networks have no such cache.
        return "other"
    if stated not in {None, "other"} and reader.known("model_family"):
        return str(stated)
    if network == "cnn" or (stated is None and reader.text("vision_task")):
        return "vision"
    if stated is not None or network in {"deep_network", "other"}:
        return stated or "other"
    params_b = reader.number("param_count_b")
    if params_b is not None and params_b < _LEAST_LANGUAGE_B and not any(reader.known(name) for name in _OF_LANGUAGE):
        return "small"
    reader.assume("model_family", "llm", "most models sized by their parameter count are language models")
    return "llm"


def _says_nothing_of_memory(profile: str, kind: Kind) -> bool:
    own = job_profile(profile)
    return (own.serving if kind == "inference" else own.training).memory == "none"


def _size(reader: FactReader, model: ModelSpec | None) -> tuple[float | None, float | None]:
    params = reader.number("param_count_b")
    if params is not None and params <= 0:
        params = None
    if params is not None and model is not None and reader.known("param_count_b") and _is_nominal(params, model):
        params = None
    if params is None and model is not None:
        params = model.params_b
        if params is None and model.components_b:
            params = sum(value for _, value in sorted(model.components_b.items()))
    active = reader.number("active_param_count_b") or (model.active_params_b if model else None)
    if active is None and params is not None and model is None and reader.flag("is_moe"):
        active = reader.assume(
            "active_param_count_b",
            round(params / 10.0, 3),
            "published sparse models use about a tenth",
        )
    return params, active


def _encoders_b(reader: FactReader, profile: str, model: ModelSpec | None, params_b: float | None) -> float | None:
    """Parameters of encoders beside the language model: as stated, else usual ones; None where the catalogue knows."""
    if profile != "multimodal" or (model is not None and "language" in model.components_b):
        return None
    stated, typical = reader.number("encoder_params_b"), sizing_constants().typical
    if stated is not None or params_b is None:
        return stated
    usual = round(min(typical.encoders_b, typical.encoders_share * params_b), 3)
    return reader.assume("encoder_params_b", usual, "usual for models that read pictures")


def _is_nominal(params_b: float, model: ModelSpec) -> bool:
    """Whether a size only repeats the number in the model's name: a "7B" may have 6.7 or 7.7 billion parameters."""
    names = (model.id, model.name, *model.aliases)
    sizes = (float(size) for name in names for size in _NAMED_SIZE.findall(name.lower()))
    return any(abs(params_b - size) <= 0.01 * size for size in sizes)


def _stated_memory(reader: FactReader) -> tuple[float | None, float | None]:
    stated = reader.number("required_vram_gb")
    if stated:
        return stated, None
    return reader.number("vram_band_low_gb"), reader.number("vram_band_high_gb")


def _frames(reader: FactReader, family: Family, model: ModelSpec | None) -> int:
    stated, native = reader.whole("frames"), model.frames if model else None
    if native and not reader.known("frames"):
        return reader.assume("frames", native, "the clip that the model was made for")
    return max(1, stated or (49 if family == "diffusion_video" else 1))


def _image_px(reader: FactReader, family: Family, model: ModelSpec | None) -> int:
    stated = reader.whole("image_px")
    native = model.resolution_px if model else None
    if stated and (native is None or reader.known("image_px")):
        return stated
    if family not in {"vision", "diffusion_image", "diffusion_video"}:
        return 0
    if native:
        return reader.assume("image_px", native, "the size the model was made for")
    return reader.default("image_px")
