"""Slips of names, units, facts, logic, effects and texts; written before any check was made for them."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import partial
from typing import Any

from .rule_files import Entry, Kind, seeded_in_files
from .slips import (
    CARD,
    NUMBER,
    added,
    cell,
    claim,
    drop_line,
    in_text,
    key,
    line,
    put,
    rows,
    then,
    times,
    value_under,
    written_lines,
)


def claims_itself(entry: Entry) -> bool:
    """The card of the rule's own lines as the one compared with."""
    own = next(
        (m[1] for lines, at in written_lines(entry) if (m := re.search(r"gpu\.series == ([\w-]+)", lines[at]))), None
    )
    return own is not None and claim(over=own)(entry)


def row_copied(rows: list[dict[str, Any]], _: Entry) -> bool:
    """A row again under another name, with other points, where all that match count."""
    for row in rows:
        points = row.get("then", {}).get("points") if isinstance(row.get("then"), dict) else None
        if points:
            rows.append(deepcopy(row) | {"id": f"{row['id']}-too", "tests": []})
            rows[-1]["then"]["points"] = -points
            return True
    return False


def catch_all_first(rows: list[dict[str, Any]], entry: Entry) -> bool:
    if entry.get("hit") != "first" or len(rows) < 2:
        return False
    rows[0]["if"] = ["-"] * len(rows[0]["if"])
    return True


def other_hit(entry: Entry) -> bool:
    if "rows" not in entry or entry.get("hit") != "first":
        return False
    entry["hit"] = "collect"
    return True


def turned_round(entry: Entry) -> bool:
    def turn(then: dict[str, Any], _: Entry) -> bool:
        if not isinstance(then.get("points"), int | float):
            return False
        then["points"] = -then["points"]
        return True

    return then(turn)(entry)


def the_contrary(_: str, value: Any) -> bool | None:
    return (not value) if isinstance(value, bool) else None


def exchanged_ends(_: str, value: Any) -> Any:
    return value[::-1] if isinstance(value, list) else None


def as_shares(name: str, value: Any) -> Any:
    if name.endswith("_pct"):
        return [number / 100 for number in value] if isinstance(value, list) else value / 100
    return None


def input_set_late(then: dict[str, Any], entry: Entry) -> bool:
    if entry["stage"] != "advise":
        return False
    then["set"] = {"objective": "fastest"}
    return True


def three_times(match: re.Match[str]) -> str:
    return f"{int(match[1]) * 3} GB"


def by_itself(entry: Entry) -> bool:
    return key("author", "A. Expert")(entry) and key("reviewed_by", "A. Expert")(entry)


EVERY_TASK = "task in [pretraining, full_finetuning, peft_finetuning, inference, experimentation]"


