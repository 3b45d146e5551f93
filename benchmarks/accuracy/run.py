"""Write REPORT.md beside this file, or with --check only tell whether it is up to date.

    python benchmarks/accuracy/run.py [--check] [--rows FILE]

With --rows it prints how a file of other runs of the same form is met by constants and bands as they are shipped.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from blind import blind_page
from judged import judge, page
from reference import published_runs, released_runs, runs_of
from report import report
from results import compute


def main() -> int:
    """Write or check the report; 1 where it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only tell whether REPORT.md is up to date")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="judge the runs of this file")
    options = parser.parse_args()
    if options.rows:
        print(page(judge(runs_of(options.rows))))
        return 0
    judged = page(judge([*published_runs(), *released_runs()])) + "\n" + blind_page()
    text = report(compute(), judged)
    path = HERE / "REPORT.md"
    if options.check:
        return 0 if path.exists() and path.read_text(encoding="utf-8") == text else 1
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path.name}, {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
