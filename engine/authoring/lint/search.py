"""Is there a case in which a formula holds? A search over classes of values that finds one, or proves there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from whichgpu.engine.authoring.lint.comparisons import OPAQUE
from whichgpu.engine.authoring.lint.formulas import ITEM, All, Any, Formula, Literal
from whichgpu.engine.authoring.lint.linear import GaveUp


#: Steps after which a search gives up; then nothing is claimed.
MOST_STEPS = 4_000


#: Whether masks can hold together for what else is known of the facts. Raises GaveUp.
Possible = Callable[[Mapping[str, int]], bool]


def _solve(
    masks: dict[str, int], formulas: Sequence[Formula], possible: Possible, steps: Iterator[int]
) -> dict[str, int] | None:
    """Masks of facts for which all formulas hold; None if there are none. ``masks`` is used up."""
    choices: list[Any] = []
    changed = _assert(masks, formulas, choices)
    if not changed:
        return None
    while choices and changed:
        if next(steps, None) is None:
            raise GaveUp
        # Drop alternatives that the masks rule out; assert what has one left.
        waiting, choices, changed = choices, [], False
        for choice in waiting:
            left = _left(choice, masks)
            if left is None:
                continue
            if len(left) > 1:
                choices.append(choice if len(left) == len(choice.parts) else Any(tuple(left)))
                continue
            changed = True
            if not left or not _assert(masks, left, choices):
                return None
    if not possible(masks):
        return None
    if not choices:
        return masks
    best = min(range(len(choices)), key=lambda at: len(choices[at].parts))
    rest = [choice for at, choice in enumerate(choices) if at != best]
    tried = (_solve(dict(masks), [part, *rest], possible, steps) for part in choices[best].parts)
    return next((found for found in tried if found is not None), None)


def _left(choice: Any, masks: Mapping[str, int]) -> list[Formula] | None:
    """The alternatives that the masks leave open; None where they imply one of them."""
    left = []
    for part in choice.parts:
        state = _state(part, masks)
        if state:
            return None
        if state is None:
            left.append(part)
    return left


def _assert(masks: dict[str, int], formulas: Iterable[Formula], choices: list[Any]) -> bool:
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


def solvable(first: Formula, *others: Formula, possible: Possible) -> bool:
    """Whether there is a case in which all formulas hold.

    Most of many formulas hold as soon as the first does and nothing else is known. So those are solved that do not, one
    round after the other: a case for all, or a few that exclude each other, is found before all have to be looked at.

    Raises:
        GaveUp: it would take too long to decide.
    """
    wanted, waiting, steps = [first], [*others], iter(range(MOST_STEPS))
    while (masks := _solve({}, wanted, possible, steps)) is not None:
        broken = [formula for formula in waiting if not _holds_bare(formula, masks)]
        if not broken:
            return True
        wanted += broken
        waiting = [formula for formula in waiting if not any(formula is other for other in broken)]
    return False


def _holds_bare(formula: Formula, masks: Mapping[str, int]) -> bool:
    """Whether the masks imply the formula where every other fact is unknown."""
    if isinstance(formula, Literal):
        unknown = (formula.full + 1) >> 1  # The last bit. How facts compare, and items of lists, have none.
        outside = formula.full if OPAQUE in formula.fact or ITEM in formula.fact else unknown
        return not masks.get(formula.fact, outside) & ~formula.mask
    held = (_holds_bare(part, masks) for part in formula.parts)
    return all(held) if isinstance(formula, All) else any(held)


def solve(*formulas: Formula, possible: Possible) -> dict[str, int] | None:
    """Masks of facts in which all formulas hold, whatever the other facts are; None if there is no such case.

    ``possible`` says of masks whether the comparisons of facts with each other among them can hold together.

    Raises:
        GaveUp: it would take too long to decide.
    """
    return _solve({}, formulas, possible, iter(range(MOST_STEPS)))
