"""Counts of published deployments beside the tool's own: ``python benchmarks/deployments.py [--rows F] [--write]``.

Each row of the suite ``gpu_choice`` says which card ran a job and how many of them. The card is fixed by
``gpu_candidates``, the count and the split over cards are left open, everything else that the row states is passed on
(``accuracy/mapping.py``). Beside it stands a folk rule: 1.2 x the weights, on the next power of two of cards.
``--rows F`` asks about other rows of the same form. ``--write`` writes ``benchmarks/deployments.md`` (with ``--rows F``
a page named after ``F`` beside it) and keeps its hand-written sections.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks" / "accuracy"), str(ROOT / "benchmarks")]
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from mapping import line_of
from report_pages import write_page

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILES = ("published_runs", "released_runs")
#: What would decide the count: it is left open.
SPLITS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
#: Facts that say how much a deployment does at a time, and that a training step takes.
REQUESTS = frozenset({"concurrency", "peak_qps", "min_tokens_per_s", "deadline_hours"})
BATCH = frozenset({"batch_size_per_gpu", "global_batch_size"})
#: How the answered count holds the stated load by ``size``.
BAND, ESTIMATE, NOT = "band", "estimate", "not"
_BY = {
    BAND: ", at the top of its band too",
    ESTIMATE: " by the estimate, not at the top of its band",
    NOT: " is not found",
}
FOLK_FACTOR = 1.2
BARS = {"all": 0.75, "above one GPU": 0.60}


@dataclass(frozen=True)
class Compared:
    """One deployment: what was published, what the tool answers, what the folk rule says."""

    id: str
    file: str
    task: str
    model: str
    gpu: str
    published: int
    answered: int | None
    folk: int | None
    says: str
    load: str = ""  # the load that the row states: requests, batch, or nothing
    holds: str = ""  # whether the answered count holds it by ``size``: whole band, estimate, or not

    @property
    def same(self) -> bool:
        return self.answered == self.published

    @property
    def leaner(self) -> bool:
        return self.answered is not None and self.answered < self.published

    @property
    def right(self) -> bool:
        """By the bar: the same count, or a leaner one that holds the load that is stated."""
        return self.same or (self.leaner and bool(self.load) and self.holds in (BAND, ESTIMATE))

    @property
    def reason(self) -> str:
        """In a few words, why the counts differ."""
        if self.answered is None:
            return "no count is found to hold the job"
        if self.leaner and self.load:
            return f"leaner: room for the stated {self.load}{_BY[self.holds]}"
        if self.leaner:
            return "leaner: no load is stated"
        if f"{self.published} does not fit" in self.says:
            return "the published count does not fit by the estimate"
        if f"{self.published} fits too closely" in self.says:
            return "the published count fits too closely by the estimate"
        return "the published count fits, and more are as cheap for the work or nearer to what a guide names"


def main() -> None:
    """Ask, compare, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, nargs="*", help="files of rows in place of the published ones")
    parser.add_argument("--json", action="store_true", help="print every comparison as JSON")
    parser.add_argument("--write", action="store_true", help="write the page of these rows")
    options = parser.parse_args()
    data = ROOT / "benchmarks" / "accuracy" / "data"
    files = options.rows or [data / f"{name}.jsonl" for name in FILES]
    advisor = load_advisor(tests=False)
    found = [compared(row, file.stem, advisor) for file in files for row in choice_rows(file)]
    page = ROOT / "benchmarks" / f"{options.rows[0].stem if options.rows else 'deployments'}.md"
    text = report(found, files)
    if options.json:
        print(json.dumps([asdict(item) for item in found], indent=1))
    else:
        print("\n".join(table(found)))
    if options.write:
        write_page(page, text)


