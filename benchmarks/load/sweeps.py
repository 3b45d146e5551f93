"""Measured load sweeps beside the tool's figures: ``python benchmarks/load/sweeps.py [--write] [--check]``.

Each measured point is asked as ``whichgpu size`` is: the same GPU, count, split, engine, precision, tokens and load.
Shares are taken in each source family and averaged over families. ``--write`` writes ``benchmarks/load_sweeps.md``,
``--check`` exits with 1 where that page is out of date. The form of the points is in ``data/README.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median


ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from load.asking import predictions
from load.fit import inputs_of, learnable, scores_apart
from load.points import Point, points
from load.scores import FIGURES, Prediction, Score, Summary, grouped, scores_of, summary
from whichgpu.engine.advisor.advisor import load_advisor


PAGE = ROOT / "benchmarks" / "load_sweeps.md"
NAMES = {
    "tokens_per_s": "output tokens/s",
    "ttft_ms": "TTFT p50",
    "tpot_ms": "time per token p50",
    "ttft_p95_ms": "TTFT p95",
}
BANDED = ("tokens_per_s", "ttft_ms", "tpot_ms")
MISSES = 30


def main() -> None:
    """Ask, score, print, and write or check if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="another file of points in the same form")
    parser.add_argument("--write", action="store_true", help="write benchmarks/load_sweeps.md")
    parser.add_argument("--check", action="store_true", help="exit with 1 where the page is out of date")
    options = parser.parse_args()
    asked = points(options.data) if options.data else points()
    answers = predictions(asked)
    inputs = inputs_of([point for point in asked if point.core or learnable(point)], load_advisor(tests=False))
    text = report(asked, answers, scores_apart(asked, inputs))
    print(text.split("\n## By", maxsplit=1)[0].split("\n## Core", maxsplit=1)[1])
    if options.write:
        PAGE.write_text(text, encoding="utf-8")
    if options.check and PAGE.read_text(encoding="utf-8") != text:
        raise SystemExit(1)


def report(asked: list[Point], answers: dict[str, Prediction], apart: list[Score]) -> str:
    """The page: what was asked, the largest misses, the core, the rest, groups.

    Args:
        asked: the points.
        answers: to them.
        apart: scores of the core by constants fitted without the family.
    """

    def predict(point: Point) -> Prediction:
        return answers[point.id]

    core = [point for point in asked if point.core]
    inside, every = scores_of(core, predict), scores_of(asked, predict)
    parts = [
        "# Speed under load: measured sweeps beside the tool's figures",
        f"Made by `benchmarks/load/sweeps.py --write` from {len(asked)} points of"
        f" {len({point.family for point in asked})} source families, {len(core)} of them in the core"
        f" ({len({point.family for point in core})} families): a closed loop of at most 512, with precision, count and"
        " lengths known, prefill and decode together, no speculation, no contradiction among its figures. Every point"
        " is asked as `whichgpu size` with the stated GPU, count, split, engine, precision, tokens and load. Shares are"
        " taken in each source family and averaged over families. Predicted p95 is compared with the measured p95 or"
        " p99. Ratios are predicted / measured. Where the source says that all requests are sent at the same moment,"
        " that is stated (`requests_come`).",
        _misses(inside),
        "## Core points\n\n" + _table("figure", _by_figure(inside)),
        "## Core points, each family by constants that had no part of it\n\n"
        "What `benchmarks/load/fit.py` fits, fitted again without the family. The choice of constants and the form"
        " of the formulas were made with all core points in sight.\n\n" + _table("figure", _by_figure(apart)),
        _bands(core, answers, apart),
        "## All points\n\n"
        "Open loops, bursts and contradictory rows too: their load is the in-flight count that Little's law gives.\n\n"
        + _table("figure", _by_figure(every)),
        _unanswered(asked, answers),
        *(_groups(inside, figure) for figure in FIGURES if any(score.figure == figure for score in inside)),
    ]
    return "\n\n".join(parts) + "\n"


