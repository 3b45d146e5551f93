"""Stated facts that cannot be true of the named model: an input error with both values, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from whichgpu.engine.catalogue.model import ModelSpec
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.values import Value


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
    size = model.params_b
    if size is not None and _is_another(given.get("param_count_b"), size):
        yield _problem("param_count_b", given["param_count_b"], f"{size:g} billion parameters", model)
        return  # The share of them that is active says nothing about a model that is not meant.
    if model.moe is None and model.active_params_b is None:
        if size is not None and model.layers is not None and _is_another(given.get("active_param_count_b"), size):
            words = f"{size:g} billion parameters, all of which work on every token"
            yield _problem("active_param_count_b", given["active_param_count_b"], words, model)
    elif model.active_params_b is not None and _is_another(given.get("active_param_count_b"), model.active_params_b):
        words = f"{model.active_params_b:g} billion active parameters"
        yield _problem("active_param_count_b", given["active_param_count_b"], words, model)


def _is_another(stated: Value | None, known: float) -> bool:
    if isinstance(stated, bool) or not isinstance(stated, int | float) or stated <= 0:
        return False
    return not known / _ANOTHER_MODEL <= stated <= known * _ANOTHER_MODEL


def _problem(fact: str, stated: Value, known: str, model: ModelSpec) -> Problem:
    return Problem(
        "contradicts-the-model",
        f"{fact} is {stated}, and {model.name} has {known}",
        fact=fact,
        fix=f"take {fact} out to use the catalogue's figures, or take model_name out to plan a model of your own",
    )
