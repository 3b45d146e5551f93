"""One rule in plain words: what it asks for, what follows, on what ground, and what depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Pairs, Paragraph
from whichgpu.cli.render.figures import count_of, joined, number
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.rules import shown_place
from whichgpu.engine.authoring import Links, Origins
from whichgpu.engine.rules import Rule, Vocabulary, words


_MOST = 12
_STAGES = {
    ("derive", "workload"): "works out facts of the workload",
    ("derive", "plan"): "works out facts of each plan",
    ("reject", "workload"): "finds that the facts contradict each other",
    ("reject", "plan"): "rules plans out",
    ("prefer", "plan"): "speaks for or against a plan",
    ("advise", "workload"): "advises on the workload",
    ("advise", "chosen"): "advises on the recommended plan",
    ("advise", "candidate"): "advises on each GPU that the user named",
}


def purpose(rule: Rule) -> str:
    """What a rule of this stage and scope does, in words."""
    return _STAGES[rule.stage, rule.each]


def rule_page(
    rule: Rule, names: Names, vocabulary: Vocabulary, links: Links, fired: Sequence[str], tried: int
) -> list[Block]:
    """One rule in full.

    Args:
        rule: the rule.
        names: display names of sources.
        vocabulary: labels and meanings of facts.
        links: who sets and reads what.
        fired: the workloads on which it fires.
        tried: how many workloads were tried.
    """
    when = tuple(_condition(condition.text, words(condition.expr, vocabulary)) for condition in rule.when)
    effects = tuple(Item(effect.words(number)) for effect in rule.effects)
    blocks: list[Block] = [
        Heading(rule.id, 1),
        Paragraph(rule.title, "strong"),
        Paragraph(f"A rule that {purpose(rule)} (stage {rule.stage}, each {rule.each})."),
        Heading("When" if len(when) < 2 else "When all of this holds", 3),
        Bullets(when or (Item("always"),)),
        Heading("Then", 3),
        Bullets(effects),
        Heading("Ground", 3),
        Pairs(tuple(_ground(rule, names))),
        *_reads(rule, vocabulary, links),
        *_writes(rule, links),
        *_overrides(rule, links),
        Heading("Tests", 3),
        Paragraph(_tests(rule)),
    ]
    if tried:
        share = f"{len(fired)} of {count_of(tried, 'example and scenario', 'examples and scenarios')}"
        said = (
            f"It fires on {share}: {_listed(fired)}."
            if fired
            else f"It fires on none of {tried} examples and scenarios."
        )
        blocks += [Heading("Workloads", 3), Paragraph(said)]
    return blocks


def _condition(text: str, phrase: str) -> Item:
    return Item(text) if phrase == text else Item(text, (phrase,))


def _ground(rule: Rule, names: Names) -> Iterable[tuple[str, str]]:
    yield "because", rule.because
    if rule.text:
        yield "says", rule.text
    yield "sources", "; ".join(names.source(source) for source in rule.sources) or "none"
    if rule.encodes:
        yield "encodes", ", ".join(rule.encodes)
    yield "status", rule.status
    if rule.valid_until:
        yield "valid until", rule.valid_until
    for name, value in rule.responsible.stated().items():
        yield name.replace("_", " "), value
    if rule.table:
        yield "row of", f"{rule.table} (hit policy {rule.hit})"
    if rule.layer:
        yield "layer", rule.layer + (f", in place of {rule.replaces}" if rule.replaces else "")
    if rule.place:
        yield "place", shown_place(rule.place)


def _reads(rule: Rule, vocabulary: Vocabulary, links: Links) -> list[Block]:
    if not rule.reads:
        return []
    items = []
    for name in sorted(rule.reads):
        fact = vocabulary.facts.get(name)
        meaning = fact.meaning if fact and fact.meaning else ""
        items.append(Item(f"{name}: {origin_words(name, links.origins(name))}", (meaning,) if meaning else ()))
    return [Heading("What it reads", 3), Bullets(tuple(items))]


def origin_words(name: str, origins: Origins) -> str:
    """Where a fact comes from, in words."""
    said = []
    if origins.stated:
        said.append("stated by the user" + (" when asked" if origins.asked else ""))
    if origins.calculators:
        said.append(f"computed by {_listed(origins.calculators)}")
    if origins.rules:
        said.append(f"set by {_listed(origins.rules)}")
    if origins.assumed:
        said.append("assumed where not stated")
    if not said:
        said.append("known from the plan" if "." in name else "worked out by the engine")
    return "; ".join(said)


def _writes(rule: Rule, links: Links) -> list[Block]:
    if not rule.writes:
        return []
    items = []
    for name in sorted(rule.writes):
        readers = [other for other in links.readers.get(name, ()) if other != rule.id]
        using = links.computed_from.get(name, ())
        said = f"read by {_listed(readers)}" if readers else "read by no rule"
        items.append(Item(f"{name}: {said}" + (f"; used by {_listed(using)}" if using else "")))
    return [Heading("What it sets", 3), Bullets(tuple(items))]


def _overrides(rule: Rule, links: Links) -> list[Block]:
    above = links.overridden_by.get(rule.id, ())
    rows = []
    if rule.overrides:
        rows.append(("overrides", _listed(rule.overrides)))
    if above:
        rows.append(("overridden by", _listed(above)))
    return [Heading("Overrides", 3), Pairs(tuple(rows))] if rows else []


def _tests(rule: Rule) -> str:
    misses = sum(test.near_miss is not None for test in rule.tests)
    return f"{count_of(len(rule.tests), 'test')}, {count_of(misses, 'near miss', 'near misses')} among them."


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST])
    rest = len(names) - len(shown)
    return ", ".join(shown) + f" and {rest} more" if rest else joined(shown, "and")
