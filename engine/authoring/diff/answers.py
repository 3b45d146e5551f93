"""What a workload is answered, in so few words that two answers can be laid side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, Outcome, fired_rules, load_advisor
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts, WhichgpuError
from whichgpu.engine.plans import PlanMaker, PlanTable, candidate_plans
from whichgpu.engine.rules import Disagree, Monitor, Say, probing
from whichgpu.engine.sizing import Job


#: Keys of a workload that no vocabulary has to know.
_PLAIN_KEYS = frozenset({"id", "gpu", "count"})


class Edition(Struct, frozen=True):
    """A rulebook to load: the shipped one or one's own, with layers over it."""

    label: str
    layers: tuple[Path, ...] = ()
    own_rules: Path | None = None
    knowledge_folder: Path | None = None

    def load(self) -> Advisor:
        """Load it. Raises RulebookError and KnowledgeError."""
        return load_advisor(self.layers, own_rules=self.own_rules, knowledge_folder=self.knowledge_folder)


class Answer(Struct, frozen=True):
    """What one edition says of one workload. ``refused``: it could not be read, and why."""

    recommendation: str | None = None  # 4 x nvidia-l40s in 1 machine
    no_answer: str | None = None
    procurement: str | None = None
    candidates: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    monitoring: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    fired: frozenset[str] = frozenset()  # every rule that fired, on the workload or on any plan
    refused: str | None = None

    def differs_from(self, other: Answer) -> tuple[str, ...]:
        """The parts that are not the same, the weightiest first."""
        if self.refused or other.refused:
            return () if self.refused == other.refused else ("refused",)
        return tuple(part for part in PARTS if getattr(self, part) != getattr(other, part))


#: What an answer is made of, in the order in which a difference matters.
PARTS = tuple(part for part in Answer.__struct_fields__ if part not in {"fired", "refused"})


def answer_pairs(
    old: Edition, new: Edition, workloads: Sequence[Mapping[str, Any]], moment: datetime
) -> list[tuple[Answer, Answer]]:
    """The answers of both editions, in order. Facts that an edition does not know are left out for it."""
    return pairs_of(old.load(), new.load(), workloads, moment)


def pairs_of(
    old: Advisor, new: Advisor, workloads: Sequence[Mapping[str, Any]], moment: datetime
) -> list[tuple[Answer, Answer]]:
    """The same of experts that are loaded already."""
    shelf = PlanShelf()
    was, now = shelf.lend(old), shelf.lend(new)
    return [(answer_of(was, workload, moment), answer_of(now, workload, moment)) for workload in workloads]


class PlanShelf:
    """Plans that were just made, for the other edition to use: most changes of rules leave them as they are."""

    _KEPT = 3  # A workload that trains and serves is planned three times at most.

    def __init__(self) -> None:
        self._made: list[tuple[tuple[object, ...], PlanTable]] = []

    def lend(self, advisor: Advisor) -> Advisor:
        """The expert, looking on the shelf before it makes plans."""
        return replace(advisor, context=replace(advisor.context, make_plans=self._plans))

    def _plans(
        self, job: Job, facts: Facts, knowledge: Knowledge, asked: Mapping[int, str], *, maker: PlanMaker
    ) -> PlanTable:
        wanted = (job, facts, knowledge.digest, asked)
        for key, plans in self._made:
            if key == wanted:
                return plans
        made = candidate_plans(job, facts, knowledge, asked, maker=maker)
        self._made = [*self._made[1 - self._KEPT :], (wanted, made)]
        return made


@probing()
def answer_of(advisor: Advisor, workload: Mapping[str, Any], moment: datetime) -> Answer:
    """What the expert says of one workload."""
    known = {
        name: value
        for name, value in workload.items()
        if name in _PLAIN_KEYS or advisor.vocabulary.fact(name) or advisor.vocabulary.conditional_aliases(name)
    }
    try:
        return summary_of(advisor.decide(known, decided_at=moment).outcome)
    except WhichgpuError as error:
        return Answer(refused=error.problems[0].message)


def summary_of(outcome: Outcome) -> Answer:
    """A decision in few words."""
    plan = outcome.chosen.ranked.plan if outcome.chosen else None
    nodes = f" in {plan.nodes} machines" if plan and plan.nodes > 1 else ""
    candidates = (f"{judged.gpu_id}: {judged.verdict}" for judged in outcome.candidates)
    effects = [effect for fired in outcome.fired for effect in fired.rule.effects]
    verdict = outcome.final.facts.get("procurement")
    return Answer(
        recommendation=f"{plan.count} x {plan.gpu.id}{nodes}" if plan else None,
        no_answer=outcome.no_answer.kind if outcome.no_answer else None,
        procurement=str(verdict) if verdict is not None else None,
        candidates=tuple(sorted(candidates)),
        warnings=_sorted(effect.code for effect in effects if isinstance(effect, Say) and effect.kind == "warn"),
        advice=_sorted(effect.code for effect in effects if isinstance(effect, Say) and effect.kind == "advise"),
        monitoring=_sorted(effect.figure for effect in effects if isinstance(effect, Monitor)),
        disagreements=_sorted(effect.conflict for effect in effects if isinstance(effect, Disagree)),
        fired=frozenset(fired_rules(outcome)),
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
