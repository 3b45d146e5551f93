"""Where each heuristic of the guides stands: by guide and section, with what carries it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.authoring import Standing, check_coverage, refreshed_manifest, standings


def guide_cover(advisor: Advisor) -> dict[str, Any]:
    """The heuristics by guide and section, and in what the manifest and the project differ."""
    listed = standings(advisor)
    sections = []
    for (guide, section), group in groupby(listed, key=lambda standing: (standing.guide, standing.section)):
        entries = list(group)
        sections.append(
            {
                "guide": guide,
                "section": section,
                "encoded": sum(bool(s.entry and s.entry.carried) for s in entries),
                "set_aside": sum(_aside(s) for s in entries),
                "heuristics": [{"id": s.id, "says": s.paraphrase, "where": s.where()} for s in entries],
            }
        )
    return {
        "total": len(listed),
        "encoded": sum(section["encoded"] for section in sections),
        "set_aside": sum(section["set_aside"] for section in sections),
        "sections": sections,
        "faults": check_coverage(advisor),
    }


def _aside(standing: Standing) -> bool:
    return standing.entry is not None and standing.entry.set_aside is not None


def guide_blocks(report: dict[str, Any]) -> list[Block]:
    """One table for each section of each guide."""
    blocks: list[Block] = [
        Heading("Heuristics of the guides", 1),
        Paragraph(
            f"{report['encoded']} of {count_of(report['total'], 'heuristic')} are encoded, "
            f"{report['set_aside']} are set aside with a reason."
        ),
    ]
    for section in report["sections"]:
        title = f"{section['guide']}: {section['section']}"
        rows = tuple((entry["id"], "; ".join(entry["where"])) for entry in section["heuristics"])
        blocks += [Heading(title), Table(("Heuristic", "Stands in"), rows)]
    if report["faults"]:
        blocks += [Heading("Not in order"), Bullets(tuple(map(Item, report["faults"])))]
    return blocks


def update_manifest(advisor: Advisor) -> str:
    """Write the manifest anew, whole or not at all; says which file."""
    file = Path(advisor.knowledge.folder) / "coverage.yaml"
    text = refreshed_manifest(advisor)
    output.save(file, text)
    return f"{file.name} is up to date."
