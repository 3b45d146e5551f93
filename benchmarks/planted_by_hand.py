"""Slips of an expert's hand, made in the rule files as they are written: what loading, lint and the tests find.

``python benchmarks/planted_by_hand.py [SEED]`` writes each slip into a copy of the shipped rule files at a site drawn
with the seed, two of each kind, and loads, checks and tests that. Kinds marked ``new`` lose the tests of the rule they
stand in first, as a rule that was just written; the others keep them. Sites differ with the seed.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from planted import TODAY

from whichgpu import Advisor, load_advisor
from whichgpu.engine.advisor import known_names
from whichgpu.engine.authoring import Finding, RuleTestFacts, run_rule_tests
from whichgpu.engine.authoring.inspection import inspect
from whichgpu.engine.core import RulebookError, locate
from whichgpu.engine.core.yaml import plain, read_yaml
from whichgpu.engine.rules import load_rulebook


EACH_KIND = 2

#: A rule or table of a file, as plain values.
Entry = dict[str, Any]
#: Makes the slip in the entry, in place. False: it finds no place in it.
Slip = Callable[[Entry], bool]


class Kind(Struct, frozen=True):
    """A kind of slip, and whether it is made in a rule that was just written, which has no tests."""

    name: str
    slip: Slip
    new: bool


def written_lines(entry: Entry) -> Iterator[tuple[list[Any], int]]:
    """Every written line of conditions, with the list that it stands in."""
    waiting = [entry["when"]] if isinstance(entry.get("when"), list) else []
    while waiting:
        lines = waiting.pop(0)
        for at, line in enumerate(lines):
            if isinstance(line, str):
                yield lines, at
            elif isinstance(line, dict):
                waiting += [inner for inner in line.values() if isinstance(inner, list)]


def line(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Slip:
    """A line that the pattern finds, written in another way."""

    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            text = re.sub(pattern, new, lines[at], count=1)
            if text != lines[at]:
                lines[at] = text
                return True
        return False

    return slip


def added(pattern: str, *new: str) -> Slip:
    """Another line, made of one that the pattern matches."""

    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            match = re.fullmatch(pattern, lines[at])
            if match and lines is entry["when"]:
                entry["when"] += [match.expand(text) for text in new]
                return True
        return False

    return slip


def times(pattern: str, factor: float) -> Slip:
    """The number of a line, the pattern's last group, times a factor."""

    def scaled(match: re.Match[str]) -> str:
        number = float(match[match.lastindex or 0]) * factor
        return match[0][: match.start(match.lastindex or 0) - match.start()] + f"{number:.10g}"

    return line(pattern, scaled)


def then(change: Callable[[dict[str, Any], Entry], bool]) -> Slip:
    return lambda entry: isinstance(entry.get("then"), dict) and change(entry["then"], entry)


def put(key: str, value: object, *, where: Callable[[dict[str, Any]], bool] = lambda _: True) -> Slip:
    """Another value under a word of ``then`` that is there already."""

    def change(then: dict[str, Any], _: Entry) -> bool:
        if key not in then or then[key] == value or not where(then):
            return False
        then[key] = value
        return True

    return then(change)


def claim(**new: object) -> Slip:
    def change(then: dict[str, Any], _: Entry) -> bool:
        claim = then.get("claim")
        if claim is None:
            return False
        claim = {"quantity": claim} if isinstance(claim, str) else claim
        changed = {name: value(claim, then) if callable(value) else value for name, value in new.items()}
        if any(value is None for value in changed.values()) or changed.items() <= claim.items():
            return False
        then["claim"] = claim | changed
        return True

    return then(change)


def key(key: str, value: object, *, having: str | None = None) -> Slip:
    """A key of the rule set, or replaced where it is there."""

    def slip(entry: Entry) -> bool:
        if "table" in entry or (having and having not in entry):
            return False
        entry[key] = value
        return True

    return slip


def in_text(pattern: str, new: str | Callable[[re.Match[str]], str], *keys: str) -> Slip:
    def slip(entry: Entry) -> bool:
        then = entry.get("then") if isinstance(entry.get("then"), dict) else {}
        for holder in (entry, then):
            for key in keys:
                if isinstance(holder.get(key), str):
                    text = re.sub(pattern, new, holder[key], count=1)
                    if text != holder[key]:
                        holder[key] = text
                        return True
        return False

    return slip


def _claims_itself(entry: Entry) -> bool:
    """The card of the rule's own lines as the one compared with."""
    own = next(
        (m[1] for lines, at in written_lines(entry) if (m := re.search(r"gpu\.series == ([\w-]+)", lines[at]))), None
    )
    return own is not None and claim(over=own)(entry)


