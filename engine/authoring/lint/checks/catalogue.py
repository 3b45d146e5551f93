"""Conditions held against what the catalogue has: names that exist, GPUs that are, amounts that occur."""

from __future__ import annotations

from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.core import Facts, Place, nearest_words
from whichgpu.engine.rules import (
    POLICY_TOPIC,
    Compiled,
    Condition,
    Const,
    Points,
    Reject,
    Rule,
    SetFact,
    compile_expr,
    constants,
    facts_read,
    items_asked,
)


#: Points beyond "decisive" of the scale in docs/rules.md.
MOST_POINTS = 6
#: "Slight": less is lost beside any other evidence.
LEAST_POINTS = 1


@check("error")
def unknown_name(context: LintContext) -> Iterator[Finding]:
    """Condition, effect or test that names something the catalogue does not have.

    Why: a rule for ``gpu.series == nvidia-h1000`` loads, passes its own tests and never fires. Series, families,
    architectures, segments, providers, regions and models are looked up in the catalogue and the price list, in lists
    (``providers_allowed has runpod``) and in values that a rule sets as well.

    Bad::

        when: [gpu.series == nvidia-h1000]

    Good::

        when: [gpu.series == nvidia-h100]
    """
    # A policy's names were held against ids, families and series together when it was read.
    for rule in (rule for rule in context.rulebook.rules if rule.topic != POLICY_TOPIC):
        for condition in rule.when:
            for fact, value in dict.fromkeys(constants(condition.expr)):
                yield from _unknown(context, rule, fact, value, "{rule} compares {fact} with {value}", condition.place)
            for fact, item in dict.fromkeys(items_asked(condition.expr)):
                yield from _unknown(context, rule, fact, item, "{rule} looks in {fact} for {value}", condition.place)
        for effect in rule.effects:
            if isinstance(effect, SetFact) and isinstance(effect.expr, Const):
                yield from _unknown(context, rule, effect.fact, effect.expr.value, "{rule} sets {fact} to {value}")
        for test in rule.tests:
            for fact, stated in (*test.given.items(), *test.plan.items()):
                # A person may state a model that the catalogue lacks.
                if stated != "unknown" and fact != "model_name":
                    said = "a test of {rule} states {fact} as {value}"
                    yield from _unknown(context, rule, fact, stated, said, test.place)


def _unknown(
    context: LintContext, rule: Rule, fact: str, value: object, said: str, place: Place | None = None
) -> Iterator[Finding]:
    """What is said of a name that the catalogue does not have."""
    words = context.catalogue.words.get(fact)
    if words is None or not isinstance(value, str) or value in words:
        return
    yield unknown_name.about(
        rule,
        f"{said.format(rule=rule.id, fact=fact, value=repr(value))}, which the catalogue does not have",
        place=place,
        nearest=nearest_words(value, sorted(words), limit=1),
        fix="name one that it has, or add it to the catalogue",
    )


@check("error")
def no_such_gpu(context: LintContext) -> Iterator[Finding]:
    """Rule that waits for a GPU that does not exist.

    Why: each condition may be met by some card and all of them by none: 48 GB on a series whose cards have 80. The
    conditions on ``gpu.`` facts are tried on every GPU of the catalogue.

    Bad::

        when: [gpu.series == nvidia-h100, gpu.vram_gb < 48]

    Good::

        when: [gpu.series == nvidia-h100, gpu.vram_gb > 48]
    """
    for rule, conditions in _on_gpus(context):
        if not any(_holds(conditions, gpu) for gpu in context.catalogue.gpus):
            said = " and ".join(f"`{condition.text}`" for condition, _ in conditions)
            yield no_such_gpu.about(
                rule, f"{rule.id} waits for a GPU with {said}, and there is none", fix="correct one of the conditions"
            )


@check("warning")
def every_gpu(context: LintContext) -> Iterator[Finding]:
    """Condition on a GPU that every GPU of the catalogue meets.

    Why: it distinguishes no cards. Most often the limit is in another unit or turned round.

    Bad::

        when: [training, gpu.vram_gb > 0.08]

    Good::

        when: [training, gpu.vram_gb > 80]
    """
    for rule, conditions in _on_gpus(context):
        for condition, test in conditions:
            results = [value for gpu in context.catalogue.gpus if (value := test(gpu)) is not None]
            if results and all(results):
                yield every_gpu.about(
                    rule,
                    f"`{condition.text}` in {rule.id} holds for every GPU of the catalogue",
                    place=condition.place,
                    fix="leave the condition out, or correct the limit",
                )


@check("error")
def rejects_every_gpu(context: LintContext) -> Iterator[Finding]:
    """Reject rule that leaves no GPU.

    Why: where the workload's conditions hold every plan is rejected, and nothing can be recommended. A contradiction
    among facts is a reject rule for ``each: workload``.

    Bad::

        - id: small-cards
          stage: reject
          each: plan
          when: [training, gpu.vram_gb < 800]

    Good::

        - id: small-cards
          stage: reject
          each: plan
          when: [training, gpu.vram_gb < 8]
    """
    gpus = context.catalogue.gpus
    for rule in context.rulebook.rules:
        if rule.each != "plan" or not gpus or not any(isinstance(effect, Reject) for effect in rule.effects):
            continue
        of_plans = [condition for condition in rule.when if any("." in name for name in facts_read(condition.expr))]
        on_gpus = _of_gpus(rule)
        if len(of_plans) == len(on_gpus) and all(_holds(on_gpus, gpu) for gpu in gpus):
            yield rejects_every_gpu.about(
                rule, f"{rule.id} rejects the plans of every GPU", fix="say which plans it rejects"
            )


@check("error")
def off_scale(context: LintContext) -> Iterator[Finding]:
    """Points beyond the scale.

    Why: 1 is slight, 2 clear, 4 strong, 6 decisive. Points beyond that outweigh what any other rule can say for the
    same reason, and points below 1 change nothing, most often by a slip of the pen (``60`` or ``0.6`` for ``6``).

    Bad::

        then: {points: 60, reason: fit}

    Good::

        then: {points: 6, reason: fit}
    """
    for rule in context.rulebook.rules:
        for effect in rule.effects:
            if isinstance(effect, Points) and not LEAST_POINTS <= abs(effect.points) <= MOST_POINTS:
                beyond = abs(effect.points) > MOST_POINTS
                ends = f"ends at {MOST_POINTS}" if beyond else f"begins at {LEAST_POINTS}"
                yield off_scale.about(
                    rule,
                    f"{rule.id} gives {effect.points:g} points, and the scale {ends}",
                    severity="error" if beyond else "warning",
                    fix="give 1 (slight), 2 (clear), 4 (strong) or 6 (decisive)",
                )


_Tried = list[tuple[Condition, Compiled]]


def _of_gpus(rule: Rule) -> _Tried:
    """The conditions that read facts of GPUs alone."""
    read = ((condition, facts_read(condition.expr)) for condition in rule.when)
    found = [condition for condition, names in read if names and all(name.startswith("gpu.") for name in names)]
    return [(condition, compile_expr(condition.expr)) for condition in found]


def _on_gpus(context: LintContext) -> Iterator[tuple[Rule, _Tried]]:
    if context.catalogue.gpus:
        yield from ((rule, found) for rule in context.rulebook.rules if (found := _of_gpus(rule)))


def _holds(conditions: _Tried, gpu: Facts) -> bool:
    return all(test(gpu) is True for _, test in conditions)
