"""Whether the numbers that a heuristic states can be read in what carries it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import is_number
from whichgpu.engine.rules import ConsiderCounts, Monitor, Points, Rule, SetFact


if TYPE_CHECKING:
    from whichgpu.engine.authoring.guides.guides import CoverageEntry

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")
#: Names of cards carry their memory: nvidia-a100-40gb.
_GPU_NAME = re.compile(r"\b[a-z]+(?:-[a-z0-9]+)+\b")
_MEMORY_IN_NAME = re.compile(r"(\d+)gb\b")
_WORDS = {
    "one": 1.0, "single": 1.0, "two": 2.0, "pair": 2.0, "twice": 2.0, "double": 2.0, "doubles": 2.0, "three": 3.0,
    "third": 3.0, "four": 4.0, "fourfold": 4.0, "quarter": 25.0, "five": 5.0, "fifths": 20.0, "six": 6.0,
    "sixteen": 16.0, "eight": 8.0, "nine": 9.0, "ten": 10.0, "tenth": 10.0, "twelve": 12.0, "half": 50.0,
    "halves": 50.0, "halve": 50.0, "halving": 50.0, "first": 1.0, "fifth": 5.0,
}  # fmt: skip
_TENTHS = re.compile(r"\b(one|two|three|four|five|six|seven|eight|nine) tenths?\b")
_CLOSE = 0.02
#: What a stated number may be written as beside itself, by its unit: TB as GB, percent as a share.
_SCALES = {"TB": (1.0, 1000.0), "K": (1.0, 1000.0), "%": (1.0, 0.01)}
#: Not an amount: it means around the clock.
_NO_AMOUNT = "24/7"


def missing_numbers(stated: Iterable[str], entry: CoverageEntry, advisor: Advisor) -> list[str]:
    """The stated numbers that stand in no carrier. A number that the catalogue itself derived is not looked for."""
    there = list(_there(entry, advisor))
    return [
        text
        for text in stated
        if "(derived)" not in text
        and text != _NO_AMOUNT
        and not all(_found(number, _scales(text), there) for number in numbers_in(text))
    ]


def _scales(text: str) -> tuple[float, ...]:
    """How a number with this unit may be written."""
    return next((_SCALES[word] for word in text.split() if word in _SCALES), (1.0,))


def _found(number: float, scales: tuple[float, ...], there: list[float]) -> bool:
    return any(abs(number * scale - other) <= _CLOSE * abs(other) for scale in scales for other in there)


def numbers_in(text: str) -> Iterator[float]:
    """Figures and number words of a text; of the names of cards only the memory in them."""
    for name in _GPU_NAME.findall(text):
        yield from (float(number) for number in _MEMORY_IN_NAME.findall(name))
    plain = _GPU_NAME.sub(" ", text)
    yield from (float(number.replace(",", "")) for number in _NUMBER.findall(plain.replace("..", " ")))
    yield from map(float, re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)(?:[a-zA-Z]+|x)\b", plain))
    yield from (_WORDS[word] * 10 for word in _TENTHS.findall(plain.lower()))
    yield from (_WORDS[word] for word in re.findall(r"[a-z]+", plain.lower()) if word in _WORDS)


def _there(entry: CoverageEntry, advisor: Advisor) -> Iterator[float]:
    knowledge = advisor.knowledge
    for name in entry.rules:
        if name in advisor.rules:
            yield from _in_rule(advisor.rules[name], advisor)
    for name in entry.figures:
        figure = knowledge.figures.get(name, {})
        yield from numbers_in(f"{figure.get('value', '')} {figure.get('meaning', '')}")
    for name in entry.disagreements:
        dispute = knowledge.disagreements.get(name, {})
        yield from numbers_in(f"{dispute.get('resolution', '')} {dispute.get('title', '')}")
        for position in dispute.get("positions", ()):
            yield from numbers_in(position["says"])
    for name in entry.facts:
        yield from numbers_in(msgspec.json.encode(advisor.vocabulary.facts[name]).decode())
    yield from (float(v.is_) for v in entry.values if is_number(v.is_))
    for done in entry.sums:
        yield done.is_
        yield from numbers_in(" ".join(map(str, done.given.values())))
    yield from (number for value in entry.costs.values() for number in numbers_in(str(value)))


def _in_rule(rule: Rule, advisor: Advisor) -> Iterator[float]:
    said = [rule.title, rule.text, rule.because, *(condition.text for condition in rule.when)]
    for effect in rule.effects:
        match effect:
            case SetFact():
                said.append(effect.text)
            case ConsiderCounts():
                yield from map(float, effect.counts)
            case Monitor():
                yield from (value for value in (effect.low, effect.high) if value is not None)
            case Points():  # The weight is ours; what is claimed is the guide's.
                if effect.claim and effect.claim.ratio is not None:
                    yield effect.claim.ratio
            case _:
                said.append(str(getattr(effect, "text", "")))
    for test in rule.tests:
        if test.fires:
            said += map(str, (*test.given.values(), *test.plan.values()))
    yield from (number for text in said for number in numbers_in(text))
    for condition in rule.when:
        yield from _memory_of_named(condition.text, advisor)


def _memory_of_named(text: str, advisor: Advisor) -> Iterator[float]:
    """The memory of the cards that a condition names: who writes RTX 4090 means 24 GB."""
    for name in _GPU_NAME.findall(text):
        match = advisor.knowledge.find_gpu(name)
        for gpu_id in match.ids if match.found else ():
            memory = advisor.knowledge.gpus[gpu_id].vram_gb
            if memory is not None:
                yield memory
