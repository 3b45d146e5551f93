"""Tables of the pages that these benchmarks write."""

from __future__ import annotations

from collections.abc import Iterable


def as_table(head: str, rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; the names of its columns are divided by ``|``, which in a cell becomes ``/``."""
    names = [name.strip() for name in head.split("|")]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(str(cell).replace("|", "/") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
