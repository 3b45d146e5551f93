"""The form of rule files as data: keys, kinds, and where each may stand."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.rules.rulebook.model import Band, Each, HitPolicy, Quantity, Stage, Status


Kind = Literal[
    "id",  # kebab-case name
    "name",  # the name of a rule, table or row
    "text",
    "template",  # text with {fact} in it
    "word",  # one of `choices`
    "flag",  # true or false
    "date",  # 2026-12-31
    "names",  # one name or a list of names
    "counts",  # one positive whole number or a list of them
    "number",
    "conditions",
    "settings",  # {fact: expression}
    "targets",  # {figure: value or [low, high]}
    "claim",  # a quantity, or {quantity, ratio, over}
    "effects",
    "columns",
    "rows",
    "cells",
    "tests",
    "facts",  # {fact: value}
    "plan",  # true, or a GPU
    "sentences",  # {key: sentence}
    "outcomes",  # {fact: value}, and words of `then` with what the rule does under them
    "one_fact",  # {fact: value}, exactly one
]


class Key(Struct, frozen=True):
    """One key of a mapping in a rule file."""

    name: str
    kind: Kind
    says: str
    required: bool = False
    choices: tuple[str, ...] = ()


STAGES: tuple[Stage, ...] = get_args(Stage)
EACH: tuple[Each, ...] = get_args(Each)
HIT_POLICIES: tuple[HitPolicy, ...] = get_args(HitPolicy)
STATUSES: tuple[Status, ...] = get_args(Status)
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)
BANDS: tuple[Band, ...] = get_args(Band)


class EffectKey(Key, frozen=True, kw_only=True):
    """One key of ``then``: where it may stand and what it holds."""

    stages: tuple[Stage, ...]
    each: tuple[Each, ...] = EACH
    needs: tuple[str, ...] = ()  # keys that must stand beside it
    excludes: tuple[str, ...] = ()  # keys that may not stand beside it


#: Which scopes each stage may have.
EACH_OF_STAGE: dict[Stage, tuple[Each, ...]] = {
    "derive": ("workload", "plan"),
    "reject": ("plan", "workload"),  # on the workload: the job contradicts itself
    "prefer": ("plan",),
    "advise": ("workload", "chosen", "candidate"),
}

REASONS = (
    "fit",
    "speed",
    "latency",
    "cost",
    "ecosystem",
    "reliability",
    "interconnect",
    "scale",
    "efficiency",
    "availability",
    "wish",
    "maturity",
)

#: Who answers for a rule, a table or a layer.
RESPONSIBLE_KEYS = (
    Key("author", "text", "who wrote it"),
    Key("reviewed_by", "text", "who looked at it"),
    Key("approved_on", "date", "the day on which it was approved, as 2026-12-31"),
)
_COMMON = (
    Key("because", "text", "the general ground of the rule, in a sentence", required=True),
    Key("sources", "names", "ids of knowledge/sources.yaml, optionally with /section"),
    Key("encodes", "names", "ids of the heuristics catalogue"),
    Key("status", "word", "how stable the rule is (default: stable)", choices=STATUSES),
    Key("valid_until", "date", "the day after which the claim should be checked again, as 2026-12-31"),
    Key("overrides", "names", "ids of rules or tables that this one silences where both match"),
    *RESPONSIBLE_KEYS,
)
_REPLACES = Key("replaces", "name", "in a layer: the rule or table of a layer below that this one takes the place of")
_HEAD = (
    Key("title", "text", "the rule in one line", required=True),
    Key("stage", "word", "when it runs", required=True, choices=STAGES),
    Key("each", "word", "what it looks at (default: workload)", choices=EACH),
)

RULE_KEYS = (
    Key("id", "id", "kebab-case name, unique in the rulebook", required=True),
    *_HEAD,
    Key("when", "conditions", "conditions that must all hold", required=True),
    Key("then", "effects", "what follows", required=True),
    *_COMMON,
    _REPLACES,
    Key("tests", "tests", "examples with the expected outcome"),
)
TABLE_KEYS = (
    Key("table", "id", "kebab-case name, unique in the rulebook", required=True),
    *_HEAD,
    Key("hit", "word", "collect: every matching row; first: only the first (default: collect)", choices=HIT_POLICIES),
    Key("complete", "flag", "true: lint proves that some row always matches (default: false)"),
    Key("when", "conditions", "conditions that hold for all rows"),
    Key("columns", "columns", "the facts that the cells speak about", required=True),
    Key("then", "effects", "merged into the `then` of each row"),
    *(replace(key, required=False) for key in _COMMON),
    _REPLACES,
    Key("rows", "rows", "the rows, each a rule <table>/<id>", required=True),
)
DISABLE_KEYS = (
    Key("disable", "name", "in a layer: the rule, table or row of a layer below that is not to run", required=True),
    Key("because", "text", "why it does not hold here", required=True),
)
ROW_KEYS = (
    Key("id", "id", "kebab-case name, unique in the table", required=True),
    Key("title", "text", "the row in one line"),
    Key("if", "cells", "one cell for each column", required=True),
    Key("then", "effects", "what follows, beside the `then` of the table"),
    *(replace(key, required=False) for key in _COMMON),
    Key("tests", "tests", "examples with the expected outcome"),
)
TEST_KEYS = (
    Key("given", "facts", "workload facts"),
    Key("plan", "facts", "gpu, count, and plan facts that overrule what the plan would have"),
    Key("fires", "flag", "whether the rule fires (default: true where the test says what follows)"),
    Key("then", "outcomes", "what follows: facts by name, and words of `then` with what the rule does"),
    Key("warns", "names", "codes that the rule warns of"),
    Key("advises", "names", "codes that the rule advises"),
    Key("rejects", "plan", "true, or the GPU whose plan the rule rejects"),
    Key("prefers", "text", "the plan that gets more points: `A over B`, or `2 x A over B by 3`"),
    Key("silent", "names", "rules and tables that do not take effect here, overridden by this one say"),
    Key("says", "sentences", "title, text, reason: whole sentences; lists and words of `then` are whole beside it"),
    Key("answers", "facts", "what the whole answer contains, in the words of scenarios"),
)
NEAR_MISS_KEYS = (
    Key("near_miss", "one_fact", "the one thing that differs from the test above that fires", required=True),
)

CLAIM_KEYS = (
    Key("quantity", "word", "what is compared", required=True, choices=QUANTITIES),
    Key("ratio", "number", "how many times that of the other card, as the source says; below 1: less than it"),
    Key("over", "name", "the card compared with: a GPU id, family or series (default: the other plans)"),
)

ID_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
DATE_PATTERN = r"^\d{4}-\d{2}-\d{2}$"
