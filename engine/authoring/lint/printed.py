"""The form in which findings are printed as JSON; its schema and `docs` come of it, and finding needs neither."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from whichgpu.engine.advisor import FactValues, Word, doc
from whichgpu.engine.authoring.lint.finding import Severity


class PrintedFinding(TypedDict):
    """One finding of ``whichgpu rules lint --format json``, which prints a list of them."""

    check: Annotated[Word, doc("The check that found it.")]
    severity: Annotated[Severity, doc("How bad it is.")]
    message: Annotated[str, doc("What is wrong.")]
    rule: Annotated[str | None, doc("The rule, table or fact that it is about.")]
    path: Annotated[str | None, doc("The file.")]
    line: Annotated[int | None, doc("The line in it.")]
    column: Annotated[int | None, doc("The column in that.")]
    nearest: Annotated[list[str], doc("What was probably meant.")]
    fix: Annotated[str | None, doc("What would fix it.")]
    possible: Annotated[bool, doc("It depends on a comparison that is not looked into.")]
    example: Annotated[FactValues | None, doc("A workload that shows it; null for unknown facts.")]
