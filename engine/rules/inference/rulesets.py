"""Rulesets with their sessions in the C engine: what their buckets are given, and which units fire on what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from weakref import WeakKeyDictionary

from msgspec import Struct

from whichgpu.engine.core import FactTable, InternalError
from whichgpu.engine.rules.inference.compile import Bucket, Ruleset
from whichgpu.engine.rules.inference.driver import MAX_FACTS, Session
from whichgpu.engine.rules.inference.parts import Part
from whichgpu.engine.rules.language.columns import Rows


#: What the facts of a batch begin with, and a match repeats of each of its facts.
BEGINNINGS = [f'{{"id":"{number:03}"' for number in range(MAX_FACTS)]
_MATCHED = '{"m":{"id":"'
_ID_DIGITS = 3


class Rest(Struct, frozen=True):
    """What fact sets differ in, of what a bucket reads: the text of each set, by position, and the distinct ones."""

    every: list[str]
    distinct: list[str]


class BucketInput(Struct, frozen=True):
    """What a bucket is given: what all its facts begin with, and the rest of each."""

    bucket: int
    head: str
    rest: Rest


@dataclass
class Loaded:
    """A ruleset with its session in the C engine, made when first used."""

    name: str
    ruleset: Ruleset
    parts: Sequence[Part]
    #: For tables that rows share, by bucket: on which of its rows each unit fires.
    kept: WeakKeyDictionary[FactTable, dict[int, dict[str, Rows]]] = field(default_factory=WeakKeyDictionary)

    @cached_property
    def session(self) -> Session:
        """The compiled ruleset."""
        return Session(self.name, list(self.ruleset.rules))

    @cached_property
    def bucket_of(self) -> dict[str, int]:
        """Where each unit lies."""
        return {each.name: bucket.number for bucket in self.ruleset.buckets for each in bucket.units}

    @cached_property
    def reads(self) -> list[frozenset[str]]:
        """The facts that each bucket's units read of fact sets."""
        return [
            frozenset(each.fact for each in bucket.local).union(
                *(self.parts[part].reads for part, _ in bucket.conditions)
            )
            for bucket in self.ruleset.buckets
        ]

    @cached_property
    def _by_guard(self) -> dict[int, list[Bucket]]:
        found: dict[int, list[Bucket]] = {}
        for bucket in self.ruleset.buckets:
            found.setdefault(bucket.guard, []).append(bucket)
        return found

    def behind(self, guards: Set[int]) -> list[Bucket]:
        """The buckets whose guard has fired."""
        return [bucket for guard in sorted(self._by_guard.keys() & guards) for bucket in self._by_guard[guard]]

    def fire(self, inputs: Sequence[BucketInput]) -> Iterator[tuple[str, Sequence[int]]]:
        """The units that fire, each with positions of fact sets. Sets alike in what a bucket reads share one fact."""
        facts: list[str] = []
        rests: list[str] = []
        places: dict[int, Rest] = {}
        for each in inputs:
            places[each.bucket] = each.rest
            facts += [f"{each.head}{rest}}}" for rest in each.rest.distinct]
            rests += each.rest.distinct
        for start in range(0, len(facts), MAX_FACTS):
            for name, message in self.session.run(list(map(add, BEGINNINGS, facts[start : start + MAX_FACTS]))):
                alike = {rests[start + number] for number in numbers_of(name, message)}
                every = places[self.bucket_of[name]].every
                yield name, [position for position, rest in enumerate(every) if rest in alike]


def loaded_rulesets(name: str, rulesets: Iterable[Ruleset], parts: Sequence[Part]) -> tuple[Loaded, ...]:
    """Rulesets, ready to fire; ``parts`` are the conditions of their level."""
    return tuple(Loaded(f"{name}{number}", ruleset, parts) for number, ruleset in enumerate(rulesets))


def numbers_of(name: str, message: str) -> list[int]:
    """Which facts of a batch a rule fired on, read off a message ``{"rule":[{"m":FACT},{"m":FACT}]}``.

    Raises:
        InternalError: the message has another form, or names a fact twice.
    """
    start, *matched = message.split(_MATCHED)
    try:
        numbers = [int(each[:_ID_DIGITS]) for each in matched]
    except ValueError:
        numbers = []
    if not numbers or start != f'{{"{name}":[' or not message.endswith("}]}"):
        raise InternalError(f"durable-rules answers in an unknown form: {message[:80]!r}")
    if len(set(numbers)) < len(numbers):
        raise InternalError(f"durable-rules fired {name} twice on one fact")
    return numbers
