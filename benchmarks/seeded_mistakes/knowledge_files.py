"""Mistakes made in knowledge files: a changed file beside the rules, with their tests or without."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from whichgpu import Advisor, load_advisor
from whichgpu.engine.core import locate

from .judging import Found, looked_for, said
from .rule_files import without_tests


class KnowledgeFiles:
    """Copies of rules and knowledge. Everything is loaded, checked and tested anew for each mistake."""

    def __init__(self, folder: Path) -> None:
        self._rules, self._knowledge = folder / "rules", folder / "knowledge"
        shutil.copytree(locate("rules"), self._rules)
        shutil.copytree(locate("knowledge"), self._knowledge)
        self._before = frozenset(said(self._loaded()))

    def found(self, file: str, text: str) -> Found:
        """What finds the mistake in this text of a file."""
        with self._standing({self._knowledge / file: text}):
            return looked_for(self._loaded, self._before)

    def found_untested(self, file: str, text: str, parameter: str) -> Found:
        """The same where the rules that use a parameter have no tests: what lint says of those does not count."""
        rules = {path: _untested(path.read_text(), parameter) for path in self._rules.glob("*.yaml")}
        with self._standing(rules):
            before = frozenset(said(self._loaded()))
            with self._standing({self._knowledge / file: text}):
                return looked_for(self._loaded, before)

    def _loaded(self) -> Advisor:
        return load_advisor(knowledge_folder=self._knowledge, own_rules=self._rules)

    @contextmanager
    def _standing(self, texts: dict[Path, str]) -> Iterator[None]:
        kept = {path: path.read_text() for path in texts}
        try:
            for path, text in texts.items():
                path.write_text(text)
            yield
        finally:
            for path, text in kept.items():
                path.write_text(text)


def _untested(text: str, parameter: str) -> str:
    entries = yaml.safe_load(text)
    uses = [f"${parameter}" in str(entry) or f"${{{parameter}}}" in str(entry) for entry in entries]
    if not any(uses):
        return text
    shown = [without_tests(entry) if used else entry for entry, used in zip(entries, uses, strict=True)]
    # A parameter that stood without quotes has to: a number in quotes is a word.
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=10_000)
