"""``python -m benchmarks.seeded_mistakes LIST... [--seed 1] [--each 2]``: what is found of the mistakes of each list.

Of every kind that a list has, some are made at places drawn with the seed, one at a time. Printed are what found each,
first, and the kinds of which not all were found.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator

from . import (
    blind_edits,
    counterparts,
    foreseen_kinds,
    hasty_edits,
    impossible_demands,
    limits_and_branches,
    names_and_amounts,
    unforeseen_kinds,
    units_and_negations,
)
from .judging import Seeded


LISTS = (
    foreseen_kinds,
    unforeseen_kinds,
    names_and_amounts,
    impossible_demands,
    units_and_negations,
    counterparts,
    limits_and_branches,
    hasty_edits,
    blind_edits,
)
#: How each is looked for: once, with or without the rule's tests as its kind has it, or in both ways.
READINGS = {1: ("",), 2: (" with the rules' tests", " without them")}


def main() -> None:
    """Seed, look and print."""
    lists = {each.__name__.rpartition(".")[2]: each for each in LISTS}
    about = "\n".join(f"{name}: {(each.__doc__ or '').partition(chr(10))[0]}" for name, each in lists.items())
    parser = argparse.ArgumentParser(
        "python -m benchmarks.seeded_mistakes",
        description=__doc__,
        epilog=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("lists", nargs="+", choices=lists, metavar="LIST", help="of those below")
    parser.add_argument("--seed", type=int, default=1, help="draws the places; blind_edits has its own")
    parser.add_argument("--each", type=int, default=2, help="mistakes of each kind")
    options = parser.parse_args()
    for name in options.lists:
        print(f"# {name}", flush=True)
        report(lists[name].seeded(options.seed, options.each))


def report(mistakes: Iterator[Seeded]) -> None:
    """A line for every mistake, then by reading the share found and the kinds not found everywhere."""
    made, found = Counter[str](), defaultdict[str, Counter[str]](Counter)
    for mistake in mistakes:
        made[mistake.kind] += 1
        by = " ".join(f"{each.by or 'nothing':24}" for each in mistake.found)
        print(f"{by} {mistake.kind} in {mistake.where}: {mistake.found[-1].says[:110]!r}", flush=True)
        for reading, each in zip(READINGS[len(mistake.found)], mistake.found, strict=True):
            found[reading][mistake.kind] += each.by is not None
    for reading, counts in found.items():
        missed = (f"{kind} ({counts[kind]} of {number})" for kind, number in made.items() if counts[kind] < number)
        print(f"not all found{reading}: {', '.join(missed)}")
        share = 100 * counts.total() / made.total()
        print(f"{counts.total()} of {made.total()} found{reading}: {share:.1f} %, {len(made)} kinds")


if __name__ == "__main__":
    main()
