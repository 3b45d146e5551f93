"""The rules of one stage and scope, compiled once, run on many plans."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from engine.rete.firing import fire
from engine.rete.reference import Evaluation
from engine.rulebook.model import Rule
from engine.rulebook.resolve import Resolution
from engine.rulebook.resolve import Resolver
from engine.settle.run import MakeLevel
from engine.values import Facts


NOTHING = Resolution(())


@dataclass(frozen=True, slots=True)
class Run:
    """What a rule set came to: a resolution for each fact set, and the reference's view for verdicts."""

    resolutions: list[Resolution]
    evaluation: Evaluation | None = None


class RuleSet:
    """Rules that fire together. Both engines fire them; one piece of code resolves what they match."""

    def __init__(self, rules: Iterable[Rule], make_level: MakeLevel) -> None:
        """Compile the rules."""
        self.rules = tuple(sorted(rules, key=lambda rule: rule.id))
        self.by_id = {rule.id: rule for rule in self.rules}
        self._level = make_level(self.rules) if self.rules else None
        self._resolver = Resolver(self.rules)
        # Only these make a resolution differ from the matches; most rule sets have none of them.
        self._resolves = any(rule.overrides or rule.writes or rule.hit == "first" for rule in self.rules)

    def run(self, shared: Facts, fact_sets: Sequence[Facts], names: Sequence[str]) -> Run:
        """What the rules come to on ``shared`` together with each fact set, in order."""
        if self._level is None or not fact_sets:
            return Run([NOTHING] * len(fact_sets))
        firing = fire(self._level, shared, fact_sets, names)
        if not self._resolves:
            return Run([Resolution(tuple(sorted(matched))) for matched in firing.matches], firing.evaluation)
        resolved = [
            self._resolver.resolve(matched, {**shared, **facts}) if matched else NOTHING
            for matched, facts in zip(firing.matches, fact_sets, strict=True)
        ]
        return Run(resolved, firing.evaluation)

    def fired(self, resolution: Resolution) -> tuple[Rule, ...]:
        """The rules that fired, sorted by id."""
        return tuple(self.by_id[name] for name in resolution.fired)
