"""What a scenario expects of a decision, checked against the decision's own JSON value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from whichgpu.engine.authoring.testing.seen_decision import SeenDecision


#: Figures are met within this share: sources and data sheets round differently.
TOLERANCE = 0.03


class Expectation(SeenDecision, frozen=True):
    """The expectations of one scenario against one decision. Every check returns what is wrong, or nothing."""

    def check(self, expect: Mapping[str, Any]) -> list[str]:
        """Everything that the decision misses, in words; an unknown expectation is a miss too."""
        misses: list[str] = []
        for key in sorted(expect):
            if key not in EXPECTATIONS:
                misses.append(f"{key} is no known expectation; known are {', '.join(sorted(EXPECTATIONS))}")
            else:
                misses.extend(EXPECTATIONS[key](self, expect[key]))
        return misses


def _sets_any_of(case: Expectation, wanted: Iterable[Mapping[str, Any]]) -> list[str]:
    for entry in wanted:
        low, high = entry.get("count", [1, None])
        if any(low <= plan["count"] <= (high or plan["count"]) for plan in case.of(entry["gpu"])):
            return []
    shown = ", ".join(f"{plan['count']} x {plan['gpu']}" for plan in case.plans[:8]) or "nothing"
    return [f"none of the expected sets is recommended; the answer has {shown}"]


def _forbid_single(case: Expectation, names: Iterable[str]) -> list[str]:
    return [f"one {name} is recommended" for name in names if any(plan["count"] == 1 for plan in case.of(name))]


def _forbid_gpus(case: Expectation, names: Iterable[str]) -> list[str]:
    return [f"{name} is recommended" for name in names if case.of(name)]


def _prefer_over(case: Expectation, pairs: Iterable[Mapping[str, str]]) -> list[str]:
    misses = []
    for pair in pairs:
        better, worse = case.of(pair["better"]), case.of(pair["worse"])
        if not better:
            misses.append(f"{pair['better']} is not recommended at all")
        elif worse and case.plans.index(better[0]) > case.plans.index(worse[0]):
            misses.append(f"{pair['worse']} ranks above {pair['better']}")
    return misses


def _gpu_count(case: Expectation, bounds: list[int | None]) -> list[str]:
    plan = case.chosen
    low, high = bounds
    if plan is None:
        return ["there is no recommendation to count the GPUs of"]
    if plan["count"] < (low or 1) or (high is not None and plan["count"] > high):
        return [f"{plan['count']} GPUs are recommended, not {low} to {high}"]
    return []


def _min_vram_gb(case: Expectation, least: float) -> list[str]:
    plan = case.chosen
    if plan is None:
        return ["there is no recommendation to have memory"]
    has = (case.knowledge.gpus[plan["gpu"]].vram_gb or 0) * plan["count"]
    return [] if has >= least else [f"the recommendation has {has:g} GB, less than {least:g}"]


def _vram_range_gb(case: Expectation, bounds: list[float]) -> list[str]:
    low, high = bounds
    sizing, plan = case.decision["sizing"], case.chosen
    sizes = [sizing[name] for name in ("required_vram_gb", "recommended_vram_gb") if name in sizing]
    band = case.decision["figures"].get("vram_band_gb", {}).get("value")
    if plan is not None:
        sizes.append((case.knowledge.gpus[plan["gpu"]].vram_gb or 0) * plan["count"])
    if isinstance(band, list) and band[0] <= high and band[1] >= low:
        return []
    if any(low <= size <= high for size in sizes):
        return []
    return [f"neither need nor plan lies in {low:g} to {high:g} GB: {', '.join(f'{size:g}' for size in sizes)}"]


def _interconnect(case: Expectation, wanted: str) -> list[str]:
    plan = case.decision["recommendation"]
    links = {plan["link"], plan["node_link"]} if plan else set()
    required = case.decision["facts"].get("link_required", {}).get("value")
    return [] if wanted in links | {required} else [f"{wanted} is expected; the plan has {sorted(map(str, links))}"]


def _procurement(case: Expectation, accepted: list[str]) -> list[str]:
    verdict = case.decision["procurement"]["verdict"]
    return [] if verdict in accepted else [f"the verdict is {verdict}, not {' or '.join(accepted)}"]


def _all_codes(case: Expectation, codes: Iterable[str], *, key: str) -> list[str]:
    return [f"{code} is missing among the {key}" for code in codes if code not in case.codes(key)]


def _any_code(case: Expectation, codes: Collection[str], *, key: str) -> list[str]:
    return [] if case.codes(key).intersection(codes) else [f"none of {', '.join(codes)} is among the {key}"]


def _forbid_advice(case: Expectation, codes: Iterable[str]) -> list[str]:
    return [f"{code} is advised" for code in codes if code in case.codes("advice")]


def _ask(case: Expectation, facts: Iterable[str]) -> list[str]:
    asked = {entry["fact"] for key in ("open_questions", "assumptions") for entry in case.decision[key]}
    return [f"{fact} is neither asked nor assumed" for fact in facts if fact not in asked]


def _facts(case: Expectation, wanted: Mapping[str, Any]) -> list[str]:
    misses = []
    for name, value in wanted.items():
        found = [
            case.decision["facts"].get(name, {}).get("value"),
            case.decision["sizing"].get(name),
            case.decision["figures"].get(name, {}).get("value"),
        ]
        if not any(same(value, other) for other in found):
            shown = [other for other in found if other is not None]
            misses.append(f"{name} is {shown or 'not in the answer'}, not {value}")
    return misses


def _candidate_facts(case: Expectation, wanted: Mapping[str, Mapping[str, Any]]) -> list[str]:
    misses = []
    for name, facts in wanted.items():
        ids = case.ids(name)
        entries = [entry for entry in case.decision["candidates"] if entry["gpu"] in ids]
        if not entries:
            misses.append(f"{name} is not among the candidates")
        for fact, value in facts.items():
            if entries and not any(same(value, entry["facts"].get(fact)) for entry in entries):
                misses.append(f"{name}: {fact} is {[entry['facts'].get(fact) for entry in entries]}, not {value}")
    return misses


def _separate_phases(case: Expectation, wanted: bool) -> list[str]:
    planned = [phase for phase in case.decision["phases"] if phase["recommendation"]]
    return [] if (len(planned) > 1) == wanted else [f"{len(planned)} phases are planned"]


def _recommendation(case: Expectation, wanted: Mapping[str, Any]) -> list[str]:
    """``gpu`` (a name, family or series), ``count`` and any other key of the recommended plan."""
    plan = case.chosen if wanted.keys() <= _OUTLINED else case.decision["recommendation"]
    if plan is None:
        return [f"nothing is recommended: {_why_not(case)}"]
    misses = []
    for key, value in wanted.items():
        met = plan["gpu"] in case.ids(value) if key == "gpu" else same(value, plan.get(key))
        if not met:
            misses.append(f"recommendation.{key} is {plan.get(key)}, not {value}")
    return misses


def _why_not(case: Expectation) -> str:
    answer = case.decision["no_answer"]
    return str(answer["kind"]) if isinstance(answer, Mapping) else "no reason is given"


def _no_answer(case: Expectation, wanted: str) -> list[str]:
    if case.chosen is not None:
        return [f"{case.plans[0]['count']} x {case.plans[0]['gpu']} is recommended, and no answer was expected"]
    reason = _why_not(case)
    return [] if wanted in (True, reason) else [f"there is no answer because of {reason}, not {wanted}"]


def _fired(case: Expectation, names: Collection[str]) -> frozenset[str]:
    """Which of these rules and tables fired on the workload or the chosen plan, or reject a plan."""
    ids = {str(entry["id"]) for entry in case.verdicts(names) if entry["verdict"] == "fired"} | case.rejecting
    return frozenset(ids | {name.partition("/")[0] for name in ids}).intersection(names)


def _fires(case: Expectation, names: Collection[str]) -> list[str]:
    fired = _fired(case, names)
    verdicts = {str(entry["id"]): entry for entry in case.verdicts(names)}
    return [f"{name} does not fire{_because(verdicts.get(name))}" for name in names if name not in fired]


def _because(entry: Mapping[str, Any] | None) -> str:
    if entry is None:
        return ""
    if entry.get("failed"):
        return f": `{entry['failed']}` fails with {entry.get('value')}"
    if entry.get("missing"):
        return f": unknown is {', '.join(entry['missing'])}"
    return f": {entry['by']} overrides it" if entry.get("by") else ""


def _silent(case: Expectation, names: Collection[str]) -> list[str]:
    fired = _fired(case, names)
    return [f"{name} fires" for name in names if name in fired]


def _nothing_fires(case: Expectation, _: object) -> list[str]:
    """No rule at all fires: what is given is no case for this rulebook."""
    return [f"{name} fires" for name in sorted(e["id"] for e in case.decision["rules"] if e["verdict"] == "fired")]


def same(wanted: Any, found: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether a found value is the wanted one: numbers within the tolerance, lists item by item."""
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(same(a, b, tolerance) for a, b in zip(wanted, found, strict=True))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return bool(abs(wanted - found) <= tolerance * abs(wanted))
    return bool(wanted == found)


