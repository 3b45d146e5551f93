"""The interview over random people: questions asked, time to the next one, the answer, and its certificate.

    python benchmarks/interview.py --workloads 200 --completions 20 --unsure 0 0.3 0.6

Each person has an objective, or none, and states it as the first wish. What makes no sense beside the rest of what a
person says (GPU-hours in all, of somebody who knows how busy the hardware is) is left out of what is known.

A question is what one line answers: where several facts are asked together, the person writes them on one line, as the
interview says. The facts asked are counted beside it. Wishes are no questions, and count among the facts alone.
Where ``now`` is offered, it is counted after how many questions, and whether the GPUs stayed to the end.

``--unsure`` takes shares, dealt out in turn: with that probability each answer but the first is "don't know". What such
a person did not say is held against the certificate alone, since somebody who knows less may well get another answer.
Prints one line a workload that fails, and the figures of each share at the end, or where it is interrupted; the exit
code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from workload_makers import workload

from whichgpu import Advisor
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.core import collect_rarely, collect_youngest
from whichgpu.engine.core.values import Value
from whichgpu.engine.explain import probing_context
from whichgpu.engine.interview import Done, Interviewer, State, answered, check_certificate
from whichgpu.engine.interview.rule_index import RuleIndex, index_rules
from whichgpu.engine.rules.facts import FactDef


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Person:
    """What came of one interview."""

    asked: list[str] = field(default_factory=list)  # facts
    steps: list[float] = field(default_factory=list)  # CPU seconds to each question, and to the end
    sure: list[float] = field(default_factory=list)  # CPU seconds to tell how sure the answer is
    waits: list[float] = field(default_factory=list)  # CPU seconds of both, before an answer can be given
    left: list[int] = field(default_factory=list)  # questions that were said to be left at each
    offer: int | None = None  # after how many questions the answer was offered
    kept: bool = True  # whether the GPUs stayed from there
    kept_all: bool = True  # the verdict as well
    differs: bool = False  # from the answer with all facts stated
    completions: int = 0
    counterexamples: int = 0

    @property
    def questions(self) -> int:
        """Lines that the person wrote."""
        return len(self.steps) - 1

    @property
    def until_offer(self) -> int:
        """Questions before the answer could be taken."""
        return self.questions if self.offer is None else self.offer

    @property
    def wrong(self) -> bool:
        """Whether the certificate did not hold."""
        return self.differs or bool(self.counterexamples)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--completions", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--unsure", type=float, nargs="+", default=[0.0], help="shares of answers that are not known")
    options = parser.parse_args()
    collect_rarely()  # As the command does.
    advisor = shipped_advisor()
    rule_index = index_rules(advisor)
    people: dict[float, list[Person]] = {share: [] for share in options.unsure}
    try:
        for seed in range(options.first_seed, options.first_seed + options.workloads):
            share = options.unsure[seed % len(options.unsure)]
            people[share].append(person(advisor, rule_index, seed, share, options.completions))
    except KeyboardInterrupt:
        print("interrupted")
    for share, found in people.items():
        report(f"people who do not know {100 * share:.0f} %", found)
    if len(people) > 1:
        report("all of them", [one for found in people.values() for one in found])
    return 1 if any(each.wrong for found in people.values() for each in found) else 0


def person(advisor: Advisor, rule_index: RuleIndex, seed: int, unsure: float, completions: int) -> Person:
    """Interview one person, and hold the answer and the certificate against all that the person could say."""
    chance = random.Random(seed)
    full = sensible(rule_index, advisor.read(workload(chance)).given, chance)
    state, done, found = interview(advisor, partly(full, unsure, chance))
    if not unsure:
        mine = answered(advisor.decide(dict(state.given), decided_at=MOMENT).outcome)
        theirs = answered(advisor.decide(Workload(full), decided_at=MOMENT).outcome)
        found.differs = mine != theirs
        if found.differs:
            print(f"seed {seed}: {mine} with {len(state.answers)} answers, {theirs} with all facts", flush=True)
    unasked = [entry.fact for entry in done.certificate]
    tried = check_certificate(advisor, state.given, unasked, samples=completions, chance=chance, decided_at=MOMENT)
    found.completions = tried.decided
    for example in tried.counterexamples:
        found.counterexamples += 1
        print(f"seed {seed}: {example.instead_of} becomes {example.answer} with {dict(example.completion)}", flush=True)
    return found


def sensible(rule_index: RuleIndex, facts: Mapping[str, Value], chance: random.Random) -> dict[str, Value]:
    """What a person says of these facts: with an objective or none, and nothing that makes no sense beside the rest."""
    known = dict(facts)
    if objective := chance.choice(["cheapest", "balanced", "fastest", None]):
        known["objective"] = objective
    return {n: v for n, v in known.items() if n not in rule_index.asked_when or _sensible(rule_index, n, known)}


def _sensible(rule_index: RuleIndex, name: str, known: Mapping[str, Value]) -> bool:
    facts, _ = rule_index.advisor.context.resolve(known)
    return rule_index.asked_when[name].test(facts.facts) is not False


def partly(facts: Mapping[str, Value], unsure: float, chance: random.Random) -> dict[str, Value]:
    """What somebody knows of these facts."""
    if not unsure:
        return dict(facts)
    return {name: value for name, value in facts.items() if name == "task" or chance.random() >= unsure}


def interview(advisor: Advisor, facts: Mapping[str, Value]) -> tuple[State, Done, Person]:
    """One interview."""
    interviewer = Interviewer(advisor, MOMENT, context=probing_context(advisor.context))
    state, found, offered = State(), Person(), None
    if "objective" in facts:
        state = state.answer("objective", facts["objective"], origin="stated")
    while True:
        collect_youngest()  # As the command does while the person reads.
        begun = time.process_time()
        if "task" in state.answered:
            interviewer.decide(state)  # What is in front stands above the question, how sure that is below it.
        step = interviewer.next_question(state)
        found.steps.append(time.process_time() - begun)
        found.left.append(interviewer.questions_left(state))
        if "task" in state.answered:
            begun = time.process_time()
            likely = interviewer.sureness(state).likely
            if likely and offered is None:
                found.offer, offered = found.questions, answered(interviewer.decide(state).outcome)
            found.sure.append(time.process_time() - begun)
            found.waits.append(found.steps[-1] + found.sure[-1])
        if isinstance(step, Done):
            break
        for fact in (step.fact, *step.together):
            state = reply(state, fact, facts)
            found.asked.append(fact.name)
    last = answered(interviewer.decide(state).outcome)
    if offered is not None:
        found.kept, found.kept_all = (offered.gpu, offered.count) == (last.gpu, last.count), offered == last
    return state, step, found


def reply(state: State, fact: FactDef, facts: Mapping[str, Value]) -> State:
    """The answer, or that it is not known. Who is asked for a model's name and knows its size says that instead."""
    value = facts.get(fact.name)
    state = state.answer(fact.name, value)
    if value is None and fact.otherwise in facts:
        return state.answer(fact.otherwise, facts[fact.otherwise])
    return state


