"""pydantic's errors as problems with places, in the words of whoever wrote the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from whichgpu.engine.core.errors import Place, Problem, nearest_words
from whichgpu.engine.core.yaml.node import MappingNode, Node, SequenceNode, find, key_place, place_of


if TYPE_CHECKING:
    from pydantic import ValidationError

Steps = tuple[str | int, ...]

_QUOTED = re.compile(r"'([^']*)'")
#: What a value of the wrong kind should be, by pydantic's name of the finding.
_KINDS = {
    "string_type": "a text",
    "model_type": "a mapping (key: value)",
    "dict_type": "a mapping (key: value)",
    "list_type": "a list",
    "tuple_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}


def problems_from_pydantic(
    error: ValidationError, node: Node, path: Steps = (), *, known: Iterable[str] = ()
) -> list[Problem]:
    """Every finding of a validation as a problem at its place.

    Args:
        error: what pydantic raised.
        node: the document that was validated, or that holds what was.
        path: where in ``node`` the validated part lies.
        known: the keys that are allowed, for "did you mean" beside an unknown one.
    """
    keys = tuple(known)
    findings = [(*_steps(finding, node, path), finding) for finding in error.errors(include_url=False)]
    problems: list[Problem] = []
    said: set[Steps] = set()
    for union, steps, finding in findings:
        if steps != union or finding["type"] not in _KINDS:
            problems.append(_problem(finding, node, steps, keys, nested=len(steps) > len(path) + 1))
        elif union not in said and not any(_inside(union, *other) for other in findings):
            # It has none of its forms: one problem names them all.
            said.add(union)
            forms = dict.fromkeys(_KINDS[each["type"]] for other, _, each in findings if other == union)
            problems.append(_wrong(steps, f"should be {' or '.join(forms)}", place_of(find(node, steps))))
    return problems


def _inside(union: Steps, other: Steps | None, steps: Steps, finding: Any) -> bool:
    """Whether a finding is about what is inside of a value with several forms, which has one of them then."""
    if steps == union:
        return other == union and finding["type"] not in _KINDS
    return steps[: len(union)] == union


def _steps(finding: Any, node: Node, path: Steps) -> tuple[Steps | None, Steps]:
    """Where the innermost value with several forms stands that a finding is about, if any, and where the finding is.

    pydantic puts the name of a form between the keys of a location, where the document has no such step.
    """
    location: Steps = (*path, *finding["loc"])
    absent = 1 if finding["type"] == "missing" else 0
    union: Steps | None = None
    steps: Steps = ()
    for at, step in enumerate(location):
        inside = find(node, steps)
        if isinstance(inside, MappingNode):
            known = inside.get(str(step)) is not None
        else:
            known = isinstance(inside, SequenceNode) and isinstance(step, int)
        if known or at >= len(location) - absent:
            steps = (*steps, step)
        else:
            union = steps
    return union, steps


def _problem(finding: Any, node: Node, location: Steps, known: tuple[str, ...], *, nested: bool) -> Problem:
    key = next((str(step) for step in reversed(location) if isinstance(step, str)), "")
    kind = finding["type"]
    if kind == "extra_forbidden":
        if key in known:  # One that the file has at another place.
            place = key_place(node, location)
            return Problem(
                "unknown-key", f"the key {key!r} does not belong here", place, fix="move it to where it belongs"
            )
        near = nearest_words(key, known)
        fix = "remove it" if near or nested or not known else f"remove it; known keys are {', '.join(sorted(known))}"
        return Problem("unknown-key", f"the key {key!r} is not known here", key_place(node, location), None, near, fix)
    if kind == "missing":
        place = key_place(node, location[:-1])
        return Problem("missing-key", f"the key {key!r} is missing", place, fix=f"add '{key}:'")
    place = place_of(find(node, location))
    near = ()
    if kind == "literal_error":
        near = nearest_words(str(finding["input"]), _QUOTED.findall(str(finding["ctx"]["expected"])))
    message = finding["msg"].removeprefix("Input ")
    if kind in _KINDS:
        message = f"should be {_KINDS[kind]}"
    elif kind == "value_error":
        message = str(finding["ctx"]["error"])
    return _wrong(location, f"{message[:1].lower()}{message[1:]}", place, near)


def _wrong(location: Steps, message: str, place: Place, near: tuple[str, ...] = ()) -> Problem:
    shown = ".".join(str(step) for step in location)
    return Problem("wrong-value", f"{shown}: {message}" if shown else f"this {message}", place, None, near)