def choice_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of the suite, without fields that are null."""
    rows = [_stated(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if "gpu_choice" in row["suites"]]


def _stated(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stated(inner) for key, inner in value.items() if inner is not None}
    return [_stated(inner) for inner in value] if isinstance(value, list) else value


def compared(row: dict[str, Any], file: str, advisor: Advisor) -> Compared:
    """The tool's answer beside what was published."""
    line = {name: value for name, value in line_of(row).items() if value is not None and name not in SPLITS}
    published, gpu = line.pop("count"), advisor.knowledge.find_gpu(line.pop("gpu"))
    line.pop("id")
    facts = row["facts"]
    known = {
        "id": row["id"],
        "file": file,
        "task": facts["task"],
        "model": facts["model"],
        "published": published,
        "load": "requests" if REQUESTS & line.keys() else "batch" if BATCH & line.keys() else "",
    }
    if not gpu.found:
        named = str(row["hardware"].get("gpu"))
        return Compared(**known, gpu=named, answered=None, folk=None, says="the card is not in the catalogue")
    name = gpu.ids[-1]
    folk = folk_count(row, advisor.knowledge.gpus[name].vram_gb)
    try:
        answer = advisor.decide({**line, "gpu_candidates": [name]}, decided_at=MOMENT).to_dict(full=True)
    except InputError as problem:
        says = str(problem).splitlines()[0]
        return Compared(**known, gpu=name, answered=None, folk=folk, says=f"not understood: {says}")
    plan = answer["recommendation"]
    answered = plan["count"] if plan else None
    says = "" if answered == published else why(answer, line, name, published, advisor)
    holds = _holds(line, name, answered, advisor) if answered else ""
    return Compared(**known, gpu=name, answered=answered, folk=folk, says=says, holds=holds)


def _holds(line: dict[str, Any], gpu: str, count: int, advisor: Advisor) -> str:
    """Whether so many cards hold what the row states by ``size``: at the top of its band, by its estimate, or not."""
    sized = _sized(line, gpu, count, advisor)
    if sized is None or not sized["fits"] or sized["tight"]:
        return NOT
    top = sized["per_gpu_gb"] * sized["high_gb"] / sized["needed_gb"]
    return BAND if top <= sized["available_per_gpu_gb"] else ESTIMATE


def folk_count(row: dict[str, Any], vram_gb: float | None) -> int | None:
    """1.2 x the weights over the memory of a card, on the next power of two."""
    derived, facts = row.get("derived", {}), row["facts"]
    weights = derived.get("weights_gb")
    if weights is None and facts.get("params_b"):
        weights = facts["params_b"] * derived.get("weight_bits", 16) / 8
    memory = row.get("hardware", {}).get("memory_gb_each") or vram_gb
    if weights is None or not memory:
        return None
    return int(2 ** math.ceil(math.log2(max(1.0, FOLK_FACTOR * weights / memory))))


def why(answer: dict[str, Any], line: dict[str, Any], gpu: str, published: int, advisor: Advisor) -> str:
    """What the tool says of its own count and of the published one."""
    plan = answer["recommendation"]
    if plan is None:
        return f"no answer: {answer['no_answer']['why'][:160]}"
    parts = [f"{plan['count']}: {plan['why_count']}", _load(plan)]
    sized = _sized(line, gpu, published, advisor)
    if sized is not None:
        room = f"{sized['per_gpu_gb']:.0f} of {sized['available_per_gpu_gb']:.0f} GB a card"
        fit = "does not fit" if not sized["fits"] else "fits too closely" if sized["tight"] else "fits"
        parts.append(f"{published} {fit} ({room})")
    against = [entry for entry in answer["rejected"] if entry["gpu"] == gpu and published in entry["counts"]]
    shown = any(other["gpu"] == gpu and other["count"] == published for other in answer["alternatives"])
    named = ", ".join(entry["rule"] or entry["reason"] for entry in against)
    parts.append(named or ("shown" if shown else "not shown"))
    return "; ".join(part for part in parts if part)


def _load(plan: dict[str, Any]) -> str:
    memory = plan["memory"]
    if not memory:
        return ""
    return f"{memory['per_gpu_gb']:.0f} of {memory['available_per_gpu_gb'] or math.nan:.0f} GB a card"


def _sized(line: dict[str, Any], gpu: str, count: int, advisor: Advisor) -> dict[str, Any] | None:
    try:
        return size_workload(advisor, advisor.read(line), gpu=gpu, count=count)
    except InputError:
        return None


