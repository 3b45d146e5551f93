"""When a fact becomes final, and which rules may still read or set it.

A decision runs in phases: ``intake`` (what is stated, looked up, computed and derived), ``plan`` (plans are made, and
what rules derive of each), ``survey`` (what the plans that no rule rejects come to), ``outcome`` (after ranking). The
vocabulary says by ``available`` in which phase a fact is resolved. It is final then: a rule that fires later cannot set
it, since what reads it has read it already.
"""

from __future__ import annotations

from collections.abc import Iterable

from whichgpu.engine.rules.facts import READABLE, FactDef
from whichgpu.engine.rules.rulebook.grammar import EACH_OF_STAGE
from whichgpu.engine.rules.rulebook.model import STAGE_RULE, Each, Stage


#: The phases of a decision, in order. A fact can be read from its phase on.
MOMENTS = ("intake", "plan", "survey", "outcome")

#: Facts of these phases do not exist yet when a stage runs.
_TOO_LATE: dict[tuple[Stage, Each], tuple[str, ...]] = {
    ("derive", "plan"): ("survey", "outcome"),
    ("reject", "plan"): ("survey", "outcome"),
    ("reject", "workload"): ("survey", "outcome"),
    ("prefer", "plan"): ("outcome",),
}

#: The one scope that a rule may set facts of.
_SETS: dict[Each, str] = {"workload": "workload", "plan": "plan", "chosen": "workload", "candidate": "candidate"}

_ABOUT = {"workload": "the workload", "plan": "a plan", "gpu": "a GPU", "candidate": "a candidate"}
_AFTER = {
    "intake": "the facts of the workload are resolved",
    "plan": "plans are made",
    "survey": "plans are rejected",
    "outcome": "plans are ranked",
}

#: A complaint and what to do about it.
Complaint = tuple[str, str]


def reading_complaint(fact: FactDef, stage: Stage, each: Each) -> Complaint | None:
    """Why such a rule cannot read ``fact``, or None."""
    if fact.scope not in READABLE[each]:
        readers = [name for name in EACH_OF_STAGE[stage] if fact.scope in READABLE[name]]
        return (
            f"`{fact.name}` is about {_ABOUT[fact.scope]}, which a rule for each: {each} does not see",
            f"write each: {' or '.join(readers)}" if readers else "read a fact about the workload or the plan",
        )
    if fact.available in _TOO_LATE.get((stage, each), ()):
        later: Stage = "prefer" if fact.available == "survey" else "advise"
        return (
            f"`{fact.name}` is known only after {_AFTER[fact.available]}, too late for {STAGE_RULE[stage]}",
            f"use {STAGE_RULE[later]}, or read what the fact is made from",
        )
    return None


def setting_complaint(fact: FactDef, stage: Stage, each: Each) -> Complaint | None:  # noqa: PLR0911  # One a reason.
    """Why such a rule cannot set ``fact``, whatever it reads, or None."""
    if fact.stated_only:
        return (
            f"`{fact.name}` is read as it was stated, before any rule: setting it would change nothing",
            "advise on it or ask for it",
        )
    if fact.scope == "gpu":
        return f"`{fact.name}` comes from the catalogue, no rule sets it", "set a plan fact, or correct the catalogue"
    if fact.scope == "candidate":
        return (
            f"`{fact.name}` says how a candidate was judged, and nothing reads it after rules for each: candidate",
            "advise, warn, or set a fact about the workload in a rule for each: chosen",
        )
    if fact.scope != _SETS[each]:
        return (
            f"`{fact.name}` is about {_ABOUT[fact.scope]}; a rule for each: {each} cannot set it",
            f"set a fact about {_ABOUT[_SETS[each]]}, or change `each`",
        )
    if fact.scope == "plan" and fact.role == "output":
        return (
            f"`{fact.name}` is computed with the plan, which is ranked by what was computed: no rule changes it",
            "set a plan fact of your own (role: derived), or give points or reject for what it stands for",
        )
    if stage == "advise" and fact.available != "outcome":
        return (
            f"`{fact.name}` is read before plans are ranked, so an advise rule cannot set it",
            "use a derive rule, or say `available: outcome` where the vocabulary defines the fact",
        )
    return None


def latest(facts: Iterable[FactDef]) -> FactDef | None:
    """The fact that is resolved last, the first by name of several; None of none."""
    return max(sorted(facts, key=lambda fact: fact.name), key=lambda fact: MOMENTS.index(fact.available), default=None)


def late_complaint(fact: FactDef, beside: Iterable[FactDef]) -> Complaint | None:
    """Why a derive rule on the workload that reads or sets the facts ``beside`` fires too late to set ``fact``."""
    last = latest(beside)
    if last is None or MOMENTS.index(last.available) <= MOMENTS.index(fact.available):
        return None
    return (
        f"`{fact.name}` is final once {_AFTER[fact.available]}, and this rule fires after {_AFTER[last.available]}, "
        f"when `{last.name}` is known: whatever reads `{fact.name}` has read it by then",
        f"leave out `{last.name}`, or set a fact that the vocabulary calls `available: {last.available}`",
    )
