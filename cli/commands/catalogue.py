"""``whichgpu gpus`` and ``whichgpu models``: look at the catalogue, with the sources of every figure."""

from __future__ import annotations

from typing import Any

import click
from msgspec import to_builtins

from whichgpu.cli import completing, output
from whichgpu.cli.layers import load_catalogue
from whichgpu.cli.options import layers_option, output_format
from whichgpu.cli.render.blocks import Block
from whichgpu.cli.render.catalogue import gpu_list, gpu_page, model_list, model_page
from whichgpu.engine.catalogue import Knowledge, ModelSpec
from whichgpu.engine.core import InputError, Problem


@click.command()
@click.argument("name", required=False, shell_complete=completing.gpu_names)
@output_format("text", "json", "markdown")
@layers_option
def gpus(*, name: str | None, form: str, rules: tuple[str, ...]) -> int:
    """List the GPUs, or show those that NAME means (an id, a name, a family, a series)."""
    knowledge = load_catalogue(rules, own_prices=False)
    if name is None:
        return _show([to_builtins(gpu) for gpu in knowledge.gpus.values()], gpu_list(knowledge), form)
    match = knowledge.find_gpu(name)
    if not match.found:
        raise InputError(Problem("unknown-gpu", f"no GPU is called {name!r}", nearest=match.nearest, fix=_SEE_GPUS))
    found = [knowledge.gpus[gpu_id] for gpu_id in match.ids]
    blocks = [block for gpu in found for block in gpu_page(gpu, knowledge)]
    return _show([to_builtins(gpu) for gpu in found], blocks, form)


@click.command()
@click.argument("name", required=False, shell_complete=completing.model_names)
@output_format("text", "json", "markdown")
@layers_option
def models(*, name: str | None, form: str, rules: tuple[str, ...]) -> int:
    """List the models, or show the one that NAME means (an id, a hub path, an ollama tag)."""
    knowledge = load_catalogue(rules, own_prices=False)
    if name is None:
        return _show([to_builtins(model) for model in knowledge.models.values()], model_list(knowledge), form)
    model = _model(knowledge, name)
    return _show([to_builtins(model)], model_page(model, knowledge), form)


_SEE_GPUS = "whichgpu gpus lists them"


def _model(knowledge: Knowledge, name: str) -> ModelSpec:
    match = knowledge.find_model(name)
    if match.spec is None:
        message = f"no model is called {name!r}"
        raise InputError(Problem("unknown-model", message, nearest=match.nearest, fix="whichgpu models lists them"))
    return match.spec


def _show(value: list[dict[str, Any]], blocks: list[Block], form: str) -> int:
    if form == "json":
        output.emit_json(value)
    else:
        output.emit_blocks(blocks, form)
    return 0
