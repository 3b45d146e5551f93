"""Published times of decoders, text encoders and whole generations beside the tool's own, for ``throughput.py``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from asking import sizes
from reference import DATA

from whichgpu.engine.advisor.advisor import load_advisor
from whichgpu.engine.sizing import job_from_facts
from whichgpu.engine.sizing.gpu_table import GpuTable
from whichgpu.engine.sizing.speed_encode_decode import decoding_s, encoding_s


@dataclass(frozen=True)
class PartTime:
    """A published time and what the tool makes of it, in milliseconds."""

    row: dict[str, Any]
    computed: float

    @property
    def ratio(self) -> float:
        """Computed over measured: below 1 the tool promises too much."""
        return self.computed / float(self.row["ms"])


def part_times() -> list[PartTime]:
    """Every row, furthest off first."""
    rows: list[dict[str, Any]] = json.loads((DATA / "part_times.json").read_text(encoding="utf-8"))
    whole = [row for row in rows if row["part"] == "all"]
    answers = dict(zip((row["id"] for row in whole), sizes(_line(row) for row in whole), strict=True))
    knowledge = load_advisor(tests=False).knowledge
    found = []
    for row in rows:
        if row["part"] == "all":
            computed = float(answers[row["id"]]["speed"]["latency_ms"])
            if row.get("encoded"):  # The prompt was there already.
                computed -= _part_ms({**row, "part": "text encoders"}, *_on(knowledge, row))
        else:
            computed = _part_ms(row, *_on(knowledge, row))
        found.append(PartTime(row, computed))
    return sorted(found, key=lambda one: -abs(np.log(one.ratio)))


def _on(knowledge: Any, row: dict[str, Any]) -> tuple[Any, GpuTable]:
    return knowledge.models[row["model"]], GpuTable([knowledge.gpus[row["gpu"]]])


def _line(row: dict[str, Any]) -> dict[str, Any]:
    facts = {"id": row["id"], "gpu": row["gpu"], "count": 1, "model_name": row["model"], **_facts(row)}
    return {**facts, "denoising_steps": row["steps"], "concurrency": 1}


def _facts(row: dict[str, Any]) -> dict[str, Any]:
    named = {"image_px": row["px"], "image_short_px": row.get("short_px"), "frames": row.get("frames")}
    facts = {"task": "inference", "weight_precision": row["precision"], **named}
    return {name: value for name, value in facts.items() if value is not None}


def _part_ms(row: dict[str, Any], model: Any, table: GpuTable) -> float:
    job = job_from_facts(_facts(row), model)
    pixels = row["px"] * row.get("short_px", row["px"])
    if row["part"] == "decoder":
        return 1e3 * float(decoding_s(job, table, pixels, row.get("frames", 1), "value")[0])
    passes = row.get("guidance") or model.guidance_passes or 2.0
    which = np.zeros(1, np.int64)
    encoding: Callable[[Any], Any] = encoding_s(job, table, which, passes, "value")
    return 1e3 * float(encoding(1.0)[0])


def page() -> str:
    """The section as Markdown."""
    found = part_times()
    lines = [_ABOUT, "| part | rows | median of computed over measured |", "|---|---|---|"]
    for part in ("decoder", "text encoders", "all"):
        ratios = [one.ratio for one in found if one.row["part"] == part]
        lines.append(f"| {part} | {len(ratios)} | {median(ratios):.2f} |")
    lines += ["", "| row | part | measured ms | computed ms | ratio | how it ran |", "|---|---|---|---|---|---|"]
    for one in found:
        row = one.row
        figures = f"{row['ms']:.4g} | {one.computed:.4g} | {one.ratio:.2f}"
        lines.append(f"| {row['id']} | {row['part']} | {figures} | {row['note']} |")
    return "\n".join(lines) + "\n"


_ABOUT = """## Parts of a generation

Published times of decoders and text encoders, and of pictures of few steps, for which these count
(`data/part_times.json`, each with its page). Here 1 is right and below it too much is promised. Misses first; no
constant rests on these rows.
"""
