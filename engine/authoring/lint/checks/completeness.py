"""What every rule comes with: sources, tests that show it, a stable status, reasons for exceptions."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, allowance_on, check, places_of
from whichgpu.engine.core import nearest_words
from whichgpu.engine.rules import POLICY_TOPIC, source_heads


@check("error")
def missing_source(context: LintContext) -> Iterator[Finding]:
    """Rule without a source.

    Why: every claim of an answer has to be traced to somebody who made it. A rule without source is an opinion.

    Bad::

        - id: slow-link
          because: PCIe leaves the GPUs waiting.

    Good::

          sources: [fpt/3.4]
    """
    for rule in context.rulebook.rules:
        if not rule.sources and rule.topic != POLICY_TOPIC:
            yield missing_source.about(
                rule, f"{rule.id} names no source", fix="add `sources:` with ids of knowledge/sources.yaml"
            )


@check("info")
def missing_encodes(context: LintContext) -> Iterator[Finding]:
    """Rule that encodes no heuristic of the catalogue.

    Why: the catalogue says which claims of the sources the rulebook covers. A rule outside it is either the project's
    own judgement or a forgotten link.

    Bad::

        - id: slow-link
          sources: [fpt/3.4]

    Good::

          encodes: [fpt-multi-pcie-slow-sync]
    """
    for rule in context.rulebook.rules:
        if not rule.encodes and rule.topic != POLICY_TOPIC:
            yield missing_encodes.about(
                rule,
                f"{rule.id} encodes no heuristic of the catalogue",
                fix="add `encodes:` where one states this rule",
            )


@check("error")
def dead_source(context: LintContext) -> Iterator[Finding]:
    """Source or heuristic that does not exist.

    Why: a reference that leads nowhere is worse than none, for it looks like evidence.

    Bad::

          sources: [ftp/3.4]

    Good::

          sources: [fpt/3.4]
    """
    for rule in context.rulebook.rules:
        named = [("source", name, context.known.sources) for name in rule.sources]
        named += [("heuristic", name, context.known.heuristics) for name in rule.encodes]
        for what, name, known in named:
            # A source may go on with /section, a heuristic may not.
            heads = {name} if what == "heuristic" else source_heads(name)
            if known and not known.intersection(heads):
                nearest = nearest_words(min(heads, key=len), sorted(known), limit=1)
                fix = None if nearest else f"add the {what}, or name another"
                yield dead_source.about(
                    rule, f"{rule.id} names the {what} {name!r}, which does not exist", nearest=nearest, fix=fix
                )


@check("warning")
def missing_tests(context: LintContext) -> Iterator[Finding]:
    """Rule without a test that fires.

    Why: a rule that was never seen to fire may never do so. A misspelt limit or a condition that is never known stays
    unnoticed.

    Bad::

        - id: slow-link
          when: [training, plan.link == pcie]
          then: {points: -2, reason: interconnect}

    Good::

          tests:
            - given: {task: pretraining}
              plan: {gpu: nvidia-l40s, count: 8}
              fires: true
    """
    for rule in context.rulebook.rules:
        if not any(test.fires for test in rule.tests) and rule.topic != POLICY_TOPIC:
            yield missing_tests.about(
                rule,
                f"{rule.id} has no test in which it fires",
                fix=f"whichgpu rules mutate {rule.table or rule.id} --write puts tests in: look at what they say",
            )


@check("warning")
def missing_near_miss(context: LintContext) -> Iterator[Finding]:
    """Rule without a test that just misses.

    Why: a test that fires does not show that the conditions bind. Only a case that differs in one thing and does not
    fire shows what the rule depends on.

    Bad::

          tests:
            - given: {task: pretraining}
              plan: {gpu: nvidia-l40s, count: 16}
              fires: true

    Good::

            - near_miss: {plan.count: 8}
    """
    for rule in context.rulebook.rules:
        # A rule without conditions has no near miss; without any test, missing-tests says it.
        if rule.when and rule.tests and all(test.fires for test in rule.tests):
            yield missing_near_miss.about(
                rule, f"{rule.id} has no test in which it just misses", fix="add `near_miss:` below a test that fires"
            )


@check("info")
def draft(context: LintContext) -> Iterator[Finding]:
    """Rule that is still a draft, or deprecated.

    Why: a draft fires like any other rule. Whoever releases the rulebook should know which rules no one vouches for.

    Bad::

          status: draft

    Good::

          status: stable
    """
    for rule in context.rulebook.rules:
        if rule.status == "draft":
            yield draft.about(rule, f"{rule.id} is a draft", fix="have it reviewed, then write `status: stable`")
        elif rule.status == "deprecated":
            yield draft.about(rule, f"{rule.id} is deprecated", fix="remove it once nothing overrides it")


@check("warning")
def expired(context: LintContext) -> Iterator[Finding]:
    """Rule past its day.

    Why: claims about prices, availability and "the newest" age. ``valid_until`` says when somebody has to look again.

    Bad::

          valid_until: 2024-12-31

    Good::

          valid_until: 2027-06-30    # after checking the sources again
    """
    for rule in context.rulebook.rules:
        if rule.valid_until is not None and rule.valid_until < context.today.isoformat():
            yield expired.about(
                rule, f"{rule.id} was valid until {rule.valid_until}", fix="check its sources again and move the day"
            )


@check("warning")
def bad_silence(context: LintContext) -> Iterator[Finding]:
    """Remark that silences a check without saying why, or that names no check.

    Why: the next reader cannot distinguish an exception that was weighed from a warning that was just switched off.

    Bad::

        - id: any-model   # lint: allow missing-tests

    Good::

        - id: any-model   # lint: allow missing-tests: the table's rows carry them

    Silence: this cannot be silenced; write the reason.
    """
    for rule in context.rulebook.rules:
        for place in places_of(rule):
            allowance = allowance_on(place.text)
            for name in allowance.checks:
                if name not in context.checks:
                    nearest = nearest_words(name, sorted(context.checks), limit=1)
                    fix = None if nearest else "whichgpu rules lint --list names them"
                    yield bad_silence.about(rule, f"there is no check {name!r}", place=place, nearest=nearest, fix=fix)
            if allowance.checks and not allowance.reason:
                named = ", ".join(allowance.checks)
                yield bad_silence.about(
                    rule,
                    f"{rule.id} silences {named} without a reason",
                    place=place,
                    fix=f"write # lint: allow {named}: why",
                )
