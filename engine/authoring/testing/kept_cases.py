"""Whole decisions of cases, kept while nothing that they rest on has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from whichgpu.engine.authoring.testing.scenarios import Scenario, ScenarioResult
from whichgpu.engine.core import compiled_key, knowledge_in_use, recall_compiled, remember_compiled


class _Kept(Struct, frozen=True):
    """What each case missed, by its id."""

    misses: dict[str, tuple[str, ...]]


class KeptResults(Struct, frozen=True):
    """Results of cases, and how many of them are those of an earlier run over the very same files."""

    results: tuple[ScenarioResult, ...]
    kept: int


def run_or_recall(
    cases: Sequence[Scenario],
    run: Callable[[Iterable[Scenario]], list[ScenarioResult]],
    folders: Iterable[Path],
    moment: datetime,
) -> KeptResults:
    """The results of cases: those of an earlier run where every file behind them, the program and the day are the same.

    Args:
        cases: what is to be decided and compared.
        run: decides and compares.
        folders: the rule folders, of which the cases are a part.
        moment: when it is decided; prices age by the day.
    """
    knowledge = knowledge_in_use()
    key = compiled_key(_files((*folders, knowledge.folder, *knowledge.layers)), moment.date().isoformat())
    kept = recall_compiled("guide-cases", key, _Kept)
    known = kept.misses if kept is not None else {}
    new = run(case for case in cases if case.id not in known)
    if new:
        remember_compiled("guide-cases", key, _Kept(known | {each.scenario.id: each.misses for each in new}))
    old = [ScenarioResult(case, known[case.id]) for case in cases if case.id in known]
    return KeptResults(tuple(sorted((*old, *new), key=lambda each: each.scenario.id)), len(old))


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        yield from sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml", ".csv"})
