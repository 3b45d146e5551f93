"""A fifth list of slips, written blind: what a hasty expert leaves behind, and what a hostile reviewer would try.

``python benchmarks/planted_fifth.py [SEED]``; see ``planted_by_hand`` for how slips are planted. Each is looked for
twice: with the tests of the rule, as in a rule that was edited, and without them, as in one just written, where only
what is said of the slip counts. Sites are drawn so that every rule file has its turn.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from planted_by_hand import EACH_KIND, Entry, Kind, Slip, added, cell, in_text, line, rows, times
from planted_fourth import FairBench, at_stage, effect


NUMBER = r"(\d+(?:\.\d+)?)$"
SERIES = r"gpu\.series == nvidia-.*"


def slight_made_decisive(then: dict[str, Any], _: str) -> bool:
    points = then.get("points", 0)
    if not 0 < abs(points) <= 1:
        return False
    then["points"] = 6 if points > 0 else -6
    return True


def effect_lost(then: dict[str, Any], _: str) -> bool:
    """One of several things that a rule says is forgotten."""
    for key in ("figure", "disagree", "ask"):
        if key in then and len(then) > 1:
            del then[key]
            return True
    return False


def other_word(old: str, new: str) -> Callable[[dict[str, Any], str], bool]:
    def change(then: dict[str, Any], _: str) -> bool:
        if old not in then or new in then:
            return False
        then[new] = then.pop(old)
        return True

    return change


def other_reason(old: str, new: str) -> Callable[[dict[str, Any], str], bool]:
    def change(then: dict[str, Any], _: str) -> bool:
        if then.get("reason") != old or "claim" in then:
            return False
        then["reason"] = new
        return True

    return change


def band_of_a_taste(then: dict[str, Any], _: str) -> bool:
    """A mere preference passed off as what a guide names."""
    if "points" not in then or "band" in then or "claim" in then:
        return False
    then["band"] = "cards"
    return True


def odd_counts(then: dict[str, Any], _: str) -> bool:
    counts = then.get("consider_counts")
    if not isinstance(counts, list):
        return False
    then["consider_counts"] = [count + 1 for count in counts]
    return True


def target_turned(then: dict[str, Any], _: str) -> bool:
    """What is a target at least becomes its complement."""
    for name, value in then.get("monitor", {}).items():
        if name.endswith("_pct") and isinstance(value, list):
            then["monitor"][name] = [100 - value[1], 100 - value[0]]
            return True
    return False


def neighbours(key: str) -> Slip:
    """The sentence of the table's next row; rules have none beside them that could be reached."""

    def change(found: list[dict[str, Any]], _: Entry) -> bool:
        for above, below in pairwise(found):
            if above.get(key) and below.get(key) and above[key] != below[key]:
                above[key] = below[key]
                return True
        return False

    return rows(change)


def conclusions_exchanged(found: list[dict[str, Any]], _: Entry) -> bool:
    for above, below in pairwise(found):
        if above.get("then") and below.get("then") and above["then"] != below["then"]:
            above["then"], below["then"] = below["then"], above["then"]
            return True
    return False


def last_row_lost(found: list[dict[str, Any]], entry: Entry) -> bool:
    if not entry.get("complete") or len(found) < 3:
        return False
    found.pop()
    return True


def column_beside(old: str, new: str) -> Slip:
    def slip(entry: Entry) -> bool:
        columns = entry.get("columns", [])
        if old not in columns or new in columns:
            return False
        columns[columns.index(old)] = new
        return True

    return slip


def either(*slips: Slip) -> Slip:
    return lambda entry: any(slip(entry) for slip in slips)


def in_any_text(pattern: str, new: str | Callable[[re.Match[str]], str], *keys: str) -> Slip:
    """As ``in_text``, in rows too."""

    def slip(entry: Entry) -> bool:
        holders = [entry, *entry.get("rows", [])]
        return any(in_text(pattern, new, *keys)(holder) for holder in holders)

    return slip


def exchanged(first: str, second: str) -> tuple[str, Callable[[re.Match[str]], str]]:
    def other(match: re.Match[str]) -> str:
        return second if match[0].lower() == first else first

    return rf"(?i)\b(?:{first}|{second})\b", other


def left_in(entry: Entry) -> bool:
    entry["because"] = f"{entry.get('because', '')} Ask finance whether this is still so."
    return "table" not in entry


def late_fact_read(entry: Entry) -> bool:
    if not entry.get("when") or "rows" in entry:
        return False
    entry["when"].append("procurement == buy")
    return True


def derived_set_late(then: dict[str, Any], _: str) -> bool:
    if "warn" not in then or "set" in then:
        return False
    then["set"] = {"training": True}
    return True


def source_of_another(entry: Entry) -> bool:
    sources = entry.get("sources") or []
    if len(sources) < 2 or "table" in entry:
        return False
    heads = [source.partition("/") for source in sources]
    if heads[0][0] == heads[1][0] or not heads[0][2]:
        return False
    sources[0] = f"{heads[1][0]}/{heads[0][2]}"
    return True


def contrary_override(entry: Entry) -> bool:
    """The rule says that it is overridden by saying that it overrides a row of its own table or itself."""
    if "overrides" not in entry or "table" in entry:
        return False
    entry["overrides"] = [*entry["overrides"], entry["overrides"][0]]
    return True


