"""How wide bands have to be: ``python benchmarks/accuracy/bands.py [--write]`` writes ``knowledge/memory_bands.yaml``.

A measurement lies so many times the way from the estimate to the end of its band, in logarithms. For each kind of job
the ends are stretched until the wanted share of runs lies inside (a conformal band), wider where facts are open. The
residuals are those of runs whose source had no part in any constant. Judged are the bands with each
source left out of the stretching as well.

The training of generators and of image networks takes the runs of the blind checks too: the public files have
seven sources of them, whose errors are smaller than those of a source that nobody looked at. What such a source has
missed lay above, however wide its band was: the upper end is moved by a margin and not stretched
(docs/decisions/0103, 0120).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml


HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from asking import sizes
from mapping import line_of
from reference import DATA, published_runs, released_runs, runs_of
from scores import MemoryScore, memory_score

from whichgpu.engine.sizing.band_constants import Stretch, memory_bands


#: Chance beyond each end that the odds go by, and the shares of runs that choose the ends: sources that count tensors
#: only lie below as a rule, so that the lower end holds more of them. The upper end is chosen for one run in 25: of one
#: in 20 87.0 % of the runs of trust A lie inside where their sources are left out, and 88 are asked.
BEYOND = 0.05
BELOW, ABOVE = 0.03, 0.04
#: Kinds of job whose runs are counted together, so that no single source makes a band.
POOLS = (
    ("inference",),
    ("serving",),
    ("lora", "qlora", "full"),
    ("generate", "train_generator", "vision_training"),
    ("other",),
)
#: Kinds that take the runs of the blind checks besides, counted together once more.
WITH_CHECKS = ("train_generator", "vision_training")
CHECKS = ("blind_runs", "blind_runs_2", "blind_runs_3")
#: With fewer runs the formula's own band stays.
ENOUGH = 10
FILE = HERE.parents[1] / "knowledge" / "memory_bands.yaml"
#: Kinds of job of the report to those of the bands.
GROUPS = {
    "LLM inference": "inference",
    "LoRA": "lora",
    "QLoRA": "qlora",
    "full training": "full",
    "diffusion, inference": "generate",
    "diffusion, training": "train_generator",
    "vision, training": "vision_training",
}
#: An open fact widens by at least this share, and by no more than that.
_WIDENING = (0.01, 0.05)
#: Stretches lie between these: a formula tells what may be left open, which the runs at hand need not show.
_STRETCH = (0.8, 4.0)


@dataclass(frozen=True)
class Residual:
    """Where one measurement lies: ``place`` is 1 at the end of the formula's band, before what open facts add."""

    score: MemoryScore
    group: str
    above: bool
    place: float
    widened: float  # in logarithms, by facts that nobody stated
    open_facts: frozenset[str]
    excess: float  # in logarithms, beyond the end of the formula's band and what open facts add; below 0 inside
    of_a_check: bool = False


@cache
def calibration() -> tuple[Residual, ...]:
    """The runs that bands are made of: both public files, and those of the blind checks, which are told apart."""
    checks = [row for name in CHECKS for row in runs_of(DATA / f"{name}.jsonl")]
    later = [replace(residual, of_a_check=True) for residual in residuals(checks)]
    return (*residuals([*published_runs(), *released_runs()]), *later)


def residuals(rows: Iterable[dict[str, Any]]) -> list[Residual]:
    """Of every run of the suite ``memory_error`` that is answered."""
    kept = [row for row in rows if "memory_error" in row["suites"]]
    lines = [line_of(row) for row in kept]
    found = []
    for row, line, answer in zip(kept, lines, sizes(lines), strict=True):
        if "error" not in answer:
            found.append(residual_of(memory_score(row, answer), line))
    return found


