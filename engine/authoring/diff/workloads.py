"""The workloads on which two rulebooks are compared: examples, the tests inside rules, and a sample."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whichgpu.engine.authoring.diff.sampling import sample_workloads
from whichgpu.engine.authoring.testing.scenarios import FOLDER as SCENARIOS
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.errors import WhichgpuError
from whichgpu.engine.core.yaml import plain
from whichgpu.engine.core.yaml import read_yaml
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Rule


@dataclass(frozen=True, slots=True)
class Named:
    """A workload, what it is called, and where it comes from."""

    name: str
    origin: str  # example, scenario, test, sample
    facts: dict[str, Any]


def example_workloads(folder: Path) -> Iterator[Named]:
    """The workload files of a folder, by name. Files that are none are passed over."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            facts = plain(read_yaml(path, error=InputError))
        except WhichgpuError:
            continue
        if isinstance(facts, dict) and "task" in facts:
            yield Named(path.stem, "example", facts)


def scenario_workloads(folders: Iterable[Path]) -> Iterator[Named]:
    """The scenarios beside the rules of each folder, by id. Files that are none are passed over."""
    for folder in folders:
        for path in sorted((folder / SCENARIOS).glob("*.yaml")):
            try:
                entries = plain(read_yaml(path, error=RulebookError))
            except WhichgpuError:
                continue
            for entry in entries if isinstance(entries, list) else ():
                if isinstance(entry, dict) and isinstance(entry.get("given"), dict) and "task" in entry["given"]:
                    yield Named(str(entry.get("id", path.stem)), "scenario", entry["given"])


def workloads_in_tests(rules: Iterable[Rule]) -> Iterator[Named]:
    """What the tests inside rules are given, where it says what the job is; equal ones once."""
    seen: set[str] = set()
    for rule in rules:
        for number, test in enumerate(rule.tests, 1):
            facts = {name: value for name, value in test.given.items() if value != "unknown"}
            key = repr(sorted(facts.items()))
            if "task" in facts and key not in seen:
                seen.add(key)
                yield Named(f"{rule.id}, test {number}", "test", facts)


def sampled_workloads(vocabulary: Vocabulary, amount: int, seed: int) -> Iterator[Named]:
    """The seeded sample."""
    for facts in sample_workloads(vocabulary, amount, seed=seed):
        yield Named(str(facts["id"]), "sample", facts)
