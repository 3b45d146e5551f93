"""Checking texts with ``{fact}`` in them, when rules are loaded."""

from __future__ import annotations

import re

from whichgpu.engine.core import Problem
from whichgpu.engine.rules.facts import READABLE, Vocabulary
from whichgpu.engine.rules.language.operands import Each
from whichgpu.engine.rules.language.parsing import Where, locate
from whichgpu.engine.rules.language.texts import PIECE


def check_template(
    template: str, vocabulary: Vocabulary, place: Where = None, each: Each | None = None
) -> tuple[Problem, ...]:
    """What is wrong with a template: unknown facts, facts out of scope, stray braces, units written twice."""
    found: list[Problem] = []
    for match in PIECE.finditer(template):
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
