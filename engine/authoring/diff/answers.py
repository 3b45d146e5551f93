"""What a workload is answered, in so few words that two answers can be laid side by side."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import (
    Advisor,
    DecisionContext,
    Objective,
    Outcome,
    PlanRound,
    ResolvedIntake,
    fired_rules,
    load_advisor,
)
from whichgpu.engine.authoring.diff.concern import Shares
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import Facts, Value, WhichgpuError, distinct, locate, use_knowledge
from whichgpu.engine.plans import PlanMaker, PlanTable, candidate_plans
from whichgpu.engine.rules import Disagree, Monitor, ResolvedFacts, Say, probing
from whichgpu.engine.sizing import Job


NOTHING_SHARED = Shares()
#: Keys of a workload that no vocabulary has to know.
_PLAIN_KEYS = frozenset({"id", "gpu", "count"})


class Edition(Struct, frozen=True):
    """A rulebook to load: the shipped one or one's own, with layers over it."""

    label: str
    layers: tuple[Path, ...] = ()
    own_rules: Path | None = None
    knowledge_folder: Path | None = None

    def load(self, *, tests: bool = True) -> Advisor:
        """Load it. Raises RulebookError and KnowledgeError.

        Args:
            tests: with the tests inside rules; answers need none.
        """
        return load_advisor(self.layers, own_rules=self.own_rules, knowledge_folder=self.knowledge_folder, tests=tests)

    def content(self) -> list[str]:
        """A digest of the files of each folder that it is made of, in order; a folder without files adds none."""
        knowledge = self.knowledge_folder or locate("knowledge")
        folders = distinct((knowledge, self.own_rules or locate("rules"), *self.layers))
        return [digest for folder in folders if (digest := _files_digest(folder))]


def _files_digest(folder: Path) -> str | None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest() if files else None


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
    fired: frozenset[str] = frozenset()  # every rule that fired, on the workload or on any plan, where answers differ
    refused: str | None = None

    def differs_from(self, other: Answer) -> tuple[str, ...]:
        """The parts that are not the same, the weightiest first."""
        if self.refused or other.refused:
            return () if self.refused == other.refused else ("refused",)
        return tuple(part for part in PARTS if getattr(self, part) != getattr(other, part))


#: What an answer is made of, in the order in which a difference matters.
PARTS = tuple(part for part in Answer.__struct_fields__ if part not in {"fired", "refused"})


class Pair(Struct, frozen=True):
    """The answers of both editions to one workload, and which of the rules looked for fired in either."""

    old: Answer
    new: Answer
    met: frozenset[str] = frozenset()


def answer_pairs(
    old: Advisor,
    new: Advisor,
    workloads: Iterable[Mapping[str, Any]],
    moment: datetime,
    shares: Shares = NOTHING_SHARED,
    wanted: frozenset[str] = frozenset(),
) -> list[Pair]:
    """The answers of both editions, in order. Facts that an edition does not know are left out for it.

    Args:
        old: what the other is measured against.
        new: the edition that is judged.
        workloads: raw facts.
        moment: the time at which both decide.
        shares: what they have in common; what is shared is decided once.
        wanted: rules that are reported to have fired, on the first workloads on which they do.
    """
    results = _SharedResults()
    was, now = results.shared_by(old, shares), results.shared_by(new, shares)
    pairs = []
    for workload in workloads:
        one, other = (_decided(advisor, workload, moment) for advisor in (was, now))
        was_said, said = (each if isinstance(each, Answer) else summary_of(each) for each in (one, other))
        pair = Pair(was_said, said)
        if wanted or pair.old.differs_from(pair.new):
            was_said, said = (each if isinstance(each, Answer) else with_fired(each) for each in (one, other))
            pair = Pair(was_said, said, (was_said.fired | said.fired) & wanted)
            wanted -= pair.met
        pairs.append(pair)
    return pairs


class _SharedResults:
    """What was just made for one edition, for the other to use."""

    _KEPT = 3  # A workload that trains and serves is planned three times at most.

    def __init__(self) -> None:
        self._made: dict[str, deque[tuple[object, Any]]] = {}

    def shared_by(self, advisor: Advisor, shares: Shares) -> Advisor:
        """The advisor, which looks here before it makes what is shared; plans for the same facts always are."""
        own = {name: getattr(advisor.context, name) for name in advisor.context.__struct_fields__}
        context = _Sharing(**{**own, "make_plans": self._plans, "results": self, "shares": shares})
        return replace(advisor, context=context)

    def once(self, kind: str, key: object, make: Callable[[], Any]) -> Any:
        """What was made for an equal key, or else what is made now."""
        made = self._made.setdefault(kind, deque(maxlen=self._KEPT))
        for known, value in made:
            if known == key:
                return value
        made.append((key, make()))
        return made[-1][1]

    def _plans(
        self, job: Job, facts: Facts, knowledge: Knowledge, asked: Mapping[int, str], *, maker: PlanMaker
    ) -> PlanTable:
        key = (job, facts, knowledge.digest, asked)
        plans: PlanTable = self.once("plans", key, lambda: candidate_plans(job, facts, knowledge, asked, maker=maker))
        return plans


class _Sharing(DecisionContext, frozen=True):
    """Decides with what the other edition has decided already."""

    results: Any = None
    shares: Shares = NOTHING_SHARED

    def resolve(self, given: Mapping[str, Value]) -> ResolvedIntake:
        """What the facts come to before any plan."""
        use_knowledge(self.in_use)
        resolve = super().resolve
        if not self.shares.intake:
            return resolve(given)
        found: ResolvedIntake = self.results.once("intake", dict(given), lambda: resolve(given))
        return found

    def plan_round(
        self, maker: PlanMaker, intake: ResolvedFacts, objective: Objective, *, banded: bool = True
    ) -> PlanRound:
        """The plans of one resolved workload, judged."""
        judge = partial(super().plan_round, maker, intake, objective, banded=banded)
        if not self.shares.round:
            return judge()
        key = (id(intake), objective, banded)  # The intake is the very same one, and the results keep it.
        found: PlanRound = self.results.once("round", key, judge)
        return found


@probing()
def answer_of(advisor: Advisor, workload: Mapping[str, Any], moment: datetime) -> Answer:
    """What the expert says of one workload."""
    found = _decided(advisor, workload, moment)
    return found if isinstance(found, Answer) else with_fired(found)


@probing()
def _decided(advisor: Advisor, workload: Mapping[str, Any], moment: datetime) -> Outcome | Answer:
    """The decision, or why the workload is refused."""
    try:
        return advisor.decide(known_facts(advisor, workload), decided_at=moment).outcome
    except WhichgpuError as error:
        return Answer(refused=error.problems[0].message)


def known_facts(advisor: Advisor, workload: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a workload that an edition knows."""
    words = advisor.vocabulary
    return {
        name: value
        for name, value in workload.items()
        if name in _PLAIN_KEYS or words.fact(name) or words.conditional_aliases(name)
    }


def with_fired(outcome: Outcome) -> Answer:
    """``summary_of`` with every rule that fired on any plan, which looks at all plans."""
    return replace(summary_of(outcome), fired=frozenset(fired_rules(outcome)))


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
    )


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
