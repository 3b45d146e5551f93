"""How fast ``whichgpu fleet`` gets through a history of any length: ``fleet_history.py FILE --map MAP --vary hours``.

Rows of a real history (CSV) are drawn with replacement, and a number of each is multiplied by a factor of its own, so
that hardly two rows are the same before the map rounds them. The command runs as a user runs it, in processes of its
own; measured are rows a second by the clock, and the CPU seconds of all its processes, since the machine may be shared.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


#: Standard deviation of the logarithm of a factor: most lie between a half and twice the number.
_SPREAD = 0.5


class Run(NamedTuple):
    """What one run took."""

    rows: int
    distinct: int
    clock_s: float
    cpu_s: float
    most_mb: float  # of the largest process
    bytes_a_row: float


def main() -> None:
    """Draw, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("history", type=Path, help="a CSV file of jobs")
    parser.add_argument("--map", type=Path, required=True, help="what its columns mean")
    parser.add_argument("--vary", required=True, help="the column whose number is varied")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with options.history.open(newline="", encoding="utf-8") as stream:
        jobs = list(csv.DictReader(stream))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            file = Path(folder) / f"{rows}.csv"
            draw(jobs, rows, options.vary, file)
            found.append(run(file, options.map, options.processes))
            print(line_of(found[-1], options.processes), flush=True)
    for before, after in pairwise(found):
        exponent = math.log(after.cpu_s / before.cpu_s) / math.log(after.rows / before.rows)
        print(f"exponent of CPU time from {before.rows:,} to {after.rows:,} rows: {exponent:.2f}")


def draw(jobs: list[dict[str, str]], rows: int, vary: str, file: Path) -> None:
    """Write so many rows of a history, each with a number of its own."""
    chance = random.Random(rows)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(jobs[0]))
        writer.writeheader()
        for number in range(rows):
            job = dict(chance.choice(jobs))
            if job[vary]:
                job[vary] = f"{float(job[vary]) * math.exp(chance.gauss(0, _SPREAD)):.6g}"
            writer.writerow(job | {"job": str(number)} if "job" in job else job)


def run(file: Path, job_map: Path, processes: int) -> Run:
    """Run the command over a file."""
    out = file.with_suffix("")
    command = [sys.executable, "-m", "whichgpu", "fleet", "run", str(file), "--map", str(job_map), "-o", str(out)]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, "--processes", str(processes)], capture_output=True, text=True, check=False)
    clock, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2):
        raise SystemExit(f"the command ended with {done.returncode}: {done.stderr[-500:]}")
    manifest = json.loads((out / "_manifest.json").read_text(encoding="utf-8"))
    rows, parts = sum(part["rows"] for part in manifest["parts"]), manifest["parts"]
    return Run(
        rows,
        sum(part["distinct"] for part in parts),
        clock,
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        after.ru_maxrss / 1024,
        sum(part["bytes"] for part in parts) / rows,
    )


def line_of(found: Run, processes: int) -> str:
    """A run in a line."""
    by_clock, by_cpu = found.rows / found.clock_s, found.rows / found.cpu_s * processes
    return (
        f"{found.rows:,} rows, {found.distinct:,} distinct: {by_clock:,.0f} a second by the clock "
        f"({found.clock_s:.0f} s), {found.cpu_s:.0f} s of CPU in all ({by_cpu:,.0f} a second were {processes} cores "
        f"free), {found.most_mb:.0f} MB, {found.bytes_a_row:.1f} bytes a row"
    )


if __name__ == "__main__":
    main()
