"""What cannot matter: unused codes, overrides that never meet, lines and alternatives without effect, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.formulas import Formula, both, opposite
from whichgpu.engine.authoring.lint.regions import Regions
from whichgpu.engine.rules import Ask, Expr, FactRef, Known, Or, Points, Rule, Say, constants, to_nnf, written


@check("warning")
def unsaid_code(context: LintContext) -> Iterator[Finding]:
    """Code of the vocabulary that nothing says.

    Why: advice or a warning that no rule gives is a rule that was forgotten, or one that gives another by mistake.
    Codes that the program gives itself say ``by_program: true``.

    Bad::

        codes:
          W-NEVER: {meaning: Nobody says it.}

    Good::

        then: {warn: W-NEVER}

    Silence: take the code out of ``codes.yaml``, or write ``by_program: true`` there.
    """
    said = {effect.code for rule in context.rulebook.rules for effect in rule.effects if isinstance(effect, Say)}
    for name, code in sorted(context.vocabulary.codes.items()):
        if name not in said and not code.by_program:
            fix = "let a rule say it, or take it out of codes.yaml"
            yield Finding(unsaid_code.id, unsaid_code.severity, f"no rule says {name}", name, fix=fix)


@check("warning")
def unmet_override(context: LintContext) -> Iterator[Finding]:
    """Override of a rule that can never match at the same time.

    Why: the override does nothing. Most often the wrong rule is named.

    Bad::

        - id: large
          when: [param_count_b > 70]
          overrides: [small]      # small: param_count_b < 7

    Good::

        - id: large
          when: [param_count_b > 70]
          overrides: [middle]     # middle: param_count_b > 30
    """
    rules = {rule.id: rule for rule in context.rulebook.rules}
    tables = {table.id: table.rows for table in context.rulebook.tables}
    owners: dict[str, list[Rule]] = {}
    for rule in context.rulebook.rules:
        if rule.overrides:
            owners.setdefault(rule.table or rule.id, []).append(rule)
    for owner, rows in owners.items():
        targets = dict.fromkeys(rules[name].table or name for row in rows for name in row.overrides if name in rules)
        for target in targets:
            others = [rules[name] for name in tables.get(target, (target,)) if name in rules]
            if not any(_meet(row, other, context) for row in rows for other in others if other.id in row.overrides):
                message = f"{owner} overrides {target}, and the two never match together"
                yield unmet_override.about(rows[0], message, fix="name the rule that is meant, or drop the override")


def _meet(rule: Rule, other: Rule, context: LintContext) -> bool:
    # By what facts may be, and by what rules make of them: serving and training exclude each other through the task.
    return not any(regions.never(regions.where(rule), regions.where(other)) for regions in _both_views(context))


def _both_views(context: LintContext) -> tuple[Regions, Regions]:
    return context.regions, context.derived


@check("warning")
def idle_line(context: LintContext) -> Iterator[Finding]:
    """Line or alternative of a rule that cannot matter.

    Why: where the other lines hold, a line that always holds as well asks nothing, and an alternative that can never
    hold gives nothing. One of them is not what was meant. Guards (``is known``) and lines of tables that matter in some
    row are left alone.

    Bad::

        when:
          - param_count_b > 70
          - param_count_b > 7

    Good::

        when:
          - param_count_b > 70
    """
    for rule in context.rulebook.rules:
        if rule.table is None:
            yield from _idle_lines(rule, context)


def _idle_lines(rule: Rule, context: LintContext) -> Iterator[Finding]:
    regions = context.regions
    if regions.never(regions.where(rule)):
        return  # Nothing of it matters; another check says so.
    orders = context.orders(rule)
    for at, condition in enumerate(rule.when):
        others = both(regions.true(*_beside(rule, at)), *orders)
        fix = "leave it out, or correct the line"
        if isinstance(condition.expr, Known):
            if context.vocabulary.facts[condition.expr.fact.name].always_known and not condition.expr.negated:
                message = f"`{condition.text}` in {rule.id} asks for what is always known"
                yield idle_line.about(rule, message, place=condition.place, fix="leave it out")
            continue
        if len(rule.when) > 1 and regions.never(others, opposite(regions.true(condition.expr))):
            message = f"`{condition.text}` in {rule.id} holds wherever the other lines do"
            yield idle_line.about(rule, message, place=condition.place, fix=fix)
            continue
        expr = to_nnf(condition.expr)
        idle = _idle_alternative(expr, others, regions) if isinstance(expr, Or) else None
        if isinstance(expr, Or) and not idle:
            idle = _impossible_alternative(expr, _beside(rule, at), context.derived)
        if idle:
            message = f"the alternative `{written(idle[0])}` in {rule.id} {idle[1]}"
            yield idle_line.about(rule, message, place=condition.place, fix=fix)


def _beside(rule: Rule, at: int) -> list[Expr]:
    """The lines of a rule beside one of them."""
    return [each.expr for place, each in enumerate(rule.when) if place != at]


def _impossible_alternative(either: Or, lines: list[Expr], derived: Regions) -> tuple[Expr, str] | None:
    """An alternative that cannot hold beside the other lines, by what rules make of what is stated."""
    others = derived.true(*lines)
    if derived.never(others):
        return None
    found = (part for part in either.operands if derived.never(others, derived.true(part)))
    return next(((part, "can never hold beside the other lines") for part in found), None)


def _idle_alternative(either: Or, others: Formula, regions: Regions) -> tuple[Expr, str] | None:
    """An alternative that cannot hold beside the other lines, or adds nothing to the rest, with what is said of it."""
    for part in either.operands:
        if either.operands.count(part) > 1:
            return part, "stands twice"
        if isinstance(part, Known):
            continue
        where = regions.true(part)
        if regions.never(others, where):
            return part, "can never hold beside the other lines"
        if regions.never(others, where, *(regions.outside(regions.true(e)) for e in either.operands if e is not part)):
            return part, "gives nothing that another does not"
    return None


@check("warning")
def idle_question(context: LintContext) -> Iterator[Finding]:
    """Question for a fact that is known wherever the rule fires.

    Why: what is known is not asked for, so that the effect does nothing. Most often another fact is meant, or the
    condition that it is unknown was forgotten.

    Bad::

        when: [serving, peak_qps > 10]
        then: {ask: peak_qps}

    Good::

        when: [serving, peak_qps is unknown]
        then: {ask: peak_qps}
    """
    regions = context.regions
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, Ask) and not regions.never(regions.where(rule)):
                unknown = regions.true(Known(FactRef(effect.fact), negated=True))
                if regions.never(regions.where(rule), unknown):
                    message = f"{rule.id} asks for {effect.fact}, which is known wherever it fires"
                    fix = f"ask for another fact, or write `{effect.fact} is unknown`"
                    yield idle_question.about(rule, message, fix=fix)


_AMOUNT = re.compile(
    r"(?<![\w.,-])(?:(?P<first>\d[\d,]*(?:\.\d+)?)\s*(?:-|to|and|or)\s*)?(?P<number>\d[\d,]*(?:\.\d+)?)\s*"
    r"(?P<unit>GB|percent|%|hours|B\b|billion)"
)
_UNITS = {"percent": "%", "hours": "h", "billion": "B"}


@check("warning")
def unread_number(context: LintContext) -> Iterator[Finding]:
    """Number in a title, text or reason that no line of the rule reads.

    Why: after a change of a threshold the title goes on saying the old one, and readers believe the title. Held against
    it is what the rule compares facts of the same unit with, what it sets, and what the heuristics say that it encodes.
    The reason and the text may also say what cards of the catalogue have. "24 and 48 GB" are two numbers of GB.

    Bad::

        title: Beyond 80 GB nothing fits
        when: [weights_gb > 70]

    Good::

        title: Beyond 70 GB nothing fits
        when: [weights_gb > 70]
    """
    for rules in context.by_table():
        numbers = _numbers_read(rules, context)
        stated = _numbers_stated(rules, context) | _sizes(rules, context)
        for rule in rules:
            for text, where, more in (
                (rule.title, "title", set()),
                (rule.text, "text", stated),
                (rule.because, "reason", stated),
            ):
                yield from _unread(rule, text, where, numbers, more, context)


def _unread(
    rule: Rule, text: str, where: str, numbers: dict[str, set[float]], more: set[float], context: LintContext
) -> Iterator[Finding]:
    for match in _AMOUNT.finditer(text):
        unit = _UNITS.get(match["unit"], match["unit"])
        read = numbers.get(unit, set())
        # A rule that reads nothing in this unit speaks of its background.
        if not any(of == unit for of, _ in _compared([rule], context)) and not (read and where != "title"):
            continue
        for stated in (float(found.replace(",", "")) for found in (match["first"], match["number"]) if found):
            if stated not in read | more:
                yield unread_number.about(
                    rule,
                    f"the {where} of {rule.id} says {stated:g} {match['unit']}, which none of its lines reads",
                    fix=f"its lines read {', '.join(f'{number:g}' for number in sorted(read))}: correct one of the two",
                )


def _sizes(rules: list[Rule], context: LintContext) -> set[float]:
    """The memory of the cards that rules name."""
    named: set[object] = {value for rule in rules for line in rule.when for _, value in constants(line.expr)}
    named |= {
        effect.claim.over for rule in rules for effect in rule.effects if isinstance(effect, Points) and effect.claim
    }
    cards = (
        gpu
        for gpu in context.catalogue.gpus
        if named & {gpu.get("gpu.series"), gpu.get("gpu.family"), gpu.get("gpu.id")}
    )
    return {float(size) for gpu in cards if isinstance(size := gpu.get("gpu.vram_gb"), int | float)}


def _numbers_stated(rules: list[Rule], context: LintContext) -> set[float]:
    """The numbers in titles and in what the heuristics say, whatever their unit."""
    stated = (context.statements[name].text for rule in rules for name in rule.encodes if name in context.statements)
    texts = " ".join((*stated, *(rule.title for rule in rules)))
    return {float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", texts)}


def _compared(rules: list[Rule], context: LintContext) -> Iterator[tuple[str, float]]:
    """The unit and number of each comparison."""
    for rule in rules:
        for condition in rule.when:
            for fact, value in constants(condition.expr):
                if not isinstance(value, str | bool):
                    yield context.vocabulary.facts[fact].unit or "", float(value)


def _numbers_read(rules: list[Rule], context: LintContext) -> dict[str, set[float]]:
    """By unit, what rules compare with, what they set, and what the heuristics that they encode state."""
    found: dict[str, set[float]] = {}
    for unit, number in _compared(rules, context):
        found.setdefault(unit, set()).add(number)
    stated = {(said.of, said.number) for rule in rules for said in context.stated_by(rule)}
    for of, number in stated:
        fact = context.vocabulary.fact(of)
        found.setdefault((fact.unit or "") if fact else of, set()).add(number)
    for rule in rules:
        texts = " ".join(getattr(effect, "text", "") for effect in rule.effects)
        for unit in found:
            found[unit] |= {float(number) for number in re.findall(r"\d+(?:\.\d+)?", texts)}
    return found
