"""The rule language: text to a checked tree, evaluation in three values, wording."""

from engine.rules.language.cells import parse_cell
from engine.rules.language.compiling import Compiled
from engine.rules.language.compiling import compile_expr
from engine.rules.language.evaluating import evaluate
from engine.rules.language.evaluating import first_failure
from engine.rules.language.figures import format_number
from engine.rules.language.figures import format_value
from engine.rules.language.parsing import parse_condition
from engine.rules.language.parsing import parse_expression
from engine.rules.language.shaping import conjuncts
from engine.rules.language.shaping import facts_read
from engine.rules.language.shaping import to_nnf
from engine.rules.language.templates import check_template
from engine.rules.language.templates import render
from engine.rules.language.templates import template_facts
from engine.rules.language.wording import words


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
