"""Which verdicts on renting and owning are still possible for a plan that is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct, field

from whichgpu.engine.advisor import compute
from whichgpu.engine.core import Facts, Value
from whichgpu.engine.interview.partial_plans import Watched
from whichgpu.engine.interview.possible_outcomes import ALWAYS, OpenFacts, Truths, combinations, overlays, truths_of
from whichgpu.engine.interview.rule_index import VERDICT, ProcurementRules, RuleIndex, RuleView, written_constants
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import evaluate


#: What the answer says where no rule gives a verdict.
NONE_GIVEN = "undecided"
#: At so many joint values of what is open the comparison of costs is computed; with more, its figures may be anything.
_MOST_COMPARISONS = 64


class Verdicts(Struct, frozen=True):
    """The verdicts that some completion could bring, and the askable facts on which it depends."""

    possible: frozenset[Value]
    causes: Mapping[str, float] = field(default_factory=dict)  # askable fact -> how much its answer would tell

    @property
    def settled(self) -> bool:
        """Whether only one is left."""
        return len(self.possible) == 1

    def beside(self, other: Verdicts, causes: Mapping[str, float]) -> Verdicts:
        """These verdicts and those of another plan that may be the answer in place of the first, as these facts say."""
        possible = self.possible | other.possible
        weights = {**other.causes, **self.causes}
        if len(possible) > max(len(self.possible), len(other.possible)):
            weights = {**causes, **weights}
        return Verdicts(possible, weights)


def with_comparison(
    rule_index: RuleIndex, facts: Facts, plan: Plan | None, open_facts: OpenFacts
) -> tuple[dict[str, Value], OpenFacts]:
    """The facts with the figures of renting and owning, and the open facts with those figures that are open."""
    watched = Watched(facts)
    figures = _figures(watched, plan, rule_index)
    known = {**facts, **figures}
    hidden = sorted(open_facts.values if watched.copied else watched.read & open_facts.values.keys())
    if not hidden:
        return known, open_facts
    causes = open_facts.behind(hidden)
    numeric = [name for name in hidden if open_facts.values[name] is None]
    drawn = [figures]
    if not numeric and combinations(hidden, open_facts) <= _MOST_COMPARISONS:
        for overlay in overlays(hidden, open_facts):
            changed = {name: value for name, value in {**facts, **overlay}.items() if value is not None}
            drawn.append(_figures(changed, plan, rule_index))
        names = {name for each in drawn for name in each}
        spread = {name: {each.get(name) for each in drawn} for name in names}
        return known, _opened(open_facts, {n: v for n, v in spread.items() if len(v) > 1}, rule_index, causes)
    facts_of = rule_index.advisor.vocabulary.facts
    moving = {n for n, fact in facts_of.items() if fact.available == "outcome" and fact.scope == "workload"}
    moving -= _OF_THE_PLAN | {VERDICT}
    return known, _opened(open_facts, {name: set() for name in moving}, rule_index, causes)


#: Outcome facts that the plan alone decides, whatever else is answered.
_OF_THE_PLAN = frozenset({"already_owned", "desk_card"})


def _figures(facts: Facts, plan: Plan | None, rule_index: RuleIndex) -> dict[str, Value]:
    claims = compute(facts, plan, gpus=rule_index.advisor.knowledge.gpus).claims
    return {name: values[0].value for name, values in claims.items()}


def _opened(
    open_facts: OpenFacts, spread: Mapping[str, set[Value | None]], rule_index: RuleIndex, causes: frozenset[str]
) -> OpenFacts:
    wider = OpenFacts(dict(open_facts.values), dict(open_facts.causes))
    facts = rule_index.advisor.vocabulary.facts
    for name in sorted(spread.keys() & facts.keys()):  # No rule reads a figure that is no fact.
        values = sorted(spread[name] or {True, False, None}, key=str)
        wider.add(name, tuple(values) if facts[name].type == "bool" else None, causes)
    return wider


def verdicts_of(rule_index: RuleIndex, facts: Facts, open_facts: OpenFacts) -> Verdicts:
    """The verdicts that may come of these facts, and how much each open fact would tell of them.

    An answer tells the more, the fewer verdicts are left once it is in, on average over its possible values.
    """
    procurement_rules = rule_index.procurement_rules
    truths = {view.rule.id: truths_of(view.lines, facts, open_facts) for view in procurement_rules.views}
    possible = _possible(procurement_rules, truths, facts, open_facts)
    if len(possible) == 1:
        return Verdicts(possible)
    told = {}
    waiting = [view for view in procurement_rules.views if {True} < truths[view.rule.id]]
    # The askable facts behind rules that wait, with how many wait for each.
    waited_for = Counter(cause for view in waiting for cause in open_facts.behind(view.reads))
    for name, rules in waited_for.items():
        values = [value for value in open_facts.values.get(name) or () if value is not None]
        readers = [view for view in procurement_rules.views if name in view.reads and True in truths[view.rule.id]]
        left = []
        for value in values:
            lifted = open_facts.without(name, value)
            changed = {view.rule.id: truths_of(view.lines, facts, lifted) for view in readers}
            left.append(len(_possible(procurement_rules, {**truths, **changed}, facts, lifted)))
        average = sum(left) / len(left) if left else float(len(possible))
        told[name] = len(possible) - average + rules / 1000
    return Verdicts(possible, told)


def _possible(
    procurement_rules: ProcurementRules, truths: Mapping[str, Truths], facts: Facts, open_facts: OpenFacts
) -> frozenset[Value]:
    """The verdicts that may come of these facts.

    Sound: a rule counts as winning unless some rule that beats it is sure to stand.
    """
    given = facts.get(VERDICT)
    if given is not None and VERDICT not in open_facts.values:
        return frozenset((given,))
    winners = [
        view
        for view in procurement_rules.views
        if True in truths[view.rule.id] and not _beaten(view, procurement_rules, truths)
    ]
    possible: set[Value] = set()
    for view in winners:
        for expr, reads in written_constants(view, VERDICT):
            value = None if open_facts.hides(reads) else evaluate(expr, facts)
            possible.add(f"whatever {view.rule.id} says" if value is None else value)
    if not any(truths[view.rule.id] == ALWAYS for view in winners):
        possible.add(NONE_GIVEN)
    return frozenset(possible)


def _beaten(view: RuleView, procurement_rules: ProcurementRules, truths: Mapping[str, Truths]) -> bool:
    """Whether a rule that is sure to stand comes before this one."""
    if any(truths[name] == ALWAYS for name in procurement_rules.earlier[view.rule.id]):
        return True
    return any(
        truths[name] == ALWAYS and not any(True in truths[row] for row in procurement_rules.earlier[name])
        for name in procurement_rules.above[view.rule.id]
    )