def rows(change: Callable[[list[dict[str, Any]], Entry], bool]) -> Slip:
    return lambda entry: isinstance(entry.get("rows"), list) and change(entry["rows"], entry)


def cell(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Slip:
    def change(rows: list[dict[str, Any]], _: Entry) -> bool:
        for row in rows:
            for at, cell in enumerate(row.get("if", [])):
                text = re.sub(pattern, new, str(cell), count=1)
                if isinstance(cell, str) and text != cell:
                    row["if"][at] = text
                    return True
        return False

    return rows(change)


def _row_copied(rows: list[dict[str, Any]], _: Entry) -> bool:
    """A row again under another name, with other points, where all that match count."""
    for row in rows:
        points = row.get("then", {}).get("points") if isinstance(row.get("then"), dict) else None
        if points:
            rows.append(deepcopy(row) | {"id": f"{row['id']}-too", "tests": []})
            rows[-1]["then"]["points"] = -points
            return True
    return False


def _catch_all_first(rows: list[dict[str, Any]], entry: Entry) -> bool:
    if entry.get("hit") != "first" or len(rows) < 2:
        return False
    rows[0]["if"] = ["-"] * len(rows[0]["if"])
    return True


def _other_hit(entry: Entry) -> bool:
    if "rows" not in entry or entry.get("hit") != "first":
        return False
    entry["hit"] = "collect"
    return True


def _first_set(change: Callable[[str, Any], object]) -> Slip:
    def slip(then: dict[str, Any], _: Entry) -> bool:
        for fact, value in then.get("set", {}).items():
            new = change(fact, value)
            if new is not None and new != value:
                then["set"][fact] = new
                return True
        return False

    return then(slip)


def drop_line(pattern: str) -> Slip:
    def slip(entry: Entry) -> bool:
        for lines, at in written_lines(entry):
            if re.search(pattern, lines[at]) and len(lines) > 1 and lines is entry["when"]:
                del lines[at]
                return True
        return False

    return slip


def _signed(entry: Entry) -> bool:
    def turn(then: dict[str, Any], _: Entry) -> bool:
        if not isinstance(then.get("points"), int | float):
            return False
        then["points"] = -then["points"]
        return True

    return then(turn)(entry)


def _swapped_monitor(then: dict[str, Any], _: Entry) -> bool:
    for name, value in then.get("monitor", {}).items():
        if isinstance(value, list):
            then["monitor"][name] = value[::-1]
            return True
    return False


def _share_monitor(then: dict[str, Any], _: Entry) -> bool:
    for name, value in then.get("monitor", {}).items():
        if name.endswith("_pct"):
            then["monitor"][name] = [n / 100 for n in value] if isinstance(value, list) else value / 100
            return True
    return False


def _late(then: dict[str, Any], entry: Entry) -> bool:
    if entry["stage"] != "advise":
        return False
    then["set"] = {"objective": "fastest"}
    return True


def _thrice(match: re.Match[str]) -> str:
    return f"{int(match[1]) * 3} GB"


def _by_itself(entry: Entry) -> bool:
    return key("author", "A. Expert")(entry) and key("reviewed_by", "A. Expert")(entry)


NUMBER = r"(\d+(?:\.\d+)?)$"
CARD = r"gpu\.series == ([\w-]+)"

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
        ("a claim over the very card", _claims_itself, True),
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
        ("a target's ends exchanged", then(_swapped_monitor), True),
        ("a target in shares", then(_share_monitor), True),
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
        ("points turned round", _signed, False),
        ("a warning for another", put("warn", "W-NOT-PRICED"), False),
        ("advice for another", put("advise", "A-MONITOR-TARGETS"), False),
        ("advice for another, new", put("advise", "A-MONITOR-TARGETS"), True),
        ("a code that is not", put("advise", "A-MONITOR-TARGET"), True),
        ("a reason for another", put("reason", "wish"), False),
        ("a reason for another, new", put("reason", "latency", where=lambda t: "claim" not in t), True),
        ("a figure for another", put("figure", "lora_vram_gb"), True),
        ("no points", put("points", 0), True),
        ("ten points", put("points", 10), True),
        ("a yes for a no", _first_set(lambda _, v: (not v) if isinstance(v, bool) else None), False),
        ("a yes for a no, new", _first_set(lambda _, v: (not v) if isinstance(v, bool) else None), True),
        ("an input set late", then(_late), True),
        ("asked what nobody states", put("ask", "weights_gb"), True),
        ("asked another thing", put("ask", "psu_watts"), True),
        # Texts.
        ("another fact of the plan in the text", in_text(r"\{plan\.needed_gb\}", "{plan.usd_per_hour}", "text"), True),
        ("another number in the text", in_text(r"\b(\d\d+) GB", _thrice, "text", "because"), True),
        ("another number in the title", in_text(r"\b(\d\d+)\b", lambda m: str(int(m[1]) + 35), "title"), True),
        ("another card in the text", in_text(r"\b(H100|A100|L4|L40S|T4)\b", "MI300X", "text", "because"), True),
        ("the other work in the title", in_text(r"\b([Ss]erving|[Ii]nference)\b", "pretraining", "title"), True),
        # Around.
        ("approved tomorrow", key("approved_on", "2031-01-01"), False),
        ("no such day", key("approved_on", "2026-13-45"), False),
        ("looked at by its author", _by_itself, False),
        ("valid until last year", key("valid_until", "2025-11-01"), False),
        ("a limit of another rule", line(r"\d+", "17"), False),
        ("overrides itself", lambda e: "table" not in e and not e.update(overrides=[e["id"]]), False),
        ("a lost line", drop_line(r"\d"), False),
        ("a row again with the contrary", rows(_row_copied), False),
        ("the first row takes all", rows(_catch_all_first), False),
        ("all rows count", _other_hit, False),
    )
)  # fmt: skip


