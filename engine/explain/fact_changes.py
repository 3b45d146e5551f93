"""Changes of the facts of a workload: which are worth trying, how big each is, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import InputError, Scalar, Value, is_number, json_value, rounded
from whichgpu.engine.rules import FactDef, Rule, coerce, constants_compared


def with_changes(given: Mapping[str, Value], changes: Iterable[str], advisor: Advisor) -> dict[str, Value]:
    """The given facts with ``fact=value`` texts put in place of what they change; ``unknown`` takes a fact away.

    Raises:
        InputError: a change is wrong.
    """
    texts = tuple(changes)
    read = advisor.read({name: json_value(value) for name, value in given.items()}, texts).given
    written = [text.partition("=")[0].strip() for text in texts]
    touched = {advisor.vocabulary.resolve(name) or name for name in written}
    for name in written:
        touched |= {fact.name for fact in advisor.vocabulary.conditional_aliases(name)}
    changed = {name: value for name, value in given.items() if name not in touched}
    return changed | {name: value for name, value in read.items() if name in touched}


#: How far it is from one choice to another, or to a fact that is not stated, on the scale of a number's ln ratio.
CHOICE_DISTANCE = 1.0
FORGETTING_DISTANCE = 1.5
#: Another task is another workload: it is tried, after everything else.
_OTHER_WORK_DISTANCE = 5.0
#: A step beside a threshold of a number without a smallest unit, as a share of it.
_STEP = 0.01
_DIGITS = 3
_SMALLEST_STEP = 0.001
#: How much further away the next number that is tried lies, counted in those that might be; and steps of unknown ones.
_FURTHER = 1.4
_FROM_END_TO_END = 8


class FactChange(Struct, frozen=True):
    """One fact set to another value; ``after`` None takes it away."""

    fact: str
    before: Value | None
    after: Value | None
    essential: bool = False  # without this fact there is no workload to speak of

    @property
    def distance(self) -> float:
        """How big the change is: the ln ratio of numbers, a fixed amount for anything else."""
        if self.essential:
            return _OTHER_WORK_DISTANCE
        if self.after is None:
            return FORGETTING_DISTANCE
        if is_number(self.before) and is_number(self.after):
            one, other = float(self.before), float(self.after)
            if one > 0 and other > 0:
                return abs(math.log(other / one))
            return abs(other - one) / max(abs(one), abs(other), 1.0)
        return CHOICE_DISTANCE


def probes(
    fact: FactDef, now: Value | None, rules: tuple[Rule, ...], *, stated: bool, figures: tuple[float, ...] = ()
) -> list[FactChange]:
    """Changes of one fact worth trying, nearest first: thresholds of these rules a step either way, and domain ends.

    Args:
        fact: what to change.
        now: its present value, stated or resolved; None where it is unknown.
        rules: whose thresholds count.
        stated: whether the workload states it, so that it can be taken away.
        figures: further thresholds: the figures of plans that rules hold against the fact.
    """
    found = [value for value in _values(fact, rules, figures) if value != now]
    essential = fact.when_unstated == "must_ask" and now is not None
    changes = [FactChange(fact.name, now, value, essential) for value in dict.fromkeys(found)]
    if stated and not essential:
        changes.append(FactChange(fact.name, now, None))
    return sorted(changes, key=lambda change: (change.distance, str(change.after)))


def spread_out(changes: Iterable[FactChange]) -> list[FactChange]:
    """Of many numbers of one fact those that lie apart: the nearest ones on each side, and ever fewer further away.

    Where two of them come to something else, halving finds where between them. Of a fact that is unknown nothing is
    near: a few are taken from one end to the other.

    Args:
        changes: of one fact, nearest first.
    """
    kept: list[FactChange] = []
    sides: dict[bool | None, list[FactChange]] = {}
    for change in changes:
        if is_number(change.after):
            sides.setdefault(side_of(change), []).append(change)
        else:
            kept.append(change)
    for side, numbers in sides.items():
        last, place = len(numbers) - 1, 0
        if side is None:
            numbers.sort(key=lambda change: float(change.after))  # type: ignore[arg-type]
            places = {round(last * share / _FROM_END_TO_END) for share in range(_FROM_END_TO_END + 1)}
        else:
            places = {last}
            while place < last:
                places.add(place)
                place = max(place + 1, round(place * _FURTHER))
        kept += [numbers[place] for place in places]
    return sorted(kept, key=lambda change: (change.distance, str(change.after)))


def side_of(change: FactChange) -> bool | None:
    """Whether a number rises; None for anything else."""
    before, after = change.before, change.after
    return after > before if is_number(before) and is_number(after) else None


def thresholds(fact: str, rules: tuple[Rule, ...]) -> list[Scalar]:
    """What the conditions of these rules compare a fact with, in a stable order."""
    reading = [condition.expr for rule in rules if fact in rule.reads for condition in rule.when]
    return sorted(constants_compared(reading).get(fact, frozenset()), key=lambda value: (str(type(value)), str(value)))


def _values(fact: FactDef, rules: tuple[Rule, ...], figures: tuple[float, ...]) -> Iterator[Value]:
    if fact.type == "bool":
        yield from (True, False)
    elif fact.type == "enum":
        wanted = [value for value in thresholds(fact.name, rules) if isinstance(value, str) and value in fact.choices]
        yield from wanted
        yield from (choice for choice in fact.choices if choice not in wanted)
    elif fact.numeric:
        ends = [end for end in (fact.min, fact.max) if end is not None]
        marks = [*(float(m) for m in thresholds(fact.name, rules) if is_number(m)), *figures]
        tries = [*(near for mark in marks for near in (mark, mark - step(fact, mark), mark + step(fact, mark))), *ends]
        yield from (allowed for value in tries if (allowed := valid(fact, value)) is not None)


def step(fact: FactDef, value: float) -> float:
    """The smallest move worth trying beside a threshold."""
    return 1.0 if fact.type == "int" else max(abs(value) * _STEP, _SMALLEST_STEP)


def valid(fact: FactDef, value: float) -> Value | None:
    """The number as a value of the fact; None outside its domain."""
    if not math.isfinite(value):
        return None
    number = round(value) if fact.type == "int" else float(rounded(value))
    try:
        return coerce(fact, number)
    except InputError:
        return None


def between(fact: FactDef, near: float, far: float) -> Value | None:
    """A value between two others, at three digits; None where there is no such value left.

    Of 0 all numbers are equally far away in digits: what lies below the smallest step beside it counts as 0.
    """
    low, high = min(near, far), max(near, far)
    start = low or min(0.5 if fact.type == "int" else _SMALLEST_STEP, high)
    middle = math.sqrt(start * high) if start > 0 and high / start > 4 else (start + high) / 2
    digits = _DIGITS - 1 - math.floor(math.log10(abs(middle))) if middle else 0
    number = round(middle, min(digits, 0) if fact.type == "int" else digits)
    return valid(fact, number) if low < number < high else None


def read_back(value: Value | None) -> str:
    """A value as ``--set`` takes it; a fact that is taken away is unknown."""
    if value is None:
        return "unknown"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
