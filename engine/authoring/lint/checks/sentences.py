"""Sentences that contradict what a rule does: which card it looks at, which way it counts, whether it is done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.rules import Fallback, Points, Reject, Rule


#: How titles call the cards that a scope looks at; none of them is said of the other.
_SCOPES = {
    "chosen": re.compile(r"\brecommended\b", re.IGNORECASE),
    "candidate": re.compile(r"\b(?:was|were) named\b", re.IGNORECASE),
}
#: What no title says of a card that its rule prefers.
_FAULT = re.compile(
    r"\b(?:too (?:slow|small|little|large|old)|slow|poor|poorly|lacks?|lacking|cannot|suffers?|behind|wrong|trouble|"
    r"disturbs?|idle|hardly|out of proportion|unreliable|unproven|waste[sd]?)\b",
    re.IGNORECASE,
)
#: Notes that somebody left for the next one who writes here; a question is one too, for a rule knows.
_NOTE = re.compile(
    r"\b(?:TODO|FIXME|XXX|TBD|tbc)\b|(?i:\b(?:to be (?:checked|confirmed|decided|written)|lorem ipsum|placeholder|"
    r"check (?:this|again|with)|(?:still|really) (?:so|true|right|needed)\b(?=[.?]))|\?\?+)|\?\s*$"
)


@check("warning")
def another_scope(context: LintContext) -> Iterator[Finding]:
    """Rule whose title speaks of the recommended plan while it looks at the cards that were named, or the reverse.

    Why: `each: chosen` looks at the recommended plan, `each: candidate` at every card that was named. A rule that
    was copied keeps its sentences, and says of one card what holds for another.

    Bad::

        - id: chosen-card-lacks-fp8
          title: The recommended card lacks FP8
          each: candidate

    Good::

        - id: chosen-card-lacks-fp8
          title: The recommended card lacks FP8
          each: chosen
    """
    for rule in context.rulebook.rules:
        for each, words in _SCOPES.items():
            if rule.each in _SCOPES and rule.each != each and words.search(rule.title):
                message = f"the title of {rule.id} speaks of {each} cards, and it looks at `each: {rule.each}`"
                yield another_scope.about(rule, message, fix=f"write `each: {each}`, or another title")


@check("warning")
def praised_fault(context: LintContext) -> Iterator[Finding]:
    """Points for what the title calls a fault.

    Why: a lost minus turns a warning into a recommendation, and the rule goes on reading like a warning.

    Bad::

        - id: slow-link
          title: Training on several GPUs suffers from a slow link
          then: {points: 4, reason: interconnect}

    Good::

        - id: slow-link
          title: Training on several GPUs suffers from a slow link
          then: {points: -4, reason: interconnect}

    Rows of a table count by a title of their own; a title that all rows share may stand over both signs.
    """
    signs = dict[tuple[str | None, str], set[bool]]()
    scored = [
        (rule, effect) for rule in context.rulebook.rules for effect in rule.effects if isinstance(effect, Points)
    ]
    for rule, effect in scored:
        signs.setdefault((rule.table or rule.id, rule.title), set()).add(effect.points > 0)
    for rule, effect in scored:
        match = _FAULT.search(rule.title)
        if effect.points > 0 and match and len(signs[rule.table or rule.id, rule.title]) == 1:
            message = f"{rule.id} gives {effect.points:g} points, and its title says {match[0]!r}"
            yield praised_fault.about(rule, message, fix="write the points with a minus, or say what is good about it")


@check("warning")
def note_left_in(context: LintContext) -> Iterator[Finding]:
    """Note to oneself, or a question, in a sentence that everybody reads.

    Why: title, reason and text are shown as they stand.

    Bad::

        because: Gradients wait for the network. To be checked with finance?

    Good::

        because: Gradients wait for the network.
    """
    for rule in context.rulebook.rules:
        for key, sentence in _sentences(rule):
            match = _NOTE.search(sentence)
            if match:
                message = f"the {key} of {rule.id} holds a note or a question: {match[0].strip()!r}"
                yield note_left_in.about(rule, message, fix="say what is so, or set `status: draft`")


@check("warning")
def repeated_title(context: LintContext) -> Iterator[Finding]:
    """Title that another rule, or another row of its table, has as its own.

    Why: whoever copies a rule or a row changes its lines and leaves the title, and readers cannot distinguish the two.

    Bad::

        - {id: beyond-20b, title: Training beyond 20B takes an H100, if: [> 20]}
        - {id: small-runs, title: Training beyond 20B takes an H100, if: [<= 20]}

    Good::

        - {id: beyond-20b, title: Training beyond 20B takes an H100, if: [> 20]}
        - {id: small-runs, title: Small runs take an L40S, if: [<= 20]}

    Rows without a title of their own have that of their table.
    """
    shared = {table.id: table.title for table in context.rulebook.tables}
    first = dict[tuple[str, str], str]()
    for rule in context.rulebook.rules:
        if rule.table is not None and rule.title == shared.get(rule.table):
            continue
        other = first.setdefault((rule.topic, rule.title), rule.id)
        if other != rule.id:
            message = f"{rule.id} has the title of {other}"
            yield repeated_title.about(rule, message, fix="say in the title what sets it apart")


def _sentences(rule: Rule) -> Iterator[tuple[str, str]]:
    yield from (("title", rule.title), ("reason", rule.because), ("text", rule.text))
    yield from ((effect.word, effect.text) for effect in rule.effects if isinstance(effect, Reject | Fallback))
