"""Text of a condition to tokens. Words may hold dots and dashes, so a minus needs spaces around it."""

from __future__ import annotations

import re
from typing import NamedTuple


KEYWORDS = frozenset({"and", "or", "not", "in", "has", "is", "between", "unless", "if"})


class Token(NamedTuple):
    """``kind`` is number, word, quoted, keyword, op or end. ``text`` is what was written; quotes are taken off."""

    kind: str
    text: str
    start: int
    end: int


class BadExpression(Exception):  # noqa: N818  # Turned into a Problem by the parser's entry point.
    """Something in an expression that stops its parsing."""

    def __init__(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        *,
        near: tuple[str, ...] = (),
        fix: str | None = None,
        fact: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.near = near
        self.fix = fix
        self.fact = fact


# A number takes its unit along: '24 GB', '70b', '$2.5/h', '3 USD/h', '80 %'; and '4-bit' is one word.
_NO_KEYWORD = rf"(?!(?:{'|'.join(sorted(KEYWORDS))})\b)"
_UNIT = rf"(?:\ ?{_NO_KEYWORD}[A-Za-zµ%][\w%$]*(?:-[\w%$]+)*(?:/[A-Za-z][\w-]*)?|(?:-[A-Za-z]\w*)+)"
_TOKEN = re.compile(
    rf"""
      (?P<space>\s+)
    | (?P<number>\$\ ?\d[\d_]*(?:\.\d+)?(?:{_UNIT}|/[A-Za-z]+)? | \d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+(?![\w.]))?{_UNIT}?)
    | (?P<word>[A-Za-z_]\w*(?:[.\-]\w+)*)
    | (?P<quoted>'[^']*'|"[^"]*")
    | (?P<op>==|!=|<=|>=|[<>()\[\],+*/-])
    """,
    re.VERBOSE,
)
_NEGATIVE = re.compile(rf"-\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+(?![\w.]))?{_UNIT}?")

_INSTEAD = {
    "=": "write == to compare",
    "&": "write and",
    "|": "write or",
    "!": "write not, or != to compare",
    "≥": "write >=",
    "≤": "write <=",
    "≠": "write !=",
    "{": "values in braces belong into texts, not into conditions",
    "%": "write the number in percent, such as 80 %",
    "^": "write a product",
    "'": "close the quote",
    '"': "close the quote",
    ".": "write a range as x >= 7 and x <= 13",
    "?": "there is no such operator; write two rules",
    ":": "there is no such operator; put a text with ':' in quotes",
    ";": "write each condition in a line of its own",
}


def tokens(text: str) -> list[Token]:
    """All tokens, ended by one of kind ``end``.

    Raises:
        BadExpression: at the first character that starts no token.
    """
    found: list[Token] = []
    position = 0
    while position < len(text):
        match = _match(text, position, found)
        kind = match.lastgroup if match else None
        if match is None or (kind is None and text[position] != "-"):
            char = text[position]
            raise BadExpression(
                "bad-character", f"{char!r} has no meaning here", position, position + 1, fix=_INSTEAD.get(char)
            )
        written = match.group()
        if kind == "word" and written in KEYWORDS:
            kind = "keyword"
        if kind != "space":
            shown = written[1:-1] if kind == "quoted" else written
            found.append(Token(kind or "number", shown, position, match.end()))
        position = match.end()
    found.append(Token("end", "", len(text), len(text)))
    return found


def _match(text: str, position: int, before: list[Token]) -> re.Match[str] | None:
    if text[position] == "-" and (not before or before[-1].kind in {"op", "keyword"}) and not _closes(before):
        negative = _NEGATIVE.match(text, position)
        if negative:
            return negative
    return _TOKEN.match(text, position)


def _closes(before: list[Token]) -> bool:
    return bool(before) and before[-1].kind == "op" and before[-1].text in {")", "]"}
