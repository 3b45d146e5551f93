"""Which verdicts on renting and owning are still possible for a plan that is chosen."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from msgspec import Struct, field

from whichgpu.engine.advisor import compared_facts
from whichgpu.engine.core import Facts, Value, is_number
from whichgpu.engine.interview.partial_plans import Watched
from whichgpu.engine.interview.possible_outcomes import ALWAYS, OpenFacts, TruthValues, truth_values_of
from whichgpu.engine.interview.rule_index import VERDICT, ProcurementRules, RuleIndex, RuleView, written_constants
from whichgpu.engine.plans import Plan
from whichgpu.engine.rules import evaluate


#: What the answer says where no rule gives a verdict.
NONE_GIVEN = "undecided"
#: Up to so many joint values of what is open the comparison of costs is computed for each; of more, for a sample.
_MOST_COMPARISONS = 64
_SAMPLED = 48
#: So many decades beyond the values that rules distinguish a number is tried.
_DECADES = 2


class Verdicts(Struct, frozen=True):
    """The verdicts that some completion could bring, and the askable facts on which it depends."""

    possible: frozenset[Value]
    causes: Mapping[str, float] = field(default_factory=dict)  # askable fact -> what its answer would reveal, in nats
    entropy: float = 0.0  # of the verdict over the sample, in nats

    @property
    def certain(self) -> bool:
        """Whether only one is left."""
        return len(self.possible) == 1

    def beside(self, other: Verdicts, causes: Mapping[str, float]) -> Verdicts:
        """These verdicts and those of another plan that may be the answer in place of the first, as these facts say."""
        possible = self.possible | other.possible
        weights = {**other.causes, **self.causes}
        if len(possible) > max(len(self.possible), len(other.possible)):
            weights = {**causes, **weights}
        return Verdicts(possible, weights, max(self.entropy, other.entropy))


class Draw(Struct, frozen=True):
    """One way in which what is open could turn out: the values, the figures that follow, and the verdict on both."""

    values: Mapping[str, Value | None]
    figures: Mapping[str, Value]
    verdict: Value


class Comparison(Struct, frozen=True):
    """Renting and owning compared while facts are open."""

    facts: Mapping[str, Value]  # what is known, with the figures as things stand
    open_facts: OpenFacts  # with the figures that move
    draws: tuple[Draw, ...] = ()


def compared(rule_index: RuleIndex, facts: Facts, plan: Plan | None, open_facts: OpenFacts) -> Comparison:
    """Compare renting with owning over joint values of what is open.

    All joint values of the facts that the comparison reads, where they are few; else a fixed sample, half of whose
    values are ends of domains, since the sums rise or fall with each number.
    """
    watched = Watched(facts)
    figures = compared_facts(watched, plan, rule_index.advisor.knowledge.gpus)
    known = {**facts, **figures}
    read = open_facts.values.keys() if watched.copied else watched.read & open_facts.values.keys()
    hidden = {name: _with_decades(rule_index, name, _tried(rule_index, name, open_facts)) for name in sorted(read)}
    rules = rule_index.procurement_rules.views
    others = {name for view in rules for name in view.reads} & open_facts.values.keys() - read
    beside = {name: _tried(rule_index, name, open_facts) for name in sorted(others)}
    draws = []
    for overlay in _joint(hidden, beside):
        changed = {name: value for name, value in {**facts, **overlay}.items() if value is not None}
        found = compared_facts(changed, plan, rule_index.advisor.knowledge.gpus) if hidden else figures
        draws.append(Draw(overlay, found, _verdict(rule_index.procurement_rules, {**changed, **found})))
    names = {name for draw in draws for name in draw.figures} | figures.keys()
    spread = {name: {figures.get(name), *(draw.figures.get(name) for draw in draws)} for name in names}
    moving = {name: values for name, values in spread.items() if len(values) > 1}
    wider = _opened(open_facts, moving, rule_index, open_facts.behind(hidden))
    return Comparison(known, wider, tuple(draws))


def _tried(rule_index: RuleIndex, name: str, open_facts: OpenFacts) -> tuple[Value | None, ...]:
    """What a fact may be, with the values that stand for a domain that is not listed; None, that it stays open."""
    values = open_facts.values[name] or rule_index.values.get(name) or ()
    return tuple(dict.fromkeys((None, *values)))


def _with_decades(rule_index: RuleIndex, name: str, values: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The values of a number with powers of ten about them: sums follow it everywhere, not at lines of rules alone."""
    fact = rule_index.advisor.vocabulary.facts[name]
    known = [value for value in values if is_number(value)]
    above = [value for value in known if value > 0]
    if not fact.numeric or not above:
        return values
    least, most = (math.floor(math.log10(end(above))) for end in (min, max))
    powers = [
        10**power if fact.type == "int" else 10.0**power for power in range(least - _DECADES, most + _DECADES + 1)
    ]
    low, high = -math.inf if fact.min is None else fact.min, math.inf if fact.max is None else fact.max
    return (None, *sorted({*known, *(power for power in powers if low <= power <= high)}))


