"""Look-ups: what the catalogue says of the named model, and stated facts that cannot be true of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from whichgpu.engine.advisor.misplaced import stated_otherwise
from whichgpu.engine.catalogue import Knowledge, ModelSpec, job_of_name, job_profile, names_a_config
from whichgpu.engine.core import InputError, Problem, Value, number
from whichgpu.engine.rules import FactCandidate, Origin, Vocabulary
from whichgpu.engine.sizing import composed_spec


class ModelLookup(Struct, frozen=True):
    """The model, if one is named and known, and what it says about facts."""

    model: ModelSpec | None = None
    candidates: dict[str, list[FactCandidate]] = field(default_factory=dict)


#: Facts that size a model which the catalogue does not know.
_SIZE_WITHOUT_MODEL = ("param_count_b", "required_vram_gb", "training_vram_gb", "inference_vram_gb", "model_size_class")
#: Families whose memory the guides give as a band, whatever the model.
_BANDED = ("vision", "diffusion_image", "diffusion_video")
_JOBS = "whichgpu-judgement"
#: Kinds of models whose work grows with the size of their pictures.
_SEES = {"vision", "detection", "diffusion_image", "diffusion_video"}
_NETWORKS = {"llm": "transformer", "encoder": "transformer", "encoder_decoder": "transformer"}


def look_up(given: Mapping[str, Value], knowledge: Knowledge, vocabulary: Vocabulary) -> ModelLookup:
    """What the catalogue says of the named model, and of the GPU in use.

    Raises:
        InputError: see ``look_up_model``.
    """
    found = look_up_model(given, knowledge, vocabulary)
    return ModelLookup(found.model, {**memory_available(given, knowledge), **found.candidates})


def memory_available(given: Mapping[str, Value], knowledge: Knowledge) -> dict[str, list[FactCandidate]]:
    """The memory of the GPUs in use, as marketed; nothing where the name leaves more than one size open."""
    if "current_gpu" not in given:
        return {}
    members = [knowledge.gpus[gpu_id] for gpu_id in knowledge.find_gpu(str(given["current_gpu"])).ids]
    sizes = {gpu.vram_gb for gpu in members}
    if len(sizes) != 1 or (each := sizes.pop()) is None:
        return {}
    count = number(given, "num_gpus") or 1
    inputs = ("current_gpu", "num_gpus") if "num_gpus" in given else ("current_gpu",)
    formula = "marketed memory of the GPU in use x how many there are"
    sources = tuple(members[0].evidence.get("vram_gb", ()))
    return {
        "total_vram_gb": [FactCandidate("looked_up", f"gpus.{members[0].id}", each * count, inputs, formula, sources)]
    }


def look_up_model(given: Mapping[str, Value], knowledge: Knowledge, vocabulary: Vocabulary) -> ModelLookup:
    """Find the named model: by its name, or in the Hugging Face ``config.json`` that the name is a path to.

    Raises:
        InputError: the name is unknown and nothing else says how large the model is, the file describes no model, or
            a stated figure cannot be true of the model.
    """
    name = given.get("model_name")
    if name is None:
        return ModelLookup()
    read = model_read(str(name), knowledge)
    if read is not None:
        _check_size(str(name), read, vocabulary)
        check_against_model(given, read)
        return _found(read, None, vocabulary)
    size = given.get("param_count_b")
    match = knowledge.find_model(str(name), float(size) if isinstance(size, int | float) else None)
    spec = match.spec or composed_spec(str(name))
    if spec is None:
        job = job_of_name(str(name))
        unsized = job is not None and job_profile(job).serving.memory == "none"  # Its parameters would tell nothing.
        stated = any(name in given for name in _SIZE_WITHOUT_MODEL) or given.get("model_family") in _BANDED
        if not stated and not unsized:
            raise InputError(_unknown_model(str(name), match.nearest, knowledge, vocabulary))
        return ModelLookup(None, _candidates_of_a_name(str(name)))
    if match.how != "part of the name":  # What is named after a model may have been made larger or smaller.
        check_against_model(given, spec)
    return _found(spec, match.weight_precision, vocabulary, str(name))


def _check_size(name: str, model: ModelSpec, vocabulary: Vocabulary) -> None:
    """Refuse a configuration whose dimensions make a model larger than one that could be stated. Raises InputError."""
    most = vocabulary.facts["param_count_b"].max
    if most is not None and (model.params_b or 0.0) > most:
        message = f"{name} describes a model of {model.params_b:,.0f} billion parameters, more than {most:,.0f}"
        raise InputError(Problem("out-of-range", message, fact="model_name", fix="look at its layers and widths"))


def _unknown_model(name: str, nearest: tuple[str, ...], knowledge: Knowledge, vocabulary: Vocabulary) -> Problem:
    """The problem with a name that leads to no model; it may be that of a program, a GPU or a method."""
    ways = stated_otherwise(name, vocabulary.facts["model_name"], vocabulary, knowledge)
    lists = "name one that 'whichgpu models' lists, or add param_count_b (billions of parameters)"
    fix = f"write {'; or '.join(ways)}; model_name is the model itself: {lists}" if ways else lists
    near = () if ways else nearest
    return Problem("unknown-model", _nothing_there(name), fact="model_name", nearest=near, fix=fix, elsewhere=ways)


def _nothing_there(name: str) -> str:
    """What to say of a name that leads to no model; one that is written as a path is looked for as a file."""
    if name.startswith(("/", "./", "../", "~")) or name.endswith(".json"):
        return f"there is no file or folder {name!r} with a model's configuration"
    return f"no model is called {name!r}"


def model_read(name: str, knowledge: Knowledge) -> ModelSpec | None:
    """The model of the configuration that a name leads to; None where it leads to none. Raises InputError."""
    carried = knowledge.read_models.get(name)
    if carried is not None or not names_a_config(name):
        return carried
    from whichgpu.engine.catalogue import model_from_config  # noqa: PLC0415  # Most decisions read no configuration.

    return model_from_config(name)


def _candidates_of_a_name(name: str) -> dict[str, list[FactCandidate]]:
    """What the name alone tells of a model that the catalogue does not have."""
    job = job_of_name(name)
    if job is None:
        return {}
    family, formula = job_profile(job).model_family, f"the name is that of {job_profile(job).label}"
    return {"model_family": [FactCandidate("assumed", f"jobs.{job}", family, ("model_name",), formula, (_JOBS,))]}


def _found(model: ModelSpec, precision: str | None, vocabulary: Vocabulary, name: str | None = None) -> ModelLookup:
    job = job_of_name(name) or job_of_name(model.id) or model.kind
    candidates = {fact: [candidate] for fact, candidate in _candidates(model, job).items() if fact in vocabulary.facts}
    implied = precision or model.native_precision
    if implied:
        says = "what the model's name or its published weights say"
        candidates["weight_precision"] = [_candidate(model, implied, says)]
    # One may feed a model pictures of any size: its own is assumed only where none is stated.
    for fact, value, formula in (
        ("image_px", model.resolution_px, "the size the model was made for"),
        ("frames", model.frames, "the clip that the model was made for"),
    ):
        if value and model.kind in _SEES and fact in vocabulary.facts:
            candidates[fact] = [_candidate(model, value, formula, "assumed")]
    return ModelLookup(model, candidates)


def _origin(model: ModelSpec) -> str:
    """Where a figure of the model comes from, with what its reading had to assume."""
    if model.sources != ("config.json",):
        return "the catalogue's figure for this model"
    return "; ".join(("counted from the model's configuration", *model.notes))


def _candidates(model: ModelSpec, job: str) -> dict[str, FactCandidate]:
    values: dict[str, Value | None] = {
        "param_count_b": model.params_b,
        "active_param_count_b": model.active_params_b,
        "is_moe": model.moe is not None if model.layers is not None else None,
        "model_family": None if job == "other" else job_profile(job).model_family,
        "model_architecture": _NETWORKS.get(model.kind),
        "vision_task": "detection" if model.kind == "detection" else None,
    }
    return {name: _candidate(model, value, _origin(model)) for name, value in values.items() if value is not None}


def _candidate(model: ModelSpec, value: Value, formula: str, origin: Origin = "looked_up") -> FactCandidate:
    return FactCandidate(origin, f"models.{model.id}", value, ("model_name",), formula, tuple(model.sources))


#: Up to this ratio a stated figure may differ from the catalogue's: nominal sizes, pruned or extended versions, another
#: way of counting embeddings. It is then used, with a warning. Beyond it another model is meant (whichgpu-judgement:
#: the next size of a published family is about twice as large).
_ANOTHER_MODEL = 2.0


def check_against_model(given: Mapping[str, Value], model: ModelSpec) -> None:
    """Refuse stated figures that another model must be meant by.

    Raises:
        InputError: with every figure that cannot be true of the model.
    """
    problems = list(_problems(given, model))
    if problems:
        raise InputError(problems)


def _problems(given: Mapping[str, Value], model: ModelSpec) -> Iterator[Problem]:
    size, active = model.params_b, number(given, "active_param_count_b")
    if size is not None and _is_another(number(given, "param_count_b"), size):
        yield _problem("param_count_b", given["param_count_b"], f"{size:g} billion parameters", model)
        return  # The share of them that is active says nothing about a model that is not meant.
    if model.moe is None and model.active_params_b is None:
        known = model.layers is not None and not model.dims_partial
        if size is not None and known and _is_another(active, size):
            words = f"{size:g} billion parameters, all of which work on every token"
            yield _problem("active_param_count_b", given["active_param_count_b"], words, model)
    elif model.active_params_b is not None and _is_another(active, model.active_params_b):
        words = f"{model.active_params_b:g} billion active parameters"
        yield _problem("active_param_count_b", given["active_param_count_b"], words, model)


def _is_another(stated: float | None, known: float) -> bool:
    return stated is not None and stated > 0 and not known / _ANOTHER_MODEL <= stated <= known * _ANOTHER_MODEL


def _problem(fact: str, stated: Value, known: str, model: ModelSpec) -> Problem:
    return Problem(
        "contradicts-the-model",
        f"{fact} is {stated}, and {model.name} has {known}",
        fact=fact,
        fix=f"take {fact} out to use the catalogue's figures, or take model_name out to plan a model of your own",
    )
