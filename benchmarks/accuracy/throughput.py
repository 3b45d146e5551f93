"""Published rates beside the tool's own: ``throughput.py [--write] [--constants] [--rows F]``.

Every row of ``published_runs`` and ``released_runs`` that states a rate, a time of a step or of a picture is asked for;
shares within 1.3 x and 2 x by kind of job and trust, misses first. ``--constants`` also leaves each source out, chooses
the constants again on the others (``held_out.py``, minutes), and shows what they make of it. ``--write`` writes
``benchmarks/throughput.md``. ``--rows F`` prints the same of the rows of another file of this form.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any


HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import part_times
from asking import sizes
from held_out import HeldOut, held_out
from mapping import line_of
from pages import as_table
from reference import own_runs, published_runs, released_runs, runs_of
from scores import SpeedScore, share, speed_score


NEAR, FAR = 1.3, 2.0
_OWN = "whichgpu"
BARS = {"near": 55.0, "far": 88.0}
_RATES = (
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "samples_per_s",
    "s_per_iter",
    "latency_s",
    "decode_tokens_per_s",
    "steps_per_s",
    "audio_s_per_s",
)


@dataclass(frozen=True)
class Compared:
    """A row that states a speed, and the score where both sides give the same kind of figure."""

    row: dict[str, Any]
    counts: bool  # in the suite ``throughput``: the row says enough of what ran
    score: SpeedScore | None
    why: str

    @property
    def group(self) -> str:
        return self.score.group if self.score else ""


def compared() -> list[Compared]:
    """Every row with a speed."""
    return compared_of([*published_runs(), *released_runs(), *own_runs()])


def compared_of(stated: Iterable[dict[str, Any]]) -> list[Compared]:
    """Those of these rows that state a speed."""
    rows = [row for row in stated if _states_a_speed(row)]
    found = []
    for row, answer in zip(rows, sizes(line_of(row) for row in rows), strict=True):
        score = None if "error" in answer else speed_score(row, answer)
        why = answer["error"]["message"] if "error" in answer else "" if score else _why_not(row)
        found.append(Compared(row, "throughput" in row["suites"], score, why))
    return found


def _states_a_speed(row: dict[str, Any]) -> bool:
    measured = row.get("measured", {})
    return "throughput" in row["suites"] or any(measured.get(name) for name in _RATES)


def _why_not(row: dict[str, Any]) -> str:
    wall_time = row["measured"].get("wall_time")
    return f"only the time of a whole run is stated: {wall_time}" if wall_time else "no figure of the same kind"


def report(found: list[Compared], left_out: list[HeldOut]) -> str:
    """The page as Markdown."""
    counted = [item.score for item in found if item.counts and item.score]
    own = [item.score for item in found if item.score and item.score.source == _OWN]
    beside = [item.score for item in found if not item.counts and item.score and item.score.source != _OWN]
    parts = [
        _ABOUT,
        "## Bars\n\n" + _bars(counted),
        "## By kind of job\n\n" + as_table(_HEAD.format("job, trust"), _groups(counted)),
        "## By source\n\n" + as_table(_HEAD.format("source"), _by(counted, lambda score: score.source)),
    ]
    if left_out:
        rows = [
            (item.group, item.source, len(item.shipped), *_shares(item.shipped), *_shares(item.apart))
            for item in left_out
        ]
        parts.append(_ABOUT_HELD_OUT + as_table(_HELD_OUT_HEAD, [*rows, *_pooled(left_out)]))
    parts += [
        part_times.page(),
        _ABOUT_OWN + as_table(_HEAD.format("job, trust"), _groups(own)) + "\n\n" + _rows(own),
        _ABOUT_BESIDE + as_table(_HEAD.format("job, trust"), _groups(beside)),
        "## Rows that count, misses first\n\n" + _rows(counted),
        "## Rows beside them, misses first\n\n" + _rows(beside),
        "## Not compared\n\n" + as_table("row|why", [(i.row["id"], i.why[:160]) for i in found if not i.score]),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def page(found: list[Compared]) -> str:
    """How the rows of one file are met, as Markdown: groups, sources, every row, and what could not be compared."""
    scores = [item.score for item in found if item.score]
    parts = [
        as_table(_HEAD.format("job, trust"), _groups(scores)),
        as_table(_HEAD.format("source"), _by(scores, lambda score: score.source)),
        _rows(scores),
        as_table("row|why", [(i.row["id"], i.why[:160]) for i in found if not i.score]),
    ]
    return "\n\n".join(parts) + "\n"


def _bars(scores: list[SpeedScore]) -> str:
    near, far = (share([score.factor <= limit for score in scores]) for limit in (NEAR, FAR))
    rows = [
        (f"within {NEAR} x", f"{BARS['near']:.0f} %", f"{near:.0f} %", _word(near >= BARS["near"])),
        (f"within {FAR:g} x", f"{BARS['far']:.0f} %", f"{far:.0f} %", _word(far >= BARS["far"])),
    ]
    return as_table(f"{len(scores)} rows|asked|found|", rows)


def _word(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def _groups(scores: list[SpeedScore]) -> list[tuple[object, ...]]:
    each = _by(scores, lambda score: f"{score.group}, {score.trust}")
    together = _by([score for score in scores if score.group != "LLM inference"], lambda _: "all but LLM inference")
    return [*each, *together, *_by(scores, lambda _: "all")]


def _by(scores: list[SpeedScore], name_of: Any) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for name in sorted({name_of(score) for score in scores}):
        ratios = [score.ratio for score in scores if name_of(score) == name]
        rows.append((name, len(ratios), *_shares(ratios)))
    return rows


def _shares(ratios: list[float]) -> tuple[str, str, str]:
    factors = [max(ratio, 1 / ratio) for ratio in ratios]
    near, far = (share([factor <= limit for factor in factors]) for limit in (NEAR, FAR))
    return f"{median(ratios):.2f}", f"{near:.0f} %", f"{far:.0f} %"


def _pooled(left_out: list[HeldOut]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for group in dict.fromkeys(item.group for item in left_out):
        mine = [item for item in left_out if item.group == group]
        shipped, apart = ([ratio for item in mine for ratio in getattr(item, name)] for name in ("shipped", "apart"))
        rows.append((group, "**all**", len(shipped), *_shares(shipped), *_shares(apart)))
    return rows


def _rows(scores: list[SpeedScore]) -> str:
    each = [
        (score.id, score.group, score.what, f"{score.measured:.4g}", f"{score.estimated:.4g}", f"{score.ratio:.2f}")
        for score in sorted(scores, key=lambda score: (-score.factor, score.id))
    ]
    return as_table("row|job|what|measured|this tool|ratio", each)


_HEAD = "{}|rows|median ratio|within 1.3|within 2"
_HELD_OUT_HEAD = (
    "constants of|source left out|rows|as shipped: median ratio|within 1.3|within 2"
    "|chosen without it: median ratio|within 1.3|within 2"
)
_ABOUT = """# Published rates beside the tool's own

