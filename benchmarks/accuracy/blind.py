"""Runs that were gathered and committed before they were run, for ``run.py``: as they came out then, and now."""

from __future__ import annotations

from collections.abc import Iterable

from judged import judge
from reference import DATA, runs_of
from scores import median_like_error, share


#: Median error like for like, percent, when the rows were run for the first time (docs/decisions/0067); by group.
FIRST = {
    "LLM inference, A": 40.0,
    "LoRA, A": 5.3,
    "LoRA, B": 25.9,
    "QLoRA, A": 35.5,
    "diffusion, inference, B": 9.2,
    "full training, B": 34.6,
    "all": 31.4,
}
_ABOUT = """## Runs that nobody had looked at

71 published figures from eight sources that stand in neither file of runs (`data/blind_runs.jsonl`), committed before
they were run, and run once. **First** is what came out then. **Now** is after mechanisms were mended that they
showed (`docs/decisions/0067`, 0075, 0076) and twelve rows were written anew from their scripts; Qwen2-VL's
figures are GiB now, since its weights alone are more GB than it states. None of it is blind any more.
"""


def blind_page() -> str:
    """The section of the report."""
    found = judge(runs_of(DATA / "blind_runs.jsonl"), apart=True)
    rows = []
    for name, first in FIRST.items():
        mine = [r for r in found.residuals if name in {"all", f"{r.score.group}, {r.score.trust}"}]
        now = median_like_error([residual.score for residual in mine])
        rows.append((name, len(mine), f"{first:.1f} %", f"{now:.1f} %", f"{found.inside(mine):.0f} %"))
    ran = [score.right for score in found.fits if score.kind != "oom"]
    failed = [score.right for score in found.fits if score.kind == "oom"]
    verdicts = (
        f"Of {len(ran)} runs that ran {share(ran):.0f} % are judged to fit (100 at first), "
        f"of {len(failed)} out of memory {share(failed):.0f} % not to (0 at first).\n"
    )
    table = _table("job, trust|rows|median error, first|now|inside the band, now", rows)
    return f"{_ABOUT}\n{table}\n\n{verdicts}"


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    names = head.split("|")
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])
