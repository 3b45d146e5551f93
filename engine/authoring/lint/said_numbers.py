"""The numbers that sentences say, in digits and in words, and what a number in a word may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct


class SaidNumber(Struct, frozen=True):
    """A number in a sentence: as it stands there, and what it may mean (half is 0.5, a divisor of 2, 50 percent)."""

    shown: str
    means: tuple[float, ...]
    start: int
    end: int


_WORDS: dict[str, tuple[float, ...]] = {
    "two": (2,), "three": (3,), "four": (4,), "five": (5,), "six": (6,), "seven": (7,), "eight": (8,), "nine": (9,),
    "ten": (10,), "eleven": (11,), "twelve": (12,), "dozen": (12,), "sixteen": (16,), "twenty": (20,),
    "twice": (2,), "double": (2,), "thrice": (3,), "triple": (3,),
    "half": (0.5, 2, 50), "third": (1 / 3, 3, 33), "thirds": (2 / 3, 3), "quarter": (0.25, 4, 25),
    "quarters": (0.75, 4, 75),
}  # fmt: skip
_VALUE = re.compile(r"\{[^}]*\}")
#: Digits that belong to no name (H100, GPT-2, 16-bit, FP8), to no version (3.1.2) and to no year.
_NUMBER = re.compile(
    r"(?<![\w.,-])(?P<digits>\d[\d,]*(?:\.\d+)?)(?![\d]*-?bit)(?!\s+bits?\b)(?!\w|[.,]\d)(?P<times>\s+million|\s+thousand)?"
    r"|\b(?P<word>" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)
_SCALES = {"million": 1e6, "thousand": 1e3}
#: Widths in bits are names of precisions.
_BITS = re.compile(r"(?i)\bbits?\b|\bint\d|\bfp\d|\bbf16")
_WIDTHS = frozenset({4.0, 8.0, 16.0, 32.0})
_YEARS = range(1990, 2100)
#: Behind a word with a capital inside a sentence a number is a version or part of a name: Llama 3.1, RTX 4090.
_NAMED = re.compile(r"[\w,;]\s+[A-Z][\w-]*\s+$")


@lru_cache(maxsize=8192)  # Most sentences outlast an edit.
def numbers_said(text: str) -> tuple[SaidNumber, ...]:
    """The numbers of a sentence, without values of facts, names, widths in bits and years."""
    plain = _VALUE.sub(lambda match: " " * len(match[0]), text)
    return tuple(_found(plain))


def _found(text: str) -> Iterator[SaidNumber]:
    widths = bool(_BITS.search(text))
    for match in _NUMBER.finditer(text):
        if match["word"]:
            yield SaidNumber(match[0], _WORDS[match["word"].lower()], match.start(), match.end())
            continue
        number = float(match["digits"].rstrip(",").replace(",", ""))
        if (
            _NAMED.search(text[: match.start()])
            or (widths and number in _WIDTHS)
            or (number in _YEARS and "," not in match["digits"])
        ):
            continue
        scale = _SCALES[match["times"].strip().lower()] if match["times"] else 1
        means = (number, number * scale) if scale != 1 else (number,)
        yield SaidNumber(match[0], means, match.start(), match.end())


_ANY = re.compile(r"(?<![a-zA-Z_\d.])\d[\d,_]*(?:\.\d+)?(?:e\d+)?")


@lru_cache(maxsize=8192)
def numbers_anywhere(text: str) -> frozenset[float]:
    """Every number that a text holds, whatever it belongs to: what may explain one elsewhere."""
    digits = (match.rstrip(",").replace(",", "").replace("_", "") for match in _ANY.findall(text))
    words = (mean for said in numbers_said(text) for mean in said.means)
    return frozenset([*map(float, digits), *words])


def all_numbers(texts: Iterable[str]) -> frozenset[float]:
    """The numbers that several texts state."""
    return frozenset().union(*map(numbers_anywhere, texts))
