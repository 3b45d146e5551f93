"""The next question: the open fact that can still change the GPU, the count or the verdict, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, Decision, DecisionContext, Judged, Outcome, Workload
from whichgpu.engine.core import Value, collection_paused
from whichgpu.engine.interview.asking_order import STAY, by_topic, pick
from whichgpu.engine.interview.certificate import Unasked, answered, unasked_of
from whichgpu.engine.interview.open_choice import Extra, extra_counts, open_choice_of
from whichgpu.engine.interview.plan_variations import PlanShapes, PlanVariations
from whichgpu.engine.interview.possible_outcomes import ALWAYS, NEVER, OpenFacts, truth_values_of
from whichgpu.engine.interview.resolving import live_rules, open_facts_over
from whichgpu.engine.interview.rule_index import RuleIndex, index_rules
from whichgpu.engine.interview.state import State
from whichgpu.engine.interview.sureness import AnswerSamples, Sureness, usual_values
from whichgpu.engine.interview.verdict import Verdicts, compared, verdicts_of
from whichgpu.engine.rules import FactDef, ResolvedFacts, probing


#: Wishes that no rule reads, since ranking itself does.
_READ_BY_RANKING = frozenset({"objective"})
#: What the name of a model implies.
_IMPLIED_BY_NAME = ("param_count_b", "model_family", "is_moe")
#: Of the facts that are open for a reason, this share comes to be asked, a line for each (``benchmarks/interview.py``).
ASKED_SHARE = {"start": 0.3, "plans": 0.3, "choice": 0.8, "verdict": 0.15}
#: Facts by which others are looked up: asked before the facts that they resolve.
KEYS = ("model_name",)
#: Facts that people know together and write on one line: how much is served, what a batch holds, how much is used.
ON_ONE_LINE = (
    ("context_tokens", "peak_qps", "concurrency", "requests_total"),
    ("video_streams", "frames_per_second"),
    ("batch_size_per_gpu", "seq_len_tokens", "image_px", "train_tokens_b"),
    ("utilization_pct", "project_months", "monthly_cloud_spend_usd"),
)
#: Facts by which more plans stand or fall than by any other, and that need no looking up: asked next.
EARLY = ("deployment_site",)


class Question(Struct, frozen=True):
    """A fact to ask, and what depends on it: the plans, the choice among them, or the verdict on renting."""

    fact: FactDef
    affects: str  # "start", "plans", "choice" or "verdict"
    also_open: tuple[str, ...] = ()  # other facts that would be asked for the same reason
    together: tuple[FactDef, ...] = ()  # of these, the ones asked on the same line


class Done(Struct, frozen=True):
    """Nothing that may be asked can change the answer any more."""

    certificate: tuple[Unasked, ...]
    offered: tuple[str, ...] = ()  # wishes and rare facts that may still be stated


class View(Struct, frozen=True):
    """What is known at one state, before any question is judged."""

    given: Mapping[str, Value]
    intake: ResolvedFacts
    open: tuple[str, ...]
    open_facts: OpenFacts
    later: frozenset[str] = frozenset()  # open facts that another answer may yet make pointless

    def now(self, weights: Mapping[str, float]) -> Mapping[str, float]:
        """The facts that no other answer can make pointless, or all where there are none."""
        return {name: weight for name, weight in weights.items() if name not in self.later} or weights


@dataclass
class Interviewer:
    """Asks for one advisor. Keeps plans between steps; its answers depend on the state alone."""

    advisor: Advisor
    moment: datetime  # of the decision; the age of prices is computed from it
    rule_index: RuleIndex = field(init=False)
    variations: PlanVariations = field(init=False)
    context: DecisionContext | None = None  # for what is only tried; one that keeps plans saves most of the work
    samples: AnswerSamples = field(init=False)
    _steps: dict[State, Question | Done] = field(default_factory=dict)
    _views: dict[State, View] = field(default_factory=dict)
    _outcomes: dict[tuple[tuple[str, Value], ...], Decision] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the rules."""
        self.rule_index = index_rules(self.advisor)
        self.variations = PlanVariations(self.rule_index)
        facts = self.advisor.vocabulary.facts
        usual = {name: usual_values(facts[name], self.rule_index.values[name]) for name in self.rule_index.ranging}
        context, asked_when = self.context or self.advisor.context, self.rule_index.asked_when
        self.samples = AnswerSamples(self.advisor, context, self.moment.date(), usual, asked_when)

    def decide(self, state: State) -> Decision:
        """The decision on what is known so far. Raises InputError where it contradicts the catalogue."""
        key = tuple(sorted(state.given.items()))
        if key not in self._outcomes:
            with probing():
                self._outcomes[key] = self.final(state)
        return self._outcomes[key]

    def final(self, state: State) -> Decision:
        """``decide`` for a record: durable-rules confirms what the generated evaluator fires."""
        return self.advisor.decide(Workload(dict(state.given)), decided_at=self.moment)

    def next_question(self, state: State) -> Question | Done:
        """What to ask next, or what was not asked and why."""
        if state not in self._steps:
            with collection_paused(), probing():
                self._steps[state] = self._next_step(state)
        return self._steps[state]

    def questions_left(self, state: State) -> int:
        """About how many questions are left; 0 where nothing is."""
        step = self.next_question(state)
        if isinstance(step, Done):
            return 0
        waiting = step.also_open if step.affects in {"choice", "verdict"} else self.view(state).open
        return 1 + round(ASKED_SHARE[step.affects] * len(waiting))

    def _next_step(self, state: State) -> Question | Done:
        facts = self.advisor.vocabulary.facts
        for name in sorted(name for name, fact in facts.items() if fact.when_unstated == "must_ask"):
            if name not in state.answered:
                return Question(facts[name], "start")
        view = self.view(state)
        keys = [name for name in KEYS if name in view.open and name not in state.skipped]
        if keys and any(name in view.open for name in _IMPLIED_BY_NAME):
            return Question(facts[keys[0]], "plans")
        early = [name for name in EARLY if name in view.open and name not in state.skipped]
        if early and not any(name in view.open for name in _IMPLIED_BY_NAME):
            return Question(facts[early[0]], "plans", tuple(name for name in view.open if name not in early))
        topics = self._in_order(view, state)
        extra = extra_counts(self.rule_index, view.intake.facts, view.open_facts)
        shapes = self.variations.shapes(view.given, view.open_facts, topics, extra.counts)
        if shapes.shaping:
            asked = self._ask(dict.fromkeys(shapes.shaping, 1.0), "plans", view, state)
            together = [n for n in self._known_together(asked.fact.name, view, state) if n not in asked.also_open]
            alone = self.variations.shape_alone(view.given, view.open_facts, together, extra.counts)
            return replace(asked, together=(*asked.together, *(facts[name] for name in alone)))
        return self._choose(state, view, shapes, extra)

    def _in_order(self, view: View, state: State) -> list[list[str]]:
        """The open facts by topic, in each those first that no other answer makes pointless and more rules read."""
        facts, readers = self.advisor.vocabulary.facts, self.rule_index.readers

        def place(name: str) -> tuple[bool, bool, int, str]:
            return name in view.later, facts[name].askable != "always", -readers.get(name, 0), name

        return [sorted(topic, key=place) for topic in by_topic(view.open, facts, last=state.skipped)]

    def _choose(self, state: State, view: View, shapes: PlanShapes, extra: Extra) -> Question | Done:
        """The plans stand: can the choice among them still change, or the verdict?"""
        outcome = self.decide(state).outcome
        known = view.open_facts
        open_facts = OpenFacts({**known.values, **dict.fromkeys(shapes.moved)}, {**known.causes, **shapes.moved})
        choice = open_choice_of(self.rule_index, outcome, open_facts, extra)
        weights = choice.weights(view.open)
        if weights:
            return self._ask(weights, "choice", view, state)
        verdicts = self._verdicts(outcome, outcome.chosen, choice.open_facts)
        by_name = {entry.ranked.plan.id: entry for entry in outcome.round.judged} if outcome.round else {}
        for split in choice.bounds.other_splits:
            # Another split of the same GPUs is the same answer, as long as the verdict is the same.
            other = self._verdicts(outcome, by_name.get(split.plan, outcome.chosen), choice.open_facts)
            verdicts = verdicts.beside(other, split.causes)
        weights = {name: float(n) for name, n in verdicts.causes.items() if name in view.open}
        if weights and not verdicts.certain:
            asked = self._ask(weights, "verdict", view, state)
            # One answer that decides most of the verdict is asked alone: it may be all that is needed.
            alone = weights[asked.fact.name] >= STAY * verdicts.entropy
            return replace(asked, together=()) if alone else asked
        unasked = unasked_of(self.rule_index, view.open, view.open_facts, shapes, choice, verdicts)
        return Done(unasked, self._offered(view))

    def _ask(self, weights: Mapping[str, float], affects: str, view: View, state: State) -> Question:
        """The question after one of these facts."""
        chosen = pick(view.now(weights), self.rule_index, state)
        others = tuple(sorted(name for name in weights if name != chosen))
        facts = self.advisor.vocabulary.facts
        near = weights[chosen] * STAY
        together = [name for name in self._known_together(chosen, view, state) if weights.get(name, 0.0) >= near]
        return Question(facts[chosen], affects, others, tuple(facts[name] for name in together))

    def _known_together(self, chosen: str, view: View, state: State) -> list[str]:
        """Open facts that are known together with one, and that no other answer makes pointless."""
        lines = [line for line in ON_ONE_LINE if chosen in line]
        late = {*view.later, *state.skipped, chosen}
        return [name for line in lines for name in line if name in view.open and name not in late]

    @collection_paused()
    def sureness(self, state: State) -> Sureness:
        """In how many samples of what is open the answer stays."""
        view = self.view(state)
        return self.samples.sureness(state.given, view.intake.facts, answered(self.decide(state).outcome), view.open)

    def view(self, state: State) -> View:
        """What is known at a state and what is open."""
        if state not in self._views:
            self._views[state] = self._viewed(state)
        return self._views[state]

    def _viewed(self, state: State) -> View:
        given = state.given
        intake, _ = self.advisor.context.resolve(given)
        open_names = tuple(
            name for name in self.rule_index.ranging if name not in state.answered and self._is_open(name, intake)
        )
        open_facts = open_facts_over(self.rule_index, intake, open_names)
        sensible = {
            name: truth_values_of((line,), intake.facts, open_facts)
            for name, line in self.rule_index.asked_when.items()
        }
        open_names = tuple(name for name in open_names if sensible.get(name) != NEVER)
        open_facts = open_facts_over(self.rule_index, intake, open_names)
        _drop_contradictions(self.rule_index, intake, open_facts, open_names)
        later = frozenset(name for name in open_names if False in sensible.get(name, ()))
        return View(given, intake, open_names, open_facts, later)

    def _is_open(self, name: str, intake: ResolvedFacts) -> bool:
        """Whether nothing better than an assumption is known.

        In which precision weights are kept is the person's choice, whatever form the model was published in.
        """
        known = intake.resolved.get(name)
        if known is None or known.candidate.origin == "assumed":
            return True
        return known.candidate.origin == "looked_up" and self.advisor.vocabulary.facts[name].topic == "precision"

    def _verdicts(self, outcome: Outcome, judged: Judged | None, open_facts: OpenFacts) -> Verdicts:
        shared = outcome.round.survey.facts if outcome.round else outcome.intake.facts
        own = judged.facts if judged else {}
        plan = judged.ranked.plan if judged else None
        return verdicts_of(self.rule_index, compared(self.rule_index, {**shared, **own}, plan, open_facts))

    def _offered(self, view: View) -> tuple[str, ...]:
        """Wishes and rare facts that are not stated and that some rule which may still hold reads."""
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
        read = self.variations.partial_plans(view.given).read
        open_facts = open_facts_over(self.rule_index, view.intake, [*view.open, *names])
        rules = live_rules(self.rule_index, names, view.intake.facts, open_facts)
        live = {name for rule in rules for name in rule.reads}
        return tuple(
            name for topic in by_topic(names, facts) for name in topic if name in live | read | _READ_BY_RANKING
        )


def _drop_contradictions(
    rule_index: RuleIndex, intake: ResolvedFacts, open_facts: OpenFacts, open_names: Iterable[str]
) -> None:
    """Leave out values that what is known rules out: no one can answer so."""
    for name in open_names:
        values = open_facts.values.get(name)
        rules = [view for view in rule_index.contradicting if name in view.reads]
        if values is None or not rules:
            continue
        tried = [(value, open_facts.without(name, value)) for value in values]
        fits = [v for v, alone in tried if all(truth_values_of(r.lines, intake.facts, alone) != ALWAYS for r in rules)]
        open_facts.values[name] = tuple(fits) or values
