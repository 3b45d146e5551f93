"""Rules that say the contrary of what they rest on, and titles the contrary of their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from whichgpu.engine.authoring.lint.finding import Finding, LintContext, check
from whichgpu.engine.authoring.lint.heuristic_limits import StatedLimit, Words, allowed, never_met
from whichgpu.engine.authoring.lint.wording import stem, words_of
from whichgpu.engine.rules import Const, FactDef, Fallback, Points, Reject, Rule, SetFact


@check("warning")
def contrary_heuristic(context: LintContext) -> Iterator[Finding]:
    """Rule that never fires where the heuristics it encodes speak.

    Why: `<` for `>`, `consumer` for `datacenter` or a lost "not" loads, and the rule then applies to all that the guide
    does not speak of.

    Bad::

        - id: critical-work-on-server-cards
          when: [not mission_critical]
          encodes: [mission-critical-server-cards]    # condition: mission_critical

    Good::

        - id: critical-work-on-server-cards
          when: [mission_critical]
          encodes: [mission-critical-server-cards]

    Compared are numbers, words and yes-or-no facts that the condition of a heuristic names (``condition.expr``), fact
    by fact: one heuristic that agrees is enough. What a rule that speaks against plans says of the plan is left alone,
    since it may say what the others have. A rule that means the contrary on purpose says so in a remark.
    """
    for rule in context.rulebook.rules:
        limits = [
            limit for name in rule.encodes if name in context.statements for limit in context.statements[name].limits
        ]
        against = speaks_against(rule)
        for fact, stated in never_met(rule, limits) if limits else ():
            if fact in context.vocabulary.facts and not (against and "." in fact):
                yield contrary_heuristic.about(
                    rule,
                    f"{rule.id} never fires where what it encodes speaks of {fact} ({_shown(stated[0])})",
                    fix="correct the line, or encode the heuristic that is meant",
                )


def _shown(limit: StatedLimit) -> str:
    return f"{limit.fact} {limit.op} {', '.join(limit.values)}"


def speaks_against(rule: Rule) -> bool:
    """Whether a rule rejects plans or takes points from them, so that it may speak of what the others have."""
    return any(isinstance(e, Reject | Fallback) or (isinstance(e, Points) and e.points < 0) for e in rule.effects)


#: Words by which a title denies what follows, or says the contrary without a "not".
_DENY = frozenset({
    "no", "not", "without", "never", "nor", "cannot", "lack", "lacks", "lacking", "unless", "nobody", "nothing",
    "neither", "none", "hardly", "free",
})  # fmt: skip
_CONTRARY = _DENY | {"only", "poor", "before", "seldom", "rarely", "refused", "too", "less", "out", "against", "small"}
_TOKEN = re.compile(r"[a-z]+")
_BEFORE = 3


@check("warning")
def lost_negation(context: LintContext) -> Iterator[Finding]:
    """Title that denies a yes-or-no fact which the rule requires, or requires one that the rule denies.

    Why: a "not" that is lost, or one too many, loads and fires; title and line then say the contrary of each other.

    Bad::

        - id: slow-exchange
          title: Cards without NVLink exchange slowly
          when: [gpu.nvlink]

    Good::

        - id: slow-exchange
          title: Cards without NVLink exchange slowly
          when: [not gpu.nvlink]

    A title denies a fact by "no", "not", "without" and the like in the three words before one of its words. Rules that
    speak against plans are left alone: their titles may say what the others have.
    """
    for rule in context.rulebook.rules:
        if speaks_against(rule):
            continue
        tokens = _TOKEN.findall(rule.title.lower())
        for fact, wanted in _required(rule):
            places = _places(context.vocabulary.facts[fact], tokens)
            denied = any(not _DENY.isdisjoint(tokens[max(0, at - _BEFORE) : at]) for at in places)
            contrary = denied or any(token in _CONTRARY or token.startswith("un") for token in tokens)
            if places and (denied if wanted else not contrary):
                says, has = ("denies", "requires") if wanted else ("speaks of", "denies")
                yield lost_negation.about(
                    rule,
                    f"the title of {rule.id} {says} {fact}, and its line {has} it",
                    fix="turn one of the two round",
                )


def _required(rule: Rule) -> Iterator[tuple[str, bool]]:
    """The yes-or-no facts that a rule requires to be true, or false."""
    for fact, lines in allowed(rule).items():
        words = [line.words for line in lines if isinstance(line, Words)]
        if words and words[0] <= {"true", "false"}:
            yield fact, "true" in words[0]


def _places(fact: FactDef, tokens: Sequence[str]) -> list[int]:
    spoken = words_of(fact.name.rpartition(".")[2], fact.label)
    return [at for at, token in enumerate(tokens) if token in spoken or stem(token) in spoken]


@check("warning")
def another_choice(context: LintContext) -> Iterator[Finding]:
    """Title that names one choice of a fact, while the rule reads or sets another.

    Why: after a word was replaced, or the conclusions of two rows exchanged, the title goes on naming the old one.

    Bad::

        - id: short-projects
          title: Short projects rent
          when: [project_months < 6]
          then: {set: {procurement: buy}}

    Good::

        - id: short-projects
          title: Short projects rent
          when: [project_months < 6]
          then: {set: {procurement: rent}}

    Looked for are the choices and their synonyms. Titles that deny something, that name several choices or those of
    the rule as well, and titles of whole tables are left alone, and so are rules that speak against plans.
    """
    synonyms = _synonyms(context)
    of_tables = {table.id: table.title for table in context.rulebook.tables}
    for rule in context.rulebook.rules:
        if speaks_against(rule) or rule.title == of_tables.get(rule.table or ""):
            continue
        tokens = _TOKEN.findall(rule.title.lower().replace("-", " ").replace("data centre", "datacenter"))
        if not _DENY.isdisjoint(tokens):
            continue
        stems = {stem(token) for token in tokens}
        for fact, own in _choices_of(rule):
            named = {
                choice
                for choice, words in synonyms.get(fact, {}).items()
                if any(all(stem(part) in stems for part in word.split("_")) for word in words)
            }
            if len(named) == 1 and named.isdisjoint(own) and own <= synonyms.get(fact, {}).keys():
                yield another_choice.about(
                    rule,
                    f"the title of {rule.id} says {min(named)}, and its {fact} is {' or '.join(sorted(own))}",
                    fix="correct one of the two",
                )


def _choices_of(rule: Rule) -> Iterator[tuple[str, frozenset[str]]]:
    """What the lines of a rule let facts be, and what it sets them to."""
    for fact, lines in allowed(rule).items():
        words = [line.words for line in lines if isinstance(line, Words)]
        if words:
            yield fact, frozenset.intersection(*words)
    for effect in rule.effects:
        if isinstance(effect, SetFact) and isinstance(effect.expr, Const) and isinstance(effect.expr.value, str):
            yield effect.fact, frozenset({effect.expr.value})


_SHORTEST = 3
_ANYTHING = frozenset({"other", "unknown", "undecided", "none", "high", "low", "medium", "small", "large", "any"})


def _synonyms(context: LintContext) -> Mapping[str, Mapping[str, set[str]]]:
    """By fact and choice the words for it: its own, and the synonyms of every fact that has most of its choices."""
    facts = [fact for fact in context.vocabulary.facts.values() if fact.choices]
    found: dict[str, dict[str, set[str]]] = {}
    for fact in facts:
        words = {choice: {choice} for choice in fact.choices if len(choice) >= _SHORTEST and choice not in _ANYTHING}
        for other in facts:
            if len(set(other.choices) & set(fact.choices)) * 2 > len(fact.choices):
                for word, choice in other.synonyms.items():
                    if choice in words and len(word) >= _SHORTEST:
                        words[choice].add(word)
        found[fact.name] = words
    return found
