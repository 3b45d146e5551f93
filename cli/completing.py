"""What a shell offers while one types: names of GPUs, models and facts, and the values that a fact can take."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


Items = list[CompletionItem]


def gpu_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Ids of accelerators in which what was typed stands anywhere, so that 3090 is enough."""
    from whichgpu.cli.layers import load_catalogue  # noqa: PLC0415 - nothing is loaded but to complete.

    return [
        CompletionItem(gpu.id, help=gpu.name)
        for gpu in load_catalogue(own_prices=False).gpus.values()
        if incomplete in gpu.id
    ]


def model_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Ids of models."""
    from whichgpu.cli.layers import load_catalogue  # noqa: PLC0415

    models = load_catalogue(own_prices=False).models.values()
    return [CompletionItem(model.id, help=model.kind) for model in models if model.id.startswith(incomplete)]


def fact_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> Items:
    """Names of facts."""
    from whichgpu.cli.layers import load_facts  # noqa: PLC0415

    facts = load_facts().facts.values()
    return [CompletionItem(fact.name, help=fact.label) for fact in facts if fact.name.startswith(incomplete)]


def changes(ctx: click.Context, param: click.Parameter, incomplete: str) -> Items:
    """``FACT=VALUE``: first the fact, then the values of one that has choices, or models and GPUs by name."""
    name, given, value = incomplete.partition("=")
    if not given:
        return [CompletionItem(f"{item.value}=", help=item.help) for item in fact_names(ctx, param, name)]
    return [CompletionItem(f"{name}={word}") for word in _values(ctx, param, name, value)]


def _values(ctx: click.Context, param: click.Parameter, name: str, value: str) -> Iterable[str]:
    from whichgpu.cli.layers import load_facts  # noqa: PLC0415

    vocabulary = load_facts()
    fact = vocabulary.fact(name)
    if fact is None:
        return ()
    words = fact.choices or (("true", "false") if fact.type == "bool" else ())
    if words:
        return (word for word in words if word.startswith(value))
    if fact.name == "model_name":
        return (item.value for item in model_names(ctx, param, value))
    if "gpu" in (fact.items or fact.type or ""):
        return (item.value for item in gpu_names(ctx, param, value))
    return ()
