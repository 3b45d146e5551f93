"""The bars of decisions over columns, beside another checkout: ``python benchmarks/columns.py OTHER [--write]``.

OTHER is a checkout of commit 0c7b3ce with an environment of its own in ``.venv``. Each side decides in a process of its
own; batches of the same workloads take turns, so that other work of the machine affects both. Reported: ratios of CPU
time, of a batch, of a command with the processes that it starts, of one search. ``--only`` measures some of the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple


ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from report_pages import write_page
from workload_makers import workload


WORKER = ROOT / "benchmarks" / "columns_worker.py"
#: A layer with one rule, as a company might add it.
COMPANY_RULE = """\
- id: no-small-cards
  title: No small cards in production
  stage: reject
  each: plan
  when:
    - gpu.vram_gb < 40
    - lifecycle_stage == production
  then:
    reject: "{gpu.name} is too small"
  because: The company wants few kinds of cards.
  sources: [whichgpu-judgement]
"""
GPUS_ASKED = ("nvidia-h100-80gb-sxm", "nvidia-l4", "amd-mi300x", "nvidia-rtx-4090", "nvidia-t4")


class Measured(NamedTuple):
    """A row of the table: the bar, what was measured, and how; ``value`` None where it is only stated."""

    what: str
    bar: float
    value: float
    how: str

    @property
    def kept(self) -> bool:
        """Whether the bar is kept."""
        return self.value <= self.bar


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--only", action="append", choices=[*ROWS], help="some of the rows; may be repeated")
    parser.add_argument("--workloads", type=int, default=120, help="decisions and lines of each side")
    parser.add_argument("--searches", type=int, default=5, help="searches of why-not, and of sensitivity")
    parser.add_argument("--sample", type=int, default=2000, help="workloads of rules diff")
    parser.add_argument("--soak", type=int, default=20_000, help="decisions while memory is watched")
    parser.add_argument(
        "--write", action="store_true", help="write benchmarks/columns.md; its hand-written sections stay"
    )
    options = parser.parse_args()
    options.other = options.other.resolve()
    rows = []
    for name in options.only or ROWS:
        for row in ROWS[name](options):
            rows.append(row)
            print(f"{row.what}: {row.value:.3g} (bar {row.bar:g}; {row.how})", file=sys.stderr, flush=True)
    text = report(sorted(rows, key=lambda row: row.kept))
    print(text)
    if options.write:
        write_page(ROOT / "benchmarks" / "columns.md", text)


class Worker:
    """A checkout in a process of its own that answers orders with the CPU seconds that they took."""

    def __init__(self, checkout: Path) -> None:
        python = checkout / ".venv" / "bin" / "python"
        command = [str(python if python.exists() else sys.executable), str(WORKER), str(checkout)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, order: str, *arguments: Any) -> Any:
        """What the worker answers."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        self._process.stdin.write(json.dumps([order, *arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended at {order}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def workloads(amount: int) -> list[dict[str, Any]]:
    """Workloads as people bring them, always the same."""
    chance = random.Random(5)
    return [workload(chance) for _ in range(amount)]


def batches(amount: int, size: int = 10) -> Iterator[list[dict[str, Any]]]:
    """The workloads by tens."""
    every = workloads(amount)
    yield from (every[first : first + size] for first in range(0, amount, size))


def in_turn(
    theirs: Worker, ours: Worker, order: tuple[str, str], batched: Iterator[list[Any]]
) -> tuple[list[float], list[float]]:
    """The CPU seconds of each side on each batch; the first batch warms up and is not counted."""
    sides: tuple[list[float], list[float]] = ([], [])
    for number, batch in enumerate(batched):
        for side, worker, name in zip(sides, (theirs, ours), order, strict=True):
            seconds = worker(name, batch)
            if number:
                side.append(seconds)
    return sides


def ratio(theirs: list[float], ours: list[float]) -> float:
    """The median of the ratios of pairs."""
    return statistics.median(our / their for their, our in zip(theirs, ours, strict=True))


def deciding(options: argparse.Namespace) -> Iterator[Measured]:
    """A decision, and a compact line beside the line of before."""
    theirs, ours = Worker(options.other), Worker(ROOT)
    for what, bar, order in (
        ("a decision", 0.8, ("decide", "decide")),
        ("a line of --jsonl --compact beside a line of --jsonl", 0.25, ("line", "compact")),
    ):
        sides = in_turn(theirs, ours, order, batches(options.workloads))
        each = [1000 * statistics.median(side) / 10 for side in sides]
        how = f"{options.workloads} workloads by tens in turn: {each[0]:.1f} and {each[1]:.1f} ms of CPU each"
        yield Measured(what, bar, ratio(*sides), how)
    theirs.close()
    ours.close()