def table(found: Iterable[Compared]) -> list[str]:
    """By file: the shares that are right by the bar, the same counts, those of the folk rule, and the differences."""
    rows = list(found)
    groups = [*sorted({item.file for item in rows}), "both"] if len({item.file for item in rows}) > 1 else ["all rows"]
    head = ("rows", "of", "right by the bar", "bar", "same count", "folk rule: same count", "leaner", "more", "none")
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for group in groups:
        mine = [item for item in rows if item.file == group or group in ("both", "all rows")]
        for name, part in (("all", mine), ("above one GPU", [item for item in mine if item.published > 1])):
            counts = Counter(_direction(item) for item in part)
            shares = (
                _share(sum(item.right for item in part), len(part)),
                f"{100 * BARS[name]:.0f} %",
                _share(counts["same"], len(part)),
                _share(sum(item.folk == item.published for item in part), len(part)),
            )
            directions = (str(counts["fewer"]), str(counts["more"]), str(counts["none"]))
            lines.append(f"| {' | '.join((f'{group}, {name}', str(len(part)), *shares, *directions))} |")
    return lines


def _plainly(found: list[Compared]) -> list[str]:
    """Each reading of all rows in words, the strictest first."""
    lines = []
    for name, rows in (("all", found), ("above one GPU", [item for item in found if item.published > 1])):
        same = sum(item.same for item in rows)
        leaner = [item for item in rows if item.leaner and item.right]
        sure = sum(item.load == "requests" and item.holds == BAND for item in leaner)
        requests = sum(item.load == "requests" for item in leaner)
        readings = (
            ("the same count", same),
            ("or leaner, and the stated requests fit at the top of the band", same + sure),
            ("or leaner, and the stated requests fit by the estimate", same + requests),
            ("or leaner, and the stated requests or the stated batch fit: **the bar**", same + len(leaner)),
        )
        bar = BARS[name] * len(rows)
        lines += [
            f"| {name}, {len(rows)} | {says} | {_share(right, len(rows))} | {100 * BARS[name]:.0f} % "
            f"| {'met' if right >= bar else 'missed'} |"
            for says, right in readings
        ]
    return ["| deployments | right where | right | bar | |", "|---|---|---|---|---|", *lines]


def _reasons(differing: list[Compared]) -> list[str]:
    """How often each reason is behind a difference."""
    every = Counter(item.reason for item in differing)
    above = Counter(item.reason for item in differing if item.published > 1)
    return [f"| {reason} | {count} | {above[reason]} |" for reason, count in every.most_common()]


def _direction(item: Compared) -> str:
    if item.answered is None:
        return "none"
    return "same" if item.same else "fewer" if item.answered < item.published else "more"


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "0"


def report(found: list[Compared], files: list[Path]) -> str:
    """The report as Markdown, with every difference."""
    named = " and ".join(f"`accuracy/data/{file.name}`" for file in files)
    differing = [item for item in found if not item.same]
    lines = [
        "# Published deployments",
        "",
        "Does the tool choose as many GPUs as people published? The card of each published run is given, the count and "
        "the split are left open, everything else that the row states is passed on.",
        "",
        f"Written by `python benchmarks/deployments.py --write` from the rows of suite `gpu_choice` in {named}.",
        "",
        f"* **Folk rule**, for comparison: {FOLK_FACTOR} x the weights, on the next power of two of cards.",
        "* **Leaner**: fewer GPUs than published. That is right only where `size` says that the answered count holds "
        "the stated load, by its estimate or also at the top of its memory band. A row without a load is never right "
        "by a leaner answer, since its reason for more GPUs is not known.",
        "* **Load**: of a served model the requests in flight, a rate or a deadline; of training the batch, which says "
        "what a step takes and not how soon the run has to end.",
        "",
        *_plainly(found),
        "",
        *table(found),
        "",
        "| reason of a difference | all | above one GPU |",
        "|---|---|---|",
        *_reasons(differing),
        "",
        f"## Differences: {len(differing)} of {len(found)}",
        "",
        "| run | task | model | card | published | answered | folk | reason | what the tool says |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for item in sorted(differing, key=lambda item: (_direction(item), item.file, item.id)):
        answered = "none" if item.answered is None else item.answered
        lines.append(
            f"| {item.id} | {item.task} | {item.model} | {item.gpu} | {item.published} | {answered} "
            f"| {item.folk or ''} | {item.reason} | {item.says.replace('|', '/')} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
