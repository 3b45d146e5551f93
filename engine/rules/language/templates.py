"""Texts with ``{fact}`` in them: checked when loaded, filled in when shown. ``{{`` and ``}}`` are plain braces."""

from __future__ import annotations

import re
from functools import lru_cache

from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language.figures import format_value
from whichgpu.engine.rules.language.naming import Each
from whichgpu.engine.rules.language.parsing import Where
from whichgpu.engine.rules.language.parsing import locate


#: A sentence needs fewer digits than a table: 15.59 GB, not 15.5933 GB.
SPOKEN_DIGITS = 4
_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


@lru_cache(maxsize=2048)
def template_facts(template: str) -> tuple[str, ...]:
    """The names in braces, in order, as written."""
    return tuple(match[1].strip() for match in _PIECE.finditer(template) if match[1] is not None)


def render(template: str, facts: Facts, vocabulary: Vocabulary) -> str:
    """Fill in a checked template: values with their units, ``unknown`` where there is none."""

    def fill(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][:1]
        fact = vocabulary.fact(match[1].strip())
        return format_value(fact, facts.get(fact.name), digits=SPOKEN_DIGITS) if fact else match[0]

    return _PIECE.sub(fill, template)


def check_template(
    template: str, vocabulary: Vocabulary, place: Where = None, each: Each | None = None
) -> tuple[Problem, ...]:
    """What is wrong with a template: unknown facts, facts out of scope, stray braces, units written twice."""
    found: list[Problem] = []
    for match in _PIECE.finditer(template):
        if match[0] in {"{{", "}}"}:
            continue
        where = locate(template, place, match.start(), len(match[0]))
        if match[1] is None:
            fix = "close the brace, or double it to show a brace"
            found.append(Problem("stray-brace", "a brace stands alone in the text", where, fix=fix))
            continue
        name = match[1].strip()
        fact = vocabulary.fact(name)
        if fact is None:
            near = vocabulary.nearest(name)
            found.append(Problem("unknown-fact", f"no fact is called {name!r}", where, name, near))
        elif each is not None and fact.scope not in READABLE[each]:
            message = f"{name} is not known to a rule of each: {each}"
            found.append(Problem("out-of-scope", message, where, name))
        elif fact.unit and re.match(rf"\s*{re.escape(fact.unit)}\b", template[match.end() :]):
            fix = f"remove {fact.unit!r} behind it: the unit is shown with the value"
            found.append(Problem("unit-twice", f"{{{name}}} shows its unit already", where, name, fix=fix))
    return tuple(found)
