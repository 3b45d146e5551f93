"""What a rule is once loaded: frozen, typed, with its place in the file."""

from collections.abc import Callable
from typing import ClassVar, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from whichgpu.engine.core import Facts, Place, Value
from whichgpu.engine.rules.language.tree import Expr


Stage = Literal["derive", "reject", "prefer", "advise"]
Each = Literal["workload", "plan", "chosen", "candidate"]
Status = Literal["draft", "stable", "deprecated"]
HitPolicy = Literal["first", "collect"]
Quantity = Literal["speed", "throughput_per_usd", "cost", "efficiency"]
Band = Literal["cards", "counts"]

#: The stages with their article, for sentences.
STAGE_RULE: dict[Stage, str] = {
    "derive": "a derive rule",
    "reject": "a reject rule",
    "prefer": "a prefer rule",
    "advise": "an advise rule",
}


class Condition(Struct, frozen=True, array_like=True):
    """One line of ``when``; all lines of a rule must hold."""

    expr: Expr
    text: str
    place: Place | None = None
    column: str | None = None  # the fact of the column, where the condition is a cell of a table


class Effect(Struct, frozen=True, tag=True, array_like=True):
    """What a rule does once it fires: one word of ``then``. The effects are in ``rulebook.effects``."""

    word: ClassVar[str] = ""  # in rule files and in the trace
    says: ClassVar[str] = ""  # a sentence without its full stop, with the effect's fields in it

    def words(self, _: Callable[[float], str]) -> str:
        """The effect for people; the argument writes numbers."""
        return self.says.format(**asdict(self))

    def traced(self, _: Facts) -> tuple[str, list[object] | dict[str, object]]:
        """The word and what the trace keeps under it: a list, or a mapping."""
        return self.word, [getattr(self, self.__struct_fields__[0])]


class Claim(Struct, frozen=True, array_like=True):
    """``claim: {quantity: speed, ratio: 2.0, over: nvidia-h100}``: what a source says and the program can compute.

    ``ratio`` is the quantity of the rule's plan divided by that of ``over`` (a GPU id, family or series of the
    catalogue; without it: the other plans). Either may be left out where the source gives none.
    """

    quantity: Quantity
    ratio: float | None = None
    over: str | None = None


class Preference(Struct, frozen=True):
    """``prefers: 2 x nvidia-h100 over nvidia-l4 by 3``: the rule gives one plan more points than another."""

    better: str  # a GPU by id, family or series
    worse: str
    better_count: int | None = None  # None: that of the test's plan
    worse_count: int | None = None
    by: float | None = None  # how many points more; None: any


class Expected(Struct, frozen=True):
    """What a test says that follows where its rule fires. Parts that are empty say nothing."""

    facts: dict[str, Value] = {}  # as the rules of this stage and scope leave them
    effects: dict[str, object] = {}  # words of ``then`` with what the rule does under them; of texts a phrase
    silent: tuple[str, ...] = ()  # rules and tables that do not take effect on the case
    prefers: Preference | None = None
    answers: dict[str, object] = {}  # what the whole answer to ``given`` contains, as in a scenario
    says: dict[str, str] = {}  # whole sentences, by the key under which the rule says them; facts may stand in braces


class RuleTest(Struct, frozen=True):
    """A test inside a rule.

    ``given`` maps workload facts to values; ``plan`` may hold ``gpu`` (an id), ``count``, and plan, GPU or candidate
    facts by full name (``plan.headroom_pct``) that overrule what the plan would have. The word ``unknown`` as a value
    removes the fact. ``near_miss`` holds the one thing that differs from the test above that fires; it is merged into
    ``given`` and ``plan`` already.
    """

    given: dict[str, object]
    plan: dict[str, object]
    fires: bool
    near_miss: dict[str, object] | None = None
    place: Place | None = None
    expected: Expected | None = None


