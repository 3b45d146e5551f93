"""Price or specification written into a rule.

Why: prices and data sheets change every month and are kept in ``knowledge/`` with their date and source. In a rule they
grow old unseen.

Bad::

    - id: cheap-cards
      when: [training]
      then: {set: {hourly_usd: 2.49}}

Good: the fact that the catalogue fills::

    - id: cheap-cards
      when: [training]
      then: {set: {hourly_usd: plan_usd}}

Found are prices that a rule sets, prices in what it says ("$2.49"), and specifications of one named GPU
(``gpu.series == nvidia-l4`` beside ``gpu.vram_gb == 24``). Limits of a rule of thumb are no specification.

Silence: put ``# lint: allow knowledge-number: why`` at the end of the line with the rule's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Check
from whichgpu.engine.authoring.lint.finding import Finding
from whichgpu.engine.authoring.lint.finding import LintContext
from whichgpu.engine.rules.language.tree import Compare
from whichgpu.engine.rules.language.tree import Const
from whichgpu.engine.rules.language.tree import FactRef
from whichgpu.engine.rules.language.tree import Member
from whichgpu.engine.rules.rulebook.model import Fallback
from whichgpu.engine.rules.rulebook.model import Reject
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.model import SetFact


_PRICE = re.compile(r"(?:\$|€|£|\bUSD|\bEUR)\s*\d[\d.,]*|\b\d[\d.,]*\s*(?:\$|€|USD\b|EUR\b|dollars?\b|euros?\b)", re.I)
_MONEY = re.compile(r"(?:^|_|\b)(?:usd|eur)(?:$|_|\b)", re.I)
_NAMES = frozenset({"gpu.id", "gpu.family", "gpu.series", "gpu.name", "plan.gpu", "plan.family"})
_FIX = "move it to knowledge/ and read the fact, or report the figure"


def _run(context: LintContext) -> Iterator[Finding]:
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and _is_money(effect.fact, context):
                yield CHECK.about(
                    rule, f"{rule.id} sets `{effect.fact}` to a price of its own, {effect.text}", fix=_FIX
                )
        texts = (
            rule.title,
            rule.text,
            rule.because,
            *(e.text for e in rule.effects if isinstance(e, Fallback | Reject)),
        )
        price = next((found for text in texts for found in [_PRICE.search(text)] if found), None)
        if price:
            yield CHECK.about(rule, f"{rule.id} states the price {price.group().strip()!r}", fix=_FIX)
        yield from _specifications(rule, context)


def _is_money(fact: str, context: LintContext) -> bool:
    definition = context.vocabulary.facts[fact]
    return definition.numeric and bool(_MONEY.search(definition.unit or fact))


def _specifications(rule: Rule, context: LintContext) -> Iterator[Finding]:
    """Figures of a GPU that the rule names itself."""
    named = any(_names_one(condition.expr) for condition in rule.when)
    for condition in rule.when:
        expr = condition.expr
        if not (named and isinstance(expr, Compare) and expr.op == "=="):
            continue
        if isinstance(expr.left, FactRef) and isinstance(expr.right, Const):
            fact = context.vocabulary.facts[expr.left.name]
            if fact.scope == "gpu" and fact.numeric:
                yield CHECK.about(
                    rule,
                    f"`{condition.text}` in {rule.id} repeats what the catalogue says of the GPU it names",
                    place=condition.place,
                    fix="drop the condition, or the GPU's name",
                )


def _names_one(expr: object) -> bool:
    if isinstance(expr, Member):
        return isinstance(expr.left, FactRef) and expr.left.name in _NAMES and not expr.negated
    if not isinstance(expr, Compare) or expr.op != "==":
        return False
    return isinstance(expr.left, FactRef) and expr.left.name in _NAMES and isinstance(expr.right, Const)


CHECK = Check("knowledge-number", "warning", _run, __doc__ or "")
