"""The rules of one stage and scope, compiled once, run on many plans."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass

from whichgpu.engine.core.values import Facts
from whichgpu.engine.rules.inference.firing import fire
from whichgpu.engine.rules.inference.reference import Evaluation
from whichgpu.engine.rules.resolution.run import MakeLevel
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.resolve import Resolution
from whichgpu.engine.rules.rulebook.resolve import Resolver


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
        # A resolution without any of these depends on nothing but what matched.
        self._writers = frozenset(rule.id for rule in self.rules if rule.writes)

    def run(self, shared: Facts, fact_sets: Sequence[Facts], names: Sequence[str]) -> Run:
        """What the rules come to on ``shared`` together with each fact set, in order."""
        if self._level is None or not fact_sets:
            return Run([NOTHING] * len(fact_sets))
        firing = fire(self._level, shared, fact_sets, names)
        kept: dict[frozenset[str], Resolution] = {frozenset(): NOTHING}
        resolutions = []
        for matched, facts in zip(firing.matches, fact_sets, strict=True):
            if matched & self._writers:
                resolutions.append(self._resolver.resolve(matched, {**shared, **facts}))
                continue
            if matched not in kept:
                kept[matched] = self._resolver.resolve(matched, {})
            resolutions.append(kept[matched])
        return Run(resolutions, firing.evaluation)

    def fired(self, resolution: Resolution) -> tuple[Rule, ...]:
        """The rules that fired, sorted by id."""
        return tuple(self.by_id[name] for name in resolution.fired)
