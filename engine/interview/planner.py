"""The next question: the open fact that can still change the GPU, the count or the verdict, or none."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from datetime import datetime

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.advisor import Decision
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.advisor.outcome import Judged
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview.certificate import Unasked
from whichgpu.engine.interview.order import by_topic
from whichgpu.engine.interview.order import pick
from whichgpu.engine.interview.plan_contest import Extra
from whichgpu.engine.interview.plan_contest import contest_of
from whichgpu.engine.interview.plan_contest import extra_counts
from whichgpu.engine.interview.possible_outcomes import NEVER
from whichgpu.engine.interview.possible_outcomes import Fog
from whichgpu.engine.interview.possible_outcomes import truths_of
from whichgpu.engine.interview.reasons import unasked_of
from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.interview.rule_index import draw_atlas
from whichgpu.engine.interview.settling import fog_over
from whichgpu.engine.interview.shapes import Shapes
from whichgpu.engine.interview.shapes import Workshop
from whichgpu.engine.interview.state import State
from whichgpu.engine.interview.verdict import Verdicts
from whichgpu.engine.interview.verdict import verdicts_of
from whichgpu.engine.interview.verdict import with_ledger
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.resolution.model import Settlement


#: Wishes that no rule reads, since ranking itself does.
_READ_BY_RANKING = frozenset({"objective"})
#: Facts by which others are looked up: asked before the facts that they settle.
KEYS = ("model_name",)


@dataclass(frozen=True, slots=True)
class Question:
    """A fact to ask, and what hangs on it: the plans, the choice among them, or the verdict on renting."""

    fact: FactDef
    bears_on: str  # "start", "plans", "choice" or "verdict"
    also_open: tuple[str, ...] = ()  # other facts that would be asked for the same reason


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing that may be asked can change the answer any more."""

    certificate: tuple[Unasked, ...]
    offered: tuple[str, ...] = ()  # wishes and rare facts that may still be stated


