"""Errors as values: where, what is wrong, the nearest valid word, the fix."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct


class Place(Struct, frozen=True):
    """A spot in a text the user wrote. Lines and columns count from 1."""

    path: str
    line: int
    column: int
    length: int = 1
    text: str = ""  # The whole source line, so that a caret can be drawn under it.

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


class Problem(Struct, frozen=True):
    """One thing that is wrong with an input, said so that its author can fix it."""

    code: str  # Stable, kebab-case: "unknown-fact", "duplicate-key", ...
    message: str
    place: Place | None = None
    fact: str | None = None
    nearest: tuple[str, ...] = ()
    fix: str | None = None
    elsewhere: tuple[str, ...] = ()  # how what was written is stated, where it says something of other facts

    def render(self) -> str:
        """The problem as lines of text: place and message, source line, caret, nearest words, fix."""
        lines = [f"{self.place}: {self.message}" if self.place else self.message]
        if self.place and self.place.text:
            lines.append(f"    {self.place.text}")
            lines.append("    " + " " * (self.place.column - 1) + "^" * max(1, self.place.length))
        if self.nearest:
            lines.append(f"  did you mean {' or '.join(self.nearest)}?")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class WhichgpuError(Exception):
    """Base of every error that an input can cause. Carries all problems found, not only the first."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(problem.render() for problem in self.problems))

    def __reduce__(self) -> tuple[type[WhichgpuError], tuple[tuple[Problem, ...]]]:
        """Problems travel between processes, and not the text that is made of them."""
        return type(self), (self.problems,)


class InputError(WhichgpuError):
    """A workload file, a ``--set`` or an answer is wrong."""


class RulebookError(WhichgpuError):
    """A rule file is wrong."""


class KnowledgeError(WhichgpuError):
    """A knowledge file is wrong."""


class InternalError(RuntimeError):
    """The program contradicts itself. Never caused by an input alone."""


def nearest_words(word: str, known: Iterable[str], *, limit: int = 3, least_alike: float = 0.6) -> tuple[str, ...]:
    """Known words that the reader may have meant, best first; those that are less alike are none of them."""
    import difflib  # noqa: PLC0415  # Only mistakes need it.

    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    matches = difflib.get_close_matches(word.casefold(), folded, n=limit, cutoff=least_alike)
    return tuple(folded[match] for match in matches)


def nearest_names(name: str, known: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Known names of several parts (``budget_usd_per_month``) that the reader may have meant, best first.

    They are spelt alike, or have parts in common, which count the more, the fewer names have them.
    """
    import difflib  # noqa: PLC0415

    wanted, names = name.casefold(), sorted(set(known))
    alike = set(nearest_words(name, names, limit=limit))
    shared = dict.fromkeys(names, 0.0)
    parts = {each: _PARTED.split(each.casefold()) for each in names}
    for part in set(_PARTED.split(wanted)) - _COMMON_PARTS:
        having = [each for each in names if any(_same_part(part, own) for own in parts[each])]
        for each in having:
            shared[each] += 1 / len(having)
    found = [each for each in names if each in alike or shared[each]]
    scores = {each: difflib.SequenceMatcher(None, wanted, each.casefold()).ratio() + shared[each] for each in found}
    best = sorted((each for each in found if scores[each] > _ALIKE_ENOUGH), key=lambda each: -scores[each])
    return tuple(best[:limit])


_PARTED = re.compile(r"[_.]")
#: Parts that say nothing of what a name is about.
_COMMON_PARTS = frozenset(["has", "in", "is", "of", "on", "per", "the", "type", "use"]).union(
    ["count", "limit", "max", "min", "num", "number", "target"]
)
#: Names below this have too little in common to be named.
_ALIKE_ENOUGH = 0.6


def _same_part(one: str, other: str) -> bool:
    """Whether parts of names are the same word: ``month``, ``months``, ``monthly``."""
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) > 4 and long.startswith(short))
