"""What a hasty expert leaves behind, and what a hostile reviewer would try; written blind.

Each slip is looked for with the tests of the rule, as in a rule that was edited, and without them, as in one just
written. Sites are drawn so that every rule file has its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from .rule_files import Entry, Kind, Slip, seeded_in_every_file
from .slips import NUMBER, added, at_stage, cell, effect, either, exchanged, in_any_text, line, rows, times, value_under


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


def complement(name: str, value: Any) -> Any:
    return [100 - value[1], 100 - value[0]] if name.endswith("_pct") and isinstance(value, list) else None


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


KINDS: tuple[Kind, ...] = tuple(
    Kind(name, slip)
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
        ("a target's complement", effect(value_under("monitor", complement))),
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


seeded = partial(seeded_in_every_file, KINDS)