def _joint(
    hidden: Mapping[str, Sequence[Value | None]], beside: Mapping[str, Sequence[Value | None]]
) -> Iterator[dict[str, Value | None]]:
    """Joint values of the facts that the comparison reads, each with some of those that rules alone read."""
    chance = random.Random(len(hidden))  # noqa: S311 - a fixed sample, and no secret
    every = prod(len(values) for values in hidden.values())
    rows = product(*hidden.values()) if every <= _MOST_COMPARISONS else None
    for _ in range(min(every, _MOST_COMPARISONS) if rows else _SAMPLED):
        row = next(rows) if rows else tuple(_drawn(values, chance) for values in hidden.values())
        yield dict(zip(hidden, row, strict=True)) | {name: chance.choice(values) for name, values in beside.items()}


def _drawn(values: Sequence[Value | None], chance: random.Random) -> Value | None:
    return (
        chance.choice((values[1], values[-1])) if len(values) > 1 and chance.random() < 0.5 else chance.choice(values)
    )


def _opened(
    open_facts: OpenFacts, spread: Mapping[str, set[Value | None]], rule_index: RuleIndex, causes: frozenset[str]
) -> OpenFacts:
    wider = OpenFacts(dict(open_facts.values), dict(open_facts.causes))
    facts = rule_index.advisor.vocabulary.facts
    for name in sorted(spread.keys() & facts.keys()):  # No rule reads a figure that is no fact.
        wider.add(name, None if facts[name].numeric else tuple(sorted(spread[name], key=str)), causes)
    return wider


def verdicts_of(rule_index: RuleIndex, compared: Comparison) -> Verdicts:
    """The verdicts that may come of what is known, and how much each open fact would reveal of them.

    A fact reveals what its value takes off the entropy of the verdict over the sample.
    """
    facts, open_facts, procurement_rules = compared.facts, compared.open_facts, rule_index.procurement_rules
    truth_values = {view.rule.id: truth_values_of(view.lines, facts, open_facts) for view in procurement_rules.views}
    possible = _possible(procurement_rules, truth_values, facts, open_facts)
    if len(possible) == 1:
        return Verdicts(possible)
    waiting = [view for view in procurement_rules.views if {True} < truth_values[view.rule.id]]
    # The askable facts behind rules that wait, with how many wait for each.
    waited_for = Counter(cause for view in waiting for cause in open_facts.behind(view.reads))
    entropy = _entropy(Counter(draw.verdict for draw in compared.draws))
    gains = {name: entropy - _left(name, compared.draws) + rules / 1000 for name, rules in waited_for.items()}
    return Verdicts(possible, gains, entropy)


def _left(name: str, draws: Sequence[Draw]) -> float:
    """The entropy of the verdict over the sample that is left once a fact is known, in nats."""
    by_value: dict[Value | None, Counter[Value]] = {}
    for draw in draws:
        by_value.setdefault(draw.values.get(name), Counter())[draw.verdict] += 1
    return sum(_entropy(found) * found.total() for found in by_value.values()) / len(draws)


def _entropy(found: Counter[Value]) -> float:
    return -sum(n / found.total() * math.log(n / found.total()) for n in found.values())


def _verdict(procurement_rules: ProcurementRules, facts: Facts) -> Value:
    """The verdict where nothing is open."""
    truth_values = {view.rule.id: truth_values_of(view.lines, facts, _NOTHING_OPEN) for view in procurement_rules.views}
    return next(iter(sorted(_possible(procurement_rules, truth_values, facts, _NOTHING_OPEN), key=str)))


_NOTHING_OPEN = OpenFacts()


def _possible(
    procurement_rules: ProcurementRules, truth_values: Mapping[str, TruthValues], facts: Facts, open_facts: OpenFacts
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
        if True in truth_values[view.rule.id] and not _beaten(view, procurement_rules, truth_values)
    ]
    possible: set[Value] = set()
    for view in winners:
        for expr, reads in written_constants(view, VERDICT):
            value = None if open_facts.hides(reads) else evaluate(expr, facts)
            possible.add(f"whatever {view.rule.id} says" if value is None else value)
    if not any(truth_values[view.rule.id] == ALWAYS for view in winners):
        possible.add(NONE_GIVEN)
    return frozenset(possible)


def _beaten(view: RuleView, procurement_rules: ProcurementRules, truth_values: Mapping[str, TruthValues]) -> bool:
    """Whether a rule that is sure to stand comes before this one."""
    if any(truth_values[name] == ALWAYS for name in procurement_rules.earlier[view.rule.id]):
        return True
    return any(
        truth_values[name] == ALWAYS and not any(True in truth_values[row] for row in procurement_rules.earlier[name])
        for name in procurement_rules.above[view.rule.id]
    )
