"""``whichgpu gpus`` and ``whichgpu models``: look at the catalogue, with the sources of every figure."""

from __future__ import annotations

from typing import Any

import click
from msgspec import to_builtins

from whichgpu.cli import completing, output
from whichgpu.cli.layers import load_catalogue
from whichgpu.cli.options import Amount, layers_option, output_format
from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.catalogue import cheapest_hour, gpu_list, gpu_page, model_list, model_page
from whichgpu.engine.catalogue import Gpu, Knowledge, ModelSpec, job_of_name
from whichgpu.engine.core import InputError, Problem, nearest_words


@click.command()
@click.argument("words", metavar="[NAME]", nargs=-1, shell_complete=completing.gpu_names)
@click.option("--min-memory", metavar="GB", type=Amount(), help="Only GPUs sold with at least this much memory.")
@click.option("--max-price", metavar="USD", type=Amount(), help="Only GPUs that rent for at most this much an hour.")
@output_format("text", "json", "csv", "markdown")
@layers_option
def gpus(
    *, words: tuple[str, ...], min_memory: float | None, max_price: float | None, form: str, rules: tuple[str, ...]
) -> int:
    """List the GPUs, or show those that NAME means (an id, a name, a family, a series).

    A NAME that is none of these narrows the list to the GPUs that have all of its words in their name, maker,
    architecture, market, form or software: hopper, amd consumer, laptop. Exits with 1 where the options leave
    none.
    """
    knowledge = load_catalogue(rules, own_prices=False)
    name, narrowed = " ".join(words), min_memory is not None or max_price is not None
    match = knowledge.find_gpu(name) if name else None
    known = frozenset(match.ids) if match else frozenset()
    found = [
        gpu for gpu in knowledge.gpus.values() if gpu.id in known or (not known and _has(words, _text_of_gpu(gpu)))
    ]
    if match and not match.found and not found:
        raise InputError(Problem("unknown-gpu", f"no GPU is called {name!r}", nearest=match.nearest, fix=_SEE_GPUS))
    rent = {gpu.id: cheapest_hour(gpu, knowledge) for gpu in found}
    found = [
        gpu
        for gpu in found
        if (gpu.vram_gb or 0.0) >= (min_memory or 0.0)
        and (max_price is None or (rent[gpu.id] is not None and (rent[gpu.id] or 0.0) <= max_price))
    ]
    if known and not narrowed:
        blocks = [block for gpu in found for block in gpu_page(gpu, knowledge)]
    else:
        blocks = gpu_list(found, knowledge)
    return _show([to_builtins(gpu) for gpu in found], blocks, form)


@click.command()
@click.argument("words", metavar="[NAME]", nargs=-1, shell_complete=completing.model_names)
@click.option("--task", metavar="TASK", help="Only models for this: llm, embedding, speech, vision, multimodal, ...")
@click.option("--max-params", metavar="B", type=Amount(), help="Only models of at most this many billion parameters.")
@output_format("text", "json", "csv", "markdown")
@layers_option
def models(
    *, words: tuple[str, ...], task: str | None, max_params: float | None, form: str, rules: tuple[str, ...]
) -> int:
    """List the models, or show the one that NAME means (an id, a hub path, an ollama tag).

    A NAME that means no single model narrows the list to those that have all of its words in a name or in their kind:
    qwen, llama vision. Exits with 1 where the options leave none.
    """
    knowledge = load_catalogue(rules, own_prices=False)
    name, narrowed = " ".join(words), task is not None or max_params is not None
    match = knowledge.find_model(name) if name else None
    if match and match.spec is not None and not narrowed:
        return _show([to_builtins(match.spec)], model_page(match.spec, knowledge), form)
    job = _job(task, knowledge) if task else None
    found = [model for model in knowledge.models.values() if _has(words, _text_of_model(model))]
    if match and not found:
        message = f"no model is called {name!r}"
        raise InputError(Problem("unknown-model", message, nearest=match.nearest, fix="whichgpu models lists them"))
    found = [
        model
        for model in found
        if job in (None, model.kind, job_of_name(model.id))
        and (max_params is None or (model.params_b is not None and model.params_b <= max_params))
    ]
    return _show([to_builtins(model) for model in found], model_list(found), form)


def _has(words: tuple[str, ...], text: str) -> bool:
    return all(word in text for word in " ".join(words).casefold().split())


def _text_of_gpu(gpu: Gpu) -> str:
    """All that a search for a GPU looks at, in lower case."""
    facts = (gpu.vendor, gpu.architecture, gpu.segment, gpu.form_factor, gpu.sw_stack, gpu.mem_type)
    return " ".join(filter(None, (gpu.id, gpu.name, *gpu.aliases, *facts))).casefold()


def _text_of_model(model: ModelSpec) -> str:
    return " ".join((model.id, model.name, *model.aliases, model.kind)).casefold()


def _job(task: str, knowledge: Knowledge) -> str:
    """The kind of job that a word names: a kind of model, or a word that names of such models hold."""
    kinds = sorted({model.kind for model in knowledge.models.values()})
    word = task.casefold().replace("-", "_")
    job = word if word in kinds else job_of_name(task)
    if job is None:
        nearest = nearest_words(word, kinds)
        raise InputError(
            Problem("unknown-task", f"no model is for {task!r}", nearest=nearest, fix=f"name one of {', '.join(kinds)}")
        )
    return job


_SEE_GPUS = "whichgpu gpus lists them"


def _show(value: list[dict[str, Any]], blocks: list[Block], form: str) -> int:
    """Print what was found; 1 where that is nothing."""
    if form == "json":
        output.emit_json(value)
    elif form == "csv":
        columns = list(
            dict.fromkeys(
                key for row in value for key, each in row.items() if not isinstance(each, dict | list | tuple)
            )
        )
        output.emit_csv(columns, (["" if row.get(key) is None else row[key] for key in columns] for row in value))
    else:
        output.emit_blocks(blocks, form)
    return 0 if value else 1
