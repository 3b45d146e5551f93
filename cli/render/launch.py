"""How to start the plan, as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.blocks import Block, Heading, Paragraph, Verbatim


def launch_blocks(plan: Mapping[str, Any]) -> list[Block]:
    """The command, and what to know beside it; nothing where no program is described."""
    launch = plan.get("launch")
    if not launch:
        return []
    beside = [f"options as in {launch['program']} {launch['version']}", *launch["says"]]
    text = "; ".join(beside)
    return [Heading("Start it"), Verbatim(launch["command"]), Paragraph(f"{text[:1].upper()}{text[1:]}.", "faint")]
