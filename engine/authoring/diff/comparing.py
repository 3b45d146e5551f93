"""Comparing two editions: their rules and knowledge, and what they answer to the same workloads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.diff.aimed import ORIGIN, Aim, aimed_workloads
from whichgpu.engine.authoring.diff.answers import PARTS, Answer, Edition, Pair, answer_pairs
from whichgpu.engine.authoring.diff.concern import Shares, concern_of, shares_of
from whichgpu.engine.authoring.diff.rulediff import Affected, Region, RuleChange, rule_changes
from whichgpu.engine.authoring.diff.touched import Touched
from whichgpu.engine.authoring.diff.workloads import (
    Named,
    example_workloads,
    sample_workloads,
    scenario_workloads,
    workloads_in_tests,
)
from whichgpu.engine.core import registered
from whichgpu.engine.rules import Vocabulary


class ChangedRule(Struct, frozen=True):
    """A changed rule with the region of facts that it concerns."""

    change: RuleChange
    regions: tuple[Region, ...] = ()
    exercised: bool = False  # it fired on some workload, in one edition or the other
    turned: int = 0  # workloads with another answer in which it had a part


class Moved(Struct, frozen=True):
    """A workload with another answer: the parts that differ, and the rules that fired on one side only."""

    workload: Named
    old: Answer
    new: Answer
    parts: tuple[str, ...]
    rules: tuple[str, ...]  # changed rules that fired on one side only or do something else, else any others


class Names(Struct, frozen=True):
    """What came, went and changed of one kind of knowledge."""

    kind: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


class Comparison(Struct, frozen=True):
    """Two editions side by side."""

    old: str
    new: str
    digests: tuple[str, str]
    rules: tuple[ChangedRule, ...] = ()
    knowledge: tuple[Names, ...] = ()
    moved: tuple[Moved, ...] = ()  # the weightiest first
    compared: dict[str, int] = field(default_factory=dict)  # origin -> workloads
    spared: int = 0  # of these, that cannot meet a rule that differs: both editions answer them alike
    seed: int = 1

    @property
    def workloads(self) -> int:
        """How many workloads were compared."""
        return sum(self.compared.values())


#: A further process loads both editions anew, which takes as long as deciding so many workloads.
_WORTH_A_PROCESS = 60
#: Workloads taken from the tests of rules that did not change, spread over the rulebook; the sample does the rest.
_MOST_TESTS = 150


def compare(
    old: Edition,
    new: Edition,
    *,
    moment: datetime,
    examples: Iterable[Path] = (),
    sample: int = 2000,
    seed: int = 1,
    processes: int = 2,
) -> Comparison:
    """Compare two editions. Only workloads that can meet a rule that differs are decided.

    Args:
        old: what the other is measured against.
        new: the edition that is judged.
        moment: the time at which both decide.
        examples: folders of workload files.
        sample: how many workloads to draw beside the examples and the tests inside rules.
        seed: the same seed draws the same workloads.
        processes: how many answer at the same time; 1 stays in this process.

    Raises:
        RulebookError, KnowledgeError: an edition cannot be loaded.
    """
    if old.content() == new.content():
        one = old.load(tests=False)
        return Comparison(old.label, new.label, (one.rulebook.digest, one.rulebook.digest), seed=seed)
    before, after = old.load(), new.load()
    changes = rule_changes(before.rulebook, after.rulebook)
    old_words, words = before.vocabulary, after.vocabulary
    vocabulary = Vocabulary({**old_words.facts, **words.facts}, {**old_words.codes, **words.codes})
    knowledge = tuple(found for found in knowledge_changes(before, after) if found)
    same_knowledge = not knowledge and before.knowledge.digest == after.knowledge.digest
    alike = same_knowledge and not any(change.decisive for change in changes)
    affected = Affected(changes, after.rulebook, vocabulary, registered())
    aims = [Aim(change, affected.of(change) if change.decisive else ()) for change in changes]
    workloads = [] if alike else gather(after, vocabulary, aims, examples, sample, seed)
    concerned = list(_concerned(workloads, before, after, changes))
    facts = [named.facts for named in concerned]
    shares = shares_of(before, after, changes)
    wanted = frozenset(rule.id for change in changes if change.decisive for rule in change.both)
    here = processes < 2 or len(facts) < _WORTH_A_PROCESS * processes
    pairs = (
        answer_pairs(before, after, facts, moment, shares, wanted)
        if here
        else _answers((old, new), (before, after), facts, moment, shares, wanted, processes)
    )
    moved = _moved(concerned, pairs, changes)
    return Comparison(
        old=old.label,
        new=new.label,
        digests=(before.rulebook.digest, after.rulebook.digest),
        rules=tuple(_changed_rules(aims, pairs, moved)),
        knowledge=knowledge,
        moved=moved,
        compared=dict(sorted(Counter(named.origin for named in workloads).items())),
        spared=len(workloads) - len(concerned),
        seed=seed,
    )


def _concerned(
    workloads: Iterable[Named], before: Advisor, after: Advisor, changes: Sequence[RuleChange]
) -> Iterator[Named]:
    """The workloads that can meet a rule that differs; all of them where more than rules differs."""
    concern = concern_of(before, after, changes)
    touched = Touched(frozenset(), after, concern) if concern else None
    return (named for named in workloads if touched is None or touched.meets(named.facts))


def _changed_rules(aims: Sequence[Aim], pairs: Sequence[Pair], moved: Sequence[Moved]) -> Iterator[ChangedRule]:
    """Each change of a rule, whether it fired on some workload, and on how many it had a part in another answer."""
    met = frozenset().union(*(pair.met for pair in pairs))
    behind = Counter(rule for entry in moved for rule in entry.rules)
    for aim in aims:
        both = [rule.id for rule in aim.change.both]
        yield ChangedRule(aim.change, aim.regions, any(name in met for name in both), max(behind[n] for n in both))


def gather(
    after: Advisor,
    vocabulary: Vocabulary,
    aims: Sequence[Aim],
    examples: Iterable[Path],
    sample: int,
    seed: int,
) -> list[Named]:
    """The workloads to compare on: examples, scenarios, tests inside rules, some where rules differ, and the sample."""
    found = [named for folder in examples for named in example_workloads(folder)]
    found += scenario_workloads(after.folders)
    changed = {named.name: named for named in workloads_in_tests(rule for aim in aims for rule in aim.change.both)}
    others = [named for named in workloads_in_tests(after.rulebook.rules) if named.name not in changed]
    found += [*changed.values(), *others[:: 1 + len(others) // _MOST_TESTS]]
    found += aimed_workloads(aims, vocabulary, after.knowledge.gpu_facts.values(), seed=seed)
    drawn = sample_workloads(vocabulary, sample, seed=seed)
    return [*found, *(Named(str(facts["id"]), "sample", facts) for facts in drawn)]


def knowledge_changes(before: Advisor, after: Advisor) -> Iterable[Names]:
    """What came, went and changed among facts, codes, GPUs, models and offers."""
    yield _names("facts", before.vocabulary.facts, after.vocabulary.facts)
    yield _names("codes", before.vocabulary.codes, after.vocabulary.codes)
    yield _names("GPUs", before.knowledge.gpus, after.knowledge.gpus)
    yield _names("models", before.knowledge.models, after.knowledge.models)
    offers = [
        {f"{o.provider} {o.instance or ''} {o.count} x {o.gpu} {o.region or ''}".replace("  ", " "): o for o in side}
        for side in (before.knowledge.offers, after.knowledge.offers)
    ]
    yield _names("offers", offers[0], offers[1])


def _names(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Names:
    return Names(
        kind,
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
    )


def _answers(
    editions: tuple[Edition, Edition],
    loaded: tuple[Advisor, Advisor],
    facts: Sequence[Mapping[str, Any]],
    moment: datetime,
    shares: Shares,
    wanted: frozenset[str],
    processes: int,
) -> list[Pair]:
    """The answers of both, in order; the workloads are dealt out to this process, which has both loaded, and others."""
    batches = [facts[first::processes] for first in range(processes)]
    # Processes that start afresh: a copy of this one would carry its loaded rules and its threads along.
    with ProcessPoolExecutor(processes - 1, mp_context=get_context("spawn"), initializer=_generated_alone) as pool:
        waiting = [pool.submit(_answer_batch, *editions, batch, moment, shares, wanted) for batch in batches[1:]]
        answered = [answer_pairs(*loaded, batches[0], moment, shares, wanted), *(future.result() for future in waiting)]
    return [answered[place % processes][place // processes] for place in range(len(facts))]


def _answer_batch(
    old: Edition,
    new: Edition,
    facts: Sequence[Mapping[str, Any]],
    moment: datetime,
    shares: Shares,
    wanted: frozenset[str],
) -> list[Pair]:
    return answer_pairs(old.load(tests=False), new.load(tests=False), facts, moment, shares, wanted)


def _generated_alone() -> None:
    """Fire rules by the generated evaluator alone: the other engine only has to agree with it."""
    os.environ["WHICHGPU_ENGINE"] = "generated"


def _moved(workloads: Sequence[Named], pairs: Sequence[Pair], changes: Sequence[RuleChange]) -> tuple[Moved, ...]:
    moved = []
    for named, pair in zip(workloads, pairs, strict=True):
        parts = pair.old.differs_from(pair.new)
        if parts:
            moved.append(Moved(named, pair.old, pair.new, parts, _behind(pair.old, pair.new, changes)))
    ranks = {part: place for place, part in enumerate(("refused", *PARTS))}
    origins = {"example": 0, "scenario": 1, "test": 2, ORIGIN: 3, "sample": 4}
    return tuple(sorted(moved, key=lambda entry: (ranks[entry.parts[0]], origins[entry.workload.origin])))


def by_task(moved: Iterable[Moved]) -> dict[str, tuple[list[Moved], int]]:
    """The workloads with another answer by task, the weightiest first, and how many get another recommendation."""
    found: dict[str, list[Moved]] = {}
    for entry in moved:
        found.setdefault(str(entry.workload.facts.get("task", "no task")), []).append(entry)
    firm = {"recommendation", "no_answer"}
    return {task: (each, sum(bool(firm & {*entry.parts}) for entry in each)) for task, each in sorted(found.items())}


def _behind(old: Answer, new: Answer, changes: Sequence[RuleChange]) -> tuple[str, ...]:
    """The changed rules that had a part in the difference; where none had, whatever fired on one side only."""
    changed = {rule.id for change in changes if change.decisive for rule in change.both}
    apart = old.fired ^ new.fired
    concerned = changed & (old.fired | new.fired)
    return tuple(sorted(concerned & apart or concerned or apart))
