"""What rules cite: sections that there are, guides that are named, heuristics that speak of what the rule does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.wording import rarity, share_said, words_of
from whichgpu.engine.core import nearest_words
from whichgpu.engine.rules import Rule, source_heads


#: A rule in which less is found of what a heuristic says speaks of something else. Of heuristics drawn at random half
#: lie below, of those that the shipped rules encode one in two hundred.
LEAST_SAID = 0.03
#: A heuristic of fewer words may well be followed in others.
LEAST_WORDS = 5

_PART = re.compile(r"[a-z0-9]+(?:\.[0-9]+)*")


@check("error")
def unknown_section(context: LintContext) -> Iterator[Finding]:
    """Citation of a section that the source does not have.

    Why: who looks the passage up does not find it. What stands after the source are words of the section's title, in
    their order: ``fpt/3.4``, ``runpod/cost-considerations``.

    Bad::

          sources: [fpt/3.44]

    Good::

          sources: [fpt/3.4]

    Held against are the titles of the sections that heuristics were read in, and those that the source lists in
    ``sources.yaml``; a source without either is not checked.
    """
    for rule in context.rulebook.rules:
        for cited, nearest, fix in _without_section(rule.sources, context):
            yield unknown_section.about(rule, f"{rule.id} {cited}", nearest=nearest, fix=fix)
    for fact in context.vocabulary.facts.values():
        for cited, nearest, fix in _without_section(fact.sources, context):
            message = f"the fact {fact.name} {cited}"
            yield Finding(unknown_section.id, unknown_section.severity, message, fact.name, nearest=nearest, fix=fix)


def _without_section(sources: Iterable[str], context: LintContext) -> Iterator[tuple[str, tuple[str, ...], str | None]]:
    """What is said of each citation whose section its source lacks, with the nearest that it has, or a way out."""
    for cited in sources:
        head, _, section = cited.partition("/")
        titles = context.sections.get(head)
        if titles and section and not any(_names(section, title) for title in titles):
            nearest = tuple(f"{head}/{_slug(title)}" for title in _nearest_section(section, titles))
            fix = None if nearest else f"cite {head} alone, or list the section in sources.yaml"
            yield f"cites {cited}, and {head} has no section with these words in its title", nearest, fix


@check("warning")
def uncited_guide(context: LintContext) -> Iterator[Finding]:
    """Rule that encodes a heuristic of a guide which it does not cite.

    Why: either the heuristic is another one's, or an answer that rests on the rule does not name who said it.

    Bad::

          sources: [fpt/3.4]
          encodes: [runpod-one-machine-first]

    Good::

          sources: [fpt/3.4, runpod/faq]
          encodes: [runpod-one-machine-first]
    """
    for rule in context.rulebook.rules:
        heads = {head for cited in rule.sources for head in source_heads(cited)}
        for name in rule.encodes:
            statement = context.statements.get(name)
            if statement and statement.guide in context.known.sources - heads:
                cited = f"{statement.guide}/{_slug(statement.section)}" if statement.section else statement.guide
                yield uncited_guide.about(
                    rule,
                    f"{rule.id} encodes {name}, and does not cite {statement.guide}",
                    fix=f"add {cited} to its sources, or encode another heuristic",
                )


@check("warning")
def another_subject(context: LintContext) -> Iterator[Finding]:
    """Rule that encodes a heuristic which speaks of something else.

    Why: a wrong id stands beside right ones and looks like evidence. Next to nothing of what the heuristic says,
    facts, cards, amounts and words alike, is in the rule's conditions, effects and texts.

    Bad::

        - id: slow-link-between-machines
          when: [plan.machines > 1, plan.network == ethernet]
          encodes: [cards-for-students]

    Good::

        - id: slow-link-between-machines
          when: [plan.machines > 1, plan.network == ethernet]
          encodes: [ethernet-slows-training]

    A word counts for more the fewer heuristics have it.
    """
    weights = rarity(statement.words for statement in context.statements.values())
    for rule in (rule for rule in context.rulebook.rules if rule.encodes):
        said = words_of(*_texts(rule, context))
        for name in rule.encodes:
            statement = context.statements.get(name)
            if statement is None or len(statement.words) < LEAST_WORDS:
                continue
            if share_said(statement.words, said, weights) >= LEAST_SAID:
                continue
            best = _nearest_statement(said, rule, context, weights)
            yield another_subject.about(
                rule,
                f"{rule.id} encodes {name}, which speaks of something else",
                nearest=() if best is None else (best,),
                fix="encode the heuristic that the rule follows, or say what joins the two",
            )


@check("warning")
def uncarried_heuristic(context: LintContext) -> Iterator[Finding]:
    """Heuristic of a guide that nothing carries.

    Why: what a guide says was taken out with the last rule that encoded it, or never written. Rules, facts, figures and
    disagreements carry what they list under ``encodes``; what the program carries itself stands in ``coverage.yaml``.

    Bad::

        heuristics:
          - {id: slow-links, guide: fpt, section: "3.4", paraphrase: Slow links hold training up., numbers: []}

    Good: and a rule that says so::

        - id: slow-link-between-machines
          encodes: [slow-links]

    Silence: no remark silences it; write ``set_aside`` with its reason in ``coverage.yaml``.
    """
    for name in context.uncarried:
        message = f"nothing carries the heuristic {name}, and it is not set aside"
        fix = "encode it in a rule, or set it aside in coverage.yaml with the reason"
        yield Finding(uncarried_heuristic.id, uncarried_heuristic.severity, message, name, fix=fix)


def _texts(rule: Rule, context: LintContext) -> Iterator[str]:
    """All that a rule says: ids, titles, conditions and effects as written, and what their facts are called."""
    yield from (rule.id, rule.title, rule.because, rule.text)
    yield from (condition.text for condition in rule.when)
    yield from map(str, rule.effects)
    for name in rule.reads | rule.writes:
        fact = context.vocabulary.facts[name]
        yield from (name, fact.label, fact.meaning or "", fact.question or "")


def _nearest_statement(
    said: frozenset[str], rule: Rule, context: LintContext, weights: Mapping[str, float]
) -> str | None:
    """The heuristic of a guide that the rule cites which shares most with it."""
    heads = {cited.partition("/")[0] for cited in rule.sources}
    others = {
        name: sum(weights.get(word, 0.0) for word in statement.words & said)
        for name, statement in context.statements.items()
        if name not in rule.encodes and statement.guide in heads
    }
    return max(others, key=lambda name: others[name], default=None)


@lru_cache(maxsize=2048)
def _parts(text: str) -> tuple[str, ...]:
    return tuple(_PART.findall(text.lower().replace("'", "")))


def _names(cited: str, title: str) -> bool:
    """Whether what is cited are words of the title, in their order."""
    rest = iter(_parts(title))
    return all(part in rest for part in _parts(cited))


def _slug(title: str) -> str:
    return "-".join(_parts(title))


def _nearest_section(cited: str, titles: Iterable[str]) -> tuple[str, ...]:
    """The title that was probably meant: the one with most of the words, or with those most like them."""
    known = sorted(titles)
    parts = {part: part for title in known for part in _parts(title)}
    meant = {near for part in _parts(cited) for near in nearest_words(part, parts, limit=1)}
    most = max(known, key=lambda title: len(meant.intersection(_parts(title))))
    return (most,) if meant.intersection(_parts(most)) else ()
