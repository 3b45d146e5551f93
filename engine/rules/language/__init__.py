"""The rule language: text to a checked tree, evaluation in three values, wording."""

from whichgpu.engine.rules.language.compiling import Compiled
from whichgpu.engine.rules.language.compiling import compile_expr
from whichgpu.engine.rules.language.compiling import evaluate
from whichgpu.engine.rules.language.parsing import parse_cell
from whichgpu.engine.rules.language.parsing import parse_condition
from whichgpu.engine.rules.language.parsing import parse_expression
from whichgpu.engine.rules.language.texts import check_template
from whichgpu.engine.rules.language.texts import format_number
from whichgpu.engine.rules.language.texts import format_value
from whichgpu.engine.rules.language.texts import render
from whichgpu.engine.rules.language.texts import template_facts
from whichgpu.engine.rules.language.tree import conjuncts
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.language.tree import to_nnf
from whichgpu.engine.rules.language.wording import words


__all__ = [
    "Compiled",
    "check_template",
    "compile_expr",
    "conjuncts",
    "evaluate",
    "facts_read",
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
