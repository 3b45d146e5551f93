"""Who answers for rules: whether that is said, and whether it can be so."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.core import LAYER_FILE


@check("error")
def unsigned_rule(context: LintContext) -> Iterator[Finding]:
    """Rule that does not say who answers for it, where that is required.

    Why: a company may want to know of every rule who wrote it, who looked at it and since when it holds. What has to be
    stated is said with ``whichgpu rules lint --require author --require approved_on``; without that nothing is asked.

    Bad::

        - id: no-more-than-eight
          title: No more than eight cards

    Good::

        - id: no-more-than-eight
          title: No more than eight cards
          author: A. Expert
          reviewed_by: B. Reader
          approved_on: 2026-11-20

    What ``layer.yaml`` says in the folder of a layer holds for all of its rules, what a table says for its rows.
    """
    for rule in context.rulebook.rules:
        missing = [key for key in context.required if key not in rule.responsible.stated()]
        if missing:
            lacks = " and ".join(f"`{key}`" for key in missing)
            fix = f"state {lacks} in the rule, or in {LAYER_FILE} for the whole layer"
            yield unsigned_rule.about(rule, f"{rule.id} does not state {lacks}", fix=fix)


@check("warning")
def odd_signature(context: LintContext) -> Iterator[Finding]:
    """Approval that cannot be so: of a day to come, after the rule has lapsed, or by its own author.

    Why: whoever asks who approved a rule relies on the answer. A day to come is most often a slip in the year.

    Bad::

        - id: no-more-than-eight
          author: A. Expert
          reviewed_by: A. Expert
          approved_on: 2062-11-20

    Good::

        - id: no-more-than-eight
          author: A. Expert
          reviewed_by: B. Reader
          approved_on: 2026-06-20
    """
    today = context.today.isoformat()
    for rule in context.rulebook.rules:
        who = rule.responsible
        if who.approved_on is not None and who.approved_on > today:
            message = f"{rule.id} is approved on {who.approved_on}, which is still to come"
            yield odd_signature.about(rule, message, fix="correct the day")
        if who.approved_on is not None and rule.valid_until is not None and who.approved_on > rule.valid_until:
            message = f"{rule.id} was approved on {who.approved_on}, and is valid until {rule.valid_until}"
            yield odd_signature.about(rule, message, fix="correct one of the two days")
        if who.author is not None and who.author == who.reviewed_by:
            message = f"{rule.id} was looked at by {who.author}, who wrote it"
            yield odd_signature.about(rule, message, fix="have somebody else look at it")
