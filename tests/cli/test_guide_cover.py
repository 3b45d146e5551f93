"""The table of heuristics by guide and section, and the manifest behind it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whichgpu.cli.guidecover import guide_blocks, guide_cover, update_manifest
from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring.guides.manifest import refreshed_manifest


def test_every_section_of_every_guide_is_listed(whichgpu: Callable[..., Any]) -> None:
    ran = whichgpu("rules", "cover", "--guides", "--format", "json")
    assert ran.code == 0
    report = json.loads(ran.out)
    assert report["faults"] == []
    assert report["encoded"] + report["set_aside"] == report["total"]
    listed = [entry["id"] for section in report["sections"] for entry in section["heuristics"]]
    assert len(set(listed)) == report["total"]
    assert {section["guide"] for section in report["sections"]} == {"thunder", "briefing", "runpod", "fpt", "gmi"}


def test_the_table_says_where_each_stands(whichgpu: Callable[..., Any]) -> None:
    ran = whichgpu("rules", "cover", "--guides", "--format", "markdown")
    assert ran.code == 0
    assert "does-not-fit" in ran.out
    assert "value nvidia-t4 vram_gb" in ran.out
    assert "set aside (promotion)" in ran.out


def test_a_fault_is_shown_below_the_table(advisor: Advisor) -> None:
    report = {**guide_cover(advisor), "faults": ["something is amiss"]}
    assert "something is amiss" in str(guide_blocks(report))


def test_updating_restores_what_carriers_say_and_keeps_the_rest(advisor: Advisor, tmp_path: Path) -> None:
    shipped = Path(advisor.knowledge.folder)
    folder = tmp_path / "knowledge"
    shutil.copytree(shipped, folder)
    file = folder / "coverage.yaml"
    kept = refreshed_manifest(load_advisor(knowledge_folder=folder))
    lines = [line for line in kept.splitlines(keepends=True) if not line.startswith("    rules: [")]
    file.write_text("".join(lines).replace("thunder-mem-must-fit:\n", "thunder-mem-must-fit: {}\n"), encoding="utf-8")
    assert update_manifest(load_advisor(knowledge_folder=folder)) == "coverage.yaml is up to date."
    assert file.read_text(encoding="utf-8") == kept
