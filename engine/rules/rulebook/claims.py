"""Reading ``claim:`` and ``band:`` of a prefer rule: what its points stand for."""

from __future__ import annotations

from typing import cast

from whichgpu.engine.core.errors import nearest_words
from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.rules.rulebook.grammar import CLAIM_KEYS
from whichgpu.engine.rules.rulebook.grammar import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.model import Band
from whichgpu.engine.rules.rulebook.model import Claim
from whichgpu.engine.rules.rulebook.model import Quantity
from whichgpu.engine.rules.rulebook.raw_rule import Context
from whichgpu.engine.rules.rulebook.raw_rule import Draft
from whichgpu.engine.rules.rulebook.reading import Fields
from whichgpu.engine.rules.rulebook.reading import kind_of
from whichgpu.engine.rules.rulebook.reading import read_fields
from whichgpu.engine.rules.rulebook.reading import read_number
from whichgpu.engine.rules.rulebook.reading import read_text
from whichgpu.engine.rules.rulebook.reading import read_word


_QUANTITIES = CLAIM_KEYS[0].choices
_BANDS = next(key.choices for key in EFFECT_KEYS if key.name == "band")


def read_claim(draft: Draft, context: Context) -> Claim | None:
    """The claim of a rule; None without one, or after a problem."""
    if "claim" not in (draft.then or {}):
        return None
    node = cast("Fields", draft.then)["claim"][1]
    if not isinstance(node, Mapping):
        quantity = _quantity(node, "`claim`", context)
        return Claim(quantity) if quantity else None
    fields = read_fields(node, CLAIM_KEYS, "`claim`", context.problems) or {}
    quantity = _quantity(fields["quantity"][1], "`quantity`", context) if "quantity" in fields else None
    ratio = _ratio(fields["ratio"][1], context) if "ratio" in fields else None
    over = _card(fields["over"][1], context) if "over" in fields else None
    return Claim(quantity, ratio, over) if quantity else None


def read_band(draft: Draft, context: Context) -> Band | None:
    """The band of a rule; None without one, or after a problem."""
    if "band" not in (draft.then or {}):
        return None
    node = cast("Fields", draft.then)["band"][1]
    return cast("Band | None", read_word(node, "`band`", _BANDS, context.problems))


def _quantity(node: Node, what: str, context: Context) -> Quantity | None:
    return cast("Quantity | None", read_word(node, what, _QUANTITIES, context.problems))


def _ratio(node: Node, context: Context) -> float | None:
    ratio = read_number(node, "the ratio of `claim`", context.problems)
    if ratio is not None and ratio <= 0:
        fix = "write how many times that of the other card: 2 for twice as much, 0.5 for half"
        context.problems.add("wrong-form", f"the ratio of `claim` is {kind_of(node)}, not above 0", node, fix=fix)
        return None
    return ratio


def _card(node: Node, context: Context) -> str | None:
    """The id, family or series of the card compared with."""
    name = read_text(node, "`over`", context.problems)
    known = context.known.gpus
    if not isinstance(node, Scalar) or not name:
        return None
    if known and name not in known:
        nearest = nearest_words(name, sorted(known), limit=1)
        context.problems.add(
            "unknown-gpu",
            f"`over` names {name!r}, which is no GPU, family or series of the catalogue",
            node,
            nearest=nearest,
            fix=None if nearest else "see: whichgpu gpus",
        )
        return None
    return name
