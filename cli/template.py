"""The workload file that ``init`` writes: every fact with its question, commented out until somebody answers it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import groupby

import yaml

from whichgpu.cli.render.facts import accepts, topic_key, when_unstated
from whichgpu.engine.catalogue import profile_of
from whichgpu.engine.core import Value
from whichgpu.engine.rules import FactDef, Vocabulary


_WIDTH = 96
_HEAD = """\
A workload for whichgpu. Remove the '#' before a fact that you know and write its value.
Whatever stays commented out is unknown, and the answer says where that matters.
Then run: whichgpu recommend THIS-FILE"""


def template(vocabulary: Vocabulary, task: str | None, *, everything: bool = False) -> str:
    """The text of the file. ``task`` is filled in and leaves out topics that do not concern it."""
    facts = sorted(_wanted(vocabulary, task, everything=everything), key=topic_key)
    lines = _comment(_HEAD)
    for topic, group in groupby(facts, key=lambda fact: fact.topic):
        lines += ["", f"# ---- {topic} ".ljust(_WIDTH, "-")]
        for fact in group:
            lines += ["", *_entry(fact, task if fact.name == "task" else None)]
    return "\n".join(lines) + "\n"


def _wanted(vocabulary: Vocabulary, task: str | None, *, everything: bool) -> list[FactDef]:
    skipped = profile_of(task).skips_topics if task else ()
    asked = ("always", "if_it_matters", "on_request") if everything else ("always", "if_it_matters")
    return [
        fact
        for fact in vocabulary.facts.values()
        if fact.scope == "workload"
        and fact.role == "input"
        and fact.question
        and fact.askable in asked
        and fact.topic not in skipped
    ]


def _entry(fact: FactDef, value: str | None) -> list[str]:
    lines = _comment(fact.question or fact.meaning)
    if fact.choice_labels:
        lines += [
            line for choice, label in fact.choice_labels.items() for line in _comment(f"{choice}: {label}", "    ")
        ]
    else:
        lines += _comment(f"Write {accepts(fact)}.", "  ")
    lines += _comment(f"If not given: {when_unstated(fact)}.", "  ")
    return [*lines, f"{fact.name}: {value}" if value else f"#{fact.name}:"]


def _comment(text: str, indent: str = "") -> list[str]:
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(paragraph, _WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"# {indent}")
    return lines


def workload_text(facts: Mapping[str, Value]) -> str:
    """Facts as a workload file that ``recommend`` reads."""
    return yaml.safe_dump({name: _plain(facts[name]) for name in facts}, sort_keys=False, allow_unicode=True)


def _plain(value: Value) -> object:
    return list(value) if isinstance(value, tuple) else value
