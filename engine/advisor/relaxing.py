"""What would help where no plan qualifies: stated facts that are tried before they are named."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import combinations

from whichgpu.engine.core.values import Value
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Rule


#: Facts that say what the work is. Without them it would be other work.
THE_WORK = frozenset({"task", "model_name", "model_family", "param_count_b", "model_size_class", "peft_method"})
#: Where no fact helps alone, pairs of so many are tried.
_PAIRED = 6


def relaxable_facts(
    given: Mapping[str, Value],
    rules: Sequence[Rule],
    vocabulary: Vocabulary,
    qualifies: Callable[[Mapping[str, Value]], bool],
) -> tuple[tuple[str, ...], ...]:
    """The stated facts without which some plan qualifies, one by one; pairs of them where none helps alone.

    Args:
        given: what was stated.
        rules: those that reject, the one that rejects most plans first.
        vocabulary: tells limits and wishes, which are tried first.
        qualifies: whether some plan qualifies on other facts.
    """
    named = [name for rule in rules for name in sorted(rule.reads) if name in given]
    wishes = [name for name in given if name in vocabulary.facts and vocabulary.facts[name].wish]
    tried = [name for name in dict.fromkeys([*named, *wishes, *given]) if name not in THE_WORK]
    alone = tuple((name,) for name in tried if qualifies(_without(given, (name,))))
    if alone:
        return alone
    return tuple(pair for pair in combinations(tried[:_PAIRED], 2) if qualifies(_without(given, pair)))


def _without(given: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    gone = frozenset(names)
    return {name: value for name, value in given.items() if name not in gone}
