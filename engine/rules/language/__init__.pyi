from .compiling import Compiled as Compiled, compile_expr as compile_expr, evaluate as evaluate
from .parsing import parse_cell as parse_cell, parse_condition as parse_condition, parse_expression as parse_expression
from .templates import check_template as check_template
from .texts import (
    format_number as format_number,
    format_value as format_value,
    render as render,
    template_facts as template_facts,
)
from .tree import conjuncts as conjuncts, facts_read as facts_read, to_nnf as to_nnf
from .wording import words as words
