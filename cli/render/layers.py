"""What the layers of this place add to the built-in rules and knowledge, and what they take away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichgpu import Advisor
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.rules import shown_place
from whichgpu.engine.catalogue import KnowledgeLayer
from whichgpu.engine.rules import Change


_KNOWLEDGE = ("facts", "codes", "gpus", "models", "sources", "others")
_WORDS = {"facts": "facts", "codes": "codes", "gpus": "GPUs", "models": "models", "sources": "sources"}


def layer_changes(advisor: Advisor) -> list[dict[str, Any]]:
    """Of each layer over the lowest: rules added, replaced and disabled with their reasons, and what else it brings."""
    found = []
    for layer, knowledge in _layers(advisor):
        found.append(
            {
                "layer": layer,
                "rules": [_change(change) for change in advisor.rulebook.changes if change.layer == layer],
                **{kind: list(getattr(knowledge, kind)) if knowledge else [] for kind in _KNOWLEDGE},
                "offers": knowledge.offers if knowledge else 0,
                "because": dict(knowledge.because) if knowledge else {},
            }
        )
    return found


def layer_blocks(advisor: Advisor) -> list[Block]:
    """The layers over the built-in rules, and what each changes, as blocks of text."""
    layers = _layers(advisor)
    if not layers:
        return [Paragraph("No layer lies over the built-in rules; --rules DIR or WHICHGPU_RULES adds one.")]
    blocks: list[Block] = []
    for layer, knowledge in layers:
        changes = [change for change in advisor.rulebook.changes if change.layer == layer]
        blocks.append(Heading(f"Layer {layer}", 1))
        stated = next(each.responsible.stated() for each in advisor.rulebook.layers if each.name == layer)
        if stated:
            blocks.append(Paragraph("; ".join(f"{name.replace('_', ' ')} {value}" for name, value in stated.items())))
        for kind in ("added", "replaced", "disabled"):
            items = tuple(_item(change) for change in changes if change.kind == kind)
            if items:
                blocks += [Heading(f"{count_of(len(items), 'rule')} {kind}"), Bullets(items)]
        brought = _brought(knowledge) if knowledge else ()
        if brought:
            blocks += [Heading("Knowledge"), Bullets(brought)]
        if not changes and not brought:
            blocks.append(Paragraph("It changes nothing."))
    return blocks


def _layers(advisor: Advisor) -> list[tuple[str, KnowledgeLayer | None]]:
    """The layers over the lowest, each with the knowledge that it brings."""
    laid = {Path(layer.folder): layer for layer in advisor.knowledge.layers}
    pairs = zip(advisor.rulebook.layers, advisor.folders, strict=True)
    return [(layer.name, laid.get(folder)) for layer, folder in pairs][1:]


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "rule": change.rule,
        "title": change.title,
        "because": change.because,
        "by": change.by,
        "below": change.below,
        "place": str(change.place) if change.place else None,
    }


def _item(change: Change) -> Item:
    below = [f"because: {change.because}"]
    if change.place:
        below.append(shown_place(change.place))
    head = f"{change.rule}: {change.title}"
    if change.kind == "replaced":
        head += f" (of {change.below}, now {change.by})"
    elif change.kind == "disabled":
        head += f" (of {change.below})"
    return Item(head, tuple(below))


def _brought(knowledge: KnowledgeLayer) -> tuple[Item, ...]:
    items = []
    for kind in _KNOWLEDGE:
        names: tuple[str, ...] = getattr(knowledge, kind)
        if names:
            reasons = tuple(f"{name}: {knowledge.because[name]}" for name in names if name in knowledge.because)
            items.append(Item(f"{_WORDS.get(kind, 'other records')}: {', '.join(names)}", reasons))
    if knowledge.offers:
        items.append(Item(f"{count_of(knowledge.offers, 'price')} of its own"))
    return tuple(items)
