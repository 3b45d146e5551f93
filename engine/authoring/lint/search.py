"""Is there a case in which a formula holds? A search over classes of values that finds one, or proves there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whichgpu.engine.authoring.lint.formulas import All
from whichgpu.engine.authoring.lint.formulas import Any
from whichgpu.engine.authoring.lint.formulas import Formula
from whichgpu.engine.authoring.lint.formulas import Literal


#: Steps after which a search gives up; then nothing is claimed.
MOST_STEPS = 4_000


class GaveUp(Exception):  # noqa: N818  (not an error: the answer is "cannot tell")
    """The search took too many steps."""


@dataclass(slots=True)
class _Search:
    steps: int

    def solve(self, masks: dict[str, int], formulas: list[Formula]) -> dict[str, int] | None:
        """Masks of facts for which all formulas hold; None if there are none. ``masks`` is used up."""
        choices: list[Any] = []
        if not self._assert(masks, formulas, choices):
            return None
        while choices:
            self.steps -= 1
            if self.steps < 0:
                raise GaveUp
            changed, choices = self._narrow(masks, choices)
            if changed is None:
                return None
            if not changed:
                break
        if not choices:
            return masks
        best = min(range(len(choices)), key=lambda at: len(choices[at].parts))
        rest = [choice for at, choice in enumerate(choices) if at != best]
        for part in choices[best].parts:
            found = self.solve(dict(masks), [part, *rest])
            if found is not None:
                return found
        return None

    def _assert(self, masks: dict[str, int], formulas: list[Formula], choices: list[Any]) -> bool:
        """Put what must hold into ``masks`` and ``choices``; False where nothing is left."""
        stack = list(formulas)
        while stack:
            formula = stack.pop()
            if isinstance(formula, Literal):
                mask = masks.get(formula.fact, formula.full) & formula.mask
                if not mask:
                    return False
                masks[formula.fact] = mask
            elif isinstance(formula, All):
                stack.extend(formula.parts)
            else:
                choices.append(formula)
        return True

    def _narrow(self, masks: dict[str, int], choices: list[Any]) -> tuple[bool | None, list[Any]]:
        """Drop alternatives that the masks rule out; assert what has one left. (None, ...): nothing fits."""
        kept: list[Any] = []
        changed = False
        for choice in choices:
            open_parts: list[Formula] = []
            for part in choice.parts:
                state = _state(part, masks)
                if state is True:
                    break
                if state is None:
                    open_parts.append(part)
            else:
                if not open_parts:
                    return None, []
                if len(open_parts) == 1:
                    changed = True
                    if not self._assert(masks, open_parts, kept):
                        return None, []
                else:
                    kept.append(choice if len(open_parts) == len(choice.parts) else Any(tuple(open_parts)))
        return changed, kept


def _state(formula: Formula, masks: Mapping[str, int]) -> bool | None:
    """True where the masks imply the formula, False where they exclude it, else None."""
    if isinstance(formula, Literal):
        mask = masks.get(formula.fact, formula.full)
        if not mask & formula.mask:
            return False
        return None if mask & ~formula.mask else True
    deciding = isinstance(formula, Any)
    result: bool | None = not deciding
    for part in formula.parts:
        state = _state(part, masks)
        if state is deciding:
            return deciding
        if state is None:
            result = None
    return result


def solve(*formulas: Formula) -> dict[str, int] | None:
    """Masks of facts in which all formulas hold, whatever the other facts are; None if there is no such case.

    Raises:
        GaveUp: it would take too long to tell.
    """
    return _Search(MOST_STEPS).solve({}, list(formulas))
