"""Names and words of an expression: which fact is meant, whether the rule may read it, which value a word is."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Literal

from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.language.grammar import Raw
from whichgpu.engine.rules.language.grammar import RawLeaf
from whichgpu.engine.rules.language.lexer import BadExpression
from whichgpu.engine.rules.language.literals import literal
from whichgpu.engine.rules.language.literals import literal_error
from whichgpu.engine.rules.language.literals import near_literals
from whichgpu.engine.rules.language.tree import Const


Each = Literal["workload", "plan", "chosen", "candidate"]


class Names:
    """Resolves names and words. ``findings`` gathers what is wrong."""

    def __init__(self, vocabulary: Vocabulary, each: Each, known_gpus: AbstractSet[str]) -> None:
        self.vocabulary = vocabulary
        self.each = each
        self.known_gpus = known_gpus
        self.findings: list[BadExpression] = []

    def _named(self, raw: Raw) -> FactDef | None:
        """The fact that a bare word names, without complaint."""
        return self.vocabulary.fact(raw.text) if isinstance(raw, RawLeaf) and raw.kind == "word" else None

    def _literal(self, fact: FactDef, raw: RawLeaf, named: FactDef | None) -> Const | None:
        """The word as a value of ``fact``. Where any word would do, a word that names a fact is that fact."""
        if fact.type == "list":
            return None
        if named is not None and (fact.type == "text" or (fact.type == "gpu" and not self.known_gpus)):
            return None
        return literal(fact, raw, self.known_gpus)

    def _fact(self, raw: Raw) -> FactDef | None:
        """The fact that must stand here; reports what is wrong with it."""
        if not isinstance(raw, RawLeaf) or raw.kind != "word":
            self._find("no-fact", raw, "the name of a fact is needed here")
            return None
        fact = self.vocabulary.fact(raw.text)
        if fact is None:
            self._unknown_fact(raw)
        elif not self._readable(fact, raw):
            return None
        return fact

    def _readable(self, fact: FactDef, raw: Raw) -> bool:
        if fact.scope in READABLE[self.each]:
            return True
        wanted = "plan" if fact.scope in {"plan", "gpu"} else fact.scope
        message = f"{fact.name} is not known to a rule of each: {self.each}"
        self._find("out-of-scope", raw, message, fix=f"write each: {wanted}", fact=fact.name)
        return False

    def _unknown_fact(self, raw: RawLeaf) -> None:
        near = self.vocabulary.nearest(raw.text)
        parts = raw.text.split("-")
        is_minus = len(parts) > 1 and self.vocabulary.fact(parts[0]) is not None
        fix = f"write {' - '.join(parts)}: a minus needs spaces around it" if is_minus else None
        message = f"no fact is called {raw.text!r}"
        self._find("unknown-fact", raw, message, near=near, fix=fix, fact=raw.text)

    def _bad_literal(self, fact: FactDef, raw: RawLeaf) -> None:
        code, message, fix = literal_error(fact, raw, self.known_gpus)
        near = near_literals(fact, raw, self.known_gpus)
        if not near and raw.kind == "word":
            near = self.vocabulary.nearest(raw.text, limit=1)
        self._find(code, raw, message, near=near, fix=fix, fact=fact.name)

    def _find(
        self,
        code: str,
        raw: Raw,
        message: str,
        *,
        near: tuple[str, ...] = (),
        fix: str | None = None,
        fact: str | None = None,
    ) -> None:
        self.findings.append(BadExpression(code, message, raw.start, raw.end, near=near, fix=fix, fact=fact))


def kind_of(fact: FactDef) -> str:
    """What a fact holds, in words."""
    kinds = {"bool": "yes or no", "int": "a number", "number": "a number", "enum": "a choice"}
    return kinds.get(fact.type, {"gpu": "a GPU", "list": "a list"}.get(fact.type, "a text"))
