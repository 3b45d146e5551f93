"""Memory on published runs, each judged without its own source: ``run.py`` puts this page into REPORT.md.

``python benchmarks/accuracy/judged.py ROWS.jsonl`` prints the same for a file of rows that no constant has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from asking import sizes
from bands import Residual, inside_left_out, residual_of
from mapping import line_of
from pages import as_table
from reference import published_runs, released_runs, runs_of
from scores import FitScore, fit_score, median_like_error, memory_score, share


#: Median error like for like in percent that runs of trust A may have, by kind of job.
ALLOWED = {
    "LLM inference": 3.0,
    "LoRA": 6.0,
    "QLoRA": 8.0,
    "full training": 15.0,
    "diffusion, inference": 12.0,
    "diffusion, training": 12.0,
    "vision, training": 8.0,
}
INSIDE, WIDTH = (88.0, 95.0), 40.0
RAN, OOM = 96.0, 88.0


@dataclass(frozen=True)
class Judged:
    """Every run of memory and of feasibility, with its own source left out."""

    residuals: list[Residual]
    bands: dict[str, tuple[bool, float]]  # by row: inside, and how wide
    fits: list[FitScore]
    refused: list[tuple[str, str]]

    def inside(self, found: Iterable[Residual]) -> float:
        """Share of runs in their bands, in percent."""
        return share([self.bands[residual.score.id][0] for residual in found])

    def width(self, found: Iterable[Residual]) -> float:
        """Median width of their bands, in percent of the estimate."""
        widths = sorted(self.bands[residual.score.id][1] for residual in found)
        return 100.0 * widths[len(widths) // 2] if widths else 0.0


def judge(rows: list[dict[str, Any]]) -> Judged:
    """Ask for every row; each meets the bands that the runs of other sources make."""
    kept = [row for row in rows if set(row["suites"]) & {"memory_error", "feasibility"}]
    lines = [line_of(row) for row in kept]
    found, fits, refused = [], [], []
    for row, line, answer in zip(kept, lines, sizes(lines), strict=True):
        if "error" in answer:
            refused.append((row["id"], answer["error"]["message"]))
            continue
        if "memory_error" in row["suites"]:
            found.append(residual_of(memory_score(row, answer), line))
        if "feasibility" in row["suites"]:
            fits.append(fit_score(row, answer))
    return Judged(found, inside_left_out(found), fits, refused)


def page(judged: Judged) -> str:
    """The page as Markdown, misses first."""
    trusted = [residual for residual in judged.residuals if residual.score.trust == "A"]
    parts = [
        _ABOUT,
        "### Bars\n\n" + as_table("bar|asked|found|", _bars(judged, trusted)),
        "### By kind of job\n\n" + as_table(_HEAD.format("job, trust"), _groups(judged)),
        "### By source\n\n" + as_table(_HEAD.format("source"), _by(judged, lambda residual: residual.score.source)),
        "### Verdicts that were wrong\n\n" + as_table("row|job|kind|needed GB|there GB", _verdicts(judged.fits)),
        "### Rows, misses first\n\n" + as_table("row|trust|measured GB|this tool|error|in the band", _rows(judged)),
        "### Refused\n\n" + as_table("row|why", judged.refused),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _bars(judged: Judged, trusted: list[Residual]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for group, limit in ALLOWED.items():
        mine = [residual for residual in trusted if residual.score.group == group]
        mine = mine or [residual for residual in judged.residuals if residual.score.group == group]
        if not mine:
            continue  # A file of one's own may hold no such run.
        found = median_like_error([residual.score for residual in mine])
        name = f"{group}, trust {mine[0].score.trust}"
        rows.append((f"{name}, {len(mine)} runs, median error", f"at most {limit:g} %", f"{found:.1f}", found <= limit))
    inside, width = judged.inside(trusted), judged.width(trusted)
    ran = [score.right for score in judged.fits if score.kind in {"fits", "memory"}]
    failed = [score.right for score in judged.fits if score.kind == "oom"]
    rows += [
        ("inside the band, trust A", "88 to 95 %", f"{inside:.1f}", INSIDE[0] <= inside <= INSIDE[1]),
        ("median width of the bands, trust A", f"at most {WIDTH:g} %", f"{width:.1f}", width <= WIDTH),
        (f"{len(ran)} runs that ran, judged to fit", f"at least {RAN:g} %", f"{share(ran):.1f}", share(ran) >= RAN),
        (
            f"{len(failed)} out of memory, judged not to",
            f"at least {OOM:g} %",
            f"{share(failed):.1f}",
            share(failed) >= OOM,
        ),
    ]
    return [(*row[:-1], "reached" if row[-1] else "**missed**") for row in rows]


def _groups(judged: Judged) -> list[tuple[object, ...]]:
    each = _by(judged, lambda residual: f"{residual.score.group}, {residual.score.trust}")
    return [*each, *_by(judged, lambda _: "all")]


def _by(judged: Judged, name_of: Callable[[Residual], str]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for name in sorted({name_of(residual) for residual in judged.residuals}):
        mine = [residual for residual in judged.residuals if name_of(residual) == name]
        errors = sorted(residual.score.like_error for residual in mine)
        signed = 100.0 * errors[len(errors) // 2]
        figures = (median_like_error([residual.score for residual in mine]), judged.inside(mine), judged.width(mine))
        rows.append((name, len(mine), f"{figures[0]:.1f} %", f"{signed:+.1f} %", *(f"{f:.0f} %" for f in figures[1:])))
    return rows


def _verdicts(fits: list[FitScore]) -> list[tuple[object, ...]]:
    wrong = [score for score in fits if not score.right and score.kind in {"fits", "memory", "oom"}]
    return [
        (score.id, score.group, score.kind, f"{score.needed_gb:.1f}", f"{score.available_gb:.1f}")
        for score in sorted(wrong, key=lambda score: (score.kind, score.id))
    ]


def _rows(judged: Judged) -> list[tuple[object, ...]]:
    scores = sorted((r.score for r in judged.residuals), key=lambda score: (-abs(score.like_error), score.id))
    return [
        (
            score.id,
            score.trust,
            f"{score.measured_gb:.1f}",
            f"{score.measured_gb * (1 + score.like_error):.1f}",
            f"{100 * score.like_error:+.0f} %",
            "yes" if judged.bands[score.id][0] else "no",
        )
        for score in scores
    ]


_HEAD = "{}|rows|median error, like for like|signed|inside the band|median width"
_ABOUT = """## Each run judged without its own source

Both files of published runs, 871 rows of which those that state memory or feasibility are asked for. No constant of
memory has its value from rows: all are counted in code, traced or quoted, each with its source. Bands do rest on
rows: a row's is the one that the runs of all other sources make. The form of the formulas was mended with these rows in
sight, so that sources nobody has read may be missed by more.
"""


def main(arguments: list[str]) -> None:
    """Print the page of all public rows, or of the rows of a file."""
    if arguments:
        print(page(judge(runs_of(Path(arguments[0])))))
        return
    print(page(judge([*published_runs(), *released_runs()])))


if __name__ == "__main__":
    main(sys.argv[1:])