def searching(options: argparse.Namespace) -> Iterator[Measured]:
    """why-not and sensitivity."""
    theirs, ours = Worker(options.other), Worker(ROOT)
    chosen = workloads(options.searches + 1)
    for order, bar in (("why_not", 0.2), ("sensitivity", 0.2)):
        asked = ([facts, GPUS_ASKED[place % len(GPUS_ASKED)]] for place, facts in enumerate(chosen))
        sides = in_turn(theirs, ours, (order, order), asked)
        each = [statistics.median(side) for side in sides]
        how = f"{options.searches} searches in turn: {each[0]:.1f} and {each[1]:.1f} s of CPU each"
        yield Measured(order.replace("_", "-"), bar, ratio(*sides), how)
    theirs.close()
    ours.close()


def cold(options: argparse.Namespace) -> Iterator[Measured]:
    """The command in a fresh process."""
    command = ["recommend", str(ROOT / "examples" / "llm-chat-8b.yaml")]
    found: tuple[list[float], list[float]] = ([], [])
    for run in range(9):
        for checkout, side in zip((options.other, ROOT), found, strict=True):
            seconds = command_seconds(checkout, command)
            if run >= 2:
                side.append(seconds)
    theirs, ours = map(statistics.median, found)
    yield Measured("the cold command", 0.6, ours / theirs, f"7 runs in turn: {theirs:.2f} and {ours:.2f} s of CPU")


def comparing(options: argparse.Namespace) -> Iterator[Measured]:
    """``rules diff`` of a layer with one rule, and of a layer with none."""
    with tempfile.TemporaryDirectory() as folder:
        layers = {"a layer with one rule": (0.25, COMPANY_RULE), "an empty layer": (0.05, None)}
        for what, (bar, text) in layers.items():
            layer = Path(folder) / what.replace(" ", "-")
            layer.mkdir()
            if text is not None:
                (layer / "company.yaml").write_text(text, encoding="utf-8")
            command = ["rules", "diff", "builtin", str(layer), "--sample", str(options.sample)]
            theirs, ours = (command_seconds(checkout, command) for checkout in (options.other, ROOT))
            how = f"{options.sample} workloads drawn: {theirs:.1f} and {ours:.1f} s of CPU"
            yield Measured(f"rules diff, {what}", bar, ours / theirs, how)


def command_seconds(checkout: Path, arguments: list[str]) -> float:
    """CPU seconds of one command in a fresh process and in those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [str(checkout / ".venv" / "bin" / "whichgpu"), *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def growing(options: argparse.Namespace) -> Iterator[Measured]:
    """Eight times the GPUs, and eight times the rules, of this checkout alone."""
    for what, bar in (("gpus", 4.0), ("rules", 1.5)):
        usual, grown = Worker(ROOT), Worker(ROOT)
        number, kind = grown("grow", what, 8)
        sides = in_turn(usual, grown, ("decide", "decide"), batches(min(options.workloads, 60), 5))
        yield Measured(f"eight times the {kind}", bar, ratio(*sides), f"{number} {kind} beside an eighth")
        usual.close()
        grown.close()


def soaking(options: argparse.Namespace) -> Iterator[Measured]:
    """Memory in use over many decisions, by what it is after the first tenth."""
    ours = Worker(ROOT)
    every = workloads(400)
    sizes, done = [], 0
    while done < options.soak:
        ours("decide", [every[(done + place) % len(every)] for place in range(100)])
        done += 100
        if done % max(100, options.soak // 10) == 0:
            sizes.append(ours("memory_mb"))
    ours.close()
    how = f"{done} decisions, MB in use: {', '.join(f'{size:.0f}' for size in sizes)}"
    yield Measured("memory at the end by memory after a tenth", 1.05, sizes[-1] / sizes[0], how)


#: What is measured, by name.
ROWS: dict[str, Callable[[argparse.Namespace], Iterator[Measured]]] = {
    "deciding": deciding,
    "cold": cold,
    "searching": searching,
    "comparing": comparing,
    "growing": growing,
    "soaking": soaking,
}


def report(rows: list[Measured]) -> str:
    """The table, misses first."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        "# CPU time of a decision",
        "",
        "How much CPU time this checkout takes beside commit 0c7b3ce (2026-11-20), which evaluated plans one by one.",
        "",
        f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by `python benchmarks/columns.py OTHER --write` on "
        f"{os.cpu_count()} cores (load {load} at the end). Both sides decide the same workloads, "
        "batch by batch in turn; *measured* is the median ratio of CPU times, this checkout over the older one (below "
        "1: less time). The bar is the most that the ratio may be. Misses first.",
        "",
        "| what | bar: at most | measured | kept | how |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.what} | {row.bar:g} | {row.value:.3g} | {'yes' if row.kept else 'no'} | {row.how} |" for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
