"""What why-not and sensitivity find, beside another checkout.

    python benchmarks/explanations_compared.py OTHER [--decisions 50]

OTHER is a checkout of commit 0c7b3ce with an environment of its own in ``.venv``. Reported of each decision: claims of
this checkout that a decision in full does not bear out (there may be none), and facts that the other checkout finds
and this one does not, or the other way round. Answers have changed since that commit: where they differ, so may what
flips them. The CPU time of both is given as a ratio.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from columns import GPUS_ASKED, Worker, workloads


SEARCHES = ("why_not", "sensitivity")


def main() -> int:
    """Compare, and print what differs; 1 where a claim is not true."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--decisions", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="number of the first decision")
    options = parser.parse_args()
    theirs, ours = Worker(options.other.resolve()), Worker(ROOT)
    seconds, wrong = {name: [0.0, 0.0] for name in SEARCHES}, 0
    every = workloads(options.first + options.decisions)
    for number in range(options.first, len(every)):
        facts, gpu = every[number], GPUS_ASKED[number % len(GPUS_ASKED)]
        old, new = theirs("findings", facts, gpu), ours("findings", facts, gpu)
        if not old or not new:
            print(f"{number}: refused by {'both' if not old and not new else 'one'}", flush=True)
            continue
        for place, name in enumerate(SEARCHES):
            for side, found in enumerate((old, new)):
                seconds[name][side] += found["seconds"][place]
        untrue = ours("checked", facts, new)
        wrong += len(untrue)
        same = "the same answer" if old["answer"] == new["answer"] else f"{old['answer']}, now {new['answer']}"
        print(
            f"{number}: {same}; {gpu} {old['standing']}, now {new['standing']}; not true: {untrue or 'none'}",
            flush=True,
        )
        for name in SEARCHES:
            before, now = reached(old[name]), reached(new[name])
            print(f"   {name}: only before {sorted(before - now)}; only now {sorted(now - before)}", flush=True)
    for name, (before, now) in seconds.items():
        print(f"{name}: {now:.1f} s of CPU beside {before:.1f} s, {now / before if before else 0:.2f} x", flush=True)
    theirs.close()
    ours.close()
    return 1 if wrong else 0


def reached(claims: list[Any]) -> set[tuple[str, ...]]:
    """What is claimed, by the facts that change: a goal, or what flips."""
    return {
        ("+".join(sorted(fact for fact, _ in changes)), what if isinstance(what, str) else "flips")
        for what, changes, *_ in claims
    }


if __name__ == "__main__":
    raise SystemExit(main())
