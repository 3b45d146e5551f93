"""Two rules that set one fact to different values.

Why: where both fire, the fact stays unknown, and everything that hangs on it with it. One has to override the other, or
their conditions have to exclude each other.

Bad::

    - id: size-small
      when: [param_count_b <= 7]
      then: {set: {model_size_class: small}}
    - id: size-medium
      when: [param_count_b >= 7]
      then: {set: {model_size_class: medium}}

Good: ``param_count_b > 7`` in the second rule, or ``overrides: [size-small]``.

An error where both rules surely fire together on some facts; a warning ("possibly") where a condition or expression is
too involved to tell.

Silence: put ``# lint: allow conflicting-sets`` at the end of the line with the second rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from engine.language.tree import Const
from engine.rulebook.model import Rule
from engine.rulebook.model import SetFact
from engine.rulebook.resolve import overriders
from engine.verify.boxes import Box
from engine.verify.boxes import boxes_of
from engine.verify.finding import Check
from engine.verify.finding import Desk
from engine.verify.finding import Finding


def _run(desk: Desk) -> Iterator[Finding]:
    setters: dict[str, list[tuple[Rule, SetFact]]] = {}
    for rule in desk.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact):
                setters.setdefault(effect.fact, []).append((rule, effect))
    above = overriders({rule.id: rule for rule in desk.rulebook.rules})
    boxes = {rule.id: boxes_of(rule, desk.vocabulary) for found in setters.values() for rule, _ in found}
    for _, found in sorted(setters.items()):
        for (one, first), (two, second) in combinations(found, 2):
            settled = two.id in above.get(one.id, ()) or one.id in above.get(two.id, ()) or _same_first_table(one, two)
            if first.expr == second.expr or settled or (one.stage, one.each) != (two.stage, two.each):
                continue
            common = _common(boxes[one.id], boxes[two.id])
            if common:
                yield _finding(one, first, two, second, common)


def _same_first_table(one: Rule, two: Rule) -> bool:
    return one.table is not None and one.table == two.table and one.hit == "first"


def _common(left: tuple[Box, ...], right: tuple[Box, ...]) -> list[Box]:
    met = (one.meet(two) for one in left for two in right)
    return [box for box in met if not box.empty]


def _finding(one: Rule, first: SetFact, two: Rule, second: SetFact, common: list[Box]) -> Finding:
    constant = isinstance(first.expr, Const) and isinstance(second.expr, Const)
    certain = constant and any(box.exact for box in common)
    clash = f"{two.id} sets `{first.fact}` to {second.text} and {one.id} ({one.place}) to {first.text}"
    when = "where both fire" if certain else "possibly on the same facts"
    return CHECK.about(
        two,
        f"{clash}, {when}",
        severity="error" if certain else "warning",
        fix=f"exclude one case in the conditions, or write `overrides: [{one.id}]`",
    )


CHECK = Check("conflicting-sets", "error", _run, __doc__ or "")