def _by_figure(scores: list[Score]) -> Iterable[tuple[str, Summary | None]]:
    for figure, name in NAMES.items():
        yield name, summary(score for score in scores if score.figure == figure)


def _table(head: str, rows: Iterable[tuple[str, Summary | None]]) -> str:
    lines = [f"| {head} | points | families | within 1.3 x | within 2 x | median ratio |", "|---|--:|--:|--:|--:|--:|"]
    for name, found in rows:
        if found is None:
            lines.append(f"| {name} | 0 | 0 | - | - | - |")
            continue
        shares = f"{found.within_1_3:.0%} | {found.within_2:.0%}"
        lines.append(f"| {name} | {found.points} | {found.families} | {shares} | {found.median_ratio:.2f} |")
    return "\n".join(lines)


def _bands(core: list[Point], answers: dict[str, Prediction], apart: list[Score]) -> str:
    """How many measured values lie inside the band that is given with the figure, and how wide the bands are.

    Also as they would be around the figure by constants that had no part of the family, as many times up and down.
    """
    lines = [
        "| figure | measured inside the band | with the family held out | high / low, median |",
        "|---|--:|--:|--:|",
    ]
    without = {(score.point.id, score.figure): score.predicted for score in apart}
    for figure in BANDED:
        inside, held_out, widths = defaultdict(list), defaultdict(list), []
        for point in core:
            answer, measured = answers[point.id], point.measured(figure)
            if measured and not isinstance(answer, str) and f"{figure}_low" in answer:
                low, high = answer[f"{figure}_low"], answer[f"{figure}_high"]
                inside[point.family].append(low <= measured <= high)
                widths.append(high / low)
                moved = without.get((point.id, figure), answer[figure]) / answer[figure]
                held_out[point.family].append(low * moved <= measured <= high * moved)
        if widths:
            shares = [mean(mean(found) for found in each.values()) for each in (inside, held_out)]
            lines.append(f"| {NAMES[figure]} | {shares[0]:.0%} | {shares[1]:.0%} | {median(widths):.2f} |")
    return "## Bands, core\n\nShares averaged over families.\n\n" + "\n".join(lines)


def _unanswered(asked: list[Point], answers: dict[str, Prediction]) -> str:
    why = Counter((point.row["gpu_family"], answer) for point in asked if isinstance(answer := answers[point.id], str))
    lines = [f"| {gpu} | {says} | {count} |" for (gpu, says), count in sorted(why.items())]
    head = "Points without an answer are in no share above.\n\n| GPU | why | points |\n|---|---|--:|\n"
    return "## Not answered\n\n" + (head + "\n".join(lines) if lines else "None.")


def _groups(scores: list[Score], figure: str) -> str:
    chosen = [score for score in scores if score.figure == figure]
    sections = [f"## By group: {NAMES[figure]}, core"]
    for head, by in (
        ("source family", lambda point: point.family),
        ("engine", lambda point: point.engine),
        ("GPU class", lambda point: point.gpu_class),
        ("in flight per replica", lambda point: point.level),
    ):
        found = [(name, summary(group)) for name, group in grouped(chosen, by).items()]
        sections.append(_table(head, sorted(found, key=lambda pair: pair[1].within_2 if pair[1] else 0.0)))
    return "\n\n".join(sections)


def _misses(scores: list[Score]) -> str:
    worst = sorted(scores, key=lambda score: (-score.factor, score.point.id, score.figure))[:MISSES]
    lines = [
        "## Largest misses, core",
        "",
        "| point | GPU | engine | in flight | figure | measured | predicted | ratio |",
        "|---|---|---|--:|---|--:|--:|--:|",
    ]
    for score in worst:
        point = score.point
        gpu = f"{point.row['gpu_count']} x {point.row['gpu_family']}"
        figures = f"{score.measured:.4g} | {score.predicted:.4g} | {score.ratio:.2f}"
        load = f"{point.in_flight or 0:.0f}"
        lines.append(f"| {point.id} | {gpu} | {point.engine} | {load} | {NAMES[score.figure]} | {figures} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
