"""The interview over random people: questions asked, time to the next one, the answer, and its certificate.

    python benchmarks/interview.py --workloads 200 --completions 50
    python benchmarks/interview.py --workloads 200 --completions 50 --unsure 0.3

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
from whichgpu.engine.core.values import Value
from whichgpu.engine.interview import Done, Interviewer, State, answered, check_certificate
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
    counts: list[int] = []
    steps: list[float] = []
    wrong: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for seed in range(options.first_seed, options.first_seed + options.workloads):
        chance = random.Random(seed)
        full = advisor.read(workload(chance))
        state, done, times = interview(advisor, partly(full.given, options.unsure, chance))
        steps += times
        counts.append(len(times) - 1)
        asked.update(state.answered)
        mine = answered(advisor.decide(dict(state.given), decided_at=MOMENT).outcome)
        theirs = answered(advisor.decide(full, decided_at=MOMENT).outcome)
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
    return 1 if wrong else 0


def partly(facts: Mapping[str, Value], unsure: float, chance: random.Random) -> dict[str, Value]:
    """What somebody knows of these facts."""
    if not unsure:
        return dict(facts)
    return {name: value for name, value in facts.items() if name == "task" or chance.random() >= unsure}


def interview(advisor: Advisor, facts: Mapping[str, Value]) -> tuple[State, Done, list[float]]:
    """One interview, with the CPU seconds of each step."""
    interviewer = Interviewer(advisor, MOMENT)
    state, times = State(), []
    while True:
        begun = time.process_time()
        step = interviewer.next_question(state)
        times.append(time.process_time() - begun)
        if isinstance(step, Done):
            return state, step, times
        state = reply(state, step.fact, facts)


def reply(state: State, fact: FactDef, facts: Mapping[str, Value]) -> State:
    """The answer, or that it is not known. Who is asked for a model's name and knows its size says that instead."""
    value = facts.get(fact.name)
    state = state.answer(fact.name, value)
    if value is None and fact.otherwise in facts:
        return state.answer(fact.otherwise, facts[fact.otherwise])
    return state


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
