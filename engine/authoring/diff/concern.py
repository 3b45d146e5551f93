"""Which workloads can meet a rule that differs: all others get the same answer from both editions, undecided or not.

Both decide by the same stages in the same order. While no rule that differs matches, each stage sees in both the same
facts and comes to the same; a rule whose condition on the facts of the workload fails cannot match on any plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.diff.rulediff import RuleChange
from whichgpu.engine.core import Facts
from whichgpu.engine.rules import Compiled, Rule, compile_expr, facts_read


#: Stages that come after the plans are ranked: a change of theirs leaves plans, and who is first, as they were.
_AFTER_RANKING = frozenset({"advise"})
#: Facts that bring in the GPUs that ``candidate`` rules look at.
_NAMING = frozenset({"gpu_candidates", "current_gpu"})


class _Bar(Struct, frozen=True):
    """A condition of a rule that only facts known before any plan decide."""

    reads: frozenset[str]
    holds: Compiled


class _Screened(Struct, frozen=True):
    """A rule that differs, with what keeps it from matching."""

    bars: tuple[_Bar, ...]
    candidates_only: bool
    may_wait: bool  # a reject rule that lacks a fact leaves a plan unproven


class Concern:
    """Tells the workloads that can meet a rule that differs from those that cannot."""

    def __init__(self, rules: Iterable[Rule], later: frozenset[str], unstated: frozenset[str]) -> None:
        """Prepare.

        Args:
            rules: those that differ, as they were and as they are.
            later: facts of a workload that are known only once there are plans.
            unstated: facts whose absence keeps no plan from being proven.
        """
        self._unstated = unstated
        self._screened = [_screened(rule, later) for rule in rules]

    def may_meet(self, given: Facts, resolve: Callable[[], Facts]) -> bool:
        """Whether some rule could match on a workload.

        Args:
            given: its facts as stated.
            resolve: what they come to before any plan; asked for only where the stated facts do not decide.
        """
        if given.get("trains_and_serves") is True:  # Another phase is decided on other facts.
            return True
        waiting = [rule for rule in self._screened if not self._barred(rule, given, final=False)]
        if not waiting:
            return False
        facts = resolve()
        return facts.get("trains_and_serves") is True or any(not self._barred(r, facts, final=True) for r in waiting)

    def _barred(self, rule: _Screened, facts: Facts, *, final: bool) -> bool:
        if final and rule.candidates_only and not facts.keys() & _NAMING:
            return True
        for bar in rule.bars:
            if final or bar.reads <= facts.keys():
                holds = bar.holds(facts)
                if holds is False or (final and holds is None and self._no_objection(rule, bar, facts)):
                    return True
        return False

    def _no_objection(self, rule: _Screened, bar: _Bar, facts: Facts) -> bool:
        """Whether a rule that lacks a fact of the workload for good comes to nothing."""
        return not rule.may_wait or any(name in self._unstated for name in bar.reads - facts.keys())


def _screened(rule: Rule, later: frozenset[str]) -> _Screened:
    bars = []
    for condition in rule.when:
        reads = frozenset(facts_read(condition.expr))
        if not reads & later and not any("." in name for name in reads):
            bars.append(_Bar(reads, compile_expr(condition.expr)))
    return _Screened(tuple(bars), rule.each == "candidate", rule.stage == "reject" and rule.each == "plan")


class Shares(Struct, frozen=True):
    """What one decision of a workload may take from the other edition's."""

    intake: bool = False
    round: bool = False


def rules_apart(changes: Iterable[RuleChange]) -> list[Rule]:
    """The rules that may answer differently, as they were and as they are; another id may break a tie."""
    return [rule for change in changes if change.decisive or change.kind == "renamed" for rule in change.both]


def concern_of(before: Advisor, after: Advisor, changes: Sequence[RuleChange]) -> Concern | None:
    """What identifies the workloads concerned; None where more differs than rules, so that any may be."""
    if not _alike_but_for_rules(before, after):
        return None
    moments, earlier = _moments(after), _moments(before)
    if any(moments[name] != moment for name, moment in earlier.items()):
        return None  # A fact is resolved at another moment: rules that did not change see it earlier or later.
    return concern_with(rules_apart(changes), after)


def concern_with(rules: Iterable[Rule], advisor: Advisor) -> Concern:
    """What identifies the workloads concerned where these rules alone differ, given as they were and as they are."""
    later = frozenset(name for name, moment in _moments(advisor).items() if moment != "intake")
    return Concern(rules, later, advisor.context.unstated)


def shares_of(before: Advisor, after: Advisor, changes: Sequence[RuleChange]) -> Shares:
    """What the decisions have in common whichever rules match."""
    if not _alike_but_for_rules(before, after) or before.vocabulary.facts != after.vocabulary.facts:
        return Shares()
    if any(rule.stage == "derive" and rule.each == "workload" for rule in rules_apart(changes)):
        return Shares()
    return Shares(intake=True, round=all(rule.stage in _AFTER_RANKING for rule in rules_apart(changes)))


def _moments(advisor: Advisor) -> Mapping[str, str]:
    return {name: fact.available for name, fact in advisor.vocabulary.facts.items()}


def _alike_but_for_rules(before: Advisor, after: Advisor) -> bool:
    """Whether knowledge and objectives are the same, and the vocabulary but for facts that need not be stated."""
    one, other = before.knowledge, after.knowledge
    parts = ("gpus", "models", "offers", "spot_offers", "costs", "figures", "disagreements")
    if any(getattr(one, part) != getattr(other, part) for part in parts) or before.objectives != after.objectives:
        return False
    old, new = before.vocabulary.facts, after.vocabulary.facts
    if any(new.get(name) != fact for name, fact in old.items()):
        return False
    added = [fact for name, fact in new.items() if name not in old]
    return not any(fact.when_unstated == "must_ask" or fact.alias_when for fact in added)
