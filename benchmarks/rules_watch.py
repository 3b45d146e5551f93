"""From a save to what ``rules watch`` says: seconds of CPU for edits of single rules in a copy of the shipped ones.

``python benchmarks/rules_watch.py`` edits a threshold, points, a text, a derived fact and a new rule, one by one, and
prints what reading, checking with testing, and answering the scenarios take after each.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from experts_day import RULE

from whichgpu import Advisor, load_advisor
from whichgpu.cli.rulewatch import answer, check


ROOT = Path(__file__).parent.parent
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)

#: What is edited, in which file, what stands there and what takes its place.
EDITS = (
    ("a threshold", "serving.yaml", "plan.needed_gb <= 16", "plan.needed_gb <= 18"),
    ("points", "serving.yaml", "points: 3", "points: 2"),
    ("a text", "memory.yaml", "are usable", "can be used"),
    ("a fact that others read", "workload.yaml", " and < 30'", " and < 29.5'"),
    ("a new rule", "finetuning.yaml", "", RULE),
)


def main() -> int:
    """Edit and print."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for part in ("rules", "knowledge"):
            shutil.copytree(ROOT / part, folder / part)

        def load() -> Advisor:
            return load_advisor([], own_rules=folder / "rules", knowledge_folder=folder / "knowledge")

        last = answer(check(load(), MOMENT), [folder / "rules"], MOMENT)
        print("| edit | read | checked and tested | scenarios answered | rules tested |\n|---|---|---|---|---|")
        for what, name, old, new in EDITS:
            file = folder / "rules" / name
            text = file.read_text(encoding="utf-8")
            if old not in text:
                print(f"{old!r} does not stand in {name}", file=sys.stderr)
                return 1
            file.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
            marks = [time.process_time()]
            advisor = load()
            marks.append(time.process_time())
            checked = check(advisor, MOMENT, last)
            marks.append(time.process_time())
            last = answer(checked, [folder / "rules"], MOMENT, last)
            marks.append(time.process_time())
            took = " | ".join(f"{after - before:.2f} s" for before, after in itertools.pairwise(marks))
            tested = len(checked.touched.rules) if checked.touched else len(advisor.rules)
            print(f"| {what} | {took} | {tested} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
