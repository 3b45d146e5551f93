"""The rule language: text to a checked tree, evaluation in three values, wording."""

from whichgpu.engine.rules.language.compiling import Compiled, compile_expr, evaluate
from whichgpu.engine.rules.language.parsing import parse_cell, parse_condition, parse_expression
from whichgpu.engine.rules.language.texts import check_template, format_number, format_value, render, template_facts
from whichgpu.engine.rules.language.tree import conjuncts, facts_read, to_nnf
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
