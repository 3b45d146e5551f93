"""What the rulebook leaves uncovered: heuristics, tests, and typical workloads that no rule speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any

from whichgpu import Advisor
from whichgpu.engine.authoring import standings, uncarried
from whichgpu.engine.core import WhichgpuError


if TYPE_CHECKING:
    from whichgpu.engine.advisor import Recommendation


#: Sizes in billions of parameters that stand for a small, a middle and a large model of each family.
_SIZES = {"llm": (1, 8, 34, 70, 180), "diffusion_image": (1, 12), "diffusion_video": (2, 14), "multimodal": (8, 70)}
_OTHER_SIZES = (0.1, 1)


def cover_of(advisor: Advisor, moment: datetime) -> dict[str, Any]:
    """Heuristics, tests and workloads, with what is missing of each."""
    rules = advisor.rulebook.rules
    listed = standings(advisor)
    aside = [standing.id for standing in listed if standing.entry and standing.entry.set_aside]
    missing = uncarried(advisor)
    untested = [rule.id for rule in rules if not rule.tests]
    return {
        "heuristics": {
            "total": len(listed),
            "encoded": len(listed) - len(missing) - len(aside),
            "set_aside": len(aside),
            "missing": missing,
        },
        "rules": {"total": len(rules), "tested": len(rules) - len(untested), "untested": untested},
        "workloads": _workloads(advisor, moment),
    }


def _workloads(advisor: Advisor, moment: datetime) -> dict[str, Any]:
    silent, unanswered, total = [], [], 0
    for workload in typical_workloads(advisor):
        total += 1
        name = ", ".join(f"{fact} {value}" for fact, value in workload.items())
        plan = _recommendation(advisor, workload, moment)
        if plan is None:
            unanswered.append(name)
        elif not any(entry["rule"] for entry in plan["points"]):
            silent.append(name)
    covered = total - len(silent) - len(unanswered)
    return {"total": total, "covered": covered, "unanswered": unanswered, "silent": silent}


def _recommendation(advisor: Advisor, workload: dict[str, Any], moment: datetime) -> Recommendation | None:
    try:
        decision = advisor.decide(workload, decided_at=moment)
    except WhichgpuError:
        return None
    return decision.to_dict(full=False)["recommendation"]


def typical_workloads(advisor: Advisor) -> Iterator[dict[str, Any]]:
    """Every task with every family of models, at sizes that are usual for it."""
    facts = advisor.vocabulary.facts
    for task, family in product(facts["task"].choices, facts["model_family"].choices):
        for size in _SIZES.get(family, _OTHER_SIZES):
            yield {"task": task, "model_family": family, "param_count_b": size}
