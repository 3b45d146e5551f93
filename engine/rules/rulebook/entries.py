"""Reading the entries of a rule file: rules, and tables whose rows are rules."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from whichgpu.engine.core.yaml import Mapping
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import Sequence
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.rulebook.conditions import read_cells
from whichgpu.engine.rules.rulebook.conditions import read_conditions
from whichgpu.engine.rules.rulebook.effects import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.effects import SetFact
from whichgpu.engine.rules.rulebook.effects.reading import read_effects
from whichgpu.engine.rules.rulebook.grammar import DISABLE_KEYS
from whichgpu.engine.rules.rulebook.grammar import EACH_OF_STAGE
from whichgpu.engine.rules.rulebook.grammar import ROW_KEYS
from whichgpu.engine.rules.rulebook.grammar import RULE_KEYS
from whichgpu.engine.rules.rulebook.grammar import TABLE_KEYS
from whichgpu.engine.rules.rulebook.grammar import Key
from whichgpu.engine.rules.rulebook.grammar import reading_complaint
from whichgpu.engine.rules.rulebook.model import STAGE_RULE
from whichgpu.engine.rules.rulebook.model import Condition
from whichgpu.engine.rules.rulebook.model import Each
from whichgpu.engine.rules.rulebook.model import HitPolicy
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import Stage
from whichgpu.engine.rules.rulebook.model import Table
from whichgpu.engine.rules.rulebook.provenance import INHERITED
from whichgpu.engine.rules.rulebook.provenance import read_grounds
from whichgpu.engine.rules.rulebook.reading import Context
from whichgpu.engine.rules.rulebook.reading import Draft
from whichgpu.engine.rules.rulebook.reading import Fields
from whichgpu.engine.rules.rulebook.reading import Reader
from whichgpu.engine.rules.rulebook.reading import Removal
from whichgpu.engine.rules.rulebook.ruletests import read_tests


_RULE = {key.name: key for key in RULE_KEYS}
_TABLE = {key.name: key for key in TABLE_KEYS}


def read_entry(node: Node, topic: str, context: Context) -> tuple[list[Rule], Table | None]:
    """The rules of one entry of a file, and the table if it is one. What it takes away is noted in ``context``."""
    if isinstance(node, Mapping) and node.key("disable"):
        _read_disabling(node, context)
        return [], None
    if isinstance(node, Mapping) and node.key("table"):
        return _read_table(node, topic, context)
    rule = _read_rule(node, topic, context)
    return ([rule] if rule else []), None


def _read_rule(node: Node, topic: str, context: Context) -> Rule | None:
    hint = "start a rule with `- id: its-name`, or a table with `- table: its-name`"
    fields = context.reader.fields(node, RULE_KEYS, "a rule", hint=hint)
    if fields is None:
        return None
    rule_id = _read_name(fields, "id", "the id of a rule", context)
    head = _read_head(fields, _RULE, context)
    if head is None:
        read_grounds(rule_id, fields, context)
        return None
    title, stage, each = head
    when = read_conditions(fields["when"][1], stage, each, context) if "when" in fields else ()
    then = _read_then(fields, context)
    where = fields["id"][1] if "id" in fields else node
    draft = Draft(rule_id, place_of(where), title, stage, each, when, fields, then, where, topic)
    if then is not None:
        draft.then_node = fields["then"][1]
    return _finish(draft, context)


def _read_disabling(node: Mapping, context: Context) -> None:
    fields = context.reader.fields(node, DISABLE_KEYS, "a disabling") or {}
    if "disable" not in fields or "because" not in fields:
        return
    because = context.reader.text(fields["because"][1], "`because`")
    names = context.reader.names(fields["disable"][1], "`disable`")
    context.removals += [Removal(name, because) for name in names]


def _read_replaces(owner: str, fields: Fields, context: Context) -> str | None:
    """The name of what this rule or table takes the place of."""
    if "replaces" not in fields:
        return None
    node = fields["replaces"][1]
    if not isinstance(node, Scalar):
        context.reader.add("wrong-form", "`replaces` is no name", node, fix="name one rule or table")
        return None
    because = Reader().text(fields["because"][1], "`because`") if "because" in fields else ""
    context.removals.append(Removal(node, because, owner))
    return node.text


def _read_name(fields: Fields, key: str, what: str, context: Context) -> str:
    """The id; one with problems serves to go on with, so that the rest is judged as well."""
    if key not in fields:
        return "(no id)"
    node = fields[key][1]
    name = context.reader.id(node, what)
    if name is None:
        return node.text if isinstance(node, Scalar) else "(no id)"
    context.claim(name, node)
    return name


def _read_head(fields: Fields, keys: dict[str, Key], context: Context) -> tuple[str, Stage, Each] | None:
    """Title, stage and scope; None if stage or scope are wrong, for then conditions and effects cannot be judged."""
    title = context.reader.text(fields["title"][1], "`title`") if "title" in fields else ""
    stage = each = None
    if "stage" in fields:
        stage = cast("Stage | None", context.reader.word(fields["stage"][1], "`stage`", keys["stage"].choices))
    if "each" in fields:
        each = cast("Each | None", context.reader.word(fields["each"][1], "`each`", keys["each"].choices))
        if each is None:
            return None
    if stage is None:
        return None
    scopes = EACH_OF_STAGE[stage]
    if (each or "workload") not in scopes:
        allowed = " or ".join(scopes)
        said = f"for each: {each}" if each else "for each: workload (nothing else is said)"
        where = fields["each" if each else "stage"][1]
        context.reader.add("wrong-scope", f"{STAGE_RULE[stage]} cannot be {said}", where, fix=f"write each: {allowed}")
        return (title, stage, scopes[0]) if len(scopes) == 1 else None
    return title, stage, each or "workload"


def _read_then(fields: Fields, context: Context) -> Fields | None:
    if "then" not in fields:
        return None
    return context.reader.fields(fields["then"][1], EFFECT_KEYS, "`then`")


def _read_table(node: Mapping, topic: str, context: Context) -> tuple[list[Rule], Table | None]:
    fields = context.reader.fields(node, TABLE_KEYS, "a table") or {}
    name = _read_name(fields, "table", "the name of a table", context)
    head = _read_head(fields, _TABLE, context)
    if head is None:
        read_grounds(name, fields, context)
        return [], None
    title, stage, each = head
    hit = "collect"
    if "hit" in fields:
        hit = context.reader.word(fields["hit"][1], "`hit`", _TABLE["hit"].choices) or "collect"
    complete = context.reader.flag(fields["complete"][1], "`complete`") if "complete" in fields else False
    when = read_conditions(fields["when"][1], stage, each, context) if "when" in fields else ()
    read_grounds(name, fields, context)
    columns = _read_columns(fields, stage, each, context)
    then = _read_then(fields, context) if "then" in fields else {}
    base = Draft(
        name,
        place_of(fields["table"][1]),
        title,
        stage,
        each,
        when,
        fields,
        then,
        node,
        topic,
        name,
        0,
        cast("HitPolicy", hit),
    )
    rows = context.reader.items(fields["rows"][1], "`rows`") if "rows" in fields else ()
    rules = [rule for at, row in enumerate(rows) if (rule := _read_row(row, at, base, columns, context))]
    table = Table(
        name,
        title,
        stage,
        each,
        cast("HitPolicy", hit),
        complete,
        tuple(fact.name for fact in columns if fact),
        tuple(rule.id for rule in rules),
        topic,
        base.place,
        _read_replaces(name, fields, context),
        context.layer,
    )
    return rules, table


def _read_columns(fields: Fields, stage: Stage, each: Each, context: Context) -> tuple[FactDef | None, ...]:
    """The facts of the columns; None where one is unknown, so that the cells still count right."""
    if "columns" not in fields:
        return ()
    node = fields["columns"][1]
    columns: list[FactDef | None] = []
    for item in context.reader.items(node, "`columns`"):
        fact = None
        if isinstance(item, Scalar):
            fact = context.fact(item, "a column")
            complaint = reading_complaint(fact, stage, each) if fact else None
            if complaint:
                context.reader.add("unreadable-fact", complaint[0], item, fix=complaint[1], fact=item.text)
                fact = None
        else:
            context.reader.add("wrong-form", "a column is no fact", item, fix="name a fact of the vocabulary")
        columns.append(fact)
    if isinstance(node, Sequence) and not columns:
        context.reader.add(
            "wrong-form", "`columns` names no fact", node, fix="name the facts that the cells speak about"
        )
    return tuple(columns)


def _read_row(node: Node, at: int, base: Draft, columns: tuple[FactDef | None, ...], context: Context) -> Rule | None:
    fields = context.reader.fields(node, ROW_KEYS, "a row", hint="start a row with `- id: its-name`")
    if fields is None or "id" not in fields:
        return None
    name = context.reader.id(fields["id"][1], "the id of a row")
    if name is None:
        return None
    rule_id = f"{base.id}/{name}"
    context.claim(rule_id, fields["id"][1])
    merged = {key: base.fields[key] for key in INHERITED if key in base.fields} | fields
    if "because" not in merged:
        context.reader.add(
            "missing-key",
            f"neither the row {rule_id!r} nor its table has `because`",
            fields["id"][1],
            fix="add `because:` to the row or to the table",
        )
    cells: tuple[Condition, ...] = ()
    if "if" in fields:
        cells = read_cells(fields["if"][1], columns, base.stage, base.each, context)
    title = context.reader.text(fields["title"][1], "`title`") if "title" in fields else base.title
    own = _read_then(fields, context) if "then" in fields else {}
    then = None if base.then is None or own is None else base.then | own
    draft = replace(
        base,
        id=rule_id,
        place=place_of(fields["id"][1]),
        title=title,
        when=base.when + cells,
        fields=merged,
        then=then,
        then_node=fields["then"][1] if "then" in fields else node,
        row=at,
    )
    return _finish(draft, context)


def _finish(draft: Draft, context: Context) -> Rule:
    """The rule of a draft. Parts with problems are left out; the file is refused anyway."""
    effects, text, mentions = read_effects(draft, context)
    grounds = read_grounds(draft.id, draft.fields, context)
    wanted = context.tests and "tests" in draft.fields
    tests = read_tests(draft.fields["tests"][1], draft.each, context) if wanted else ()
    reads = {name for condition in draft.when for name in facts_read(condition.expr)}
    reads |= {name for effect in effects if isinstance(effect, SetFact) for name in facts_read(effect.expr)}
    return Rule(
        id=draft.id,
        title=draft.title,
        stage=draft.stage,
        each=draft.each,
        when=draft.when,
        effects=effects,
        text=text,
        because=grounds.because,
        sources=grounds.sources,
        encodes=grounds.encodes,
        status=grounds.status,
        valid_until=grounds.valid_until,
        overrides=grounds.overrides,
        tests=tests,
        topic=draft.topic,
        table=draft.table,
        row=draft.row,
        hit=draft.hit,
        place=draft.place,
        reads=frozenset(reads),
        writes=frozenset(effect.fact for effect in effects if isinstance(effect, SetFact)),
        mentions=mentions,
        replaces=_read_replaces(draft.id, draft.fields, context) if draft.table is None else None,
        layer=context.layer,
    )
