"""Slips of units, digits, negations and rows; written without looking at the checks, and not tuned on."""

from __future__ import annotations

from functools import partial
from typing import Any

from .rule_files import Entry, Kind, seeded_in_files
from .slips import NUMBER, added, cell, drop_line, in_text, key, line, put, rows, then, times, value_under


def any_for_all(entry: Entry) -> bool:
    """The last two lines as alternatives."""
    lines = entry.get("when")
    if not isinstance(lines, list) or len(lines) < 3 or not all(isinstance(each, str) for each in lines):
        return False
    entry["when"] = [*lines[:-2], {"any": lines[-2:]}]
    return True


def last_row_first(found: list[dict[str, Any]], entry: Entry) -> bool:
    if entry.get("hit") != "first" or len(found) < 3:
        return False
    found.insert(0, found.pop())
    return True


def cells_exchanged(found: list[dict[str, Any]], _: Entry) -> bool:
    for row in found:
        cells = row.get("if", [])
        for at in range(len(cells) - 1):
            if cells[at] != cells[at + 1]:
                cells[at], cells[at + 1] = cells[at + 1], cells[at]
                return True
    return False


def a_tenth(_: str, value: Any) -> Any:
    return [number / 10 for number in value] if isinstance(value, list) else value / 10


KINDS: tuple[Kind, ...] = tuple(
    Kind(name, slip, new)
    for name, slip, new in (
        ("days for hours", times(rf"(?:hours|_h) [<>]=? {NUMBER}", 1 / 24), True),
        ("TB for GB", times(rf"_gb [<>]=? {NUMBER}", 1e-3), True),
        ("thousands of tokens", times(rf"_tokens [<>]=? {NUMBER}", 1e-3), True),
        ("a share for percent", times(rf"_pct [<>]=? {NUMBER}", 0.01), True),
        ("kW for W", times(rf"_w(?:atts)? [<>]=? {NUMBER}", 1e-3), True),
        ("digits exchanged", line(r"\b([1-9])([1-9])$", r"\2\1"), False),
        ("digits exchanged, new", line(r"\b([1-9])([1-9])$", r"\2\1"), True),
        ("an end not included", line(r" >= (\d)", r" > \1"), False),
        ("a lost not", line(r"^not ", ""), True),
        ("not this work", line(r"^(serving|training|finetuning)$", r"not \1"), True),
        ("another task", line(r"^task == \w+", "task == experimentation"), True),
        ("LoRA for QLoRA", line(r"peft_method == qlora", "peft_method == lora"), True),
        ("NVLink for PCIe", line(r"plan\.link in \[none, pcie.*\]", "plan.link == nvlink"), True),
        ("a parameter written out", line(r"\$rent_below_utilization_pct", "70"), False),
        ("another parameter", line(r"\$rent_below_utilization_pct", "$own_from_utilization_pct"), True),
        ("a parameter of another unit", line(r"_pct (.*) \$\w+", r"_pct \1 $rent_limit_gpu_hours"), True),
        ("another percentage in the text", in_text(r"\b\d+ percent", "37 percent", "text", "because"), True),
        ("available for needed in the text", in_text(r"\{plan\.needed_gb\}", "{plan.available_gb}", "text"), True),
        ("more for less in the title", in_text(r"\bless\b", "more", "title"), True),
        ("the first for the last of words", in_text(r"\bat least\b", "at most", "title", "text", "because"), True),
        ("a section misspelt", key("sources", ["fpt/3.44"]), False),
        ("questions for a source", key("sources", ["gmi/faqs"]), False),
        (
            "the chosen plan for a candidate",
            lambda e: e.get("each") == "candidate" and not e.update(each="chosen"),
            True,
        ),
        ("still a draft", key("status", "draft"), False),
        ("a target a tenth", then(value_under("monitor", a_tenth)), True),
        ("a verdict read too early", lambda e: e["stage"] == "reject" and added(r".+", "procurement == rent")(e), True),
        ("training's batch asked of a service", added(r"serving", "global_batch_size > 8"), True),
        ("a class of provider as a provider", added(r"serving|training", "plan.provider == marketplace"), True),
        ("a card of 2031", added(r"gpu\..*", "gpu.launch_year > 2030"), True),
        ("bandwidth beyond all cards", times(rf"mem_bw_tbs [<>]=? {NUMBER}", 20), True),
        ("any for all", any_for_all, True),
        ("if known lost", line(r" if known$", ""), False),
        ("known for unknown", line(r" is unknown$", " is known"), True),
        ("unknown for known", line(r" is known$", " is unknown"), True),
        ("the last row first", rows(last_row_first), False),
        ("cells exchanged", rows(cells_exchanged), True),
        ("a cell for anything", cell(r"^\w+$", "-"), False),
        ("decisive for slight", put("points", 6, where=lambda t: 0 < t.get("points", 0) <= 2), True),
        ("a band without its cards", lambda e: (e.get("then") or {}).get("band") and drop_line(r"gpu\.")(e), True),
        ("overrides a rule of another stage", key("overrides", ["does-not-fit"], having="then"), False),
    )
)


seeded = partial(seeded_in_files, KINDS)