@dataclass(frozen=True, slots=True)
class View:
    """What is known at one state, before any question is judged."""

    given: Mapping[str, Value]
    intake: Settlement
    open: tuple[str, ...]
    fog: Fog
    later: frozenset[str] = frozenset()  # open facts that another answer may yet make pointless

    def now(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """The facts that no other answer can make pointless, or all where there are none."""
        return {name: weight for name, weight in weights.items() if name not in self.later} or weights


@dataclass
class Interviewer:
    """Asks for one advisor. Keeps plans between steps; its answers depend on the state alone."""

    advisor: Advisor
    moment: datetime  # of the decision; the age of prices is computed from it
    atlas: Atlas = field(init=False)
    workshop: Workshop = field(init=False)
    _outcomes: dict[tuple[tuple[str, Value], ...], Decision] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the rules."""
        self.atlas = draw_atlas(self.advisor)
        self.workshop = Workshop(self.atlas)

    def decide(self, state: State) -> Decision:
        """The decision on what is known so far. Raises InputError where it contradicts the catalogue."""
        key = tuple(sorted(state.given.items()))
        if key not in self._outcomes:
            self._outcomes[key] = self.advisor.decide(Workload(dict(state.given)), decided_at=self.moment)
        return self._outcomes[key]

    def next_question(self, state: State) -> Question | Done:
        """What to ask next, or what was not asked and why."""
        facts = self.advisor.vocabulary.facts
        for name in sorted(name for name, fact in facts.items() if fact.settle == "must_ask"):
            if name not in state.answered:
                return Question(facts[name], "start")
        view = self.view(state)
        keys = [name for name in KEYS if name in view.open and name not in state.skipped]
        if keys and self._sizes(view, keys):
            return Question(facts[keys[0]], "plans")
        topics = by_topic(view.open, facts, last=state.skipped)
        extra = extra_counts(self.atlas, view.intake.facts, view.fog)
        shapes = self.workshop.shapes(view.given, view.fog, topics, extra.counts)
        if shapes.shaping:
            chosen = pick(view.now(dict.fromkeys(shapes.shaping, 1.0)), self.atlas, state)
            return Question(facts[chosen], "plans", _others(shapes.shaping, chosen))
        return self._choose(state, view, shapes, extra)

    def _choose(self, state: State, view: View, shapes: Shapes, extra: Extra) -> Question | Done:
        """The plans stand: can the choice among them still change, or the verdict?"""
        facts = self.advisor.vocabulary.facts
        outcome = self.decide(state).outcome
        fog = _with_moved(view.fog, shapes)
        contest = contest_of(self.atlas, outcome, fog, extra)
        weights = contest.weights(view.open)
        if weights:
            chosen = pick(view.now(weights), self.atlas, state)
            return Question(facts[chosen], "choice", _others(weights, chosen))
        verdicts = self._verdicts(outcome, outcome.chosen, contest.fog)
        by_name = {entry.ranked.plan.id: entry for entry in outcome.round.judged} if outcome.round else {}
        for heir in contest.rivalry.heirs:
            # Another split of the same GPUs is the same answer, as long as the verdict is the same.
            other = self._verdicts(outcome, by_name.get(heir.plan, outcome.chosen), contest.fog)
            verdicts = verdicts.beside(other, heir.causes)
        weights = {name: float(n) for name, n in verdicts.causes.items() if name in view.open}
        if weights and not verdicts.settled:
            chosen = pick(view.now(weights), self.atlas, state)
            return Question(facts[chosen], "verdict", _others(weights, chosen))
        return Done(unasked_of(self.atlas, view.open, view.fog, shapes, contest, verdicts), self._offered(view))

    def view(self, state: State) -> View:
        """What is known at a state and what is open."""
        given = state.given
        intake, _ = self.advisor.bench.settle(given)
        open_facts = tuple(
            name for name in self.atlas.ranging if name not in state.answered and self._is_open(name, intake)
        )
        fog = fog_over(self.atlas, intake, open_facts)
        sensible = {name: truths_of((line,), intake.facts, fog) for name, line in self.atlas.asked_when.items()}
        open_facts = tuple(name for name in open_facts if sensible.get(name) != NEVER)
        fog = fog_over(self.atlas, intake, open_facts)
        _drop_contradictions(self.atlas, intake, fog, open_facts)
        later = frozenset(name for name in open_facts if False in sensible.get(name, ()))
        return View(given, intake, open_facts, fog, later)

    def _is_open(self, name: str, intake: Settlement) -> bool:
        """Whether nobody has said anything better than an assumption.

        In which precision weights are kept is the person's choice, whatever form the model was published in.
        """
        settled = intake.settled.get(name)
        if settled is None or settled.claim.origin == "assumed":
            return True
        return settled.claim.origin == "looked_up" and self.advisor.vocabulary.facts[name].topic == "precision"

    def _sizes(self, view: View, keys: Sequence[str]) -> bool:
        """Whether a look-up would tell something that is not known."""
        return any(name in view.open for name in ("param_count_b", "model_family", "is_moe")) and bool(keys)

    def _verdicts(self, outcome: Outcome, judged: Judged | None, fog: Fog) -> Verdicts:
        shared = outcome.round.survey.facts if outcome.round else outcome.intake.facts
        known, wider = with_ledger(self.atlas, shared, judged.ranked.plan if judged else None, fog)
        return verdicts_of(self.atlas, {**known, **(judged.facts if judged else {})}, wider)

    def _offered(self, view: View) -> tuple[str, ...]:
        """Wishes and rare facts that nobody stated and that some rule which may still hold reads."""
        facts = self.advisor.vocabulary.facts
        names = [
            name
            for name, fact in facts.items()
            if fact.scope == "workload"
            and fact.role != "output"
            and fact.question
            and (fact.askable == "on_request" or (fact.wish and fact.askable != "never"))
            and name not in view.given
        ]
        read = self.workshop.draft(view.given).read
        fog = fog_over(self.atlas, view.intake, [*view.open, *names])
        views = (*self.atlas.rejecting, *self.atlas.preferring, *self.atlas.advising, *self.atlas.counting)
        live = {
            name
            for rule in views
            if any(name in rule.reads for name in names) and True in truths_of(rule.shared, view.intake.facts, fog)
            for name in rule.reads
        }
        return tuple(
            name for topic in by_topic(names, facts) for name in topic if name in live | read | _READ_BY_RANKING
        )


def _drop_contradictions(atlas: Atlas, intake: Settlement, fog: Fog, open_facts: Iterable[str]) -> None:
    """Leave out values that what is known rules out: nobody can answer so."""
    for name in open_facts:
        values = fog.values.get(name)
        rules = [view for view in atlas.contradicting if name in view.reads]
        if values is None or not rules:
            continue
        fits = []
        for value in values:
            alone = Fog({**fog.values, name: (value,)}, fog.causes)
            if not any(truths_of(view.lines, intake.facts, alone) == {True} for view in rules):
                fits.append(value)
        fog.values[name] = tuple(fits) or values


def _with_moved(fog: Fog, shapes: Shapes) -> Fog:
    moved = Fog(dict.fromkeys(shapes.moved), dict(shapes.moved))
    return fog.merged(moved)


def _others(names: Iterable[str], chosen: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name != chosen))
