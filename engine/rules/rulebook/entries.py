"""Reading the entries of a rule file: rules, and tables whose rows are rules."""

from __future__ import annotations

from msgspec.structs import replace

from whichgpu.engine.core import MappingNode, Node, ScalarNode, SequenceNode, place_of
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.language.tree import facts_read
from whichgpu.engine.rules.rulebook.conditions import read_cells, read_conditions
from whichgpu.engine.rules.rulebook.effects import EFFECT_KEYS, SetFact
from whichgpu.engine.rules.rulebook.effects.reading import read_effects
from whichgpu.engine.rules.rulebook.grammar import (
    DISABLE_KEYS,
    EACH,
    EACH_OF_STAGE,
    HIT_POLICIES,
    ROW_KEYS,
    RULE_KEYS,
    STAGES,
    TABLE_KEYS,
)
from whichgpu.engine.rules.rulebook.model import STAGE_RULE, Each, Rule, Stage, Table
from whichgpu.engine.rules.rulebook.phases import reading_complaint
from whichgpu.engine.rules.rulebook.provenance import INHERITED, read_provenance
from whichgpu.engine.rules.rulebook.reading import Context, Draft, Fields, Reader, Removal
from whichgpu.engine.rules.rulebook.ruletests import read_tests


def read_entry(node: Node, topic: str, context: Context) -> tuple[list[Rule], Table | None]:
    """The rules of one entry of a file, and the table if it is one. What it takes away is noted in ``context``."""
    if isinstance(node, MappingNode) and node.key("disable"):
        _read_disabling(node, context)
        return [], None
    if isinstance(node, MappingNode) and node.key("table"):
        return _read_table(node, topic, context)
    hint = "start a rule with `- id: its-name`, or a table with `- table: its-name`"
    fields = context.fields(node, RULE_KEYS, "a rule", hint=hint)
    begun = None if fields is None else _begin(fields, "id", "the id of a rule", node, topic, context)
    if fields is None or begun is None:
        return [], None
    then = _read_then(fields, context) if "then" in fields else None
    return [_finish(Draft(begun, node, fields, then), context)], None


def _read_disabling(node: MappingNode, context: Context) -> None:
    fields = context.fields(node, DISABLE_KEYS, "a disabling") or {}
    if "disable" not in fields or "because" not in fields:
        return
    because = context.text(fields, "because")
    context.removals += [Removal(name, because) for name in context.names(fields["disable"][1], "`disable`")]


def _read_replaces(owner: str, fields: Fields, context: Context) -> str | None:
    """The name of what this rule or table takes the place of."""
    if "replaces" not in fields:
        return None
    node = fields["replaces"][1]
    if not isinstance(node, ScalarNode):
        context.add("wrong-form", "`replaces` is no name", node, fix="name one rule or table")
        return None
    context.removals.append(Removal(node, Reader().text(fields, "because"), owner))
    return node.text


def _begin(fields: Fields, key: str, what: str, node: Node, topic: str, context: Context) -> Rule | None:
    """A rule or table with its name (under ``key``), title, stage, scope and conditions; the rest is read later.

    None if stage or scope are wrong, for then conditions and effects cannot be judged. A name with problems serves to
    go on with, so that the rest is judged as well.
    """
    where = fields[key][1] if key in fields else node
    name = where.text if key in fields and isinstance(where, ScalarNode) else "(no id)"
    if key in fields and context.id(where, what) is not None:
        context.claim(name, where)
    scope = _read_scope(fields, context)
    title = context.text(fields, "title")
    if scope is None:
        read_provenance(name, fields, context)
        return None
    when = read_conditions(fields["when"][1], *scope, context) if "when" in fields else ()
    return Rule(name, title, *scope, when, (), "", "", (), topic=topic, place=place_of(where), layer=context.layer)


def _read_scope(fields: Fields, context: Context) -> tuple[Stage, Each] | None:
    """Stage and scope; None where they are wrong."""
    stage = context.word(fields, "stage", STAGES)
    each = context.word(fields, "each", EACH)
    if stage is None or ("each" in fields and each is None):
        return None
    scopes = EACH_OF_STAGE[stage]
    if (each or "workload") not in scopes:
        allowed = " or ".join(scopes)
        said = f"for each: {each}" if each else "for each: workload (nothing else is said)"
        where = fields["each" if each else "stage"][1]
        context.add("wrong-scope", f"{STAGE_RULE[stage]} cannot be {said}", where, fix=f"write each: {allowed}")
        return (stage, scopes[0]) if len(scopes) == 1 else None
    return stage, each or "workload"


