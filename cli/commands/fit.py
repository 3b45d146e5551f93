"""``whichgpu fit`` and ``whichgpu here``: what runs on GPUs that are there, and which these are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import click
from msgspec import to_builtins

from whichgpu import Advisor
from whichgpu.cli import completing, output
from whichgpu.cli.advisor import load
from whichgpu.cli.devices import Device
from whichgpu.cli.hardware import Group, groups_here, groups_in
from whichgpu.cli.options import Amount, output_format
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.fit import fit_blocks, fit_rows, here_blocks
from whichgpu.engine.advisor import FittingModel, fitting_models, unknown_gpu
from whichgpu.engine.catalogue import Gpu, Knowledge, ModelSpec
from whichgpu.engine.core import InputError, Problem, json_value, nearest_words


_SORTS: dict[str, Callable[[FittingModel], float]] = {
    "size": lambda model: -(model.params_b or 0.0),
    "memory": lambda model: -model.per_gpu_gb,
    "context": lambda model: -(model.longest_context_tokens or 0),
    "speed": lambda model: -(1000.0 / model.speed["tpot_ms"] if "tpot_ms" in model.speed else _items_per_s(model)),
}

_from_option = click.option(
    "--from", "listing", metavar="FILE", help="A file with output of nvidia-smi, rocm-smi, system_profiler or lspci."
)


@click.command()
@_from_option
@output_format("text", "json", "markdown")
def here(*, listing: str | None, form: str) -> int:
    """List the GPUs of this machine, with their entries in the catalogue and the memory that is free.

    Exits with 1 where the catalogue has none of them.
    """
    advisor = load(tests=False)
    groups = _groups(listing, advisor.knowledge)
    if form == "json":
        output.emit_json([json_value(_group_dict(group)) for group in groups])
    else:
        output.emit_blocks(here_blocks(groups), form)
    return 0 if any(group.gpu is not None for group in groups) else 1


@click.command()
@click.argument("name", required=False, shell_complete=completing.model_names)
@click.option(
    "--gpu",
    metavar="ID",
    shell_complete=completing.gpu_names,
    help="The GPU, by id or any of its names, in place of those of this machine.",
)
@click.option("--count", metavar="N", type=click.IntRange(1, 1024), help="How many of them serve one model together.")
@_from_option
@click.option("--kind", metavar="KIND", help="Only models of this kind: llm, diffusion_image, speech, ...")
@click.option("--context", metavar="TOKENS", type=click.IntRange(1), help="The context that a model must hold.")
@click.option("--precision", metavar="FORMAT", multiple=True, help="Try only these formats of weights, best first.")
@click.option("--max-params", metavar="BILLIONS", type=Amount(), help="Only models of at most this size.")
@click.option("--sort", "order", type=click.Choice([*_SORTS]), default="size", show_default=True, help="Order.")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1), default=10, show_default=True, help="Models of each kind."
)
@click.option("--all", "everything", is_flag=True, help="Every model that fits.")
@output_format("text", "json", "csv", "markdown")
def fit(
    *,
    name: str | None,
    gpu: str | None,
    count: int | None,
    listing: str | None,
    kind: str | None,
    context: int | None,
    precision: tuple[str, ...],
    max_params: float | None,
    order: str,
    limit: int,
    everything: bool,
    form: str,
) -> int:
    """List the models that run on the GPUs of this machine, or on those that --gpu or --from names.

    Each model is shown in the best number format that fits, sized by the formulas of whichgpu size for one request at a
    time; NAME narrows the list to models whose names hold it. What other programs take of the memory is left to them.
    """
    advisor = load(tests=False)
    group, others = _chosen(gpu, count, listing, advisor.knowledge)
    found_gpu = group.gpu
    if found_gpu is None:
        raise InputError(_not_in_catalogue(group))
    models = _models(advisor, name, kind, max_params, precision)
    taken = _found(
        advisor,
        found_gpu,
        count or group.count,
        models,
        most=None if everything else limit,
        order=order,
        used_gb=group.used_gb,
        context=context,
        precision=precision,
    )
    if form == "json":
        output.emit_json([json_value(to_builtins(model)) for model in taken])
    elif form == "csv":
        output.emit_csv(*fit_rows(taken))
    else:
        output.emit_blocks(fit_blocks(taken, found_gpu, count or group.count, group.used_gb, len(models), others), form)
    return 0 if taken else 1


def _found(
    advisor: Advisor,
    gpu: Gpu,
    count: int,
    models: list[ModelSpec],
    *,
    most: int | None,
    order: str,
    used_gb: float,
    context: int | None,
    precision: tuple[str, ...],
) -> list[FittingModel]:
    """Those that fit, sorted; of each kind no more than wanted, where the order needs no figure of all of them."""
    by_kind: dict[str, list[ModelSpec]] = {}
    for model in sorted(models, key=lambda model: (-(model.params_b or 0.0), model.id)):
        by_kind.setdefault(model.kind, []).append(model)
    taken: list[FittingModel] = []
    with output.progress(sum(map(len, by_kind.values())), "sizing models") as sized:
        for of_kind in by_kind.values():
            fitting = fitting_models(
                advisor,
                gpu,
                count,
                models=_ticking(of_kind, sized),
                used_gb=used_gb,
                context_tokens=context,
                precisions=precision,
            )
            first = islice(fitting, most) if order == "size" else fitting
            taken += sorted(first, key=_SORTS[order])[:most]
    return taken


def _ticking(models: Iterable[ModelSpec], tick: Callable[[int], None]) -> Iterable[ModelSpec]:
    for model in models:
        tick(1)
        yield model


def _items_per_s(model: FittingModel) -> float:
    return model.speed.get("samples_per_s", model.speed.get("audio_hours_per_hour", 0.0))


def _chosen(gpu: str | None, count: int | None, listing: str | None, knowledge: Knowledge) -> tuple[Group, list[Group]]:
    """The GPUs to fit models to, and what else is there."""
    if gpu is not None:
        if listing is not None:
            raise InputError(Problem("bad-option", "--gpu names GPUs, and so does --from: give one of them"))
        match = knowledge.find_gpu(gpu)
        if not match.found:
            raise InputError(unknown_gpu(match, fact="gpu"))
        named = knowledge.gpus[match.usual]
        return Group(named, (Device(named.name),) * (count or 1), 0.0), []
    first, *others = _groups(listing, knowledge)
    if count is not None and count > first.count:
        message = f"{count_of(count, 'GPU')} are asked for, and there are {first.count}"
        raise InputError(Problem("too-many", message, fix="name GPUs that are not here with --gpu ID --count N"))
    return first, others


def _groups(listing: str | None, knowledge: Knowledge) -> list[Group]:
    return groups_here(knowledge) if listing is None else groups_in(listing, knowledge)


def _models(
    advisor: Advisor, name: str | None, kind: str | None, max_params: float | None, precisions: tuple[str, ...]
) -> list[ModelSpec]:
    models = list(advisor.knowledge.models.values())
    kinds = sorted({model.kind for model in models})
    if kind is not None and kind not in kinds:
        nearest = nearest_words(kind, kinds)
        raise InputError(
            Problem(
                "unknown-kind",
                f"no model is of the kind {kind!r}",
                nearest=nearest,
                fix=f"name one of {', '.join(kinds)}",
            )
        )
    choices = advisor.vocabulary.facts["weight_precision"].choices
    for word in precisions:
        if word not in choices:
            nearest = nearest_words(word, choices)
            fix = f"name one of {', '.join(choices)}"
            message = f"there is no number format {word!r}"
            raise InputError(Problem("unknown-precision", message, nearest=nearest, fix=fix))
    words = (name or "").casefold().split()
    chosen = [
        model
        for model in models
        if kind in (None, model.kind)
        and (max_params is None or (model.params_b or 0.0) <= max_params)
        and all(any(word in each.casefold() for each in (model.id, model.name, *model.aliases)) for word in words)
    ]
    if not chosen:
        asked = [f"{word!r} in a name" for word in words] + ([f"the kind {kind}"] if kind else [])
        asked += [f"at most {max_params:g} billion parameters"] if max_params is not None else []
        nearest = nearest_words(name, [model.id for model in models]) if name else ()
        message = f"no model of the catalogue has {' and '.join(asked)}"
        raise InputError(Problem("no-model", message, nearest=nearest, fix="whichgpu models lists them"))
    return chosen


def _not_in_catalogue(group: Group) -> Problem:
    name = group.devices[0].name
    memory = group.devices[0].memory_mib
    said = f"{name} ({memory:,.0f} MiB)" if memory else name
    fix = "name one that it has with --gpu ID --count N"
    return Problem("unknown-gpu", f"the catalogue has no {said}", nearest=group.nearest, fix=fix)


def _group_dict(group: Group) -> dict[str, object]:
    return {
        "gpu": group.gpu.id if group.gpu is not None else None,
        "count": group.count,
        "devices": [to_builtins(device) for device in group.devices],
        "nearest": list(group.nearest),
    }