class Responsible(Struct, frozen=True, array_like=True):
    """Who said so: who wrote a rule, or all of a layer, who looked at it, and when it was approved."""

    author: str | None = None
    reviewed_by: str | None = None
    approved_on: str | None = None  # a day: 2026-12-31

    def stated(self) -> dict[str, str]:
        """What of it is stated, by its key."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Rule(Struct, frozen=True, array_like=True):
    """One rule, or one row of a decision table (then ``table`` names it and ``row`` is its position)."""

    id: str
    title: str
    stage: Stage
    each: Each
    when: tuple[Condition, ...]
    effects: tuple[Effect, ...]
    text: str  # Template for advise/warn/points, rendered with this case's values; may be empty.
    because: str
    sources: tuple[str, ...]
    encodes: tuple[str, ...] = ()
    status: Status = "stable"
    valid_until: str | None = None
    overrides: tuple[str, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    topic: str = ""
    table: str | None = None
    row: int = 0
    hit: HitPolicy = "collect"
    place: Place | None = None
    reads: frozenset[str] = field(default_factory=frozenset)  # by conditions and ``set`` expressions
    writes: frozenset[str] = field(default_factory=frozenset)
    mentions: frozenset[str] = field(default_factory=frozenset)  # by templates: shown, never decisive
    replaces: str | None = None  # a rule or table of a layer below that this one takes the place of
    layer: str = ""
    responsible: Responsible = Responsible()


class Table(Struct, frozen=True, array_like=True):
    """A decision table as written; its rows are rules of the rulebook."""

    id: str
    title: str
    stage: Stage
    each: Each
    hit: HitPolicy
    complete: bool
    columns: tuple[str, ...]
    rows: tuple[str, ...]  # rule ids, in the order of the file
    topic: str = ""
    place: Place | None = None
    replaces: str | None = None
    layer: str = ""


class Layer(Struct, frozen=True, array_like=True):
    """One folder of rule files: its name, a digest over what it says about rules alone, and how many rules it has."""

    name: str
    digest: str
    rules: int
    responsible: Responsible = Responsible()


class Change(Struct, frozen=True, array_like=True):
    """What a layer did to the rules below it. ``title`` is the title of the rule that is new, or that went."""

    kind: Literal["added", "replaced", "disabled"]
    rule: str  # added: the new rule; else the rule that went
    title: str
    layer: str
    because: str
    by: str | None = None  # replaced: the rule or table that took its place
    below: str = ""  # the layer of the rule that went
    place: Place | None = None


class Rulebook(Struct, frozen=True):
    """All rules, sorted by id, and what identifies them. ``layers`` lie in their order, the lowest first."""

    rules: tuple[Rule, ...]
    tables: tuple[Table, ...]
    digest: str
    layers: tuple[Layer, ...]
    changes: tuple[Change, ...] = ()  # by every layer but the lowest
    key: str | None = None  # of what is kept of it between runs; None where nothing is

    def rule(self, rule_id: str) -> Rule:
        """The rule with this id. Raises KeyError if there is none."""
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise KeyError(rule_id)

    def of_stage(self, stage: Stage, each: Each | None = None) -> tuple[Rule, ...]:
        """The rules of one stage (and scope), sorted by id."""
        return tuple(rule for rule in self.rules if rule.stage == stage and each in (None, rule.each))


class KnownNames(Struct, frozen=True):
    """Names that live outside the rulebook. An empty set means: do not check."""

    sources: frozenset[str] = frozenset()
    gpus: frozenset[str] = frozenset()
    figures: frozenset[str] = frozenset()
    disagreements: frozenset[str] = frozenset()
    heuristics: frozenset[str] = frozenset()


class Verdict(Struct, frozen=True):
    """What became of one rule on one set of facts."""

    rule: str
    outcome: Literal["fired", "overridden", "undecided", "not_fired"]
    by: str | None = None  # overridden: the rule that prevailed
    missing: tuple[str, ...] = ()  # undecided: the facts it lacks
    failed: str | None = None  # not_fired: the first false condition, as written
    value: Value | None = None  # not_fired: the value that made it false, where it has one fact
