"""Tokens to an untyped tree: a Pratt parser."""

from __future__ import annotations

from whichgpu.engine.rules.language.lexer import BadExpression, Token, tokens
from whichgpu.engine.rules.language.raw_tree import (
    LeafKind,
    Raw,
    RawArith,
    RawCompare,
    RawJunction,
    RawLeaf,
    RawRelation,
)
from whichgpu.engine.rules.language.tree import ArithOp, CompareOp


MAX_LENGTH = 2000  # Characters of one expression.
MAX_DEPTH = 50  # Levels of nesting.
MAX_TOKENS = 1000

_COMPARISONS: dict[str, CompareOp] = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_ARITHMETIC: dict[str, ArithOp] = {"+": "+", "-": "-", "*": "*", "/": "/"}
_LEAVES: dict[str, LeafKind] = {"word": "word", "quoted": "quoted", "number": "number"}
_RELATIONS = frozenset({"in", "has", "is", "between"})
_FUNCTIONS: dict[str, ArithOp] = {"min": "min", "max": "max"}
# Binding powers: unless < or < and < if known < not < relation < sum < product.
_UNLESS, _OR, _AND, _IF, _NOT, _RELATION, _SUM, _PRODUCT = range(1, 9)
_POWERS = {
    "unless": _UNLESS,
    "or": _OR,
    "and": _AND,
    "if": _IF,
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
}
_SPLIT = "split it into several conditions"


def _bad(code: str, message: str, token: Token, fix: str | None) -> BadExpression:
    return BadExpression(code, message, token.start, token.end, fix=fix)


def parse_raw(text: str, subject: str | None = None) -> Raw:
    """The untyped tree of an expression.

    Args:
        text: the expression.
        subject: a fact that stands, unwritten, left of a relation that has no left side (``> 3`` in a table cell).

    Raises:
        BadExpression: with the span that is wrong.
    """
    if len(text) > MAX_LENGTH:
        raise BadExpression("expression-too-long", f"longer than {MAX_LENGTH} characters", 0, 1, fix=_SPLIT)
    if not text.strip():
        raise BadExpression("empty-expression", "a condition is missing", 0, 1, fix="write it, or remove the line")
    found = tokens(text)
    if len(found) > MAX_TOKENS:
        raise BadExpression("expression-too-long", f"more than {MAX_TOKENS} words", 0, 1, fix=_SPLIT)
    parser = _Parser(found, subject)
    tree = parser.expression(0)
    rest = parser.peek()
    if rest.kind != "end":
        raise parser.refused(rest)
    return tree