Made by `python benchmarks/accuracy/throughput.py --constants --write` from `accuracy/data/published_runs.jsonl` and
`released_runs.jsonl`, other people's measurements, each asked for with the facts that its source states
(`accuracy/mapping.py`). A ratio is the speed as computed over the speed as measured: above 1 the tool promises too
much, for times as for rates. Counted are the rows of the suite `throughput`, which say enough of what ran.
"""
_ABOUT_HELD_OUT = """## With a source left out

For each source the constants of its group are chosen anew on all other sources (each by turns over five values about
the shipped one, by the mean of |log ratio|, sources weighing the same), and its own rows are computed with them.

"""
_ABOUT_OWN = """## Runs of our own

Steps and pictures on an H100 80 GB (`benchmarks/measured`), which no constant has seen and no bar counts: small batches
under the Trainer of transformers, PyTorch's own kernels started one by one, one rank of `torchrun`. Published rates are
of batches that fill a card and of code that was made fast; these are below them.

"""
_ABOUT_BESIDE = """## Rows that do not count

They state a speed, but not all that it depends on: how long the samples of a data set are, on which card, or which
kernels unpack the weights (a format alone does not say so).

"""


def main() -> None:
    """Ask, print the groups, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write benchmarks/throughput.md")
    parser.add_argument("--constants", action="store_true", help="leave each source out and choose constants again")
    parser.add_argument("--rows", type=Path, metavar="F", help="judge the rows of this file alone, and print")
    options = parser.parse_args()
    if options.rows:
        print(page(compared_of(runs_of(options.rows))), end="")
        return
    found = compared()
    text = report(found, held_out([item.row for item in found if item.counts]) if options.constants else [])
    print(text[: text.index("## Rows that count")])
    if options.write:
        (HERE.parent / "throughput.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
