"""What a fact is: type, unit, domain, wording, and how it is resolved when it is not stated."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from whichgpu.engine.core import FrozenModel, nearest_names, nearest_words
from whichgpu.engine.rules.facts.units import Unit, parse_unit


FactType = Literal["bool", "int", "number", "enum", "text", "gpu", "list"]
ItemType = Literal["enum", "gpu", "text", "int", "gpu_count"]
Scope = Literal["workload", "plan", "gpu", "candidate"]

#: Keys of a workload file that are no facts.
RESERVED = frozenset({"id", "gpu", "count"})

#: How each scope of a rule widens what it may read.
READABLE: dict[str, frozenset[str]] = {
    "workload": frozenset({"workload"}),
    "plan": frozenset({"workload", "plan", "gpu"}),
    "chosen": frozenset({"workload", "plan", "gpu"}),
    "candidate": frozenset({"workload", "plan", "gpu", "candidate"}),
}


class Assume(FrozenModel):
    """The value taken when nothing else resolves the fact and the condition ``when`` holds, and on what ground."""

    assume: Any
    when: str | None = None
    because: str = ""


class FactDef(FrozenModel):
    """One fact. ``min`` and ``max`` are in ``unit``; texts are plain words for people."""

    name: str
    type: FactType
    items: ItemType | None = None
    choices: tuple[str, ...] = ()
    choice_labels: dict[str, str] = field(default_factory=dict)
    open: bool = False
    unit: str | None = None
    min: float | None = None
    max: float | None = None
    exclusive_min: bool = False
    scope: Scope = "workload"
    role: Literal["input", "derived", "output"] = "input"
    available: Literal["intake", "plan", "survey", "outcome"] = "intake"
    aliases: tuple[str, ...] = ()
    looked_for_as: tuple[str, ...] = ()  # words by which people mean this fact or another one: they name none of them
    per: Literal["hour", "month", "year"] | None = None  # the time over which the figure counts, which may be written
    alias_when: str | None = None
    synonyms: dict[str, str] = field(default_factory=dict)
    also_states: dict[str, dict[str, Any]] = field(default_factory=dict)  # by spelling, unless they are stated
    when_unstated: Literal["must_ask", "leave_unknown"] | tuple[Assume, ...] = "leave_unknown"
    askable: Literal["always", "if_it_matters", "on_request", "never"] = "never"
    asked_when: str | None = None  # the question makes sense only where this condition does not fail
    topic: str = ""
    question: str | None = None
    help: str | None = None
    unknown_help: str | None = None
    unknown_means: str | None = None  # the choice that stands for "I cannot say", where the fact has to be known
    otherwise: str | None = None  # a fact that an answer which says nothing of this one may be meant for
    stated_only: bool = False  # read as it was stated, before any rule: no rule may set it
    wish: bool = False  # a demand, limit, permission or preference: not stated it counts as none; asked on request
    always_known: bool = False  # every plan, or every GPU, has it
    at_most: tuple[str, ...] = ()  # facts that are as large or larger wherever both are known
    meaning: str = ""
    label: str = ""
    sources: tuple[str, ...] = ()
    encodes: tuple[str, ...] = ()

    @property
    def assumptions(self) -> tuple[Assume, ...]:
        """The values to assume, the first whose ``when`` holds applies; empty where none is ever assumed."""
        return self.when_unstated if isinstance(self.when_unstated, tuple) else ()

    @property
    def spellings(self) -> dict[str, str]:
        """Every accepted spelling of a choice, folded, to the choice."""
        return _spellings(self.choices, tuple(self.synonyms.items()))

    @property
    def parsed_unit(self) -> Unit | None:
        """The unit as a dimension and a factor; None for a fact without unit."""
        return parse_unit(self.unit) if self.unit else None

    @property
    def numeric(self) -> bool:
        """True for int and number facts."""
        return self.type in {"int", "number"}

    @property
    def ranges(self) -> bool:
        """Whether the interview asks for it of its own accord, so that unasked it may be anything in its domain."""
        return self.askable in {"always", "if_it_matters"} and not self.wish and self.scope == "workload"

    def choice(self, word: str) -> str | None:
        """The choice that a spelling means, or None. Case, '-', '_' and spaces do not matter."""
        return self.spellings.get(fold(word))

    def stated_besides(self, word: str) -> dict[str, Any]:
        """Further facts that a spelling states: ``task: qlora`` is a word of the method as well."""
        spelt = fold(word)
        return next((facts for each, facts in self.also_states.items() if fold(each) == spelt), {})

    def near_choices(self, word: str) -> tuple[str, ...]:
        """Choices that a misspelt word may mean, best first."""
        near = nearest_words(word, (*self.choices, *sorted(self.synonyms)))
        return tuple(dict.fromkeys(self.choice(spelling) or spelling for spelling in near))


class Code(FrozenModel):
    """An A- (advice) or W- (warning) code. Priority 1 is shown first."""

    code: str
    meaning: str
    by_program: bool = False  # the program gives it, no rule need
    priority: Annotated[int, Meta(ge=1, le=5)] = 3


class Vocabulary:
    """All facts and codes, by name. Immutable after construction."""

    __slots__ = ("_aliases", "_conditional", "codes", "facts", "key", "must_ask")

    def __init__(
        self, facts: Mapping[str, FactDef], codes: Mapping[str, Code] | None = None, key: str | None = None
    ) -> None:
        """Facts and codes by name; ``key`` stands for the files that they were read from."""
        self.key = key
        self.facts: Mapping[str, FactDef] = dict(sorted(facts.items()))
        self.codes: Mapping[str, Code] = dict(sorted((codes or {}).items()))
        #: Facts of a workload without which nothing is decided, in order.
        self.must_ask = tuple(
            name for name, fact in self.facts.items() if fact.when_unstated == "must_ask" and fact.scope == "workload"
        )
        self._aliases: dict[str, FactDef] = {}
        self._conditional: dict[str, tuple[FactDef, ...]] = {}
        for fact in self.facts.values():
            for alias in fact.aliases:
                if fact.alias_when is None and alias not in self.facts:
                    self._aliases[alias] = fact
                else:
                    self._conditional[alias] = (*self._conditional.get(alias, ()), fact)

    def fact(self, name: str) -> FactDef | None:
        """The fact of this name or unconditional alias."""
        return self.facts.get(name) or self._aliases.get(name)

    def resolve(self, name: str) -> str | None:
        """The canonical name of a fact or unconditional alias."""
        found = self.fact(name)
        return found.name if found else None

    def conditional_aliases(self, name: str) -> tuple[FactDef, ...]:
        """Facts that what a user writes as ``name`` may stand for.

        Each is meant where its ``alias_when`` holds, or always when it has none (``name`` is then an output of
        the same name, such as a verdict, that a user can only mean as a wish).
        """
        return self._conditional.get(name, ())

    def names(self) -> tuple[str, ...]:
        """All names and aliases, sorted."""
        return tuple(sorted({*self.facts, *self._aliases, *self._conditional}))

    def nearest(self, name: str, *, limit: int = 3, stated: bool = False) -> tuple[str, ...]:
        """Known facts that a misspelt name may mean, best first; ``stated``: of those that a workload may state."""
        found = nearest_names(
            _spelt(name), filter(self._may_be_stated, self.names()) if stated else self.names(), limit=limit
        )
        return tuple(dict.fromkeys(self.resolve(each) or each for each in found)) if stated else found

    def spelt_alike(self, name: str, fact: str) -> bool:
        """Whether a misspelt name can be nothing but this fact, under its own name or another that it goes by."""
        return any(self.resolve(each) == fact for each in nearest_words(_spelt(name), self.names(), least_alike=0.8))

    def facts_of_choice(self, word: str) -> tuple[tuple[str, str], ...]:
        """The facts that a workload may state of which the word is a value, each with the value as it is called.

        Those that are asked without anybody wishing for it come first.
        """
        stated = [fact for name, fact in self.facts.items() if self._may_be_stated(name)]
        stated.sort(key=lambda fact: fact.askable in ("on_request", "never"))
        found = ((fact.name, fact.choice(word)) for fact in stated)
        return tuple((name, choice) for name, choice in found if choice is not None)

    def looked_for(self, word: str) -> tuple[FactDef, ...]:
        """The facts that people may mean by a word that names none of them: ``tokens``, ``budget``, ``rl``."""
        folded = fold(word)
        stated = (fact for name, fact in self.facts.items() if self._may_be_stated(name))
        return tuple(fact for fact in stated if folded in map(fold, fact.looked_for_as))

    def looked_for_beside(self, fact: FactDef) -> tuple[FactDef, ...]:
        """The other facts that people may mean by the words by which they mean this one."""
        found = {other.name: other for word in fact.looked_for_as for other in self.looked_for(word)}
        return tuple(other for name, other in found.items() if name != fact.name)

    def _may_be_stated(self, name: str) -> bool:
        fact = self.fact(name)
        return fact is not None and fact.scope == "workload" and fact.role != "output"


def _spelt(name: str) -> str:
    return name.strip().replace("-", "_").replace(" ", "_")


@lru_cache(maxsize=512)
def _spellings(choices: tuple[str, ...], synonyms: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return {fold(spelling): choice for spelling, choice in (*reversed(synonyms), *zip(choices, choices, strict=True))}


def fold(word: str) -> str:
    """A spelling without what does not matter: case, '-', '_' and spaces."""
    return word.strip().casefold().replace("-", "").replace("_", "").replace(" ", "")