FIFTH: tuple[Kind, ...] = tuple(
    Kind(name, slip, new=False)
    for name, slip in (
        # Effects.
        ("a slight reason made decisive", effect(slight_made_decisive)),
        ("a thing said is forgotten", effect(effect_lost)),
        ("a fallback for a rejection", effect(other_word("reject", "fallback"))),
        ("a warning's code as advice", effect(other_word("warn", "advise"))),
        ("latency for speed", effect(other_reason("speed", "latency"))),
        ("cost for fit", effect(other_reason("fit", "cost"))),
        ("a taste passed off as a band", effect(band_of_a_taste)),
        ("counts off by one", effect(odd_counts)),
        ("a target's complement", effect(target_turned)),
        ("a derived fact set by a warning", effect(derived_set_late)),
        # Names and the catalogue.
        ("another generation of the architecture", added(SERIES, "gpu.architecture == turing")),
        ("the software of another maker", added(SERIES, "gpu.sw_stack == rocm")),
        ("a card for gamers in a server's series", added(SERIES, "gpu.segment == mobile")),
        ("a section under the other source", source_of_another),
        ("an override twice", contrary_override),
        # Arithmetic.
        ("a sum for a difference", line(r"(\S) - (?=\S)", r"\1 + ")),
        ("a factor forgotten", line(r"([\w.]+) \* [\w.]+", r"\1")),
        ("days for months in a product", line(r"\* 12\b|\* 730\b|\* 24\b", "* 365")),
        ("larger for smaller", line(r"\bmin\(", "max(")),
        ("a sum below its part", added(r"([a-z][\w.]*) [<>]=? \d.*", r"\1 + plan.count < \1")),
        ("twice itself at least", added(r"([a-z][\w.]*) [<>]=? \d.*", r"2 * \1 >= \1")),
        ("one more than the limit", times(rf"(?:count|num_gpus|nodes|_b|_gb) >=? {NUMBER}", 1.25)),
        # Conditions and phases.
        ("nodes for cards", either(line(r"plan\.count", "plan.nodes"), line(r"\bnum_gpus", "num_nodes"))),
        ("undecided where it was sure", line(r" if known$", "")),
        ("an end left out", line(r" <= (\d)", r" < \1")),
        ("what comes after read before", at_stage("prefer", late_fact_read)),
        # Tables.
        ("conclusions of two rows exchanged", rows(conclusions_exchanged)),
        ("the last row lost", rows(last_row_lost)),
        ("a range that runs into the next", cell(r"^(\d+)\.\.(\d+)$", lambda m: f"{m[1]}..{int(m[2]) + 1}")),
        (
            "the column beside it",
            either(
                column_beside("utilization_pct", "expected_gpu_util_pct"),
                column_beside("param_count_b", "train_tokens_b"),
            ),
        ),
        # Sentences.
        ("more for less", in_any_text(*exchanged("more", "less"), "title", "text", "because")),
        ("another number word", in_any_text(*exchanged("two", "three"), "title", "text", "because")),
        ("hours for days", in_any_text(*exchanged("hours", "days"), "title", "text", "because")),
        ("a note left in", left_in),
        ("the next row's sentence", either(neighbours("title"), neighbours("because"))),
    )
)


class Twice(FairBench):
    """Looks for a slip with the rule's tests and without them."""

    def twice(self, kind: Kind, path: Path, at: int) -> tuple[tuple[str, str], tuple[str, str]] | None:
        """What finds it with tests and without; None where it has no place."""
        kept = self.found(kind, path, at)
        removed = self.found(replace(kind, new=True), path, at) if kept else None
        return (kept, removed) if kept and removed else None


def planted(seed: int, folder: Path) -> Iterator[tuple[str, str, tuple[str, str], tuple[str, str]]]:
    """Kind, rule, and what found the slip there with tests and without; the file least seen has its turn first."""
    bench, seen = Twice(folder), Counter[Path]()
    for kind in FIFTH:
        sites = [(path, at) for path, entries in bench.files.items() for at in range(len(entries))]
        random.Random(f"{seed} {kind.name}").shuffle(sites)
        planted_here = 0
        while sites and planted_here < EACH_KIND:
            site = min(sites, key=lambda site: seen[site[0]])
            sites.remove(site)
            found = bench.twice(kind, *site)
            if found is not None:
                planted_here += 1
                seen[site[0]] += 1
                entry = bench.files[site[0]][site[1]]
                yield kind.name, entry.get("table") or entry["id"], *found


def main(seed: int) -> int:
    """Plant, try and print."""
    total, kept, removed = Counter[str](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, with_tests, without in planted(seed, Path(folder)):
            total[kind] += 1
            kept[kind] += with_tests[0] != "nothing"
            removed[kind] += without[0] != "nothing"
            print(f"{with_tests[0]:20} {without[0]:20} {kind} in {name}: {without[1][:90]!r}", flush=True)
    for reading, found in (("with", kept), ("without", removed)):
        missed = (f"{name} ({found[name]} of {n})" for name, n in total.items() if found[name] < n)
        print(f"{reading} the rules' own tests not all found of: {', '.join(missed)}")
        print(f"{found.total()} of {total.total()} found: {100 * found.total() / total.total():.1f} %")
    print(f"{len(total)} kinds of {len(FIFTH)} found a place")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
