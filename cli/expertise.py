"""The engine's doors as the commands use them: load once, read a workload, names for display, the clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from datetime import datetime
from pathlib import Path

from cli.inputs import STDIN
from cli.inputs import read_stdin
from cli.prices import with_own_prices
from cli.render.names import Names
from engine import Expertise
from engine import Workload
from engine import load_expertise
from engine.knowledge.model import SourceRecord
from engine.problems import InputError
from engine.problems import Problem
from engine.problems import RulebookError
from engine.source import read_yaml
from engine.source import read_yaml_text


def load(rules: tuple[str, ...] = (), *, builtin: bool = True) -> Expertise:
    """Everything the engine knows, with the prices that the user imported.

    ``rules`` are folders laid over the built-in rules, or used instead of them. Raises RulebookError.
    """
    folders = [_folder(name) for name in rules]
    if not builtin and not folders:
        fix = "name a folder with --rules DIR"
        raise InputError(Problem("bad-option", "--no-builtin-rules leaves no rules at all", fix=fix))
    expertise = load_expertise(folders) if builtin else load_expertise(folders[1:], own_rules=folders[0])
    knowledge = with_own_prices(expertise.knowledge)
    if knowledge is expertise.knowledge:
        return expertise
    return replace(expertise, knowledge=knowledge, bench=replace(expertise.bench, knowledge=knowledge))


def _folder(name: str) -> Path:
    folder = Path(name)
    if not folder.is_dir():
        raise RulebookError(Problem("not-a-folder", f"--rules {name}: there is no such folder"))
    return folder


def read(expertise: Expertise, file: str, changes: tuple[str, ...]) -> Workload:
    """The workload in a file or on standard input, with ``fact=value`` changes. Raises InputError with all problems."""
    if file == STDIN:
        node = read_yaml_text(read_stdin(), "standard input", error=InputError)
    else:
        node = read_yaml(file, error=InputError)
    return expertise.read(node, changes)


def names_of(expertise: Expertise) -> Names:
    """Display names of GPUs and sources, and the priorities of warnings and advice."""
    knowledge = expertise.knowledge
    gpus = {gpu.id: gpu.name for gpu in knowledge.gpus.values()}
    sources = {source.id: _short_title(source) for source in knowledge.sources.values()}
    citations = {source.id: _citation(source) for source in knowledge.sources.values()}
    priorities = {code.code: code.priority for code in expertise.vocabulary.codes.values()}
    return Names(gpus, sources, priorities, citations)


def _short_title(source: SourceRecord) -> str:
    """A guide goes by who publishes it, as its title is a sentence."""
    if source.kind != "guide":
        return source.title
    return f"{source.publisher} guide" if source.seller else source.title.partition(" on ")[0]


def _citation(source: SourceRecord) -> str:
    parts = [source.title, source.publisher, source.date, source.url]
    sells = "sells what it writes about" if source.seller else None
    return ", ".join(part for part in (*parts, sells) if part)


def now() -> datetime:
    """The moment of a decision. The engine has no clock of its own."""
    return datetime.now(UTC).replace(microsecond=0)
