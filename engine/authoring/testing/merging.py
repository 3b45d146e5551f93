"""Whole sentences put into a test that says something already: its phrases go, all else of it stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from whichgpu.engine.authoring.testing.following import Following, written_effect
from whichgpu.engine.authoring.testing.suggesting import flow
from whichgpu.engine.rules import RuleTest


_THEN = re.compile(r"(?<![\w-])then:\s*(?=\{)")
_SAYS = re.compile(r",?\s*(?<![\w-])says:\s*(?=\{)")
_KEY = re.compile(r"[\w.]+")


def merged(written: str, test: RuleTest, following: Following) -> str | None:
    """The lines of a test with the sentences of ``following``; None where it is laid out in another way.

    Args:
        written: the lines of the test in its file, from its dash on.
        test: the same, read.
        following: what it is to say.
    """
    says, expected = following.expected.says, test.expected
    stated: Mapping[str, object] = expected.effects if expected else {}
    lacking = {
        word: written_effect(value)
        for word, value in following.expected.effects.items()
        if word not in says and (word not in stated or _longer(value, stated[word]))
    }
    if old := _SAYS.search(written):
        written = written[: old.start()] + written[_end(written, old.end()) :]
    if match := _THEN.search(written):
        end = _end(written, match.end())
        kept = {_KEY.match(part)[0]: part for part in _parts(written[match.end() + 1 : end - 1])}  # type: ignore[index]
        left = {key: part for key, part in kept.items() if key not in says}
        left |= {word: f"{word}: {value}" for word, value in lacking.items()}
        then = f"then: {{{', '.join(left.values())}}}" if left else ""
        before, after = written[: match.start()], written[end:]
        written = f"{before}{then}{after}" if then else f"{before.rstrip(', ')}{after}".replace("{,", "{", 1)
    elif lacking:
        return None
    said = f"says: {flow(says)}"
    if re.match(r"\s*- \{", written):
        body = written.rstrip()
        return f"{body[:-1]}, {said}}}" if body.endswith("}") else None
    indent = len(written) - len(written.lstrip()) + 2
    return f"{written.rstrip()}\n{' ' * indent}{said}"


def _longer(value: object, stated: object) -> bool:
    sized = isinstance(value, tuple | Mapping) and isinstance(stated, tuple | Mapping)
    return sized and len(value) > len(stated)  # type: ignore[arg-type]


def _parts(body: str) -> Iterator[str]:
    """The entries of a flow mapping."""
    depth, quote, start = 0, "", 0
    for at, sign in enumerate(body):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" and body[:at].rstrip()[-1:] in ("", ":", ",", "[", "{"):
            quote = sign
        elif sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
        elif sign == "," and depth == 0:
            yield body[start:at].strip()
            start = at + 1
    if body[start:].strip():
        yield body[start:].strip()


def _end(text: str, start: int) -> int:
    """The place behind the brace that closes the one at ``start``."""
    depth, quote = 0, ""
    for at in range(start, len(text)):
        sign = text[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" and text[:at].rstrip()[-1:] in (":", ",", "[", "{"):
            quote = sign
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)
