"""One thing taken for its counterpart: codes, figures, ends, cards and names beside one another; written blind.

The last kinds are slips in knowledge files that experts edit.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

from .judging import Seeded
from .knowledge_files import KnowledgeFiles
from .rule_files import Entry, Kind, seeded_in_files
from .slips import effect, knowledge, line, then, value_under


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


def turned_quotient(_: str, value: Any) -> str | None:
    parts = re.fullmatch(r"(\S+) / (\S+)", str(value))
    return f"{parts[2]} / {parts[1]}" if parts else None


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


def fault_earns_points(then: dict[str, Any], _: Entry) -> bool:
    if then.get("points", 0) >= 0 or "claim" in then:
        return False
    then["points"] = -then["points"]
    return True


KINDS: tuple[Kind, ...] = tuple(
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
        ("a quotient turned round", effect(value_under("set", turned_quotient)), True),
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


def seeded(seed: int, each: int) -> Iterator[Seeded]:
    """The kinds of slips in rule files, then those in knowledge files."""
    yield from seeded_in_files(KINDS, seed, each, fair=True)
    with tempfile.TemporaryDirectory() as folder:
        files = KnowledgeFiles(Path(folder))
        for kind, file, slip in IN_KNOWLEDGE:
            names = sorted(knowledge(file)[file])
            random.Random(f"{seed} {kind}").shuffle(names)
            texts = ((name, slipped(file, slip, name)) for name in names)
            for name, text in islice(((name, text) for name, text in texts if text), each):
                yield Seeded(kind, name, (files.found(f"{file}.yaml", text),))


def slipped(file: str, slip: Callable[[dict[str, Any], str], bool], name: str) -> str | None:
    """The text of the knowledge file with the slip in one record; None where it has no place there."""
    changed = deepcopy(knowledge(file))
    return json.dumps(changed, default=str) if slip(changed[file], name) else None
