"""The order of questions: topic by topic, the most informative first, ties by name."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from whichgpu.engine.interview.rule_index import Atlas
from whichgpu.engine.interview.state import State
from whichgpu.engine.rules.facts import FactDef


#: The order in which a person thinks of a job; topics that the vocabulary adds follow by name.
TOPICS = (
    "job",
    "model",
    "precision",
    "data",
    "serving",
    "rhythm",
    "scale",
    "software",
    "reliability",
    "money",
    "candidates",
    "measurements",
)
#: A topic that was begun goes on while it holds a question at least this much as informative as the best elsewhere.
_STAY = 0.5


def topic_rank(fact: FactDef) -> tuple[int, str]:
    """Where the topic of a fact stands."""
    return (TOPICS.index(fact.topic) if fact.topic in TOPICS else len(TOPICS), fact.topic)


def by_topic(names: Iterable[str], facts: Mapping[str, FactDef], *, last: Sequence[str] = ()) -> list[list[str]]:
    """Facts by topic, in order; those put off make up a topic of their own at the end."""
    groups: dict[tuple[int, str], list[str]] = {}
    late = []
    for name in sorted(names):
        if name in last:
            late.append(name)
        else:
            groups.setdefault(topic_rank(facts[name]), []).append(name)
    return [groups[key] for key in sorted(groups)] + ([late] if late else [])


def pick(weights: Mapping[str, float], atlas: Atlas, state: State) -> str:
    """The fact to ask: the weightiest, though a topic that was begun is finished first where it weighs nearly as much.

    Equal weights go to what is always asked, then to what more rules read, then by topic and name.
    """
    facts = atlas.advisor.vocabulary.facts
    fresh = {name: weight for name, weight in weights.items() if name not in state.skipped} or dict(weights)
    most = max(fresh.values())
    asked = [answer.fact for answer in state.answers if answer.origin == "asked"]
    topic = facts[asked[-1]].topic if asked else None
    same = {name: w for name, w in fresh.items() if facts[name].topic == topic and w >= most * _STAY}
    pool = same or fresh
    return min(
        pool,
        key=lambda name: (
            -round(pool[name], 6),
            facts[name].askable != "always",
            -len(atlas.readers.get(name, ())),
            topic_rank(facts[name]),
            name,
        ),
    )
