"""The interview over random people: questions asked, time to the next one, the answer, and its certificate.

    python benchmarks/interview.py --workloads 200 --completions 50
    python benchmarks/interview.py --workloads 200 --completions 50 --unsure 0.3

Each person has an objective, or none, and states it as the first wish. Where ``now`` is offered, it is counted after
how many questions, and whether the GPUs stayed to the end. What makes no sense beside the rest of what a person says
(GPU-hours in all, of somebody who knows how busy the hardware is) is left out of what is known.

With ``--unsure`` each answer but the first is "don't know" with that probability; what the person then did not say is
held against the certificate alone, since somebody who knows less may well get another answer.
Prints one line a workload that fails, and the figures at the end; the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from workload_makers import workload

from whichgpu import Advisor
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.advisor.intake import Workload
from whichgpu.engine.core.values import Value
from whichgpu.engine.explain import probing_context
from whichgpu.engine.interview import Answered, Done, Interviewer, State, answered, check_certificate
from whichgpu.engine.interview.rule_index import RuleIndex, index_rules
from whichgpu.engine.rules.facts import FactDef


MOMENT = datetime(2026, 3, 1, tzinfo=UTC)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--completions", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--unsure", type=float, default=0.0, help="share of answers that the person does not know")
    options = parser.parse_args()
    advisor = shipped_advisor()
    rule_index = index_rules(advisor)
    counts: list[int] = []
    steps: list[float] = []
    offers: list[int] = []
    kept: Counter[str] = Counter()
    sure: list[float] = []
    wrong: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for seed in range(options.first_seed, options.first_seed + options.workloads):
        chance = random.Random(seed)
        full = sensible(rule_index, advisor.read(workload(chance)).given, chance)
        state, done, times, offer = interview(advisor, partly(full, options.unsure, chance), sure)
        steps += times
        counts.append(len(times) - 1)
        asked.update(state.answered)
        mine = answered(advisor.decide(dict(state.given), decided_at=MOMENT).outcome)
        theirs = answered(advisor.decide(Workload(full), decided_at=MOMENT).outcome)
        offers.append(offer[0] if offer else len(times) - 1)
        kept["gpus"] += offer is None or (offer[1].gpu, offer[1].count) == (mine.gpu, mine.count)
        kept["all"] += offer is None or offer[1] == mine
        if mine != theirs and not options.unsure:
            wrong["answers"] += 1
            print(f"seed {seed}: {mine} with {len(state.answers)} answers, {theirs} with all facts")
        unasked = [entry.fact for entry in done.certificate]
        found = check_certificate(
            advisor, state.given, unasked, samples=options.completions, chance=chance, decided_at=MOMENT
        )
        for example in found:
            wrong["certificates"] += 1
            print(f"seed {seed}: {example.instead_of} becomes {example.answer} with {dict(example.completion)}")
    report(counts, steps, wrong, asked)
    report_offers(counts, offers, kept, sure)
    return 1 if wrong else 0


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


def interview(
    advisor: Advisor, facts: Mapping[str, Value], sure: list[float]
) -> tuple[State, Done, list[float], tuple[int, Answered] | None]:
    """One interview, with the CPU seconds of each step, and the answer when ``now`` was offered, after how many."""
    interviewer = Interviewer(advisor, MOMENT, context=probing_context(advisor.context))
    state, times, offer = State(), list[float](), None
    if "objective" in facts:
        state = state.answer("objective", facts["objective"], origin="stated")
    while True:
        begun = time.process_time()
        step = interviewer.next_question(state)
        times.append(time.process_time() - begun)
        if offer is None and state.given:
            begun = time.process_time()
            if interviewer.sureness(state).likely:
                offer = len(times) - 1, answered(interviewer.decide(state).outcome)
            sure.append(time.process_time() - begun)
        if isinstance(step, Done):
            return state, step, times, offer
        for fact in (step.fact, *step.together):
            state = reply(state, fact, facts)


def reply(state: State, fact: FactDef, facts: Mapping[str, Value]) -> State:
    """The answer, or that it is not known. Who is asked for a model's name and knows its size says that instead."""
    value = facts.get(fact.name)
    state = state.answer(fact.name, value)
    if value is None and fact.otherwise in facts:
        return state.answer(fact.otherwise, facts[fact.otherwise])
    return state


def report_offers(counts: list[int], offers: list[int], kept: Counter[str], sure: list[float]) -> None:
    counts, offers, sure = sorted(counts), sorted(offers), sorted(sure)
    gpus, both = (100 * kept[what] / len(counts) for what in ("gpus", "all"))
    print(f"questions, median       {counts[len(counts) // 2]}")
    print(f"questions, p90          {counts[int(0.9 * len(counts))]}")
    print(f"until now is offered    {offers[len(offers) // 2]} in the median")
    print(f"kept from there         GPUs {gpus:.0f} %, the verdict as well {both:.0f} %")
    print(f"how sure, median        {1000 * sure[len(sure) // 2]:.0f} ms")
    print(f"how sure, p95           {1000 * sure[int(0.95 * len(sure))]:.0f} ms")


def report(counts: list[int], steps: list[float], wrong: Counter[str], asked: Counter[str]) -> None:
    steps.sort()
    print(f"workloads               {len(counts)}")
    print(f"questions, mean         {sum(counts) / len(counts):.2f}")
    print(f"questions, most         {max(counts)}")
    print(f"with 12 or fewer        {100 * sum(n <= 12 for n in counts) / len(counts):.0f} %")
    print(f"next question, median   {1000 * steps[len(steps) // 2]:.0f} ms")
    print(f"next question, p95      {1000 * steps[int(0.95 * len(steps))]:.0f} ms")
    print(f"next question, longest  {1000 * steps[-1]:.0f} ms")
    print(f"answers that differ     {wrong['answers']}")
    print(f"counterexamples         {wrong['certificates']}")
    print("asked: " + ", ".join(f"{name} {n}" for name, n in asked.most_common()))


if __name__ == "__main__":
    sys.exit(main())
