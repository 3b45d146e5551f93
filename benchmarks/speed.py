"""How fast decisions are, measured in one run: ``python benchmarks/speed.py [--soak 20000] [--write]``.

Side by side, on the same workloads: ``decide()`` with durable-rules and with the generated evaluator alone, putting the
answer into words and JSON, ``recommend --jsonl`` per line, the cold command, and a soak that watches memory. With
``--write`` it puts the table into ``benchmarks/RESULTS.md``.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from whichgpu.cli.main import run as run_command
from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import plain, read_yaml
from whichgpu.engine.plans.workings import forget_workings


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
Row = tuple[str, str, str, str, str]
#: Milliseconds on the clock and of this process's (or its child's) CPU time, which other work on the machine bears on
#: far less.
Sample = tuple[float, float]


def main() -> None:
    """Measure, print, and write if asked to."""
    options = _options()
    nodes = {path.stem: read_yaml(path, error=InputError) for path in sorted((ROOT / "examples").glob("*.yaml"))}
    started = datetime.now(UTC)
    rows: list[Row] = []
    load_ms = _timed(load_advisor, 3)
    rows.append(("load_advisor(), files cached", *_spread(load_ms)))
    advisor, generated = load_advisor(), _generated()
    workloads = {name: advisor.read(node) for name, node in nodes.items()}
    rows += _deciding(advisor, generated, workloads, options.repeat)
    rows += _presenting(advisor, workloads, options.repeat)
    rows += _lines({name: plain(node) for name, node in nodes.items()}, options.lines)
    rows += _cold(options.cold)
    details = _by_example(advisor, generated, workloads, options.repeat)
    soak = _soak(advisor, list(workloads.values()), options.soak)
    text = _report(rows, details, soak, advisor, started)
    print(text)
    if options.write:
        (ROOT / "benchmarks" / "RESULTS.md").write_text(text, encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=30, help="decisions on each example")
    parser.add_argument("--lines", type=int, default=200, help="lines of --jsonl")
    parser.add_argument("--cold", type=int, default=10, help="starts of the cold command")
    parser.add_argument("--soak", type=int, default=20_000, help="decisions of the soak")
    parser.add_argument("--write", action="store_true", help="write benchmarks/RESULTS.md")
    return parser.parse_args()


def _generated() -> Advisor:
    """An expert without durable-rules. Which engine fires is looked up on every firing, so see ``_generated_alone``."""
    with _generated_alone():
        return load_advisor()


@contextlib.contextmanager
def _generated_alone() -> Iterable[None]:  # type: ignore[misc]
    os.environ["WHICHGPU_ENGINE"] = "generated"
    try:
        yield
    finally:
        del os.environ["WHICHGPU_ENGINE"]


def _timed(action: Callable[[], object], times: int, before: Callable[[], None] = lambda: None) -> list[Sample]:
    """The time of each call, the first left out; ``before`` runs untimed before each."""
    action()
    samples = []
    for _ in range(times):
        before()
        samples.append(_timed_once(action))
    return samples


def _spread(samples: list[Sample]) -> tuple[str, str, str, str]:
    clock, cpu = (sorted(times) for times in zip(*samples, strict=True))
    p95 = clock[min(len(clock) - 1, round(0.95 * (len(clock) - 1)))]
    return f"{statistics.median(cpu):.1f} ms", f"{statistics.median(clock):.1f} ms", f"{p95:.1f} ms", str(len(clock))


def _deciding(durable: Advisor, generated: Advisor, workloads: dict[str, Workload], repeat: int) -> list[Row]:
    """``decide()`` by both engines, turn by turn, so that what else the machine does falls on both."""
    both: dict[str, list[Sample]] = {"durable": [], "again": [], "generated": []}
    for workload in workloads.values():
        for _ in range(repeat):
            forget_workings()
            both["durable"].append(_timed_once(lambda w=workload: durable.decide(w, decided_at=MOMENT)))
            both["again"].append(_timed_once(lambda w=workload: durable.decide(w, decided_at=MOMENT)))
            forget_workings()
            with _generated_alone():
                both["generated"].append(_timed_once(lambda w=workload: generated.decide(w, decided_at=MOMENT)))
    return [
        (f"decide() on a new job, rules fired by {durable.fired_by} and checked", *_spread(both["durable"])),
        ("the same, on a job whose memory and speed were computed just before", *_spread(both["again"])),
        ("decide() on a new job, rules fired by the generated evaluator alone", *_spread(both["generated"])),
    ]


def _timed_once(action: Callable[[], object]) -> Sample:
    start, cpu = time.perf_counter(), _cpu_s()
    action()
    return (time.perf_counter() - start) * 1e3, (_cpu_s() - cpu) * 1e3


def _cpu_s() -> float:
    """CPU time so far of this process and of those that it has waited for."""
    waited = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited.ru_utime + waited.ru_stime


def _presenting(advisor: Advisor, workloads: dict[str, Workload], repeat: int) -> list[Row]:
    decisions = [advisor.decide(workload, decided_at=MOMENT) for workload in workloads.values()]
    times = max(1, repeat // 5)
    short = [ms for decision in decisions for ms in _timed(lambda d=decision: d.to_dict(full=False), times)]
    full = [ms for decision in decisions for ms in _timed(lambda d=decision: d.to_dict(), times)]
    return [
        ("to_dict(), a line: without trace, rules, rejections", *_spread(short)),
        ("to_dict(), everything", *_spread(full)),
    ]


def _by_example(durable: Advisor, generated: Advisor, workloads: dict[str, Workload], repeat: int) -> list[str]:
    lines = []
    for name, workload in workloads.items():
        plans = durable.decide(workload, decided_at=MOMENT).outcome.round
        mine = _timed(lambda w=workload: durable.decide(w, decided_at=MOMENT), repeat, before=forget_workings)
        with _generated_alone():
            others = _timed(lambda w=workload: generated.decide(w, decided_at=MOMENT), repeat, before=forget_workings)
        count = len(plans.plans) if plans else 0
        lines.append(f"| {name} | {count} | {' | '.join(_spread(mine)[:3])} | {_spread(others)[0]} |")
    return lines


def _lines(workloads: dict[str, object], count: int) -> list[Row]:
    """``recommend --jsonl`` in this process: each line read, decided and written."""
    texts = [json.dumps(facts) for facts in islice(cycle(workloads.values()), count)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.jsonl"
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        answers = io.StringIO()
        with contextlib.redirect_stdout(answers):
            codes: list[int] = []
            clock, cpu = _timed_once(lambda: codes.append(run_command(["recommend", str(path), "--jsonl"])))
    if codes != [0] or answers.getvalue().count("\n") != count:
        raise RuntimeError(f"--jsonl ended with {codes} and {answers.getvalue().count(chr(10))} answers")
    return [
        (
            "recommend --jsonl, a line, loading included",
            f"{cpu / count:.1f} ms",
            f"{clock / count:.1f} ms",
            "",
            str(count),
        )
    ]


def _cold(times: int) -> list[Row]:
    """A new process for each decision, with compiled modules as an installed package has them."""
    example = str(ROOT / "examples" / "llm-chat-8b.yaml")
    with tempfile.TemporaryDirectory() as folder:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env["PYTHONPYCACHEPREFIX"] = folder
        command = [
            sys.executable,
            "-c",
            "import sys; from whichgpu.cli.main import main; sys.exit(main())",
            "recommend",
            example,
        ]

        def start() -> None:
            subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)

        start()
        found = _timed(start, times)
    return [("the cold command, text, one example", *_spread(found))]


def _soak(advisor: Advisor, workloads: list[Workload], number: int) -> list[str]:
    """Many decisions in one process, with the memory in use along the way."""
    tenth = max(1, number // 10)
    source = cycle(workloads)
    for workload in islice(source, 200):
        advisor.decide(workload, decided_at=MOMENT)
    lines, done, began = [f"| 0 | {_resident_mb():.1f} MB | {_objects():,} |"], 0, time.perf_counter()
    while done < number:
        for workload in islice(source, tenth):
            advisor.decide(workload, decided_at=MOMENT)
        done += tenth
        lines.append(f"| {done:,} | {_resident_mb():.1f} MB | {_objects():,} |")
    lines.append(f"\n{done:,} decisions in {time.perf_counter() - began:.0f} s.")
    return lines


def _resident_mb() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _objects() -> int:
    return len(gc.get_objects())


def _report(rows: list[Row], details: list[str], soak: list[str], advisor: Advisor, started: datetime) -> str:
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    size = f"{len(advisor.rules)} rules, {len(advisor.knowledge.plannable)} GPUs that can be planned with"
    parts = [
        "# Speed",
        "",
        f"Measured {started:%Y-%m-%d %H:%M} UTC in one run of `python benchmarks/speed.py`, on {size}.",
        f"{os.cpu_count()} cores shared with other work (load {load} at the end), {platform.machine()}, "
        f"Python {platform.python_version()}. Clock times are those of a busy machine; "
        "CPU times are nearer to those of an idle one.",
        "",
        "| what | CPU p50 | clock p50 | clock p95 | of |",
        "|---|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        "| example | plans | decide(): CPU p50 | clock p50 | clock p95 | generated alone: CPU p50 |",
        "|---|---|---|---|---|---|",
        *details,
        "",
        "Soak, all examples in turn in one process:",
        "",
        "| decisions | memory in use | Python objects |",
        "|---|---|---|",
        *soak,
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
