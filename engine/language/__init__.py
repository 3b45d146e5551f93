"""The rule language: text to a checked tree, evaluation in three values, wording."""

from engine.language.compiling import Compiled
from engine.language.compiling import compile_expr
from engine.language.evaluating import evaluate
from engine.language.evaluating import first_failure
from engine.language.parsing import parse_condition
from engine.language.parsing import parse_expression
from engine.language.shaping import conjuncts
from engine.language.shaping import facts_read
from engine.language.shaping import to_nnf


__all__ = [
    "Compiled",
    "compile_expr",
    "conjuncts",
    "evaluate",
    "facts_read",
    "first_failure",
    "parse_condition",
    "parse_expression",
    "to_nnf",
]
