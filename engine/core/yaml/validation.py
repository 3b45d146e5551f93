"""pydantic's errors as problems with places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from whichgpu.engine.core.errors import Place, Problem, nearest_words
from whichgpu.engine.core.yaml.node import MappingNode, Node, find, place_of


if TYPE_CHECKING:
    from pydantic import ValidationError

_QUOTED = re.compile(r"'([^']*)'")


def problems_from_pydantic(
    error: ValidationError, node: Node, path: tuple[str | int, ...] = (), *, known: Iterable[str] = ()
) -> list[Problem]:
    """Every finding of a validation as a problem at its place.

    Args:
        error: what pydantic raised.
        node: the document that was validated, or that holds what was.
        path: where in ``node`` the validated part lies.
        known: the keys that are allowed, for "did you mean" beside an unknown one.
    """
    keys = tuple(known)
    return [_problem(finding, node, path, keys) for finding in error.errors(include_url=False)]


def _problem(finding: Any, node: Node, path: tuple[str | int, ...], known: tuple[str, ...]) -> Problem:
    location = (*path, *finding["loc"])
    key = next((str(step) for step in reversed(location) if isinstance(step, str)), "")
    shown = ".".join(str(step) for step in location)
    kind = finding["type"]
    if kind == "extra_forbidden":
        if key in known:  # One that the file has at another place.
            place = _key_place(node, location)
            return Problem(
                "unknown-key", f"the key {key!r} does not belong here", place, fix="move it to where it belongs"
            )
        near = nearest_words(key, known)
        fix = "remove it" if near or not known else f"remove it; known keys are {', '.join(sorted(known))}"
        return Problem("unknown-key", f"the key {key!r} is not known here", _key_place(node, location), None, near, fix)
    if kind == "missing":
        place = _key_place(node, location[:-1])
        return Problem("missing-key", f"the key {key!r} is missing", place, fix=f"add '{key}:'")
    place = place_of(find(node, location))
    near = ()
    if kind == "literal_error":
        near = nearest_words(str(finding["input"]), _QUOTED.findall(str(finding["ctx"]["expected"])))
    message = finding["msg"]
    return Problem("wrong-value", f"{shown}: {message[:1].lower()}{message[1:]}", place, None, near)


def _key_place(node: Node, location: tuple[str | int, ...]) -> Place:
    holder = find(node, location[:-1]) if location else None
    key = holder.key(str(location[-1])) if isinstance(holder, MappingNode) else None
    return place_of(key or find(node, location))