#: What can be expected, by name.
EXPECTATIONS: dict[str, Callable[[Expectation, Any], list[str]]] = {
    "sets_any_of": _sets_any_of,
    "forbid_single": _forbid_single,
    "forbid_gpus": _forbid_gpus,
    "prefer_over": _prefer_over,
    "gpu_count": _gpu_count,
    "min_vram_gb": _min_vram_gb,
    "vram_range_gb": _vram_range_gb,
    "interconnect": _interconnect,
    "procurement": _procurement,
    "advice_all": partial(_all_codes, key="advice"),
    "advice_any": partial(_any_code, key="advice"),
    "warnings_all": partial(_all_codes, key="warnings"),
    "warnings_any": partial(_any_code, key="warnings"),
    "forbid_advice": _forbid_advice,
    "ask": _ask,
    "facts": _facts,
    "candidate_facts": _candidate_facts,
    "separate_phases": _separate_phases,
    "recommendation": _recommendation,
    "no_answer": _no_answer,
    "fires": _fires,
    "silent": _silent,
    "nothing_fires": _nothing_fires,
}

_OF_PLANS = frozenset({"sets_any_of", "forbid_single", "forbid_gpus", "prefer_over", "gpu_count", "min_vram_gb"})
_OUTLINED = frozenset({"gpu", "count"})
_NAMING_RULES = frozenset({"fires", "silent"})
#: Expectations about rules, which only the whole decision lists.
NEEDS_RULES = _NAMING_RULES | {"nothing_fires"}
_NAMING_GPUS = frozenset({"forbid_single", "forbid_gpus"})


def expects_plans_alone(key: str, value: Any) -> bool:
    """Whether an expectation looks at cards and their numbers, in order, and at nothing else of a decision."""
    return key in _OF_PLANS or (key == "recommendation" and value.keys() <= _OUTLINED)


def rules_in(key: str, value: Any) -> list[str]:
    """The rules and tables that an expectation names."""
    return [str(name) for name in value] if key in _NAMING_RULES and isinstance(value, list) else []


def accelerators_in(key: str, value: Any) -> list[str]:
    """The accelerators that an expectation names."""
    if key in _NAMING_GPUS and isinstance(value, list):
        return [str(name) for name in value]
    if key == "recommendation" and isinstance(value, dict):
        return [str(value["gpu"])] if "gpu" in value else []
    if key == "sets_any_of" and isinstance(value, list):
        return [str(entry["gpu"]) for entry in value if isinstance(entry, dict) and "gpu" in entry]
    return []
