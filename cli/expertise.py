"""The engine's doors as the commands use them: load once, parse a workload, names for display."""

from __future__ import annotations

from datetime import UTC
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.inputs import STDIN
from cli.inputs import read_text
from cli.render.names import Names
from engine import Expertise
from engine import load_expertise
from engine.locate import locate
from engine.problems import InputError
from engine.problems import Problem


def load(rules: tuple[str, ...] = (), *, builtin: bool = True) -> Expertise:
    """Everything the engine knows; ``rules`` are folders laid over the built-in rules, or instead of them."""
    return load_expertise(rules_folders=rule_folders(rules, builtin=builtin))


def rule_folders(rules: tuple[str, ...], *, builtin: bool = True) -> list[Path]:
    """The folders of the rulebook, the built-in one first. Raises InputError where one is no folder."""
    folders = [Path(folder) for folder in rules]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(Problem("not-a-folder", f"--rules {folder}: there is no such folder"))
    base = locate("rules")
    if not builtin and folders:
        return folders
    return [base, *(folder for folder in folders if folder.resolve() != base.resolve())]


def parse(expertise: Expertise, file: str) -> dict[str, Any]:
    """The workload in a file, or on standard input. Raises InputError with every problem of the file."""
    if file == STDIN:
        text, name = read_text(file)
        return dict(expertise.parse_workload(text, name))
    text, name = read_text(file)
    return dict(expertise.parse_workload(text, name))


def names_of(expertise: Expertise) -> Names:
    """Display names of GPUs and sources, and the priorities of warnings and advice."""
    knowledge = expertise.knowledge
    gpus = {gpu.id: gpu.name for gpu in knowledge.gpus.values()}
    sources = {source.id: source.title for source in knowledge.sources.values()}
    priorities = {code.code: code.priority for code in expertise.vocabulary.codes.values()}
    return Names(gpus, sources, priorities)


def now() -> datetime:
    """The moment of a decision. The engine has no clock of its own."""
    return datetime.now(UTC).replace(microsecond=0)
