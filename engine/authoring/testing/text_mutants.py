"""Small mistakes made on purpose in the sentences of rules: a lost "not", facts exchanged, another number or word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from whichgpu.engine.authoring.testing.said import SHOWN, sentences
from whichgpu.engine.rules import Fallback, Reject, Rule


#: Words of which a hasty author writes one for the other.
EXCHANGED = (
    ("more", "less"),
    ("more", "fewer"),
    ("higher", "lower"),
    ("larger", "smaller"),
    ("faster", "slower"),
    ("cheaper", "costlier"),
    ("above", "below"),
    ("before", "after"),
    ("with", "without"),
    ("always", "never"),
    ("any", "all"),
    ("at least", "at most"),
    ("NVLink", "PCIe"),
    ("rent", "buy"),
    ("training", "serving"),
    ("one", "two"),
    ("three", "four"),
    ("eight", "sixteen"),
    ("half", "twice"),
)
_NUMBER = re.compile(r"(?<![\w{.])\d+(?!\w)")
_NOT = re.compile(r"(?i)\b(?:not|never|no longer) |(?<=can)not\b")


def mistaken(sentence: str) -> Iterator[tuple[str, str]]:
    """The sentence with one mistake each, and which."""
    if _NOT.search(sentence):
        yield _NOT.sub("", sentence, count=1), "without its `not`"
    shown = SHOWN.findall(sentence)
    for first, second in pairwise(shown):
        if first != second:
            kept = {first: second, second: first}
            exchanged = SHOWN.sub(lambda m: f"{{{kept.get(m[1]) or m[1]}}}", sentence)  # noqa: B023
            yield exchanged, f"with {first} and {second} exchanged"
    for pair in EXCHANGED:
        for word, other in (pair, pair[::-1]):
            changed = re.sub(rf"\b{word}\b(?![^{{]*\}})", other, sentence, count=1)
            if changed != sentence:
                yield changed, f"with `{other}` for `{word}`"
    if match := _NUMBER.search(sentence):
        number = str(int(match[0]) + 1)
        yield f"{sentence[: match.start()]}{number}{sentence[match.end() :]}", f"with {number} for {match[0]}"
    yield f"{sentence} To be checked.", "with a sentence more"


def texts_of(rule: Rule) -> Iterator[tuple[Rule, str]]:
    """The rule with one mistake in a sentence of its own, and which; a table's are its first row's."""
    for key, sentence in sentences(rule).items():
        if key in ("title", "because"):
            continue
        for changed, what in mistaken(sentence):
            yield _with(rule, key, changed), f"the {key} {what}"


def headings_of(rule: Rule) -> Iterator[tuple[Rule, str]]:
    """As ``texts_of``, for the title and the reason."""
    for key in ("title", "because"):
        for changed, what in mistaken(getattr(rule, key)):
            yield _with(rule, key, changed), f"the {key} {what}"


def _with(rule: Rule, key: str, sentence: str) -> Rule:
    if key in ("reject", "fallback"):
        effects = (
            replace(effect, text=sentence) if isinstance(effect, Reject | Fallback) and effect.word == key else effect
            for effect in rule.effects
        )
        return replace(rule, effects=tuple(effects))
    return replace(rule, **{key: sentence})
