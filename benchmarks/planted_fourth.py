"""A fourth list of slips, written blind: without looking at the checks or at what they find in the other lists.

``python benchmarks/planted_fourth.py [SEED]``; see ``planted_by_hand`` for how slips are planted and looked for.
What is said of a rule without its tests before the slip is made does not count as found. The last kinds are slips in
knowledge files that experts edit; there everything is loaded, checked and tested anew.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from planted import TODAY
from planted_by_hand import (
    EACH_KIND,
    Bench,
    Entry,
    Kind,
    Slip,
    _key_of,
    added,
    in_text,
    line,
    then,
    times,
)

from whichgpu import load_advisor
from whichgpu.engine.authoring import RuleTestFacts, run_rule_tests
from whichgpu.engine.authoring.inspection import inspect
from whichgpu.engine.core import KnowledgeError, RulebookError, locate
from whichgpu.engine.core.yaml import plain, read_yaml


#: One fact alone, and two facts of which one is to be larger.
FACT = r"([a-z][\w.]*)"
LARGER = rf"{FACT} > {FACT}"
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 8: "eight", 16: "sixteen"}
#: Cards that are easily taken for one another.
BESIDE = {
    "nvidia-h100": "nvidia-h200",
    "nvidia-h200": "nvidia-h100",
    "nvidia-l40s": "nvidia-l40",
    "nvidia-t4": "nvidia-l4",
    "nvidia-b200": "nvidia-h200",
    "nvidia-a100": "nvidia-a10",
    "nvidia-rtx-4090": "nvidia-rtx-4080",
    "nvidia-rtx-5090": "nvidia-rtx-5080",
}
#: Facts that only one kind of work has.
ASKS_FOR_WORK = (
    "task|train|serving|tun|run_|deadline|batch|compute_|gradient|traffic|qps|concurr|stream|optimised|always"
)
#: How a chip or its software is also called, though not in the catalogue.
CALLED = {"ada_lovelace": "ada", "blackwell": "gb100", "volta": "gv100", "pascal": "gp100"}
CALLED |= {"xla": "tpu", "rocm": "hip", "cuda": "nvidia"}


def _both_ways(*pairs: tuple[str, str]) -> dict[str, str]:
    return dict(pairs) | {second: first for first, second in pairs}


#: Codes and figures of which each is the other's counterpart.
CODES = _both_ways(
    ("A-TENSOR-PARALLEL", "A-PIPELINE-PARALLEL"),
    ("A-DATA-PARALLEL", "A-MODEL-PARALLEL"),
    ("A-QUANTIZE-INT8", "A-QUANTIZE-INT4"),
    ("A-SPOT", "A-RESERVED"),
    ("W-HIDDEN-COSTS-CLOUD", "W-HIDDEN-COSTS-ONPREM"),
    ("W-OVERPROVISIONED", "W-UNDERPOWERED"),
    ("W-NO-FAST-FP16", "W-NO-FAST-INT8"),
    ("W-PSU-HEADROOM", "W-LOW-HEADROOM"),
)
FIGURES = _both_ways(
    ("own_from_utilization_pct", "rent_below_utilization_pct"),
    ("rent_limit_gpu_hours", "rent_limit_gpu_hours_per_year"),
    ("workstation_price_usd", "server_price_usd"),
    ("guide_serving_gb", "guide_tuning_gb"),
    ("full_finetuning_vram_gb", "lora_vram_gb"),
)


@cache
def knowledge(name: str) -> Any:
    return plain(read_yaml(locate("knowledge") / f"{name}.yaml", error=KnowledgeError))


def effects(entry: Entry) -> Iterator[tuple[dict[str, Any], str]]:
    """What the entry and its rows do, each with the title that stands over it."""
    for holder in (entry, *entry.get("rows", [])):
        if isinstance(holder.get("then"), dict):
            yield holder["then"], holder.get("title", entry["title"])


def effect(change: Callable[[dict[str, Any], str], bool]) -> Slip:
    """A change to the first effect of a rule or row that bears it."""
    return lambda entry: any(change(then, title) for then, title in effects(entry))


def change_name(then: dict[str, Any], key: str, of: dict[str, str]) -> bool:
    """A name under the key replaced by its counterpart, where that does not stand beside it already."""
    names = then.get(key, [])
    listed = [names] if isinstance(names, str) else list(names)
    for at, name in enumerate(listed):
        if name in of and of[name] not in listed:
            listed[at] = of[name]
            then[key] = listed[0] if isinstance(names, str) else listed
            return True
    return False


def figure_of_the_line(then: dict[str, Any], title: str) -> bool:
    """The counterpart of a figure; of a line between renting and owning only where the title says the line."""
    parameters = knowledge("parameters")["parameters"]
    names = then.get("figure", [])
    lines = [parameters[name]["value"] for name in ([names] if isinstance(names, str) else names) if name in parameters]
    return all(f"{value}" in title.replace(",", "") for value in lines) and change_name(then, "figure", FIGURES)


def disagreements_digits(then: dict[str, Any], _: str) -> bool:
    said = then.get("disagree")
    other = isinstance(said, str) and f"C{said[2]}{said[1]}"
    if not other or other in (said, "C15", "C51") or other not in knowledge("disagreements")["disagreements"]:
        return False
    then["disagree"] = other
    return True


def ends_exchanged(then: dict[str, Any], _: str) -> bool:
    values = then.get("set", {})
    for low in values:
        high = low.replace("low", "high")
        if high != low and high in values and values[low] != values[high]:
            values[low], values[high] = values[high], values[low]
            return True
    return False


def quotient_turned(then: dict[str, Any], _: str) -> bool:
    for fact, value in then.get("set", {}).items():
        turned = re.sub(r"^(\S+) / (\S+)$", r"\2 / \1", str(value))
        if turned != str(value):
            then["set"][fact] = turned
            return True
    return False


def bought_though_rented(then: dict[str, Any], title: str) -> bool:
    """Buying as the verdict of a row that says in words that one rents."""
    if then.get("set", {}).get("procurement") != "rent" or not re.search(r"\brent", title, re.IGNORECASE):
        return False
    then["set"]["procurement"] = "buy"
    return True


def link_as_reason(then: dict[str, Any], entry: Entry) -> bool:
    """Links as the reason for what speaks of memory, age or trust alone."""
    words = json.dumps({key: entry.get(key) for key in ("when", "then", "title", "because")})
    if then.get("reason") not in ("fit", "maturity", "reliability") or re.search(
        "link|node|count|exchange|split", words
    ):
        return False
    then["reason"] = "interconnect"
    return True


def another_card_than_titled(entry: Entry) -> bool:
    def other(match: re.Match[str]) -> str:
        shown = match[1].removeprefix("nvidia-").replace("rtx-", "rtx ").upper()
        named = re.search(rf"\b{shown}\b", entry["title"])
        return f"gpu.series == {BESIDE[match[1]]}" if named and match[1] in BESIDE else match[0]

    return line(r"gpu\.series == ([\w-]+)", other)(entry)


def series_among_families(entry: Entry) -> bool:
    """The name of a series where families are asked for, of which it is none."""
    pattern = r"nvidia-(a100|h100)-[48]0gb"
    for row in entry.get("rows", []):
        for at, column in enumerate(entry["columns"]):
            new = json.loads(re.sub(pattern, r"nvidia-\1", json.dumps(row["if"][at]), count=1))
            if column == "gpu.family" and new != row["if"][at]:
                row["if"][at] = new
                return True
    return line(rf"(gpu\.family .*){pattern}", r"\1nvidia-\2")(entry)


def evidence_beside(entry: Entry) -> bool:
    """The next heuristic of the list, of another kind and about other facts, as evidence of the rule."""
    found = knowledge("heuristics")["heuristics"]
    place = {each["id"]: at for at, each in enumerate(found)}
    if not entry.get("encodes") or "table" in entry:
        return False
    own = found[place[entry["encodes"][-1]]]
    words = set(re.findall(r"[a-z_]{4,}", json.dumps([entry.get("when"), entry["title"].lower()])))
    for other in found[place[own["id"]] + 1 : place[own["id"]] + 4]:
        same_card = any(part in own["id"].split("-") for part in other["id"].split("-") if re.search(r"\d", part))
        about = set(re.findall(r"[a-z_]{4,}", other["condition"]["expr"] + other["condition"]["words"].lower()))
        if other["guide"] == own["guide"] and other["kind"] != own["kind"] and not (same_card or words & about):
            entry["encodes"] = [*entry["encodes"][:-1], other["id"]]
            return other["id"] not in entry["encodes"][:-1]
    return False


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


def parameter_beside(entry: Entry) -> bool:
    """The other limit of hours, or the lower line of use for the higher; what is shown and said stays."""
    values = {name: f"{each['value']}" for name, each in knowledge("parameters")["parameters"].items()}
    total, yearly = values["rent_limit_gpu_hours"], values["rent_limit_gpu_hours_per_year"]
    own, rent = values["own_from_utilization_pct"], values["rent_below_utilization_pct"]
    for fact, mine, other in (
        ("gpu_hours_total", total, yearly),
        ("gpu_hours_per_year", yearly, total),
        ("utilization_pct", own, rent),
    ):
        for row in entry.get("rows", []):
            at = entry["columns"].index(fact) if fact in entry["columns"] else None
            if at is not None and str(row["if"][at]).endswith(f" {mine}"):
                row["if"][at] = row["if"][at].replace(mine, other)
                return True
        if line(rf"^({fact} [<>=]+ ){mine}$", rf"\g<1>{other}")(entry):
            return True
    return False


def branch(new: Callable[[Entry, list[Any]], str | None]) -> Slip:
    """A further alternative beside those that stand there."""

    def slip(entry: Entry) -> bool:
        for each in entry.get("when") or []:
            if isinstance(each, dict) and "any" in each and (text := new(entry, each["any"])):
                each["any"].append(text)
                return True
        return False

    return slip


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


def active_for_all(entry: Entry) -> bool:
    if "active_param_count_b" in json.dumps(entry):
        return False
    columns = entry.get("columns", [])
    if "param_count_b" in columns:
        columns[columns.index("param_count_b")] = "active_param_count_b"
        return True
    return line(r"^param_count_b (?=[<>=])", "active_param_count_b ")(entry)


def ratio_doubled(then: dict[str, Any], _: Entry) -> bool:
    claim = then.get("claim")
    if not isinstance(claim, dict) or "ratio" not in claim:
        return False
    claim["ratio"] *= 2
    return True


def at_stage(stage: str, slip: Slip) -> Slip:
    return lambda entry: entry["stage"] == stage and slip(entry)


def fault_earns_points(then: dict[str, Any], _: Entry) -> bool:
    if then.get("points", 0) >= 0 or "claim" in then:
        return False
    then["points"] = -then["points"]
    return True


FOURTH: tuple[Kind, ...] = tuple(
    Kind(name, slip, new)
    for name, slip, new in (
        # Effects.
        ("a fault that earns points", then(fault_earns_points), True),
        ("links as the reason of what has none", then(link_as_reason), True),
        (
            "the counterpart of a code",
            effect(lambda t, _: any(change_name(t, key, CODES) for key in ("advise", "warn"))),
            True,
        ),
        ("the counterpart of a figure", effect(figure_of_the_line), True),
        ("a disagreement's digits exchanged", effect(disagreements_digits), True),
        ("ends of a set band exchanged", effect(ends_exchanged), True),
        ("a quotient turned round", effect(quotient_turned), True),
        ("bought where it says rented", effect(bought_though_rented), True),
        ("twice the ratio of the source", then(ratio_doubled), True),
        # Names.
        ("another card than the title's", another_card_than_titled, True),
        ("a series among families", series_among_families, True),
        ("one of several names without its maker", line(r"(in \[[^\]]*)(?:nvidia|amd)-([\w-]+)\]", r"\1\2]"), False),
        (
            "a chip or stack by another name",
            line(rf"(gpu\.(?:sw_stack|architecture) [!=]= )({'|'.join(CALLED)})$", lambda m: m[1] + CALLED[m[2]]),
            True,
        ),
        ("the heuristic beside it as evidence", evidence_beside, False),
        ("the parameter beside it", parameter_beside, True),
        ("active parameters for all", active_for_all, True),
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


def _parameter_tenfold(records: dict[str, Any], name: str) -> bool:
    records[name]["value"] *= 10
    return True


def _figure_ends(records: dict[str, Any], name: str) -> bool:
    value = records[name].get("value")
    if isinstance(value, list):
        records[name]["value"] = value[::-1]
    return isinstance(value, list)


#: Slips in knowledge: name, file, and what is done to one record of it.
IN_KNOWLEDGE: tuple[tuple[str, str, Callable[[dict[str, Any], str], bool]], ...] = (
    ("a parameter ten times as large", "parameters", _parameter_tenfold),
    ("a figure's ends exchanged", "figures", _figure_ends),
)


class FairBench(Bench):
    """Of a rule that loses its tests for the slip, only what is said of the slip counts."""

    def found(self, kind: Kind, path: Path, at: int) -> tuple[str, str] | None:
        """As of ``Bench.found``."""
        before = self._before
        if kind.new and kind.slip(deepcopy(self.files[path][at])):
            self._before = before | self._without_tests(path, at)
        try:
            return super().found(kind, path, at)
        finally:
            self._before = before

    def _without_tests(self, path: Path, at: int) -> set[tuple[str, str | None, str]]:
        kept = self.files[path]
        entry = deepcopy(kept[at])
        for each in (entry, *entry.get("rows", [])):
            each.pop("tests", None)
        self.files[path] = [*kept[:at], entry, *kept[at + 1 :]]
        try:
            self._write(path)
            return {_key_of(finding) for finding in inspect(self._loaded(), TODAY)}
        finally:
            self.files[path] = kept
            self._write(path)


class KnowledgeBench:
    """A copy of the knowledge, in which one slip at a time is made and looked for; the rules are those shipped."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "knowledge"
        shutil.copytree(locate("knowledge"), self._folder)
        self._before = {_key_of(finding) for finding in inspect(load_advisor(), TODAY)}

    def found(self, file: str, slip: Callable[[dict[str, Any], str], bool], name: str) -> tuple[str, str] | None:
        """What finds the slip and what it says, as of ``Bench.found``."""
        changed = deepcopy(knowledge(file))
        if not slip(changed[file], name):
            return None
        path = self._folder / f"{file}.yaml"
        kept = path.read_text()
        path.write_text(json.dumps(changed, default=str))
        try:
            return self._judged()
        finally:
            path.write_text(kept)

    def _judged(self) -> tuple[str, str]:
        try:
            advisor = load_advisor(knowledge_folder=self._folder)
        except (RulebookError, KnowledgeError) as error:
            return "loading", str(error)
        for result in run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary):
            if not result.passed:
                return "the rules' tests", result.why or ""
        for finding in inspect(advisor, TODAY):
            if finding.severity != "info" and _key_of(finding) not in self._before:
                return finding.check, finding.message
        return "nothing", ""