def residual_of(score: MemoryScore, line: dict[str, Any]) -> Residual:
    """Where a measurement lies in the band of the formula."""
    bands = memory_bands()
    group = GROUPS.get(score.group, "other")
    if group == "inference" and line.get("serving_engine") != "transformers":
        group = "serving"
    training = line["task"] != "inference"
    widenings = bands.open_training if training else bands.open_inference
    open_facts = frozenset(name for name in widenings if name not in line)
    widened = bands.widened(group, open_facts, training=training)
    # An allocator's figure is held against what the allocator is said to hand out, with the same band around it.
    above = score.measured_gb >= score.like_gb
    end = score.high_gb if above else score.low_gb
    shipped = bands.groups[group]
    # What the formula's band was before it was stretched, moved and widened.
    way = abs(math.log(end / score.estimated_gb)) - widened
    way = max((way - shipped.margin) / shipped.high if above else way / shipped.low, 1e-3)
    beyond = abs(math.log(score.measured_gb / score.like_gb)) - widened
    return Residual(score, group, above, max(0.0, beyond) / way, widened, open_facts, beyond - way)


def stretches(found: Iterable[Residual]) -> dict[str, Stretch]:
    """For each kind of job how far its ends have to be moved."""
    everything = list(found)
    kept = [residual for residual in everything if not residual.of_a_check]
    chosen = {}
    for pool in (*POOLS, WITH_CHECKS):
        mine = [residual for residual in (everything if pool is WITH_CHECKS else kept) if residual.group in pool]
        if len(mine) < ENOUGH:
            mine = []
        ends = (_end(mine, above=False), _end(mine, above=True)) if mine else (1.0, 1.0)
        text = (
            f"runs of {', '.join(pool)}, their own sources left out" if mine else "too few runs: the formula's own band"
        )
        margin = 0.0
        if pool is WITH_CHECKS and mine:
            ends, margin = (ends[0], 1.0), _margin(mine)
            text += ", those of the blind checks among them"
        sources = len({residual.score.source for residual in mine})
        for group in pool:
            chosen[group] = Stretch(
                low=ends[0], high=ends[1], margin=margin, rows=len(mine), sources=sources, source=text
            )
    return chosen


def _end(mine: list[Residual], *, above: bool) -> float:
    """The place beyond which the wanted share of all runs lies on that side, one more run counted in."""
    places = sorted((r.place if r.above is above else 0.0) for r in mine)
    rank = min(len(places) - 1, math.ceil((1.0 - (ABOVE if above else BELOW)) * (len(places) + 1)) - 1)
    return round(float(np.clip(places[rank], *_STRETCH)), 2)


def _margin(mine: list[Residual]) -> float:
    """How far beyond the formula's upper end all but the promised share of runs lie, one more run counted in."""
    excesses = sorted(r.excess if r.above else -math.inf for r in mine)
    rank = min(len(excesses) - 1, math.ceil((1.0 - BEYOND) * (len(excesses) + 1)) - 1)
    return round(max(0.0, excesses[rank]), 2)


def widenings(found: list[Residual], *, training: bool) -> dict[str, dict[str, float]]:
    """How much further off runs are where a fact is open: nine in ten, in logarithms, shared out over the facts."""
    bands = memory_bands()
    names = bands.open_training if training else bands.open_inference
    mine = [r for r in found if (r.group not in {"inference", "serving", "generate"}) is training]
    chosen = {}
    for name, known in names.items():
        meant = [r for r in mine if not known.of or r.group in known.of]
        left = [_off(r) for r in meant if name in r.open_facts]
        told = [_off(r) for r in meant if name not in r.open_facts]
        more = float(np.quantile(left, 0.9) - np.quantile(told, 0.9)) if min(len(left), len(told)) >= ENOUGH else 0.0
        share = round(float(np.clip(more / len(names), *_WIDENING)), 3)
        chosen[name] = {"share": share, "of": list(known.of), "stated": len(told), "open": len(left)}
    return chosen


def _off(residual: Residual) -> float:
    return abs(math.log(residual.score.measured_gb / residual.score.like_gb))


