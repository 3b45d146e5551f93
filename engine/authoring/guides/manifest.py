"""Writing the manifest of coverage anew: what carriers say of themselves is refreshed, what people wrote is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.guides.guides import DECLARED, carriers, catalogue_of
from whichgpu.engine.core import KnowledgeError, read_document


_HEAD = """\
# Where each heuristic of heuristics.yaml stands. `whichgpu rules cover --guides` prints it by guide and section.
# rules, facts, figures and disagreements are refreshed by `whichgpu rules cover --guides --update`; the rest is written
# by hand: values (of a GPU in gpus/), sums (what a calculator gives), costs (of costs.yaml), code, set_aside with
# because, and without_numbers, which says why a number that the heuristic states stands in nothing that carries it.
coverage:
"""
_WRITTEN = ("values", "sums", "costs", "code", "without_numbers", "set_aside", "instead", "because")


def refreshed_manifest(advisor: Advisor) -> str:
    """The text of ``coverage.yaml`` with every heuristic of the catalogue, in its order."""
    folder = Path(advisor.knowledge.folder)
    file = folder / "coverage.yaml"
    before = read_document(file, error=KnowledgeError, cached=True).plain["coverage"] if file.is_file() else {}
    actual = carriers(advisor)
    lines = [_HEAD]
    for row in catalogue_of(folder):
        entry = before.get(row["id"]) or {}
        lines.append(f"  {row['id']}:\n")
        for kind in DECLARED:
            if names := actual[kind].get(row["id"]):
                lines.append(f"    {kind}: [{', '.join(names)}]\n")
        lines += [_written(key, entry[key]) for key in _WRITTEN if key in entry]
        if lines[-1].endswith(f"  {row['id']}:\n"):
            lines[-1] = f"  {row['id']}: {{}}\n"
    return "".join(lines)


def _written(key: str, value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"    {key}:\n" + "".join(f"      - {_flow(item)}\n" for item in value)
    return f"    {key}: {_flow(value)}\n"


def _flow(value: Any) -> str:
    """A value on one line, quoted where YAML would read it as something else."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not value.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)