class _Parser:
    def __init__(self, found: list[Token], subject: str | None) -> None:
        self._tokens = found
        self._next = 0
        self._depth = 0
        self._subject = subject

    def peek(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def expression(self, power: int) -> Raw:
        """Parse as long as operators bind more tightly than ``power``."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _bad("expression-too-deep", f"nested deeper than {MAX_DEPTH} levels", self.peek(), _SPLIT)
        left = self._prefix()
        chained = 0
        while (binding := self._binding()) > power:
            chained += 1
            if chained > MAX_DEPTH:
                fix = f"{_SPLIT}, or write in [...]"
                raise _bad("expression-too-deep", f"more than {MAX_DEPTH} operators in a row", self.peek(), fix)
            left = self._infix(left, binding)
        self._depth -= 1
        return left

    def _binding(self) -> int:
        token = self.peek()
        if token.kind == "op" and token.text in _COMPARISONS:
            return _RELATION
        if token.kind == "keyword" and (token.text in _RELATIONS or (token.text == "not" and self._follows("in"))):
            return _RELATION
        return _POWERS.get(token.text, 0) if token.kind in {"op", "keyword"} else 0

    def _follows(self, word: str) -> bool:
        after = self._tokens[self._next + 1] if self._next + 1 < len(self._tokens) else None
        return after is not None and after.kind == "keyword" and after.text == word

    def _prefix(self) -> Raw:
        token = self.peek()
        if self._subject is not None and self._binding() == _RELATION:
            return RawLeaf("word", self._subject, token.start, token.start)
        self._take()
        if token.kind == "word" and token.text in _FUNCTIONS and self.peek().text == "(" and self.peek().kind == "op":
            return self._function(token)
        if token.kind in _LEAVES:
            return RawLeaf(_LEAVES[token.kind], *token[1:])
        if token.kind == "keyword" and token.text in {"not", "unless"}:
            operand = self.expression(_NOT - 1 if token.text == "not" else _UNLESS)
            return RawJunction("not", (operand,), token.start, operand.end)
        if token.kind == "op" and token.text == "(":
            inner = self.expression(0)
            self._expect(")", token)
            return inner
        raise self.refused(token)

    def _function(self, token: Token) -> Raw:
        """``min(a, b, ...)``: the smallest; ``max``: the largest."""
        opening = self._take()
        found = self.expression(0)
        if self.peek().text != ",":
            raise _bad("bad-list", f"{token.text} needs two numbers or more", token, f"write {token.text}(a, b)")
        while self.peek().text == ",":
            self._take()
            right = self.expression(0)
            found = RawArith(_FUNCTIONS[token.text], found, right, token.start, right.end)
        self._expect(")", opening)
        return found

    def _infix(self, left: Raw, binding: int) -> Raw:
        token = self.peek()
        if binding == _IF:
            self._take()
            known = self._take()
            if known.text != "known":
                fix = "write `plan.count <= 8 if known`, or join two conditions with and"
                raise _bad("unexpected", "if is followed by known alone", known, fix)
            return RawJunction("if known", (left,), left.start, known.end)
        if binding == _UNLESS:
            self._take()
            right = self.expression(_UNLESS)
            exception = RawJunction("not", (right,), token.start, right.end)
            return RawJunction("and", (left, exception), left.start, right.end)
        if binding == _RELATION:
            relation = self._relation(left)
            self._refuse_chain()
            return relation
        self._take()
        if token.text in _ARITHMETIC:
            right = self.expression(binding)
            return RawArith(_ARITHMETIC[token.text], left, right, left.start, right.end)
        operands = [left, self.expression(binding)]
        while self.peek().kind == "keyword" and self.peek().text == token.text:
            self._take()
            operands.append(self.expression(binding))
        return RawJunction("and" if token.text == "and" else "or", tuple(operands), left.start, operands[-1].end)

    def _relation(self, left: Raw) -> Raw:
        token = self._take()
        if token.text in _COMPARISONS:
            right = self.expression(_RELATION)
            return RawCompare(_COMPARISONS[token.text], left, right, left.start, right.end, token.start, token.end)
        if token.text == "between":
            return self._between(left, token)
        if token.text == "has":
            absent = self.peek().kind == "keyword" and self.peek().text == "not"
            if absent:
                self._take()
            item = self._leaf("has needs a word or number on its right")
            has = RawRelation("has", left, (item,), negated=False, start=left.start, end=item.end)
            return RawJunction("not", (has,), left.start, item.end) if absent else has
        if token.text == "is":
            return self._is(left)
        negated = token.text == "not"
        if negated:
            self._take()
        items, end = self._list()
        return RawRelation("in", left, items, negated, left.start, end)

    def _between(self, left: Raw, token: Token) -> Raw:
        """``x between 7 and 13``: both ends belong to it."""
        low = self.expression(_RELATION)
        word = self._take()
        if word.text != "and" or word.kind != "keyword":
            raise _bad("incomplete", "between needs two ends", token, "write x between 7 and 13")
        high = self.expression(_RELATION)
        ends: tuple[tuple[CompareOp, Raw], ...] = ((">=", low), ("<=", high))
        parts = (RawCompare(op, left, end, left.start, end.end, token.start, token.end) for op, end in ends)
        return RawJunction("and", tuple(parts), left.start, high.end)

    def _is(self, left: Raw) -> Raw:
        token = self._take()
        negated = token.text == "not"
        if negated:
            token = self._take()
        if token.text not in {"known", "unknown"}:
            fix = "write is known or is unknown; to compare a value write =="
            raise _bad("bad-is", "is takes only known or unknown", token, fix)
        return RawRelation("is", left, (), negated != (token.text == "unknown"), left.start, token.end)

    def _list(self) -> tuple[tuple[RawLeaf, ...], int]:
        opening = self._take()
        if opening.text != "[" or opening.kind != "op":
            fix = "write x in [a, b]; for membership in a list-valued fact write fact has x"
            raise _bad("bad-list", "in needs a list in brackets", opening, fix)
        items = [self._leaf("a list needs words or numbers")]
        while self.peek().text == "," and self.peek().kind == "op":
            self._take()
            items.append(self._leaf("a list needs words or numbers"))
        return tuple(items), self._expect("]", opening).end

    def _leaf(self, complaint: str) -> RawLeaf:
        token = self._take()
        if token.kind in _LEAVES:
            return RawLeaf(_LEAVES[token.kind], *token[1:])
        raise BadExpression("bad-list", complaint, token.start, max(token.end, token.start + 1))

    def _expect(self, text: str, opening: Token) -> Token:
        token = self._take() if self.peek().kind != "end" else self.peek()
        if token.kind != "op" or token.text != text:
            raise _bad("unclosed-bracket", f"{opening.text!r} is never closed", opening, f"add {text!r}")
        return token

    def _refuse_chain(self) -> None:
        token = self.peek()
        if token.kind == "op" and token.text in _COMPARISONS:
            fix = "join two comparisons with and: x > 3 and x < 5"
            raise _bad("chained", "comparisons cannot be chained", token, fix)

    def refused(self, token: Token) -> BadExpression:
        """The error of a token that cannot stand here."""
        if token.kind == "end":
            return BadExpression("incomplete", "the expression ends too early", token.start, token.start + 1)
        before = self._tokens[self._tokens.index(token) - 1] if token is not self._tokens[0] else None
        fix = None
        if token.kind in {"word", "number", "quoted"} and before is not None and before.kind in {"word", "number"}:
            fix = "an operator is missing before it; a text of several words needs quotes"
        return _bad("unexpected", f"{token.text!r} cannot stand here", token, fix)
