"""Which rules fired in a decision, wherever they did."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.advisor.outcome import Outcome


def fired_rules(outcome: Outcome) -> Iterator[str]:
    """The id of every rule that fired, on the workload or on any plan."""
    yield from (rule.id for rule in outcome.intake.fired)
    yield from (rule.id for rule in outcome.final.fired)
    yield from (fired.rule.id for fired in outcome.fired)
    if outcome.no_answer is not None:
        yield from (rule.id for rule in outcome.no_answer.rules)
    if outcome.round is not None:
        yield from (rule.id for rule in outcome.round.survey.fired)
        yield from (rule.id for rejection in outcome.round.rejections for rule in rejection.rules)
        for judged in outcome.round.judged:
            yield from judged.prefer.fired
        for names in outcome.round.derived.values():
            yield from names
