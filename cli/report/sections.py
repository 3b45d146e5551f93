"""Sections that only the report has: the collapsible derivation, rejected GPUs, sources, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.cli.render.derivation import beneath, headline
from whichgpu.cli.render.figures import count_of, joined
from whichgpu.cli.render.names import Names
from whichgpu.cli.report.html import linked, slug
from whichgpu.cli.report.markup import Markup, join, tag
from whichgpu.engine.explain import Explainer, Step
from whichgpu.engine.records import Saved


JsonObject = Mapping[str, Any]


def tree_section(explainer: Explainer, names: Names) -> Markup:
    """Every conclusion as a tree, folded; it unfolds without any script."""
    topics = ("recommendation", "memory", "procurement")
    trees = tag("div", *(_branch(explainer.why(topic), names) for topic in topics), class_="tree")
    lead = (
        "How each conclusion came about, down to what was stated and to sources. "
        "The numbers in brackets are entries of the trace."
    )
    return join(_heading("Derivation"), tag("p", lead), trees)


def _branch(step: Step, names: Names) -> Markup:
    below = beneath(step, names)
    note = tag("div", linked(below), class_="below") if below else Markup("")
    if not step.steps:
        return join(tag("div", headline(step)), note)
    inner = tag("ul", *(tag("li", _branch(child, names)) for child in step.steps))
    return tag("details", tag("summary", headline(step)), note, inner)


def rejected_section(decision: JsonObject, names: Names) -> Markup:
    """Which GPUs which rule rejects, and what was passed over without a rule, with the reason for each."""
    by_rule: dict[str, list[JsonObject]] = {}
    by_reason: dict[str, list[JsonObject]] = {}
    for entry in decision["rejected"]:
        if entry["rule"] is None:
            by_reason.setdefault(entry["reason"], []).append(entry)
        else:
            by_rule.setdefault(entry["rule"], []).append(entry)
    parts = []
    if by_rule:
        gpus = len({entry["gpu"] for entry in decision["rejected"] if entry["rule"]})
        lead = f"Hard limits ruled out some or all counts of {count_of(gpus, 'GPU')}. Unfold a rule for the reasons."
        parts += [tag("p", lead), *(_rejected_by(rule, entries, names) for rule, entries in _largest_first(by_rule))]
    if by_reason:
        lead = "No rule is against the following; they are neither the answer nor among the alternatives."
        parts += [tag("p", lead), *(_passed_over(why, entries, names) for why, entries in _largest_first(by_reason))]
    return join(_heading("Rejected GPUs"), *parts) if parts else Markup("")


def _largest_first(groups: dict[str, list[JsonObject]]) -> list[tuple[str, list[JsonObject]]]:
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def _rejected_by(rule: str, entries: list[JsonObject], names: Names) -> Markup:
    items = [tag("li", f"{_counted(entry, names)}: {entry['reason']}") for entry in entries]
    sources = joined([names.source(source) for source in entries[0].get("sources", ())])
    note = tag("div", f"source: {sources}", class_="below") if sources else Markup("")
    return tag("details", tag("summary", f"Rule {rule}: {count_of(len(entries), 'GPU')}"), note, tag("ul", *items))


def _passed_over(reason: str, entries: list[JsonObject], names: Names) -> Markup:
    items = [tag("li", _counted(entry, names)) for entry in entries]
    return tag("details", tag("summary", reason), tag("ul", *items))


def _counted(entry: JsonObject, names: Names) -> str:
    return f"{names.gpu(entry['gpu'])} x {joined([str(count) for count in entry['counts']], 'or')}"


def source_section(decision: JsonObject, names: Names) -> Markup:
    """Every source that the decision or its trace cites, in full."""
    cited: dict[str, set[str]] = {}
    for source in _cited(decision):
        name, _, section = source.partition("/")
        if name in names.citations:
            cited.setdefault(name, set()).update({names.sections.get(source, section)} - {""})
    if not cited:
        return Markup("")
    rows = []
    for name in sorted(cited, key=lambda name: (names.source(name).casefold(), name)):
        sections = f" Cited: {'; '.join(sorted(cited[name]))}." if cited[name] else ""
        citation = names.citations[name]
        title = names.source(name)
        shown = citation if citation.startswith(title) else f"{title}: {citation}"
        rows.append(tag("li", linked(shown), f".{sections}"))
    return join(_heading("Sources"), tag("ul", *rows))


def _cited(decision: JsonObject) -> set[str]:
    found = {source for entry in decision["trace"] for source in entry["sources"]}
    for key in ("advice", "warnings", "monitoring", "rejected"):
        found |= {source for entry in decision[key] for source in entry.get("sources", ())}
    found |= {source for figure in decision["figures"].values() for source in figure["sources"]}
    found |= {position["source"] for entry in decision["disagreements"] for position in entry["positions"]}
    found |= {entry["source"] for entry in decision["procurement"]["thresholds"]}
    return found | set(decision["procurement"].get("sources", ()))


def provenance(saved: Saved) -> Markup:
    """When, by what and on what data it was decided, who asked for it, and how to check it."""
    decision = saved.decision
    statement = saved.statement or {}
    rulebook, knowledge = decision["rulebook"], decision["knowledge"]
    pairs = [
        ("Decided", decision["decided_at"]),
        ("Objective", decision["objective"]),
        ("Rulebook", f"{rulebook['version']}, {rulebook['digest']}"),
        ("Knowledge", knowledge["digest"]),
        ("Prices up to", knowledge["prices_as_of"] or "none known"),
        ("Rules fired by", f"{decision['fired_by']}, whichgpu {decision['engine_version']}"),
        ("Source revision", statement.get("revision") or "not known"),
        *((key.replace("_", " ").capitalize(), value) for key, value in statement.get("meta", {}).items()),
        ("Record", saved.mark),
        ("SHA-256", saved.sha256 or "not saved as a record"),
    ]
    rows = (join(tag("dt", label), tag("dd", str(value))) for label, value in pairs)
    check = "Check it with: whichgpu audit RECORD. Ask it with: whichgpu why RECORD, whichgpu why-not RECORD GPU."
    return join(_heading("About this decision"), tag("dl", *rows), tag("p", check, class_="faint"))


def _heading(title: str) -> Markup:
    return tag("h2", title, id=slug(title))
