"""Which facts could move a decision: those that the deciding rules and calculators read, directly or through others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor import Advisor, Judged, Outcome, PlanRound, Probed, loss_of
from whichgpu.engine.core import registered
from whichgpu.engine.interview import Watched
from whichgpu.engine.plans import TARGETS, TOLERABLE
from whichgpu.engine.rules import Fallback, Points, Rule, evaluate, facts_read


class InfluencingFacts(Struct, frozen=True):
    """The facts that could be changed, and the rules whose thresholds apply to them."""

    facts: tuple[str, ...]
    rules: tuple[Rule, ...]
    first: frozenset[str] = frozenset()  # those that decided at the step of the choice where the GPU lost


def influencing_facts(advisor: Advisor, outcome: Outcome, gpus: frozenset[str]) -> InfluencingFacts:
    """What could bring a GPU in or to the front.

    The deciding rules are those that reject its plans; where one survives, those whose points differ between it and
    the recommendation, those that set their tiers, and those that would speak for it, or make a last choice of what
    beats it, were the workload another.
    """
    deciding = {rule.id: rule for rule in _deciding(advisor, outcome, gpus)}
    read = {name for rule in deciding.values() for name in rule.reads}
    read |= _read_by_plan(advisor, outcome, gpus)
    read |= {"objective", "gpu_candidates", "gpu_excluded"} & advisor.vocabulary.facts.keys()
    names, upstream = upstream_of(advisor, read)
    rules = {**upstream, **deciding}
    first = _decided_at_loss(advisor, outcome, gpus)
    return InfluencingFacts(_changeable(advisor, names, outcome), tuple(rules[name] for name in sorted(rules)), first)


def best_of(outcome: Outcome | Probed, gpus: frozenset[str]) -> Judged | None:
    """The best plan of some GPUs that no rule rejects."""
    return next(judged_of(outcome.round, gpus), None) if outcome.round else None


def judged_of(found: PlanRound, gpus: frozenset[str]) -> Iterator[Judged]:
    """The plans of some GPUs that no rule rejects, the best first; only these are made whole."""
    return (found.judged[place] for place, gpu in enumerate(found.surviving.gpus) if gpu.id in gpus)


def _decided_at_loss(advisor: Advisor, outcome: Outcome, gpus: frozenset[str]) -> frozenset[str]:
    """The facts behind the step of the choice at which a GPU lost; none where figures or points decided."""
    target = best_of(outcome, gpus)
    loss = loss_of(target, outcome.chosen, outcome.round.judged) if target and outcome.round else None
    if target is None or loss is None:
        return frozenset()
    read = {name for rule in loss.rules for name in advisor.rules[rule].reads}
    read |= {*target.missing, *(gap.limit for gap in target.unverified)}
    if loss.kind in ("guide_cards", "guide_counts", "larger", "merit"):
        read.add("objective")
    elif loss.kind == "late":
        read |= {"serving_mode", "objective", *TOLERABLE, *TARGETS}
    elif loss.kind in ("room", "sooner"):
        read |= {*TARGETS, "objective"} & outcome.intake.facts.keys()
    return frozenset(read)


def _changeable(advisor: Advisor, names: Iterable[str], outcome: Outcome) -> tuple[str, ...]:
    """Facts that a person may state, the stated ones first."""
    given = {name for name, fact in outcome.intake.resolved.items() if fact.candidate.origin == "given"}
    facts = advisor.vocabulary.facts
    found = [
        name
        for name in sorted(names)
        if name in facts and facts[name].scope == "workload" and (facts[name].role == "input" or name in given)
    ]
    return tuple(sorted(found, key=lambda name: (name not in given, name)))


def _deciding(advisor: Advisor, outcome: Outcome, gpus: frozenset[str]) -> Iterator[Rule]:
    if outcome.round is None:
        yield from (outcome.no_answer.rules if outcome.no_answer else ())
        return
    for rejection in outcome.round.rejections:
        if rejection.plan.gpu.id in gpus:
            yield from rejection.rules
    target = best_of(outcome, gpus)
    if target is None or outcome.chosen is None:
        return
    differing = _points(target).items() ^ _points(outcome.chosen).items()
    yield from (advisor.rules[rule] for rule, _ in differing if rule in advisor.rules)
    yield from (advisor.rules[rule] for rule in sorted(_tier_rules(target) ^ _tier_rules(outcome.chosen)))
    fired = {award.rule for award in target.ranked.awards}

    def would_speak(rule: Rule) -> bool:
        return rule.id not in fired and any(isinstance(e, Points) and e.points > 0 for e in rule.effects)

    def would_set_back(rule: Rule) -> bool:
        return any(isinstance(effect, Fallback) for effect in rule.effects)

    yield from _but_for_the_workload(advisor, outcome, target, would_speak)
    loss = loss_of(target, outcome.chosen, outcome.round.judged)
    for other in (outcome.chosen, loss.to) if loss else (outcome.chosen,):
        yield from _but_for_the_workload(advisor, outcome, other, would_set_back)


def _points(entry: Judged) -> dict[str, float]:
    return {award.rule: award.points for award in entry.ranked.awards if award.rule and award.counted}


def _tier_rules(entry: Judged) -> set[str]:
    return {*entry.fallbacks, *entry.card_bands, *entry.count_bands}


def _but_for_the_workload(
    advisor: Advisor, outcome: Outcome, entry: Judged, wanted: Callable[[Rule], bool]
) -> Iterator[Rule]:
    """Such prefer rules as only the workload keeps from firing for a plan: what they say of its GPU holds."""
    facts = {**outcome.final.facts, **entry.facts}
    for rule in filter(wanted, advisor.stages.prefer.rules):
        of_the_gpu = [c.expr for c in rule.when if any(name.startswith("gpu.") for name in facts_read(c.expr))]
        if of_the_gpu and all(evaluate(expr, facts) is True for expr in of_the_gpu):
            yield rule


def _read_by_plan(advisor: Advisor, outcome: Outcome, gpus: frozenset[str]) -> set[str]:
    """The workload facts that sizing, speed and cost of a GPU's best plan look at: seen by making the plan again."""
    facts = Watched(outcome.intake.facts)
    maker = advisor.context.plan_maker(outcome.model, replace(outcome.intake, facts=facts))
    judged, rejections = (outcome.round.judged, outcome.round.rejections) if outcome.round else ((), ())
    plans = [*(entry.ranked.plan for entry in judged), *(entry.plan for entry in rejections)]
    for plan in [plan for plan in plans if plan.gpu.id in gpus][:1]:
        maker.plan(plan.gpu, plan.count, plan.why_count)
    return facts.read & advisor.vocabulary.facts.keys()


def upstream_of(advisor: Advisor, names: Iterable[str]) -> tuple[set[str], dict[str, Rule]]:
    """All facts that these follow from, themselves included, and the derive rules on the way."""
    calculators = registered()
    writers: dict[str, list[Rule]] = {}
    for rule in advisor.rulebook.rules:
        if rule.stage == "derive":
            for name in rule.writes:
                writers.setdefault(name, []).append(rule)
    found: set[str] = set()
    rules: dict[str, Rule] = {}
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name in calculators:
            waiting += [*calculators[name].needs, *calculators[name].uses]
        for rule in writers.get(name, ()):
            rules[rule.id] = rule
            waiting += sorted(rule.reads)
    return found, rules
