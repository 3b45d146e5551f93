"""Facts worth asking for after an answer, and which undecided rules wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from whichgpu.engine.advisor.answer.wording import say
from whichgpu.engine.advisor.outcome import Outcome
from whichgpu.engine.advisor.pipeline import asked_facts
from whichgpu.engine.core import Facts
from whichgpu.engine.rules import (
    Rule,
    Vocabulary,
    conditions_of,
    evaluate,
    verdict_of,
)


if TYPE_CHECKING:
    from whichgpu.engine.advisor.answer import part_types


def open_questions(
    outcome: Outcome, undecided: Mapping[str, frozenset[str]], vocabulary: Vocabulary
) -> list[part_types.OpenQuestion]:
    """Facts worth asking: those that block, then those that rules ask for, then what undecided rules lack.

    Of what rules ask for those come first that a rule on the chosen plan asks for: without them a stated limit is not
    verified. Of each kind those come first for which a rule on plans waits.
    Which answers would change the decision is a search of its own (``explain.sensitivity``): that a rule waits for a
    fact does not say so.
    """
    facts = outcome.final.facts
    blocking: tuple[str, ...] = outcome.chosen.missing if outcome.chosen else ()
    if outcome.no_answer and outcome.no_answer.kind == "facts_missing":
        blocking = outcome.no_answer.facts
    asked = asked_facts([*outcome.intake.fired, *(item.rule for item in outcome.fired)])
    no_plan_waits = {name for name in (*asked, *undecided) if "recommendation" not in undecided.get(name, ())}
    rest = sorted(
        (name for name in undecided if _worth_asking(name, facts, vocabulary)),
        key=lambda name: (
            name in no_plan_waits,
            vocabulary.facts[name].askable != "always",
            -len(undecided[name]),
            name,
        ),
    )
    of_plan = asked_facts(item.rule for item in outcome.fired if item.rule.each == "chosen")
    wanted = sorted(asked, key=lambda name: (name not in of_plan, name in no_plan_waits, name))
    questions: list[part_types.OpenQuestion] = []
    for name in dict.fromkeys([*blocking, *wanted, *rest]):
        fact = vocabulary.facts.get(name)
        source = outcome.final.resolved.get(name)
        if fact is None or fact.scope != "workload":
            continue
        if name in facts and (source is None or source.candidate.origin != "assumed"):
            continue
        text = say(fact.question or f"What is the {fact.label or name}?", facts, vocabulary)
        questions.append(
            {
                "fact": name,
                "question": text,
                "blocking": name in blocking,
                "asked_by": asked.get(name),
            }
        )
    return questions


def _worth_asking(name: str, facts: Facts, vocabulary: Vocabulary) -> bool:
    """Whether a fact is one that people are asked for, about work of this kind."""
    fact = vocabulary.facts.get(name)
    if fact is None or fact.askable not in ("always", "if_it_matters") or fact.question is None:
        return False
    when = conditions_of(vocabulary).questions.get(name)
    return when is None or evaluate(when, facts) is not False


def undecided_facts(outcome: Outcome, rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """For each unknown fact that some rule waits for: what that rule would have a say in.

    Rules on plans count where they wait on the chosen plan.
    """
    found: dict[str, set[str]] = {}
    if outcome.chosen is not None:
        facts = {**outcome.final.facts, **outcome.chosen.facts}
        for rule in rules:
            if rule.each == "plan" and not rule.reads <= facts.keys():  # What reads only known facts waits for none.
                for name in verdict_of(rule, facts).missing:
                    found.setdefault(name, set()).add(_say_in(rule))
    for resolved in (outcome.intake, outcome.final):
        for level in resolved.judged:
            for rule_id, rule in level.evaluation.rules.items():
                if level.evaluation.outcome(rule_id, 0) is None:
                    for name in level.evaluation.verdict(rule_id, 0).missing:
                        found.setdefault(name, set()).add(_say_in(rule))
    return {name: frozenset(kinds) for name, kinds in found.items()}


def _say_in(rule: Rule) -> str:
    if "procurement" in rule.writes:
        return "procurement"
    return "advice" if rule.stage == "advise" else "recommendation"