class Bench:
    """A copy of the rule files, in which one slip at a time is made and looked for."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._advisor = folder, load_advisor()
        self._facts = RuleTestFacts(self._advisor)
        self.files: dict[Path, list[Entry]] = {}
        for path in sorted(locate("rules").glob("*.yaml")):
            self.files[folder / path.name] = plain(read_yaml(path, error=RulebookError))  # type: ignore[assignment]
        for path in self.files:
            self._write(path)
        self._before = {_key_of(finding) for finding in inspect(self._loaded(), TODAY)}

    def _write(self, path: Path) -> None:
        path.write_text(json.dumps(self.files[path], default=str))

    def _loaded(self) -> Advisor:
        advisor = self._advisor
        book = load_rulebook([self._folder], advisor.vocabulary, known_names(advisor.knowledge))
        return replace(advisor, rulebook=book)

    def found(self, kind: Kind, path: Path, at: int) -> tuple[str, str] | None:
        """What finds the slip and what it says; ``nothing`` where nothing does, None where it has no place there."""
        kept = self.files[path]
        entry = deepcopy(kept[at])
        if not kind.slip(entry):
            return None
        if kind.new:
            for each in (entry, *entry.get("rows", [])):
                each.pop("tests", None)
        self.files[path] = [*kept[:at], entry, *kept[at + 1 :]]
        try:
            self._write(path)
            return self._judged(entry)
        finally:
            self.files[path] = kept
            self._write(path)

    def _judged(self, entry: Entry) -> tuple[str, str]:
        try:
            advisor = self._loaded()
        except RulebookError as error:
            return "loading", str(error)
        name = entry.get("table") or entry["id"]
        rules = [rule.id for rule in advisor.rulebook.rules if name in (rule.table, rule.id)]
        results = run_rule_tests(advisor.rulebook, self._facts.facts_for, advisor.vocabulary, rules=rules)
        failed = next((result for result in results if not result.passed), None)
        if failed:
            return "the rules' tests", failed.why or ""
        for finding in inspect(advisor, TODAY):
            said = finding.severity != "info" and not finding.check.startswith("missing-")
            if said and _key_of(finding) not in self._before:
                return finding.check, finding.message
        return "nothing", ""


def _key_of(finding: Finding) -> tuple[str, str | None, str]:
    return finding.check, finding.rule, finding.message


def main(seed: int, kinds: tuple[Kind, ...] = KINDS) -> int:
    """Plant, try and print."""
    total, found = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        sites = [(path, at) for path, entries in bench.files.items() for at in range(len(entries))]
        for kind in kinds:
            random.Random(f"{seed} {kind.name}").shuffle(sites)
            tried = ((site, bench.found(kind, *site)) for site in sites)
            for (path, at), (by, says) in islice(((s, f) for s, f in tried if f), EACH_KIND):
                total[kind.name] += 1
                found[kind.name] += by != "nothing"
                entry = bench.files[path][at]
                print(f"{by:26} {kind.name} in {entry.get('table') or entry['id']}: {says[:110]!r}", flush=True)
    print(
        "not all found of:", ", ".join(f"{name} ({found[name]} of {n})" for name, n in total.items() if found[name] < n)
    )
    print(f"{len(total)} kinds of {len(kinds)} found a place")
    print(f"{found.total()} of {total.total()} found: {100 * found.total() / total.total():.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
