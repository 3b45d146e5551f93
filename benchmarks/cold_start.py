"""How long the command takes to start, beside another checkout: ``python benchmarks/cold_start.py OTHER [--runs 15]``.

Every command runs in a process of its own, in turn with the same command of the other checkout, so that whatever else
the machine does affects both. Reported is the CPU time of the processes (user and system), the median of all runs, and
their ratio. Files are in the system's cache and what is kept between runs is there: the first two runs of each are not
counted. Each checkout is run by the ``whichgpu`` of its own ``.venv``.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path


ROOT = Path(__file__).parents[1]
COMMANDS = (
    "recommend examples/llm-chat-8b.yaml",
    "recommend examples/llm-chat-8b.yaml --format json",
    "size examples/llm-chat-8b.yaml --gpu a100",
    "gpus",
    "rules lint",
    "--help",
)
#: Not counted: they fill the caches.
WARMING = 2


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--runs", type=int, default=15, help="counted runs of each command")
    parser.add_argument("--command", action="append", help="in place of the usual; write --command=--help")
    options = parser.parse_args()
    checkouts = (options.other.resolve(), ROOT)
    print(f"| command | {checkouts[0].name}: CPU ms | {checkouts[1].name}: CPU ms | ratio |\n|---|---|---|---|")
    for command in options.command or COMMANDS:
        times: tuple[list[float], list[float]] = ([], [])
        for run in range(WARMING + options.runs):
            for checkout, found in zip(checkouts, times, strict=True):
                taken = cpu_ms(checkout, command.split())
                if run >= WARMING:
                    found.append(taken)
        theirs, ours = map(statistics.median, times)
        print(f"| {command} | {theirs:.0f} | {ours:.0f} | {ours / theirs:.2f} |", flush=True)


def cpu_ms(checkout: Path, arguments: list[str]) -> float:
    """The CPU time of one command in a fresh process, in milliseconds. Ends the program where the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Bytecode is kept, as it is where a program is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [str(checkout / ".venv" / "bin" / "whichgpu"), *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        sys.exit(f"{checkout}: {' '.join(arguments)} ended with {done.returncode}\n{done.stderr[-2000:]}")
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
