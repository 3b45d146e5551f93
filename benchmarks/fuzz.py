"""Broken and hostile inputs through the whole command: no traceback, no internal error, no raw control character.

    python benchmarks/fuzz.py --inputs 20000 [--seed 1]

Half of the inputs are workloads as people write them, half have been damaged: bytes, values, keys, structure.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import io
import json
import random
import sys
import time
import unicodedata
from typing import Any

import yaml
from workload_makers import workload

from whichgpu.cli import advisor as loading
from whichgpu.cli.main import run


COMMANDS = (
    ("recommend", "-"),
    ("recommend", "-", "--format", "json"),
    ("recommend", "-", "--jsonl", "--compact"),
    ("recommend", "-", "--format", "markdown"),
    ("recommend", "-", "--all", "--currency", "EUR"),
    ("size", "-", "--gpu", "l40s"),
    ("size", "-", "--gpu", "h100", "--count", "8", "--format", "json"),
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    -1e-308,
    float("nan"),
    float("inf"),
    10**40,
    "",
    " ",
    "nan",
    "1e999",
    "70b",
    "-5 GB",
    "4 x rtx 4090",
    "\x1b[31mred",
    "\u202eturned",
    "\ud83d",
    "a" * 5000,
    [],
    {},
    [[]],
    {"value": 1},
    ["a", {"b": []}],
    "🙂" * 50,
    "'; drop table",
    "../../etc/passwd",
    "{{7*7}}",
    "%s%n",
    "2026-99-99",
)
BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\x1b[2J",
    b"\xe2\x80\xae",
    b"{",
    b"]",
    b":",
    b"\t",
    b"- ",
    b"&a ",
    b"*a",
    b"!!python/x ",
    b"\r",
)


def damaged(text: bytes, choose: random.Random) -> bytes:
    """Bytes put in, taken out or repeated."""
    for _ in range(choose.randint(1, 4)):
        at = choose.randrange(len(text) + 1)
        kind = choose.random()
        if kind < 0.5:
            text = text[:at] + choose.choice(BYTES) + text[at:]
        elif kind < 0.8:
            text = text[:at] + text[at + choose.randint(1, 9) :]
        else:
            text = text[:at] + text[at : at + 20] * choose.randint(2, 40) + text[at:]
    return text


def written(facts: dict[str, Any], choose: random.Random) -> bytes:
    """A workload as JSON or YAML; hostile values only as JSON can hold them."""
    as_json = json.dumps(facts, ensure_ascii=choose.random() < 0.5)
    if choose.random() < 0.5:
        return as_json.encode("utf-8", "surrogatepass")
    try:
        return yaml.safe_dump(facts, allow_unicode=True).encode("utf-8", "surrogatepass")
    except yaml.YAMLError:
        return as_json.encode("utf-8", "surrogatepass")


def made(choose: random.Random) -> bytes:
    """One input."""
    facts: dict[str, Any] = dict(workload(choose))
    kind = choose.random()
    if kind < 0.2:
        facts[choose.choice(list(facts))] = choose.choice(VALUES)
    elif kind < 0.3:
        facts[choose.choice(["gpu", "budget", "modle_name", "", "é", "k" * 1500, "concurency"])] = choose.choice(VALUES)
    text = written(facts, choose)
    return damaged(text, choose) if kind > 0.85 else text


def answered(command: tuple[str, ...], text: bytes) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8")
    before, sys.stdin = sys.stdin, stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(list(command))
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


def faults(code: int, out: str, err: str) -> list[str]:
    """What is wrong with an answer."""
    found = [] if code in {0, 1, 2} else [f"exit {code}"]
    found += ["traceback"] if "Traceback" in out + err else []
    raw = {char for char in out + err if unicodedata.category(char) in {"Cc", "Cf"} and char not in "\n\u200d\ufe0f"}
    return found + [f"raw U+{ord(char):04X}" for char in sorted(raw)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--inputs", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    choose = random.Random(asked.seed)
    loading.load = functools.cache(loading.load)  # type: ignore[assignment]  # What is loaded is never changed.
    for module in ("recommend", "size"):
        importlib.import_module(f"whichgpu.cli.commands.{module}").load = loading.load
    codes: collections.Counter[int] = collections.Counter()
    wrong = 0
    started = time.process_time()
    for number in range(asked.inputs):
        text, command = made(choose), choose.choice(COMMANDS)
        code, out, err = answered(command, text)
        codes[code] += 1
        for fault in faults(code, out, err):
            wrong += 1
            print(f"{number}: {fault}: {' '.join(command)}\n  {text[:300]!r}\n  {err[:300]!r}")
    decided = codes[0] + codes[1]
    print(
        f"{asked.inputs:,} inputs (seed {asked.seed}): {decided:,} decided ({100 * decided / asked.inputs:.0f} %), "
        f"{codes[2]:,} refused, {wrong:,} faults; {time.process_time() - started:.0f} s of CPU"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
