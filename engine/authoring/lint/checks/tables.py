"""Tables that leave out a case, rows whose order decides, and conclusions that go up and down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check, named, shown
from whichgpu.engine.authoring.lint.formulas import Formula, both, literal, opposite
from whichgpu.engine.authoring.lint.heuristic_limits import Range, allowed
from whichgpu.engine.rules import Const, Known, Points, Rule, SetFact, Table, leaves, to_nnf


@check("error", silence="with the table's name, or drop ``complete``")
def incomplete_table(context: LintContext) -> Iterator[Finding]:
    """Table declared ``complete`` that leaves a case out.

    Why: in that case the table says nothing, and whoever relies on its completeness is left with an unknown fact.

    Bad::

        - table: tiers
          complete: true
          columns: [param_count_b]
          rows:
            - {id: small, if: ['< 7'], then: {set: {tier: low}}}
            - {id: large, if: ['> 7'], then: {set: {tier: high}}}     # 7 itself is in neither

    Good: ``>= 7`` in the last row::

        - table: tiers
          complete: true
          columns: [param_count_b]
          rows:
            - {id: small, if: ['< 7'], then: {set: {tier: low}}}
            - {id: large, if: ['>= 7'], then: {set: {tier: high}}}

    Proved for all values of the columns. That a column is unknown is a case only where some cell says ``is unknown``.
    """
    for table in context.rulebook.tables:
        if not table.complete:
            continue
        gap = uncovered(table, context)
        case = context.regions.find(*gap)
        if case is None and not context.regions.never(*gap):
            message = f"{table.id} has too many cases to prove that its rows cover all"
            yield Finding(incomplete_table.id, "info", message, table.id, table.place)
        elif case:
            message, fix = f"no row of {table.id} matches {shown(case.example)}", "add a row for it, or drop `complete`"
            possible = not case.certain
            yield Finding(incomplete_table.id, "error", message, table.id, table.place, (), fix, possible, case.example)


def uncovered(table: Table, context: LintContext) -> tuple[Formula, ...]:
    """Where no row of a table matches. Together they hold in its gaps."""
    rows = [context.rulebook.rule(row) for row in table.rows]
    conditions = context.regions.conditions
    # What holds for the whole table is the case it speaks of, and derived columns stand for themselves.
    missed = (
        opposite(both(*(conditions.true(condition.expr) for condition in row.when if condition.column))) for row in rows
    )
    return (*missed, *_domain(table, rows, context))


def _domain(table: Table, rows: list[Rule], context: LintContext) -> Iterator[Formula]:
    """The columns are known, unless a cell asks whether they are; and hold some value that a row speaks of."""
    parts = ((cell.column, part) for row in rows for cell in row.when for part in leaves(to_nnf(cell.expr)))
    asked = {column for column, part in parts if isinstance(part, Known) and part.negated}
    for column in table.columns:
        classes = context.regions.conditions.domains.of(column)
        if column not in asked:
            yield literal(column, classes.known, classes.full)


@check("info", silence="with the table's name")
def open_table(context: LintContext) -> Iterator[Finding]:
    """Table that does not say that it is complete: what it leaves out, or that it leaves out nothing.

    Why: a gap is often meant, for a table may speak of some cases only. Whoever reads it should know one that it leaves
    to others; and a table without a gap should say so, so that no one opens one unnoticed.

    Bad::

        - table: tiers
          columns: [param_count_b]
          rows:
            - {id: small, if: ['< 7'], then: {set: {tier: low}}}
            - {id: large, if: ['>= 7'], then: {set: {tier: high}}}

    Good::

        - table: tiers
          complete: true
          columns: [param_count_b]
          rows:
            - {id: small, if: ['< 7'], then: {set: {tier: low}}}
            - {id: large, if: ['>= 7'], then: {set: {tier: high}}}
    """
    for table in context.rulebook.tables:
        if table.complete:
            continue
        gap = uncovered(table, context)
        case = context.regions.find(*gap)
        if case is not None:
            message = f"{table.id} leaves out {shown(case.example)}, and says nothing of it"
            fix = None
        elif context.regions.never(*gap):
            message, fix = f"{table.id} leaves out no case, and does not say so", "write `complete: true`"
        else:
            continue
        example = case.example if case else None
        yield Finding(open_table.id, "info", message, table.id, table.place, (), fix, example=example)


@check("info", silence="with the lower row's id")
def overlapping_rows(context: LintContext) -> Iterator[Finding]:
    """Rows of a ``hit: first`` table that overlap without one being the special case of the other.

    Why: where both match, the order of the rows decides, and whoever sorts the table changes answers without noticing.

    Bad::

        rows:
          - {id: small, if: ['< 30', '-'], then: {set: {tier: low}}}
          - {id: many, if: ['-', '> 8'], then: {set: {tier: high}}}      # a small model on 16 GPUs is in both

    Good: cells that exclude each other, or a special row above a general one::

        rows:
          - {id: small, if: ['< 30', '<= 8'], then: {set: {tier: low}}}
          - {id: many, if: ['-', '> 8'], then: {set: {tier: high}}}

    Rows that do the same may overlap. So may a row whose cases all lie in a later row: that is an exception and its
    rule.
    """
    regions = context.regions
    for rule in context.rulebook.rules:
        for row in regions.earlier(rule):
            if (row.effects, row.text) == (rule.effects, rule.text):
                continue
            upper, lower = regions.where(row), regions.where(rule)
            # Rows that cover each other are the matter of shadowed-row, or an exception above its rule.
            if regions.never(upper, opposite(lower)) or regions.never(lower, opposite(upper)):
                continue
            above = (regions.outside(regions.where(other)) for other in regions.earlier(row))
            case = regions.find(upper, lower, *above)
            if case:
                yield overlapping_rows.about(
                    rule,
                    f"{rule.id} and {row.id} both match where {shown(case.example)}, and only the order decides",
                    fix="let the cells exclude each other, or put the special row above the general one",
                    case=case,
                )
                break


@check("error", silence="with the row's id")
def shadowed_row(context: LintContext) -> Iterator[Finding]:
    """Row of a ``hit: first`` table that earlier rows always take.

    Why: the row is never reached, so what it says never counts.

    Bad::

        rows:
          - {id: small, if: ['< 30'], then: {set: {tier: low}}}
          - {id: large, if: ['>= 30'], then: {set: {tier: high}}}
          - {id: huge, if: ['>= 70'], then: {set: {tier: middle}}}

    Good: the special row first, the general one last::

        rows:
          - {id: small, if: ['< 30'], then: {set: {tier: low}}}
          - {id: huge, if: ['>= 70'], then: {set: {tier: middle}}}
          - {id: large, if: ['>= 30'], then: {set: {tier: high}}}

    A row is found as well that no single row above covers, but several together.
    """
    regions = context.regions
    for rule in context.rulebook.rules:
        takers = regions.cover(regions.where(rule), regions.earlier(rule), regions.where)
        if takers:
            match = "matches" if len(takers) == 1 else "together match"
            yield shadowed_row.about(
                rule,
                f"{rule.id} is never reached: {named(takers)} {match} wherever it does",
                fix=f"move it above {takers[0].id}, or narrow that row",
            )


@check("warning")
def uneven_rows(context: LintContext) -> Iterator[Finding]:
    """Rows of a table whose conclusions go up and down while their ranges only go up.

    Why: two conclusions that were exchanged load and fire. Where three rows and more lie behind one another on a fact,
    what they set, or their points, goes one way.

    Bad::

        columns: [project_months]
        rows:
          - {id: short, if: ['< 24'], then: {set: {horizon_years: 1}}}
          - {id: middle, if: ['24..36'], then: {set: {horizon_years: 5}}}
          - {id: long, if: ['> 36'], then: {set: {horizon_years: 2}}}

    Good::

        columns: [project_months]
        rows:
          - {id: short, if: ['< 24'], then: {set: {horizon_years: 1}}}
          - {id: middle, if: ['24..36'], then: {set: {horizon_years: 2}}}
          - {id: long, if: ['> 36'], then: {set: {horizon_years: 5}}}

    Words are ordered as the vocabulary lists them. Compared are rows that differ in no other line.
    """
    for rules in context.by_table():
        if len(rules) < 3 or rules[0].table is None:
            continue
        for fact in sorted({fact for rule in rules for fact in rule.reads}):
            for what, steps in _steps(rules, fact, context):
                values = [step for step, _ in steps]
                up = all(one <= other for one, other in pairwise(values))
                if len(steps) >= 3 and not up and not all(one >= other for one, other in pairwise(values)):
                    shown = ", ".join(f"{value:g}" for value in values)
                    yield uneven_rows.about(
                        steps[1][1],
                        f"{rules[0].table} gives {what} of {shown} while {fact} only rises",
                        fix="correct the conclusion of a row, or say in a remark why it turns",
                    )


def _steps(rules: Sequence[Rule], fact: str, context: LintContext) -> Iterator[tuple[str, list[tuple[float, Rule]]]]:
    """By what rows conclude, their values with the rows, ordered by the range of the fact; other lines are alike."""
    found = defaultdict[tuple[tuple[str, ...], str], list[tuple[float, float, float, Rule]]](list)
    for rule in rules:
        ranges = [line for line in allowed(rule).get(fact, ()) if isinstance(line, Range)]
        if not ranges:
            continue
        low, high = max(line.low for line in ranges), min(line.high for line in ranges)
        rest = tuple(sorted(line.text for line in rule.when if fact not in line.text))
        for what, value in _conclusions(rule, context):
            found[rest, what].append((low, high, value, rule))
    for (_, what), steps in found.items():
        ordered = sorted(steps, key=lambda step: step[:2])
        yield what, [(value, rule) for _, _, value, rule in ordered]


def _conclusions(rule: Rule, context: LintContext) -> Iterator[tuple[str, float]]:
    for effect in rule.effects:
        if isinstance(effect, Points):
            yield f"points for {effect.reason}", effect.points
        if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and not isinstance(effect.expr.value, bool):
            found, choices = effect.expr.value, context.vocabulary.facts[effect.fact].choices
            if not isinstance(found, str):
                yield effect.fact, float(found)
            elif found in choices:
                yield effect.fact, float(choices.index(found))
