"""The page of a check as Markdown: what it finds, why that matters, how to fix or silence it."""

from __future__ import annotations

import re

from whichgpu.engine.authoring import ALL_CHECKS


def check_page(check_id: str) -> str:
    """The page of one check, its examples fenced. Raises KeyError if there is no such check."""
    check = {check.id: check for check in ALL_CHECKS}[check_id]
    title, _, body = check.page.strip().partition("\n")
    lines: list[str] = []
    fenced = False
    for line in body.replace("``", "`").splitlines():
        indented = line.startswith("    ")
        if indented and not fenced:
            lines.append("```yaml")
        elif fenced and line and not indented:
            lines[-1:] = ["```", ""]
        fenced = indented or (fenced and not line)
        lines.append(line[4:] if indented else re.sub("::$", ":", line))
    heading = title.replace("``", "`")
    return f"# {check.id}\n\n{heading} Severity: {check.severity}.\n" + "\n".join(lines) + "\n"