def inside_left_out(found: Iterable[Residual]) -> dict[str, tuple[bool, float]]:
    """By row: whether it lies in the band that the runs of all other sources make, and how wide that is.

    A source that had no part in the bands meets them as they are shipped.
    """
    everything, told = calibration(), {}
    by_source: dict[str, list[Residual]] = {}
    for residual in found:
        by_source.setdefault(residual.score.source, []).append(residual)
    for source, mine in by_source.items():
        others = stretches(residual for residual in everything if residual.score.source != source)
        for residual in mine:
            told[residual.score.id] = _judged(residual, others[residual.group])
    return told


def _judged(residual: Residual, stretch: Stretch) -> tuple[bool, float]:
    score, shipped = residual.score, memory_bands().groups[residual.group]
    up, down = math.log(score.high_gb / score.estimated_gb), -math.log(score.low_gb / score.estimated_gb)
    down = max(0.0, down - residual.widened) * stretch.low / shipped.low + residual.widened
    up = max(0.0, up - residual.widened - shipped.margin) * stretch.high / shipped.high
    up = up + stretch.margin + residual.widened
    low, high = score.like_gb * math.exp(-down), score.like_gb * math.exp(up)
    return low <= score.measured_gb <= high, (high - low) / score.like_gb


_HEAD = """# yaml-language-server: $schema=../docs/schemas/memory_bands.schema.json
# By how much bands of memory are stretched. Computed by benchmarks/accuracy/bands.py --write from published runs whose
# source had no part in any constant; rows and sources tell on how many each figure rests.

# Chance that a measurement lies beyond one end of a band.
"""


def _text(groups: dict[str, Stretch], training: dict[str, Any], inference: dict[str, Any]) -> str:
    lines = [
        _HEAD + f"beyond_each_end: {BEYOND}\n",
        "# Powers of the distance between the estimate and an end; a margin by which the upper end lies further away.",
        "groups:",
    ]
    for name, one in groups.items():
        further = f" margin: {one.margin}," if one.margin else ""
        each = f"low: {one.low}, high: {one.high},{further} rows: {one.rows}, sources: {one.sources}, "
        each += f'source: "{one.source}"'
        lines.append(f"  {name}: {{{each}}}")
    for name, chosen in (("open_training", training), ("open_inference", inference)):
        lines += ["", "# How much wider, where nobody states the fact; rows that state it and that do not.", f"{name}:"]
        for fact, one in chosen.items():
            of = f" of: [{', '.join(one['of'])}]," if one.get("of") else ""
            lines.append(f"  {fact}: {{share: {one['share']},{of} stated: {one['stated']}, open: {one['open']}}}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the stretches and how bands do without their own source; write them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write knowledge/memory_bands.yaml")
    parser.add_argument("--facts", action="store_true", help="choose anew how much each open fact widens")
    options = parser.parse_args()
    found = [residual for residual in calibration() if not residual.of_a_check]
    groups = stretches(calibration())
    told = inside_left_out(found)
    for group in groups:
        for trust in ("A", "B", "C"):
            mine = [told[r.score.id] for r in found if r.group == group and r.score.trust == trust]
            if mine:
                held, width = 100 * np.mean([held for held, _ in mine]), 100 * np.median([wide for _, wide in mine])
                print(f"{group} {trust}: {len(mine)} runs, {held:.0f} % inside, width {width:.0f} %")
    held, widths = zip(*told.values(), strict=True)
    print(f"all: {100 * np.mean(held):.1f} % inside, width {100 * np.median(widths):.1f} %")
    kept = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    facts = [kept["open_training"], kept["open_inference"]]
    if options.facts:
        facts = [widenings(found, training=training) for training in (True, False)]
    if options.write:
        FILE.write_text(_text(groups, *facts), encoding="utf-8")


if __name__ == "__main__":
    main()
