"""Counts of published deployments beside the tool's own: ``python benchmarks/deployments.py [--write] [--json]``.

Each row of the suite ``gpu_choice`` says which card ran a job and how many of them. The card is fixed by
``gpu_candidates``, the count and the split over cards are left open, everything else that the row states is passed on
(``accuracy/mapping.py``). Beside it stands a folk rule: 1.2 x the weights, on the next power of two of cards.
``--write`` writes ``benchmarks/deployments.md``.
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
sys.path.insert(0, str(ROOT / "benchmarks" / "accuracy"))
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

from mapping import line_of

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.size_answer import size_workload
from whichgpu.engine.core.errors import InputError


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FILES = ("published_runs", "released_runs")
#: What would tell the count: it is left open.
SPLITS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
#: Facts that say how much a deployment does; what is recommended holds them.
LOADS = frozenset(
    {"concurrency", "peak_qps", "min_tokens_per_s", "batch_size_per_gpu", "global_batch_size", "deadline_hours"}
)
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
    load_stated: bool = False

    @property
    def same(self) -> bool:
        return self.answered == self.published

    @property
    def reason(self) -> str:
        """In a few words, why the counts differ."""
        if self.answered is None:
            return "no count is found to hold the job"
        if self.answered < self.published:
            return "leaner, and holds the stated load" if self.load_stated else "leaner; no load is stated"
        if f"{self.published} does not fit" in self.says:
            return "the published count does not fit by the estimate"
        if f"{self.published} fits too closely" in self.says:
            return "the published count fits too closely by the estimate"
        return "the published count fits, and more are as cheap for the work or nearer to what a guide names"


def main() -> None:
    """Ask, compare, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="*", help="files of rows in place of the published ones")
    parser.add_argument("--json", action="store_true", help="print every comparison as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/deployments.md")
    options = parser.parse_args()
    data = ROOT / "benchmarks" / "accuracy" / "data"
    files = options.data or [data / f"{name}.jsonl" for name in FILES]
    advisor = load_advisor(tests=False)
    found = [compared(row, file.stem, advisor) for file in files for row in choice_rows(file)]
    text = report(found)
    if options.json:
        print(json.dumps([asdict(item) for item in found], indent=1))
    else:
        print("\n".join(table(found)))
    if options.write:
        (ROOT / "benchmarks" / "deployments.md").write_text(text, encoding="utf-8")


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
        "load_stated": bool(LOADS & line.keys()),
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
    return Compared(**known, gpu=name, answered=answered, folk=folk, says=says)


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
    """Shares with the same count, of the tool and of the folk rule, by file."""
    rows = list(found)
    groups = [*sorted({item.file for item in rows}), "both"] if len({item.file for item in rows}) > 1 else ["all rows"]
    head = ("rows", "of", "the tool: same count", "folk rule: same count", "fewer", "of them at a stated load")
    lines = [f"| {' | '.join((*head, 'same, or fewer at a stated load', 'more', 'no answer', 'bar'))} |"]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for group in groups:
        mine = [item for item in rows if item.file == group or group in ("both", "all rows")]
        for name, part in (("all", mine), ("above one GPU", [item for item in mine if item.published > 1])):
            counts = Counter(_direction(item) for item in part)
            folk = sum(item.folk == item.published for item in part)
            held = sum(item.load_stated for item in part if _direction(item) == "fewer")
            lines.append(
                f"| {group}, {name} | {len(part)} | {_share(counts['same'], len(part))} | {_share(folk, len(part))} "
                f"| {counts['fewer']} | {held} | {_share(counts['same'] + held, len(part))} | {counts['more']} "
                f"| {counts['none']} | {100 * BARS[name]:.0f} % |"
            )
    return lines


def _plainly(found: list[Compared]) -> list[str]:
    """Both figures of all rows in words: the same count, and leaner answers at a stated load beside it."""
    lines = []
    for name, rows in (("all deployments", found), ("those above one GPU", [i for i in found if i.published > 1])):
        same = sum(item.same for item in rows)
        held = sum(_direction(item) == "fewer" and item.load_stated for item in rows)
        bar = "met" if same >= BARS["all" if rows is found else "above one GPU"] * len(rows) else "missed"
        lines.append(
            f"* Of {name}: the same count in {_share(same, len(rows))} (bar {bar}); the same, or leaner and at the "
            f"stated load, in {_share(same + held, len(rows))}."
        )
    return lines


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


def report(found: list[Compared]) -> str:
    """The report as Markdown, with every difference."""
    differing = [item for item in found if not item.same]
    lines = [
        "# Published deployments",
        "",
        "Written by `python benchmarks/deployments.py --write`: the card of each published run is fixed, the count "
        f"left open. Folk rule: {FOLK_FACTOR} x the weights, on the next power of two of cards. A leaner answer than "
        "the published one is right only where the stated load fits: such rows state the requests in flight, a rate, a "
        "batch or a deadline, which the answer holds. The others state no load, and why they took more is not told.",
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