def report(who: str, people: Sequence[Person]) -> None:
    """The figures of some people."""
    if not people:
        return
    steps = [each for one in people for each in one.steps]
    sure = [each for one in people for each in one.sure]
    waits = [each for one in people for each in one.waits]
    off = [abs(said - (one.questions - n)) for one in people for n, said in enumerate(one.left) if n]
    asked = Counter(name for one in people for name in one.asked)
    print(f"{who}: {len(people)}")
    for words, values, scale, unit in (
        ("questions", [one.questions for one in people], 1, ""),
        ("facts asked", [len(one.asked) for one in people], 1, ""),
        ("questions until now is offered", [one.until_offer for one in people], 1, ""),
        ("questions left, said wrongly by", off, 1, ""),
        ("next question", steps, 1000, " ms"),
        ("how sure", sure, 1000, " ms"),
        ("next question and how sure", waits, 1000, " ms"),
    ):
        found = sorted(scale * value for value in values)
        at = (found[int(part * (len(found) - 1))] for part in (0.5, 0.9, 0.95, 1.0))
        says = ", ".join(
            f"{name} {value:.0f}{unit}" for name, value in zip(("median", "p90", "p95", "most"), at, strict=True)
        )
        print(f"  {words:<32}{says}")
    kept, kept_all = (100 * sum(getattr(p, name) for p in people) / len(people) for name in ("kept", "kept_all"))
    print(f"  {'kept from there':<32}GPUs {kept:.0f} %, the verdict as well {kept_all:.0f} %")
    print(f"  {'answers that differ':<32}{sum(one.differs for one in people)}")
    tried = sum(one.completions for one in people)
    print(f"  {'counterexamples':<32}{sum(one.counterexamples for one in people)} in {tried:,} completions")
    print("  asked: " + ", ".join(f"{name} {n}" for name, n in asked.most_common()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
