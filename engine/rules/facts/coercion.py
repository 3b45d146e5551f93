"""Raw values to typed facts: what a person writes, checked against the fact's type, unit and domain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set as AbstractSet
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.core import InputError, Place, Problem, Scalar, Value, nearest_words
from whichgpu.engine.rules.facts.model import FactDef, fold
from whichgpu.engine.rules.facts.numbers import Refused, in_digits, read_number


_UNKNOWN = frozenset({"", "?", "unknown", "dontknow", "don'tknow", "notsure", "null", "~"})
_YES = frozenset({"yes", "y", "true", "on"})
_NO = frozenset({"no", "n", "false", "off"})
_LONGEST_TEXT = 300
_MOST_ITEMS = 200
_MOST_GPUS = 100_000


class Reading(Struct, frozen=True):
    """What a raw value came to: the value (None: unknown), what is wrong, what to mention."""

    value: Value | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


def coerce(fact: FactDef, raw: object, *, known_gpus: AbstractSet[str] = frozenset()) -> Value | None:
    """Type a raw value by its fact.

    Args:
        fact: the definition.
        raw: text as a person writes it (``24 GB``, ``70b``, ``2 weeks``, ``yes``) or a Python value.
        known_gpus: the GPU names that are accepted; empty to accept all.

    Returns:
        The value in the fact's unit, or None for unknown.

    Raises:
        InputError: with what is wrong, the nearest valid word and the fix.
    """
    reading = read_value(fact, raw, known_gpus=known_gpus)
    if reading.problems:
        raise InputError(reading.problems)
    return reading.value


def read_value(
    fact: FactDef, raw: object, place: Place | None = None, *, known_gpus: AbstractSet[str] = frozenset()
) -> Reading:
    """Like ``coerce``, but problems and warnings come back as values."""
    warnings: list[Problem] = []
    try:
        if raw is None or (isinstance(raw, str) and fold(raw) in _UNKNOWN and fact.choice(raw) is None):
            return Reading()
        value = _READERS[fact.type](fact, raw, _Context(place, known_gpus, warnings))
    except Refused as refused:
        message = f"{fact.name}: {refused}"
        return Reading(None, (Problem(refused.code, message, place, fact.name, refused.near, refused.fix),))
    return Reading(value, (), tuple(warnings))


def yes_or_no(word: str) -> bool | None:
    """The truth value of a word such as ``yes`` or ``off``, or None."""
    folded = word.strip().casefold()
    return True if folded in _YES else False if folded in _NO else None


def gpu_and_count(item: str) -> tuple[str, int]:
    """The parts of a ``gpu_count`` item, ``nvidia-l40s:8``."""
    gpu, _, count = item.rpartition(":")
    return gpu, int(count)


class _Context(Struct, frozen=True):
    place: Place | None
    known_gpus: AbstractSet[str]
    warnings: list[Problem]


def _bool(fact: FactDef, raw: object, _context: _Context) -> Value:
    if isinstance(raw, bool):
        return raw
    words = (raw, fact.choice(raw) or "") if isinstance(raw, str) else ()
    truth = next((truth for truth in map(yes_or_no, words) if truth is not None), None)
    if truth is None:
        raise Refused("not-a-bool", f"{_shown(raw)} is neither yes nor no", fix="write yes, no or unknown")
    return truth


def _number(fact: FactDef, raw: object, context: _Context) -> Value:
    value = read_number(fact, raw)
    share = fact.parsed_unit is not None and fact.parsed_unit.dimension == "share"
    if share and 0 < value < 1 and not (isinstance(raw, str) and not raw.strip().replace(".", "", 1).isdigit()):
        message = (
            f"{fact.name}: {_shown(raw)} is taken as {value:g} percent; {100 * value:g} stands for {100 * value:g} %"
        )
        context.warnings.append(Problem("small-percent", message, context.place, fact.name))
    return value


def _enum(fact: FactDef, raw: object, context: _Context) -> Value:
    words = _words_of(raw)
    for word in words:
        choice = fact.choice(word)
        if choice is not None:
            return choice
    word = words[0]
    near = fact.near_choices(word)
    inside = _choice_inside(fact, raw) if isinstance(raw, str) else None
    if inside is not None and not fact.open:
        near = tuple(dict.fromkeys((inside, *near)))
    if inside is not None and fact.open:
        message = f"{fact.name}: {_shown(raw)} is taken as {inside}"
        context.warnings.append(Problem("taken-as", message, context.place, fact.name))
        return inside
    if fact.open and not isinstance(raw, bool):
        message = f"{fact.name}: {_shown(raw)} is not among the known choices; taken as other"
        context.warnings.append(Problem("unknown-choice", message, context.place, fact.name, near))
        return "other"
    raise Refused("unknown-choice", f"{_shown(raw)} is not a choice", near, f"write one of {', '.join(fact.choices)}")


def _choice_inside(fact: FactDef, raw: str) -> str | None:
    """The first choice that a longer text names ("vLLM 0.10.0, RHEL 9.6"), the longest of those at one place."""
    text = raw.casefold()
    found: list[tuple[int, int, str]] = []
    for word in (*fact.choices, *fact.synonyms):
        choice = fact.choice(word)
        if choice in {None, "other", "none"} or len(word) < 3:
            continue
        at = re.search(rf"(?<![a-z0-9]){re.escape(word.casefold())}(?![a-z0-9])", text)
        if at is not None:
            found.append((at.start(), -len(word), str(choice)))
    return min(found)[2] if found else None


def _text(fact: FactDef, raw: object, _context: _Context) -> Value:
    text = _plain_text(raw)
    return fact.spellings.get(fold(text), text)


def _gpu(_fact: FactDef, raw: object, context: _Context) -> Value:
    name = _plain_text(raw)
    if not context.known_gpus or name in context.known_gpus:
        return name
    known = {fold(entry): entry for entry in sorted(context.known_gpus)}
    found = known.get(fold(name))
    if found is None:
        near = nearest_words(name, sorted(context.known_gpus))
        raise Refused("unknown-gpu", f"no GPU is called {_shown(raw)}", near, "see: whichgpu gpus")
    return found


def _list(fact: FactDef, raw: object, context: _Context) -> Value:
    if isinstance(raw, str):
        bare = raw.strip().removeprefix("[").removesuffix("]")  # As YAML has lists.
        parts: list[object] = [part.strip() for part in bare.split(",") if part.strip()]
        if fold(raw) in {"none", "[]"} and fact.choice("none") is None:
            return ()
    elif isinstance(raw, (list, tuple)):
        parts = list(raw)
    else:
        parts = [raw]
    if len(parts) > _MOST_ITEMS:
        raise Refused("list-too-long", f"more than {_MOST_ITEMS} entries")
    values: list[Scalar] = []
    for part in parts:
        if isinstance(part, (list, tuple)) or part is None:
            raise Refused("not-an-item", f"{_shown(part)} cannot be an entry of the list")
        value = _ITEMS[fact.items or "text"](fact, part, context)
        if not isinstance(value, tuple) and value not in values:
            values.append(value)
    return tuple(values)


def _gpu_count(fact: FactDef, raw: object, context: _Context) -> Value:
    if isinstance(raw, Mapping):
        stray = sorted(str(key) for key in raw if key not in {"gpu", "count"})
        if stray or "gpu" not in raw:
            raise Refused("not-a-gpu-count", f"{_shown(raw)} is not a GPU with its count", fix=_GPU_COUNT_FIX)
        name, count = raw["gpu"], raw.get("count", 1)
    else:
        name, count = _split_count(in_digits(_plain_text(raw), articles=False))
    if isinstance(count, str) and count.strip().isdigit() and len(count) < 10:
        count = int(count)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST_GPUS:
        raise Refused("not-a-gpu-count", f"{_shown(count)} is not a number of GPUs", fix=_GPU_COUNT_FIX)
    return f"{_gpu(fact, name, context)}:{count}"


#: A count that is written to the name: ``2x3090``.
_JOINED = re.compile(r"(?P<count>\d+)[xX](?P<name>\S.*)")
_GPU_COUNT_FIX = "write '8 x nvidia-l40s', or {gpu: nvidia-l40s, count: 8}"


def _split_count(text: str) -> tuple[str, str]:
    """``8 x nvidia-l40s``, ``8x nvidia-l40s``, ``8xl40s``, ``nvidia-l40s x 8``, ``nvidia-l40s:8`` or a bare name."""
    head, colon, tail = text.rpartition(":")
    if colon and tail.strip().isdigit():
        return head.strip(), tail
    first, _, rest = text.replace("\N{MULTIPLICATION SIGN}", "x").partition(" ")
    if first.isdigit() and rest.strip():
        return rest.strip().removeprefix("x ").strip(), first
    if first[:-1].isdigit() and first.endswith("x") and rest.strip():
        return rest.strip(), first[:-1]
    if joined := _JOINED.fullmatch(text):
        return joined["name"], joined["count"]
    name, _, last = text.rpartition(" ")
    if last.removeprefix("x").isdigit() and name:
        return name.strip().removesuffix(" x").strip(), last.removeprefix("x")
    return text, "1"


def _words_of(raw: object) -> tuple[str, ...]:
    if raw is True:
        return ("true", "yes", "on")
    if raw is False:
        return ("false", "no", "off")
    return (_plain_text(raw),)


def _plain_text(raw: object) -> str:
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        raise Refused("wrong-type", f"{_shown(raw)} is not a word", fix="write one word or text")
    text = str(raw).strip()
    if len(text) > _LONGEST_TEXT:
        raise Refused("text-too-long", f"the text is longer than {_LONGEST_TEXT} characters", fix="shorten it")
    if not text.isprintable():
        raise Refused("control-character", "the text holds control characters", fix="remove them")
    return text


def _shown(raw: object) -> str:
    text = raw if isinstance(raw, str) else "yes" if raw is True else "no" if raw is False else repr(raw)
    return repr(text if len(text) <= 60 else text[:57] + "...") if isinstance(raw, str) else text[:60]


_Reader = Callable[[FactDef, Any, _Context], Value]
_READERS: dict[str, _Reader] = {
    "bool": _bool,
    "int": _number,
    "number": _number,
    "enum": _enum,
    "text": _text,
    "gpu": _gpu,
    "list": _list,
}
_ITEMS: dict[str, _Reader] = {
    "enum": _enum,
    "gpu": _gpu,
    "text": _text,
    "int": lambda fact, raw, _: read_number(replace(fact, type="int"), raw),
    "gpu_count": _gpu_count,
}
