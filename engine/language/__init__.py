"""The rule language: text to a checked tree, evaluation in three values, wording."""

from engine.language.cells import parse_cell
from engine.language.compiling import Compiled
from engine.language.compiling import compile_expr
from engine.language.evaluating import evaluate
from engine.language.evaluating import first_failure
from engine.language.figures import format_number
from engine.language.figures import format_value
from engine.language.parsing import parse_condition
from engine.language.parsing import parse_expression
from engine.language.shaping import conjuncts
from engine.language.shaping import facts_read
from engine.language.shaping import to_nnf
from engine.language.templates import check_template
from engine.language.templates import render
from engine.language.templates import template_facts
from engine.language.wording import words


__all__ = [
    "Compiled",
    "check_template",
    "compile_expr",
    "conjuncts",
    "evaluate",
    "facts_read",
    "first_failure",
    "format_number",
    "format_value",
    "parse_cell",
    "parse_condition",
    "parse_expression",
    "render",
    "template_facts",
    "to_nnf",
    "words",
]
