"""Rule whose conditions contradict each other.

Why: it can never fire, so it is a mistake, most often a limit or an operator the wrong way round.

Bad::

      when:
        - param_count_b > 70
        - param_count_b < 7

Good::

      when:
        - param_count_b > 7
        - param_count_b < 70

Silence: put ``# lint: allow unreachable-rule`` at the end of the line with the rule's id.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.rulebook.model import Rule
from engine.verify.boxes import boxes_of
from engine.verify.boxes import boxes_of_exprs
from engine.verify.finding import Check
from engine.verify.finding import Desk
from engine.verify.finding import Finding


def _run(desk: Desk) -> Iterator[Finding]:
    for rule in desk.rulebook.rules:
        if not boxes_of(rule, desk.vocabulary):
            yield CHECK.about(
                rule, f"{rule.id} can never fire: {_reason(rule, desk)}", fix="correct one of the conditions"
            )


def _reason(rule: Rule, desk: Desk) -> str:
    """The condition, or the pair of them, that no facts satisfy."""
    for at, one in enumerate(rule.when):
        if not boxes_of_exprs((one.expr,), desk.vocabulary):
            return f"`{one.text}` never holds"
        for two in rule.when[:at]:
            if not boxes_of_exprs((two.expr, one.expr), desk.vocabulary):
                return f"`{one.text}` contradicts `{two.text}`"
    return "its conditions together leave no case"


CHECK = Check("unreachable-rule", "error", _run, __doc__ or "")
