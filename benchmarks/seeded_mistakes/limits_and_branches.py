"""Limits, rows, branches and phases that do not mean what their title says; written blind."""

from __future__ import annotations

import json
import re
from functools import partial
from itertools import pairwise
from typing import Any

from .rule_files import Entry, Kind, seeded_in_files
from .slips import added, at_stage, branch, effect, in_text, knowledge, line, times


#: One fact alone, and two facts of which one is to be larger.
FACT = r"([a-z][\w.]*)"
LARGER = rf"{FACT} > {FACT}"
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 8: "eight", 16: "sixteen"}
#: Facts that only one kind of work has.
ASKS_FOR_WORK = (
    "task|train|serving|tun|run_|deadline|batch|compute_|gradient|traffic|qps|concurr|stream|optimised|always"
)


def title_not_kept(entry: Entry) -> bool:
    """Twice the number that the title says, in digits or in words."""

    def doubled(match: re.Match[str]) -> str:
        number = float(match[2])
        worded = "plan.count" in match[1] and WORDS.get(int(number))
        said = re.search(rf"\b{match[2]}\b", entry["title"]) or (
            worded and re.search(rf"\b{worded}\b", entry["title"].lower())
        )
        return f"{match[1]}{number * 2:.10g}" if said else match[0]

    return line(r"^([a-z][\w.]* [<>=]=? )(\d+)$", doubled)(entry)


def gap_in_ladder(entry: Entry) -> bool:
    """The upper end of a row lowered, so that it no longer meets the row that begins there."""
    for at in range(len(entry.get("columns", []))):
        begin = {str(row["if"][at]) for row in entry["rows"]}
        for row in entry["rows"]:
            end = re.fullmatch(r"(.*< )(\d+)", str(row["if"][at]))
            if end and any(re.match(rf">= {end[2]}\b", cell) for cell in begin):
                row["if"][at] = f"{end[1]}{int(end[2]) * 7 // 8}"
                return True
    return False


def covers(row: Entry, other: Entry) -> bool:
    return all(mine in ("-", its) for mine, its in zip(row["if"], other["if"], strict=True))


def general_row_first(entry: Entry) -> bool:
    found = entry.get("rows", [])
    for at in range(len(found) - 1 if entry.get("hit") == "first" else 0):
        if covers(found[at + 1], found[at]) and found[at].get("then") != found[at + 1].get("then"):
            found[at : at + 2] = found[at + 1], found[at]
            return True
    return False


def only_the_first(entry: Entry) -> bool:
    found = entry.get("rows", [])
    pairs = ((a, b) for at, a in enumerate(found) for b in found[at + 1 :])
    if entry.get("hit", "collect") == "first" or not any(covers(a, b) for a, b in pairs):
        return False
    entry["hit"] = "first"
    return True


def of_other_work(entry: Entry, _: list[Any]) -> str | None:
    if "serving" in entry["when"]:
        return "training and num_gpus > 1"
    return "serving and peak_qps > 100" if "training" in entry["when"] else None


def inside_another(_: Entry, lines: list[Any]) -> str | None:
    found = (re.fullmatch(r"(\w+) in \[\w+, (?:\w+, )*(\w+)\]", each) for each in lines if isinstance(each, str))
    return next((f"{match[1]} == {match[2]}" for match in found if match), None)


def rejects_what_keeps_it(entry: Entry) -> bool:
    """The contrary comparison: what lies within the limit is rejected."""
    turned = {">": "<", "<": ">", "<=": ">", ">=": "<"}
    pattern = r" (<=?|>=?) (\d+|[a-z][\w.]*)$"
    return "reject" in (entry.get("then") or {}) and line(pattern, lambda m: f" {turned[m[1]]} {m[2]}")(entry)


def named_for_recommended(entry: Entry) -> bool:
    if entry.get("each") != "chosen" or "recommended" not in entry["title"]:
        return False
    entry["each"] = "candidate"
    return True


def work_not_asked(entry: Entry) -> bool:
    """Training or serving, of which the title speaks, is no longer asked for, and nothing else asks for it."""
    lines = entry.get("when") or []
    for work, said in (("training", "[Tt]rain"), ("finetuning", "tun"), ("serving", "[Ss]erv")):
        if work in lines and re.search(said, entry["title"]) and len(lines) > 1:
            lines.remove(work)
            asks = set(entry.get("then", ())) <= {"ask"} and "rows" not in entry
            return not asks and not re.search(ASKS_FOR_WORK, json.dumps(lines))
    return False


def override_never_met(entry: Entry) -> bool:
    lines = entry.get("when") or []
    if "table" in entry or entry["stage"] != "advise" or entry.get("each") or entry.get("overrides"):
        return False
    if "serving" in lines or "training" in lines:
        entry["overrides"] = ["targets-while-training" if "serving" in lines else "targets-while-serving"]
        return entry["id"] not in entry["overrides"]
    return False


def two_facts_exchanged(then: dict[str, Any], _: str) -> bool:
    """Two facts of a sentence, of one unit, each in the other's place."""
    facts = knowledge("vocabulary")["facts"]
    for key in ("reject", "fallback", "text"):
        shown = re.findall(r"(?<!\$)\{([\w.]+)\}", then.get(key, ""))
        for first, second in pairwise(shown):
            units = {facts[name].get("unit") or facts[name].get("label") for name in (first, second)}
            if first != second and len(units) == 1:
                kept = {first: second, second: first}
                then[key] = re.sub(r"\{([\w.]+)\}", lambda m: f"{{{kept.get(m[1], m[1])}}}", then[key])  # noqa: B023
                return True
    return False


KINDS: tuple[Kind, ...] = tuple(
    Kind(name, slip, new)
    for name, slip, new in (
        # Several facts.
        ("a difference that contradicts a line", added(LARGER, r"\2 - \1 > 0"), True),
        ("a weaker line beside a stronger", added(LARGER, r"\1 * 2 > \2"), True),
        (
            "the budget of another span",
            line(r"> budget_usd_(\w+)$", lambda m: f"> budget_usd_{'total' if m[1] == 'per_month' else 'per_month'}"),
            True,
        ),
        # Thresholds.
        ("a zero too many for a card", times(r"gpu\.(?:vram_gb|tdp_w|generation_lag) [<>=]=? ([1-9]\d*)$", 10), True),
        ("twice the number of the title", title_not_kept, True),
        ("a gap in a ladder", gap_in_ladder, True),
        # Phases, branches, scope.
        ("the ranking read while facts are made", at_stage("derive", added(r".+", "surviving_plans > 3")), True),
        ("a branch of the other work", branch(of_other_work), True),
        ("a branch inside another", branch(inside_another), True),
        ("what keeps a limit is rejected", rejects_what_keeps_it, True),
        ("named cards for the recommended", named_for_recommended, True),
        ("the title's work not asked for", work_not_asked, True),
        ("the general row before the special", general_row_first, True),
        ("only the first of rows that add up", only_the_first, True),
        ("overrides what it never meets", override_never_met, False),
        # Texts.
        ("two facts of a sentence exchanged", effect(two_facts_exchanged), False),
        ("a title without its not", in_text(r"\b(not |no longer )|(?<=\bcan)not\b", "", "title"), False),
    )
)


seeded = partial(seeded_in_files, KINDS, fair=True)
