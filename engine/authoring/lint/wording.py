"""Which words a text speaks in, and how much of what another one says is in them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache


_WORD = re.compile(r"[a-z]+\d*[a-z]*|\d+")
_ENDINGS = ("ing", "ies", "es", "ed", "s", "ly", "er")
_SHORTEST = 3
#: Words that distinguish no subjects: those of any sentence, and those of any sentence about GPUs.
_COMMON = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "more", "most",
    "no", "not", "of", "on", "one", "or", "than", "that", "the", "to", "what", "which", "with", "card", "gpu",
    "model", "plan", "task",
})  # fmt: skip


def words_of(*texts: str) -> frozenset[str]:
    """The words of texts without their endings; names fall into their parts, common words are left out."""
    return frozenset().union(*map(_words, texts))


@lru_cache(maxsize=16_384)  # The texts of facts stand behind many rules, and most rules outlast an edit.
def _words(text: str) -> frozenset[str]:
    found = {word for word in _WORD.findall(re.sub(r"[_-]", " ", text.lower())) if len(word) > 1}
    return frozenset(root for word in found if not {word, root := stem(word)} & _COMMON)


def rarity(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    """How much each word weighs: the logarithm of how many texts there are for one that has it."""
    every = list(texts)
    counts = Counter(word for words in every for word in words)
    return {word: math.log(len(every) / count) for word, count in counts.items()}


def share_said(words: frozenset[str], there: frozenset[str], weights: Mapping[str, float]) -> float:
    """How much of the weight of ``words`` is ``there``, from 0 to 1; 1 where they weigh nothing."""
    whole = sum(weights.get(word, 0.0) for word in words)
    return sum(weights.get(word, 0.0) for word in words & there) / whole if whole else 1.0


def stem(word: str) -> str:
    """A word without its ending."""
    if word.endswith(_ENDINGS):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
                return word.removesuffix(ending)
    return word
