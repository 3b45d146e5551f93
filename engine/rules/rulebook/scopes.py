"""Which facts a rule may read and set, by its stage and scope."""

from __future__ import annotations

from whichgpu.engine.rules.facts import READABLE
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.rulebook.grammar import EACH_OF_STAGE
from whichgpu.engine.rules.rulebook.model import STAGE_RULE
from whichgpu.engine.rules.rulebook.model import Each
from whichgpu.engine.rules.rulebook.model import Stage


#: Facts of these moments do not exist yet when a stage runs.
_TOO_LATE: dict[Stage, tuple[str, ...]] = {
    "derive": (),
    "reject": ("survey", "outcome"),
    "prefer": ("outcome",),
    "advise": (),
}

#: The one scope that a rule may set facts of.
_SETS: dict[Each, str] = {"workload": "workload", "plan": "plan", "chosen": "workload", "candidate": "candidate"}

_ABOUT = {"workload": "the workload", "plan": "a plan", "gpu": "a GPU", "candidate": "a candidate"}

#: A complaint and what to do about it.
Complaint = tuple[str, str]


def reading_complaint(fact: FactDef, stage: Stage, each: Each) -> Complaint | None:
    """Why such a rule cannot read ``fact``, or None."""
    if fact.scope not in READABLE[each]:
        seers = [name for name in EACH_OF_STAGE[stage] if fact.scope in READABLE[name]]
        return (
            f"`{fact.name}` is about {_ABOUT[fact.scope]}, which a rule for each: {each} does not see",
            f"write each: {' or '.join(seers)}" if seers else "read a fact about the workload or the plan",
        )
    if fact.available in _TOO_LATE[stage]:
        early = fact.available == "survey"
        after = "plans are rejected" if early else "plans are ranked"
        later: Stage = "prefer" if early else "advise"
        return (
            f"`{fact.name}` is known only after {after}, too late for {STAGE_RULE[stage]}",
            f"use {STAGE_RULE[later]}, or read what the fact is made from",
        )
    return None


def setting_complaint(fact: FactDef, stage: Stage, each: Each) -> Complaint | None:
    """Why such a rule cannot set ``fact``, or None."""
    if fact.scope == "gpu":
        return f"`{fact.name}` comes from the catalogue, no rule sets it", "set a plan fact, or correct the catalogue"
    if fact.scope != _SETS[each]:
        return (
            f"`{fact.name}` is about {_ABOUT[fact.scope]}; a rule for each: {each} cannot set it",
            f"set a fact about {_ABOUT[_SETS[each]]}, or change `each`",
        )
    if stage == "advise" and fact.available != "outcome":
        return (
            f"`{fact.name}` is read before plans are ranked, so an advise rule cannot set it",
            "use a derive rule, or say `available: outcome` where the vocabulary defines the fact",
        )
    return None