def _read_then(fields: Fields, context: Context) -> Fields | None:
    return context.fields(fields["then"][1], EFFECT_KEYS, "`then`") if "then" in fields else {}


def _read_table(node: MappingNode, topic: str, context: Context) -> tuple[list[Rule], Table | None]:
    fields = context.fields(node, TABLE_KEYS, "a table") or {}
    begun = _begin(fields, "table", "the name of a table", node, topic, context)
    if begun is None:
        return [], None
    name, stage, each, hit = begun.id, begun.stage, begun.each, context.word(fields, "hit", HIT_POLICIES) or "collect"
    read_provenance(name, fields, context)
    columns = _read_columns(fields, stage, each, context)
    base = Draft(replace(begun, table=name, hit=hit), node, fields, _read_then(fields, context))
    rows = context.items(fields["rows"][1], "`rows`") if "rows" in fields else ()
    rules = [rule for at, row in enumerate(rows) if (rule := _read_row(row, at, base, columns, context))]
    table = Table(
        name,
        begun.title,
        stage,
        each,
        hit,
        context.flag(fields, "complete"),
        tuple(fact.name for fact in columns if fact),
        tuple(rule.id for rule in rules),
        topic,
        begun.place,
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
    for item in context.items(node, "`columns`"):
        fact = None
        if isinstance(item, ScalarNode):
            fact = context.fact(item, "a column")
            complaint = reading_complaint(fact, stage, each) if fact else None
            if complaint:
                context.add("unreadable-fact", complaint[0], item, fix=complaint[1], fact=item.text)
                fact = None
        else:
            context.add("wrong-form", "a column is no fact", item, fix="name a fact of the vocabulary")
        columns.append(fact)
    if isinstance(node, SequenceNode) and not columns:
        context.add("wrong-form", "`columns` names no fact", node, fix="name the facts that the cells speak about")
    return tuple(columns)


def _read_row(node: Node, at: int, base: Draft, columns: tuple[FactDef | None, ...], context: Context) -> Rule | None:
    fields = context.fields(node, ROW_KEYS, "a row", hint="start a row with `- id: its-name`")
    if fields is None or "id" not in fields:
        return None
    where, table = fields["id"][1], base.rule
    name = context.id(where, "the id of a row")
    if name is None:
        return None
    rule_id = f"{table.id}/{name}"
    context.claim(rule_id, where)
    merged = {key: base.fields[key] for key in INHERITED if key in base.fields} | fields
    if "because" not in merged:
        message = f"neither the row {rule_id!r} nor its table has `because`"
        context.add("missing-key", message, where, fix="add `because:` to the row or to the table")
    cells = read_cells(fields["if"][1], columns, table.stage, table.each, context) if "if" in fields else ()
    title = context.text(fields, "title") if "title" in fields else table.title
    own = _read_then(fields, context)
    then = None if base.then is None or own is None else base.then | own
    row = replace(table, id=rule_id, place=place_of(where), title=title, when=table.when + cells, row=at)
    return _finish(Draft(row, node, merged, then), context)


def _finish(draft: Draft, context: Context) -> Rule:
    """The rule of a draft. Parts with problems are left out; the file is refused anyway."""
    rule, fields = draft.rule, draft.fields
    effects, text, mentions = read_effects(draft, context)
    settings = [effect for effect in effects if isinstance(effect, SetFact)]
    read = [*(condition.expr for condition in rule.when), *(effect.expr for effect in settings)]
    wanted = context.tests and "tests" in fields
    return replace(
        rule,
        effects=effects,
        text=text,
        **read_provenance(rule.id, fields, context),
        tests=read_tests(fields["tests"][1], rule.stage, rule.each, context) if wanted else (),
        reads=frozenset(name for expr in read for name in facts_read(expr)),
        writes=frozenset(effect.fact for effect in settings),
        mentions=mentions,
        replaces=_read_replaces(rule.id, fields, context) if rule.table is None else None,
    )
