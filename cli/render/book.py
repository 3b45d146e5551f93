"""The rulebook as a Markdown book: a page for each topic, one for the facts, one for the sources, and the contents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from whichgpu import Advisor
from whichgpu.cli.render.figures import count_of, joined, number
from whichgpu.cli.render.mermaid import to_mermaid
from whichgpu.cli.render.names import Names
from whichgpu.cli.render.rulepage import origin_words, purpose
from whichgpu.engine.authoring import Links, links_of, topic_graph
from whichgpu.engine.core import registered
from whichgpu.engine.rules import Condition, Rule, Table, words


#: The first line of every page, by which a page of the book is known.
MADE = "<!-- Made by `whichgpu rules docs`; edit the rules and not this page. -->"
_MARKUP = re.compile(r"([\\`*<>|#\[\]{}])")
_STAGE_ORDER = ("derive", "reject", "prefer", "advise")


def book(advisor: Advisor, names: Names, intros: dict[str, str]) -> dict[str, str]:
    """The pages by file name.

    Args:
        advisor: the rulebook with its facts.
        names: display names of sources.
        intros: by topic, the words at the top of its rule file.
    """
    links = links_of(advisor.rulebook, advisor.vocabulary, registered().values())
    writer = _Writer(advisor, names, links)
    topics = sorted({rule.topic for rule in advisor.rulebook.rules})
    pages = {f"{topic}.md": writer.topic(topic, intros.get(topic, "")) for topic in topics}
    pages["facts.md"] = writer.facts()
    pages["sources.md"] = writer.sources()
    if advisor.rulebook.changes:
        pages["layers.md"] = writer.layers()
    pages["README.md"] = writer.contents(topics)
    return dict(sorted(pages.items()))


class _Writer:
    def __init__(self, advisor: Advisor, names: Names, links: Links) -> None:
        self.rulebook = advisor.rulebook
        self.vocabulary = advisor.vocabulary
        self.names = names
        self.links = links
        self.rules = {rule.id: rule for rule in advisor.rulebook.rules}
        self.tables = {table.id: table for table in advisor.rulebook.tables}
        self.lowest = advisor.rulebook.layers[0].name if advisor.rulebook.layers else ""

    def contents(self, topics: Sequence[str]) -> str:
        """The first page."""
        lines = [MADE, "# The rulebook", ""]
        lines += [f"{count_of(len(self.rules), 'rule')} in {count_of(len(topics), 'topic')}.", ""]
        lines += [
            "| Topic | Rules | works out | rules out | prefers | advises |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for topic in topics:
            rules = [rule for rule in self.rules.values() if rule.topic == topic]
            counts = [sum(rule.stage == stage for rule in rules) for stage in _STAGE_ORDER]
            cells = " | ".join(str(amount or "") for amount in counts)
            lines.append(f"| [{heading(topic)}]({topic}.md) | {len(rules)} | {cells} |")
        others = ["- [Facts](facts.md): what rules read and set.", "- [Sources](sources.md): what they rest on."]
        if self.rulebook.changes:
            others.append("- [Layers](layers.md): what was added, replaced and disabled here.")
        graph = to_mermaid(topic_graph(self.rulebook, self.links))
        lines += ["", *others, "", "## Which topics feed which", "", "```mermaid", graph.rstrip(), "```"]
        return "\n".join(lines) + "\n"

    def topic(self, topic: str, intro: str) -> str:
        """The rules and tables of one file, by id."""
        rules = [rule for rule in self.rules.values() if rule.topic == topic]
        lines = [MADE, f"# {heading(topic)}", ""]
        if intro:
            lines += [escaped(intro), ""]
        entries = {rule.table or rule.id for rule in rules}
        for name in sorted(entries):
            table = self.tables.get(name)
            lines += self._table(table) if table else self._rule(self.rules[name])
        return "\n".join(lines).rstrip() + "\n"

    def facts(self) -> str:
        """Every fact that a rule reads or sets."""
        lines = [MADE, "# Facts that rules read and set", ""]
        used = sorted({*self.links.readers, *self.links.setters, *self.links.askers})
        for name in used:
            fact = self.vocabulary.facts.get(name)
            lines += [f"## {name}", ""]
            if fact and fact.meaning:
                lines += [escaped(fact.meaning), ""]
            lines.append(f"- From: {self._origins(name)}")
            if fact and fact.question:
                lines.append(f"- Asked as: {escaped(fact.question)}")
            readers = self.links.readers.get(name, ())
            lines.append(f"- Read by: {self._linked(readers)}" if readers else "- Read by: no rule")
            askers = self.links.askers.get(name, ())
            lines += [f"- Asked for by: {self._linked(askers)}", ""] if askers else [""]
        return "\n".join(lines).rstrip() + "\n"

    def sources(self) -> str:
        """Every source with the rules that rest on it."""
        cited: dict[str, list[str]] = {}
        for rule in self.rules.values():
            for source in rule.sources:
                cited.setdefault(source.partition("/")[0], []).append(rule.id)
        lines = [MADE, "# Sources of rules", ""]
        for source in sorted(cited):
            title = self.names.citations.get(source) or self.names.source(source)
            lines += [f"## {source}", "", escaped(title), "", self._linked(sorted(set(cited[source]))), ""]
        return "\n".join(lines).rstrip() + "\n"

    def layers(self) -> str:
        """What each layer over the lowest changed."""
        lines = [MADE, "# Layers", ""]
        for layer, changes in groupby(self.rulebook.changes, key=lambda change: change.layer):
            lines += [f"## {escaped(layer)}", ""]
            for change in sorted(changes, key=lambda change: (change.kind, change.rule)):
                by = f" by {self._link(change.by)}" if change.by else ""
                name = self._link(change.rule) if change.kind == "added" else f"`{change.rule}`"
                lines.append(
                    f"- {change.kind}{by}: {name}, {escaped(change.title)}. Because: {escaped(change.because)}"
                )
            lines.append("")
        return "\n".join(lines).rstrip() + "\n"

    def _rule(self, rule: Rule) -> list[str]:
        lines = [f"## {rule.id}", "", f"**{escaped(rule.title)}**", "", f"It {purpose(rule)}.", ""]
        lines += ["When:", "", *(self._condition(condition) for condition in rule.when), ""] if rule.when else []
        lines += ["Then:", "", *(f"- {escaped(effect.words(number))}" for effect in rule.effects), ""]
        if rule.text:
            lines += [f"It says: {escaped(rule.text)}", ""]
        return [*lines, *self._ground(rule), ""]

    def _ground(self, rule: Rule) -> Iterator[str]:
        yield f"Because: {escaped(rule.because)}"
        yield ""
        if rule.sources:
            yield f"- Sources: {self._sources(rule)}"
        if rule.overrides:
            yield f"- Overrides: {self._linked(rule.overrides)}"
        above = self.links.overridden_by.get(rule.id, ())
        if above:
            yield f"- Overridden by: {self._linked(above)}"
        for fact in sorted(rule.writes):
            readers = [name for name in self.links.readers.get(fact, ()) if name != rule.id]
            yield f"- `{fact}` is read by: {self._linked(readers)}" if readers else f"- `{fact}` is read by no rule"
        yield from self._standing(rule)

    def _standing(self, rule: Rule) -> Iterator[str]:
        if rule.status != "stable":
            yield f"- Status: {rule.status}"
        if rule.valid_until:
            yield f"- To be checked again after {rule.valid_until}"
        for name, value in rule.responsible.stated().items():
            yield f"- {name.replace('_', ' ').capitalize()}: {escaped(value)}"
        if rule.layer != self.lowest:
            yield f"- Layer: {escaped(rule.layer)}" + (f", in place of `{rule.replaces}`" if rule.replaces else "")
        yield f"- {count_of(len(rule.tests), 'test')}"

    def _table(self, table: Table) -> list[str]:
        rows = [self.rules[row] for row in table.rows if row in self.rules]
        if not rows:
            return []
        first = rows[0]
        shared = [condition for condition in first.when if condition.column is None]
        policy = "The first row that matches counts." if table.hit == "first" else "Every row that matches counts."
        lines = [f"## {table.id}", "", f"**{escaped(table.title)}**", ""]
        lines += [f"A table that {purpose(first)}. {policy}", ""]
        lines += ["For all rows:", "", *(self._condition(condition) for condition in shared), ""] if shared else []
        columns = [*table.columns]
        lines.append(f"| Row | {' | '.join(f'`{name}`' for name in columns)} | Then |")
        lines.append(f"| --- | {' | '.join('---' for _ in columns)} | --- |")
        lines += [self._row(rule, columns) for rule in rows]
        lines.append("")
        for because, group in groupby(sorted(rows, key=lambda rule: rule.because), key=lambda rule: rule.because):
            held = list(group)
            which = "" if len(held) == len(rows) else f" ({joined([_short(rule) for rule in held], 'and')})"
            lines.append(f"- Because{which}: {escaped(because)}")
        said = [rule for rule in rows if rule.text]
        lines += [f"- {_short(rule)} says: {escaped(rule.text)}" for rule in said]
        lines.append(f"- Sources: {self._sources(*rows)}")
        overridden = sorted({name for rule in rows for name in rule.overrides})
        lines += [f"- Overrides: {self._linked(overridden)}"] if overridden else []
        return [*lines, f"- {count_of(sum(len(rule.tests) for rule in rows), 'test')}", ""]

    def _row(self, rule: Rule, columns: Sequence[str]) -> str:
        cells: dict[str, list[str]] = {}
        for condition in rule.when:
            if condition.column is not None:
                cells.setdefault(condition.column, []).append(f"`{condition.text}`".replace("|", "\\|"))
        shown = " | ".join(" ".join(cells.get(column, ["any"])) for column in columns)
        then = "; ".join(escaped(effect.words(number)) for effect in rule.effects)
        return f"| {_short(rule)} | {shown} | {then} |"

    def _condition(self, condition: Condition) -> str:
        phrase = words(condition.expr, self.vocabulary)
        return f"- `{condition.text}`" + (f": {escaped(phrase)}" if phrase != condition.text else "")

    def _origins(self, fact: str) -> str:
        origins = self.links.origins(fact)
        if not origins.rules:
            return escaped(origin_words(fact, origins))
        others = [part for part in origin_words(fact, origins).split("; ") if not part.startswith("set by ")]
        return escaped("; ".join(others)) + ("; " if others else "") + f"set by {self._linked(origins.rules)}"

    def _sources(self, *rules: Rule) -> str:
        found = dict.fromkeys(source for rule in rules for source in rule.sources)
        return "; ".join(f"[{escaped(self.names.source(s))}](sources.md#{anchor(s.partition('/')[0])})" for s in found)

    def _linked(self, names: Iterable[str]) -> str:
        """Links to rules; the rows of one table are named once, by their table."""
        entries = dict.fromkeys(self.rules[name].table or name if name in self.rules else name for name in names)
        return ", ".join(self._link(name) for name in entries)

    def _link(self, name: str) -> str:
        rule = self.rules.get(name)
        target = rule.table or rule.id if rule else name
        table = self.tables.get(target)
        topic = rule.topic if rule else table.topic if table else None
        return f"[{name}]({topic}.md#{anchor(target)})" if topic else f"`{name}`"


def heading(topic: str) -> str:
    """A topic as a title."""
    return topic.replace("-", " ").capitalize()


def anchor(title: str) -> str:
    """The anchor that Markdown renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def escaped(text: str) -> str:
    """Text without anything that Markdown would take for markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _short(rule: Rule) -> str:
    return rule.id.partition("/")[2] or rule.id
