"""In which order open facts are asked: by topic, the weightiest first, and a topic that was begun to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from whichgpu.engine.interview.rule_index import RuleIndex
from whichgpu.engine.interview.state import State
from whichgpu.engine.rules import FactDef


#: The order in which a person thinks of a job; topics that the vocabulary adds follow by name.
TOPICS = (
    "job",
    "model",
    "precision",
    "data",
    "serving",
    "money",
    "rhythm",
    "scale",
    "software",
    "reliability",
    "candidates",
    "measurements",
)
#: A topic that was begun goes on while it holds a question at least this much as informative as the best elsewhere.
STAY = 0.5


def topic_rank(fact: FactDef) -> tuple[int, str]:
    """Where the topic of a fact stands."""
    return (TOPICS.index(fact.topic) if fact.topic in TOPICS else len(TOPICS), fact.topic)


def by_topic(names: Sequence[str], facts: Mapping[str, FactDef], *, last: Sequence[str] = ()) -> list[list[str]]:
    """Facts by topic, in order; those put off make up a topic of their own at the end."""

    def rank(name: str) -> tuple[int, str]:
        return topic_rank(facts[name])

    late = sorted(name for name in names if name in last)
    ordered = sorted((name for name in names if name not in last), key=lambda name: (rank(name), name))
    return [list(group) for _, group in groupby(ordered, rank)] + ([late] if late else [])


def pick(weights: Mapping[str, float], rule_index: RuleIndex, state: State) -> str:
    """The fact to ask: the weightiest, though a topic that was begun is finished first where it weighs nearly as much.

    Equal weights go to what is always asked, then to what more rules read, then by topic and name.
    """
    facts = rule_index.advisor.vocabulary.facts
    fresh = {name: weight for name, weight in weights.items() if name not in state.skipped} or dict(weights)
    most = max(fresh.values())
    asked = [answer.fact for answer in state.answers if answer.origin == "asked"]
    topic = facts[asked[-1]].topic if asked else None
    same = {name: w for name, w in fresh.items() if facts[name].topic == topic and w >= most * STAY}
    pool = same or fresh
    return min(
        pool,
        key=lambda name: (
            -round(pool[name], 6),
            facts[name].askable != "always",
            -rule_index.readers.get(name, 0),
            topic_rank(facts[name]),
            name,
        ),
    )
