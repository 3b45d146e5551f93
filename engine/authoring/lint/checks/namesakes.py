"""Codes, figures and cards of effects against the names that the rule itself goes by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.wording import stem
from whichgpu.engine.core import is_number, knowledge_in_use
from whichgpu.engine.rules import Points, Rule, Say, ShowFigure, constants


_TOKEN = re.compile(r"[a-z0-9]+")
_CARD = re.compile(r"[a-z]*\d+[a-z]*")


@check("warning")
def namesake_code(context: LintContext) -> Iterator[Finding]:
    """Rule that is called as one code and says another.

    Why: codes have short names of which several go with one subject, and the wrong one loads as well.

    Bad::

        - id: warn-low-headroom
          then: {warn: W-MEMORY-BAND}

    Good::

        - id: warn-low-headroom
          then: {warn: W-LOW-HEADROOM}

    Looked for are codes of two words and more whose words all stand in the id of the rule, in any order.
    """
    words = {code: frozenset(map(stem, _TOKEN.findall(code[2:].lower()))) for code in context.vocabulary.codes}
    for rule in context.rulebook.rules:
        own = {effect.code for effect in rule.effects if isinstance(effect, Say)}
        called = frozenset(map(stem, _TOKEN.findall(rule.id.lower()))) if own else frozenset()
        for letter in sorted({code[0] for code in own}):
            named = [code for code in words if code[0] == letter and len(words[code]) > 1 and words[code] <= called]
            if named and own.isdisjoint(named):
                said = ", ".join(sorted(code for code in own if code[0] == letter))
                yield namesake_code.about(
                    rule, f"{rule.id} says {said}", nearest=tuple(named), fix="say the code that it is called by"
                )


@check("warning")
def unread_parameter(context: LintContext) -> Iterator[Finding]:
    """Figure of a parameter that the rule does not read, in the place of one of its unit that it does.

    Why: the verdict rests on one limit, and the reader is shown another of a similar name.

    Bad::

        when: [gpu_hours_total < $rent_limit_gpu_hours]
        then: {figure: rent_limit_gpu_hours_per_year}

    Good::

        when: [gpu_hours_total < $rent_limit_gpu_hours]
        then: {figure: rent_limit_gpu_hours}

    A rule that shows the one that it reads may show others beside it.
    """
    parameters = knowledge_in_use().parameters
    for rule in context.rulebook.rules:
        shown = {effect.figure for effect in rule.effects if isinstance(effect, ShowFigure)} & parameters.keys()
        read = {float(value) for line in rule.when for _, value in constants(line.expr) if is_number(value)}
        for unit in sorted({parameters[name].unit for name in shown}):
            of_unit = {name for name, parameter in parameters.items() if parameter.unit == unit}
            meant = {name for name in of_unit if parameters[name].value in read}
            if meant and meant.isdisjoint(shown):
                figures = ", ".join(sorted(shown & of_unit))
                yield unread_parameter.about(
                    rule, f"{rule.id} shows {figures}", nearest=tuple(sorted(meant)), fix="show the one that it reads"
                )


@check("warning")
def unnamed_rival(context: LintContext) -> Iterator[Finding]:
    """Claim over a card that nothing else of the rule names.

    Why: "twice an H100" is another claim than "twice an A100", and both load.

    Bad::

        - id: h200-serves-faster
          title: An H200 serves faster than an H100
          then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 2, over: nvidia-a100}}

    Good::

        - id: h200-serves-faster
          title: An H200 serves faster than an H100
          then: {points: 2, reason: speed, claim: {quantity: speed, ratio: 2, over: nvidia-h100}}

    The card may stand in the title, the text, the reason, the id, a line, or a heuristic that the rule encodes.
    """
    for rule in context.rulebook.rules:
        over = next((e.claim.over for e in rule.effects if isinstance(e, Points) and e.claim and e.claim.over), None)
        parts = _CARD.findall(over.partition("-")[2].lower()) if over else []
        if over and parts and not any(part in _spoken(rule, context) for part in parts):
            yield unnamed_rival.about(
                rule,
                f"{rule.id} claims something over {over}, of which it does not speak",
                fix="correct one of the two",
            )


def _spoken(rule: Rule, context: LintContext) -> str:
    stated = (context.statements[name].text for name in rule.encodes if name in context.statements)
    lines = (line.text for line in rule.when)
    return " ".join((rule.id, rule.title, rule.text, rule.because, *lines, *stated)).lower()


_OF_CARDS = ("gpu.series", "gpu.family", "gpu.id")
_GB = re.compile(r"(?<![\w.])(\d+)\s?GB\b")


@check("warning")
def another_size(context: LintContext) -> Iterator[Finding]:
    """Title that names a card with the memory of another variant, while the lines name the card.

    Why: cards of one name come with several sizes, and the wrong one is a card as well.

    Bad::

        - id: a100-for-13b
          title: An A100 with 40 GB tunes models of 13 billion parameters
          when: [gpu.family == nvidia-a100-80gb]

    Good::

        - id: a100-for-13b
          title: An A100 with 40 GB tunes models of 13 billion parameters
          when: [gpu.family == nvidia-a100-40gb]

    Looked for are titles that name a card by a word of its name (A100), together with a size that another card of that
    word has, and none that the lines name.
    """
    cards = [(gpu.get("gpu.vram_gb"), {str(gpu.get(name)) for name in _OF_CARDS}) for gpu in context.catalogue.gpus]
    for rule in context.rulebook.rules:
        pairs = (pair for line in rule.when for pair in constants(line.expr))
        named = {value for fact, value in pairs if fact in _OF_CARDS and isinstance(value, str)}
        said = {float(size) for size in _GB.findall(rule.title)} if named else set()
        if not said:
            continue
        own = {size for size, names in cards if names & named}
        words = {
            word for word in _CARD.findall(rule.title.lower()) if not word.isdigit() and any(word in n for n in named)
        }
        variants = {size for size, names in cards if any(word in name for word in words for name in names)}
        for size in sorted(said & (variants - own)):
            yield another_size.about(
                rule,
                f"the title of {rule.id} says {size:g} GB, and its lines name {', '.join(sorted(named))}",
                fix="correct one of the two",
            )