KINDS: tuple[Kind, ...] = tuple(
    Kind(name, slip, new)
    for name, slip, new in (
        # Names.
        ("a series under another maker", line(r"gpu\.series == nvidia-", "gpu.series == amd-"), True),
        ("a GPU's id where its series is meant", line(CARD, r"gpu.series == \1-80gb"), True),
        ("a series where the GPU is meant", line(CARD, r"plan.gpu == \1"), True),
        ("a series where the family is meant", line(CARD, r"gpu.family == \1-sxm"), True),
        ("a provider misspelt", added(r"serving|training", "plan.provider == runpodd"), True),
        ("a region that no offer has", added(r"serving|training", "plan.region == us-east-9"), True),
        ("an architecture misspelt", added(CARD, "gpu.architecture == hoper"), True),
        ("a maker that does not make the card", added(r"gpu\.series == nvidia-.*", "gpu.vendor == amd"), True),
        ("a model that does not exist", added(r"serving|training", "model_name == llama-3.5-9b"), True),
        ("a section of another source", key("sources", ["fpt/key-factors-for-training-gpus"]), False),
        ("a heuristic of a guide that is not cited", key("encodes", ["gmi-inf-two-modes"], having="then"), False),
        ("a claim over a card that is not", claim(over="nvidia-h300"), True),
        ("a claim over the very card", claims_itself, True),
        ("a claim turned round", claim(ratio=lambda c, _: 1 / c["ratio"] if c.get("ratio") else None), True),
        ("a claim that says nothing", claim(ratio=1), True),
        ("a claim of another quantity than the reason", claim(quantity="efficiency"), True),
        ("a claim of hundreds", claim(ratio=lambda c, _: c["ratio"] * 100 if c.get("ratio") else None), True),
        # Units and amounts.
        ("parameters in ones", times(rf"param_count_b [<>]=? {NUMBER}", 1e9), True),
        ("parameters in millions", times(rf"param_count_b [<>]=? {NUMBER}", 1e3), True),
        ("minutes for hours", times(rf"(?:hours|_h) [<>]=? {NUMBER}", 60), True),
        ("seconds for milliseconds", times(rf"_ms [<>]=? {NUMBER}", 1e-3), True),
        ("cents for dollars", times(rf"usd\w* [<>]=? {NUMBER}", 100), True),
        ("years for months", times(rf"months [<>]=? {NUMBER}", 1 / 12), True),
        ("more than a hundred percent", times(rf"_pct [<>]=? {NUMBER}", 3), True),
        ("half a card", times(rf"(?:plan\.count|num_gpus|num_nodes) [<>=]=? {NUMBER}", 0.3), True),
        ("GB/s for TB/s", times(rf"mem_bw_tbs [<>]=? {NUMBER}", 1e3), True),
        ("MB for GB", times(rf"_gb [<>]=? {NUMBER}", 1e3), True),
        ("a target's ends exchanged", then(value_under("monitor", exchanged_ends)), True),
        ("a target in shares", then(value_under("monitor", as_shares)), True),
        ("counts ten times as large", then(lambda t, _: "consider_counts" in t and not t.update(
            consider_counts=[n * 10 for n in t["consider_counts"]])), True),
        # Facts.
        ("the low estimate for the needed memory", line(r"plan\.needed_gb", "plan.low_gb"), True),
        ("one card's memory for all", line(r"plan\.needed_gb", "plan.per_gpu_gb"), True),
        ("all cards' memory for one's", line(r"gpu\.vram_gb", "plan.vram_gb"), True),
        ("another precision's speed", line(r"gpu\.supports_fp8", "gpu.supports_bf16"), True),
        ("trained tokens for parameters", line(r"\bparam_count_b", "train_tokens_b"), True),
        ("the batch of one card for all", line(r"global_batch_size", "batch_size_per_gpu"), True),
        ("context for output", line(r"\b(?:context|seq_len)_tokens", "output_tokens"), True),
        ("a month's budget for all of it", line(r"budget_usd_total", "budget_usd_per_month"), True),
        # Logic.
        ("a limit turned round", line(r" >=? (\d)", r" < \1"), True),
        ("exactly for at least", line(r"(_b|_gb|_hours|_pct) >= (\d)", r"\1 == \2"), True),
        ("not this one", line(r"^(task|model_family|objective|peft_method) == ", r"\1 != "), True),
        ("ends of a range exchanged", cell(r"^(\d+)\.\.(\d+)$", r"\2..\1"), True),
        ("a line and its contrary", added(r"([\w.]+)", r"\1 or not \1"), True),
        ("a line twice", added(r"(.+)", r"\1"), True),
        ("a fact held against itself", added(r"([\w.]+) >=? \d.*", r"\1 >= \1"), True),
        ("twice as much, and less", added(r"([\w.]+) >=? (\d+).*", r"\1 * 2 < \2"), True),
        ("a sum that another line decides", added(r"([\w.]+) >=? (\d+).*", r"\1 + 1 > \2"), True),
        ("a guard on what is always known", added(r".*plan\.count.*|gpu\..*", "plan.count is known"), True),
        ("a guard on what the card always has", added(r"gpu\..*", "gpu.vendor is known"), True),
        ("unknown, and compared", added(r"([a-z]\w+) [<>=]=? .*", r"\1 is unknown"), True),
        ("if known on what another line has", added(r"([a-z]\w+) == (\w+)", r"\1 == \2 if known"), True),
        ("every choice", added(r"model_family == .*", EVERY_TASK), True),
        ("or the rest", line(r"^(param_count_b) > (\d+)$", r"\1 > \2 or \1 <= \2"), True),
        ("more machines than cards", added(r".*plan\.count.*", "plan.nodes > plan.count"), True),
        ("more used than there is", added(r".*plan\.needed_gb.*", "plan.low_gb > plan.high_gb"), True),
        ("a number without its unit's sense", added(r"(utilization_pct|expected_gpu_util_pct) .*", r"\1 > 100"), True),
        # Effects.
        ("points turned round", turned_round, False),
        ("a warning for another", put("warn", "W-NOT-PRICED"), False),
        ("advice for another", put("advise", "A-MONITOR-TARGETS"), False),
        ("advice for another, new", put("advise", "A-MONITOR-TARGETS"), True),
        ("a code that is not", put("advise", "A-MONITOR-TARGET"), True),
        ("a reason for another", put("reason", "wish"), False),
        ("a reason for another, new", put("reason", "latency", where=lambda t: "claim" not in t), True),
        ("a figure for another", put("figure", "lora_vram_gb"), True),
        ("no points", put("points", 0), True),
        ("ten points", put("points", 10), True),
        ("a yes for a no", then(value_under("set", the_contrary)), False),
        ("a yes for a no, new", then(value_under("set", the_contrary)), True),
        ("an input set late", then(input_set_late), True),
        ("asked what nobody states", put("ask", "weights_gb"), True),
        ("asked another thing", put("ask", "psu_watts"), True),
        # Texts.
        ("another fact of the plan in the text", in_text(r"\{plan\.needed_gb\}", "{plan.usd_per_hour}", "text"), True),
        ("another number in the text", in_text(r"\b(\d\d+) GB", three_times, "text", "because"), True),
        ("another number in the title", in_text(r"\b(\d\d+)\b", lambda m: str(int(m[1]) + 35), "title"), True),
        ("another card in the text", in_text(r"\b(H100|A100|L4|L40S|T4)\b", "MI300X", "text", "because"), True),
        ("the other work in the title", in_text(r"\b([Ss]erving|[Ii]nference)\b", "pretraining", "title"), True),
        # Around.
        ("approved tomorrow", key("approved_on", "2031-01-01"), False),
        ("no such day", key("approved_on", "2026-13-45"), False),
        ("looked at by its author", by_itself, False),
        ("valid until last year", key("valid_until", "2025-11-01"), False),
        ("a limit of another rule", line(r"\d+", "17"), False),
        ("overrides itself", lambda e: "table" not in e and not e.update(overrides=[e["id"]]), False),
        ("a lost line", drop_line(r"\d"), False),
        ("a row again with the contrary", rows(row_copied), False),
        ("the first row takes all", rows(catch_all_first), False),
        ("all rows count", other_hit, False),
    )
)  # fmt: skip


seeded = partial(seeded_in_files, KINDS)