def planted(seed: int, folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Kind, rule or record, what found the slip there, and what it said."""
    bench = FairBench(folder)
    for kind in FOURTH:
        sites = [(path, at) for path, entries in bench.files.items() for at in range(len(entries))]
        random.Random(f"{seed} {kind.name}").shuffle(sites)
        tried = ((site, bench.found(kind, *site)) for site in sites)
        for (path, at), (by, says) in islice(((site, found) for site, found in tried if found), EACH_KIND):
            entry = bench.files[path][at]
            yield kind.name, entry.get("table") or entry["id"], by, says
    others = KnowledgeBench(folder)
    for kind_name, file, slip in IN_KNOWLEDGE:
        names = sorted(knowledge(file)[file])
        random.Random(f"{seed} {kind_name}").shuffle(names)
        tried_records = ((name, others.found(file, slip, name)) for name in names)
        for name, (by, says) in islice(((name, found) for name, found in tried_records if found), EACH_KIND):
            yield kind_name, name, by, says


def main(seed: int) -> int:
    """Plant, try and print."""
    total, found = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, by, says in planted(seed, Path(folder)):
            total[kind] += 1
            found[kind] += by != "nothing"
            print(f"{by:26} {kind} in {name}: {says[:110]!r}", flush=True)
    missed = (f"{name} ({found[name]} of {n})" for name, n in total.items() if found[name] < n)
    print("not all found of:", ", ".join(missed))
    print(f"{len(total)} kinds of {len(FOURTH) + len(IN_KNOWLEDGE)} found a place")
    print(f"{found.total()} of {total.total()} found: {100 * found.total() / total.total():.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
