"""Workloads drawn where two rulebooks differ: from the conditions of the rules that do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from whichgpu.engine.authoring.diff.rulediff import Region, RuleChange
from whichgpu.engine.authoring.diff.workloads import Named, sample_workloads
from whichgpu.engine.core import Facts
from whichgpu.engine.rules import Rule, Vocabulary, evaluate, facts_read


#: What the origin of such a workload is called.
ORIGIN = "region"
#: Workloads drawn for a changed rule, and for all of them together.
_FOR_EACH, _MOST = 8, 400
#: A model says these itself; stated beside it they may contradict it.
_OF_A_MODEL = frozenset({"param_count_b", "active_param_count_b", "model_family", "model_architecture", "is_moe"})


class Aim(Struct, frozen=True):
    """A rule that differs, and where."""

    change: RuleChange
    regions: tuple[Region, ...]


def aimed_workloads(
    aims: Sequence[Aim], vocabulary: Vocabulary, gpus: Iterable[Facts], *, seed: int
) -> Iterator[Named]:
    """Workloads on which rules that differ can match, each named after its rule.

    A case that meets the conditions is laid over workloads drawn as the sample is, so that what the rule does not speak
    of varies; a GPU that meets them is named in every other one, so that there are plans of it.

    Args:
        aims: the rules that differ and have cases.
        vocabulary: all facts of both rulebooks.
        gpus: the facts of every GPU.
        seed: draws the same workloads again.
    """
    wanted = [(aim.change.rule, region) for aim in aims for region in aim.regions if region.facts is not None]
    each = max(2, min(_FOR_EACH, _MOST // max(1, len(wanted))))
    drawn, known = sample_workloads(vocabulary, each, seed=seed), [*gpus]
    for rule, region in wanted:
        cards = [str(gpu["gpu.id"]) for gpu in known if _meets(rule, gpu)]
        for number, base in enumerate(drawn):
            facts = _over(base if number else {}, region.facts or {}, vocabulary)
            if number % 2 == 0 and 0 < len(cards) < len(known):
                facts["gpu_candidates"] = cards[number // 2 % len(cards) :][:2]
            yield Named(f"{rule.id}, {region.says}, {number + 1}", ORIGIN, facts)


def _over(base: Mapping[str, Any], case: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    """A drawn workload with a case laid over it: what the case knows nothing of, and what it has to lack, goes."""
    stated = {name: value for name, value in case.items() if _statable(name, vocabulary)}
    facts = {"task": "inference", **{name: value for name, value in base.items() if name != "id"}}
    if stated.keys() & _OF_A_MODEL or "model_name" in stated:
        facts = {name: value for name, value in facts.items() if name not in {"model_name", *_OF_A_MODEL}}
    count = case.get("plan.count")
    if isinstance(count, int):
        facts["num_gpus"] = count
    facts |= {name: list(value) if isinstance(value, tuple) else value for name, value in stated.items()}
    return {name: value for name, value in facts.items() if value is not None}


def _statable(name: str, vocabulary: Vocabulary) -> bool:
    fact = vocabulary.facts.get(name)
    return fact is not None and fact.scope == "workload" and fact.role != "output" and fact.available == "intake"


def _meets(rule: Rule, gpu: Facts) -> bool:
    """Whether all conditions on the GPU alone hold."""
    alone = (c.expr for c in rule.when if all(name.startswith("gpu.") for name in facts_read(c.expr)))
    return all(evaluate(expr, gpu) is True for expr in alone)
