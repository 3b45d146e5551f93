"""How many jobs ``whichgpu fleet`` gets through: ``benchmarks/fleet.py [--distinct 150] [--rows 300000] [--write]``.

CPU time of processes, not the clock, since the machine is shared: random distinct jobs beside jobs that share their
sizes, rows that repeat (time for 10^3 rows and up, memory, bytes), what a worker of two does of the work, and jobs
decided again as ``recommend`` does. ``--write`` writes ``benchmarks/fleet.md`` and keeps its hand-written sections.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from report_pages import write_page
from workload_makers import workload

from whichgpu import Advisor, load_advisor
from whichgpu.engine.fleet.checking import check_result
from whichgpu.engine.fleet.mapping import AS_WORKLOADS
from whichgpu.engine.fleet.ray_workers import RayTasks
from whichgpu.engine.fleet.run import run_fleet
from whichgpu.engine.fleet.sources import open_jobs
from whichgpu.engine.fleet.store import FORMAT, Manifest, Store
from whichgpu.engine.fleet.workers import Here, Orders, Processes, Workers
from whichgpu.engine.plans.sizing_cache import clear_sizing_cache


MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
Row = tuple[str, str]


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distinct", type=int, default=150, help="random jobs, each decided three times")
    parser.add_argument("--rows", type=int, default=300_000, help="rows that repeat, at the most")
    parser.add_argument("--check", type=int, default=100, help="jobs decided again the long way")
    parser.add_argument(
        "--engine", choices=["local", "ray", "none"], default="local", help="whose two workers are measured"
    )
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    advisor = load_advisor(tests=False)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [
            *distinct(advisor, place, options.distinct, options.check),
            *shared(advisor, place, options.distinct // 10),
            *repeated(advisor, place, options.rows),
        ]
        if options.engine != "none":
            rows += two_workers(advisor, place, options.distinct, options.engine)
    text = _text(rows)
    print(text)
    if options.write:
        write_page(ROOT / "benchmarks" / "fleet.md", text)


def distinct(advisor: Advisor, place: Path, amount: int, checked: int) -> list[Row]:
    """Random jobs, no two of them alike: what a decision costs in a fleet."""
    chance = random.Random(11)
    jobs = [workload(chance) for _ in range(amount)]
    seconds, store = _run(advisor, place, jobs)
    again = check_result(store.folder, store.manifest, advisor, checked)
    return [
        ("random distinct jobs, one core", f"{amount / seconds:,.0f} a second ({1000 * seconds / amount:.1f} ms each)"),
        ("bytes a row, each with its own answer (zstd)", f"{_bytes(store) / amount:,.0f}"),
        ("decided again as recommend does", f"{again.jobs - len(again.otherwise)} of {again.jobs} the same"),
    ]


def shared(advisor: Advisor, place: Path, amount: int) -> list[Row]:
    """The same jobs with ten budgets and lengths each: in the order of the run, and shuffled as each by itself."""
    chance = random.Random(12)
    kinds = [workload(chance) for _ in range(max(2, amount))]
    jobs = [
        kind | {"budget_usd_per_month": 500 * n, "project_months": n, "horizon_years": 1}
        for n in range(1, 11)
        for kind in kinds
    ]
    together, _ = _run(advisor, place, jobs)
    apart = 0.0
    for job in jobs:
        clear_sizing_cache()
        begun = time.process_time()
        Here(advisor, MOMENT).submit([json.dumps(job)])
        apart += time.process_time() - begun
    each = f"{1000 * together / len(jobs):.1f} ms each, {1000 * apart / len(jobs):.1f} ms by themselves"
    return [("jobs that differ in budget and length alone", f"{apart / together:.2f} x as fast together ({each})")]


def repeated(advisor: Advisor, place: Path, most: int) -> list[Row]:
    """Rows of a few hundred distinct jobs, as histories are: reading, telling apart, writing."""
    chance = random.Random(13)
    kinds = [{"task": "experimentation", "run_hours": n} for n in range(1, 101)]
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size < most] + [most]
    known = min(_run(advisor, place, kinds)[0] for _ in range(3))
    spent: list[float] = []
    memory: list[int] = []
    store = None
    for size in sizes:
        file = place / "repeated.jsonl"
        with file.open("w") as stream:
            for number in range(size):
                stream.write(json.dumps(chance.choice(kinds) | {"id": number, "team": f"t{number % 7}"}) + "\n")
        seconds, store = _run(advisor, place, file)
        spent.append(max(1e-6, seconds - known))  # The hundred decisions cost the same at any size.
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    last, before = -1, -2 if len(sizes) > 1 else -1
    exponent = math.log(spent[last] / spent[before]) / math.log(sizes[last] / sizes[before]) if len(sizes) > 1 else 1.0
    return [
        (
            f"{sizes[-1]:,} rows of 100 distinct jobs, one core, without deciding those",
            f"{sizes[-1] / spent[-1]:,.0f} a second",
        ),
        (f"exponent of time from {sizes[before]:,} to {sizes[last]:,} rows", f"{exponent:.2f}"),
        (
            "most memory of the process, by rows",
            ", ".join(f"{s:,}: {m} MB" for s, m in zip(sizes, memory, strict=True)),
        ),
        ("bytes a row there", f"{_bytes(store) / sizes[-1]:.1f}" if store else ""),
    ]


def two_workers(advisor: Advisor, place: Path, amount: int, engine: str) -> list[Row]:
    """What the busier of two workers does of their work, and the process that reads and writes beside them."""
    chance = random.Random(14)
    jobs = [workload(chance) for _ in range(amount)]
    orders = Orders(partial(load_advisor, tests=False), MOMENT, (advisor.rulebook.digest, advisor.knowledge.digest))
    made: Any = RayTasks(orders, None, 2) if engine == "ray" else Processes(orders, 2)
    busy: dict[int, float] = {}
    first: dict[int, float] = {}

    def look(_: object) -> None:
        for pid in _ray_pids() if engine == "ray" else list(made._pool._processes):
            busy[pid] = _cpu(pid)
            first.setdefault(pid, busy[pid])

    begun = time.process_time()
    _, store = _run(advisor, place, jobs, made, look)
    parent = time.process_time() - begun
    worked = sorted(busy.values())[-2:]
    name = "Ray tasks" if engine == "ray" else "processes"
    share = 100 * parent / sum(worked)
    says = f"{sum(worked) / max(worked):.2f} x one, were both cores free; the parent {share:.0f} % of their time"
    return [(f"two {name}, by their CPU time with loading", f"{says}; {store.manifest.rows} rows")]


def _run(
    advisor: Advisor,
    place: Path,
    jobs: list[dict[str, Any]] | Path,
    engine: Any = None,
    tell: Callable[..., None] = lambda _: None,
) -> tuple[float, Store]:
    """CPU seconds of this process for a run, and its result."""
    file = jobs if isinstance(jobs, Path) else place / "jobs.jsonl"
    if not isinstance(jobs, Path):
        file.write_text("".join(json.dumps(job) + "\n" for job in jobs))
    out = place / "out"
    shutil.rmtree(out, ignore_errors=True)
    found = open_jobs(str(file))
    manifest = Manifest(
        format=FORMAT, source=str(file), jobs=found.digest, map="", rulebook="", knowledge="", engine_version="",
        decided_at=MOMENT.isoformat(), changes=(), rounding={}, keep=(), batch=20_000, form="parquet",
    )  # fmt: skip
    store = Store.open(out, manifest)
    workers = Workers(engine or Here(advisor, MOMENT))
    begun = time.process_time()
    try:
        run_fleet(found, AS_WORKLOADS, advisor, workers, store, tell)
    finally:
        workers.close()
    return time.process_time() - begun, store


def _bytes(store: Store) -> int:
    return sum(part.bytes for part in store.manifest.parts)


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ray_pids() -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().startswith(b"ray::"):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def _text(rows: list[Row]) -> str:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    head = (
        "How many jobs a run of `whichgpu fleet` decides, in CPU time.\n\n"
        f"Measured {datetime.now(UTC):%Y-%m-%d} by `python benchmarks/fleet.py` on {os.cpu_count()} cores "
        f"(load {load}), Python {platform.python_version()}."
    )
    table = "\n".join(f"| {what} | {found} |" for what, found in rows)
    return f"# Throughput of fleets\n\n{head}\n\n| what | found |\n|---|---|\n{table}\n"


if __name__ == "__main__":
    main()
