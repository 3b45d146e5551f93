"""The checks over a loaded rulebook, with all that they have to know of the rest of the engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

from engine.calculators import registered
from engine.expertise import Expertise
from engine.expertise import known_names
from engine.problems import KnowledgeError
from engine.rulebook.model import Known
from engine.source import read_document
from engine.verify import Finding
from engine.verify import lint
from engine.vocabulary import Vocabulary


#: Read by the pipeline itself: by the planning of phases, the reckoning of power, and the answer's sizing.
READ_BY_THE_PIPELINE = frozenset({"training_task", "pue", "recommended_vram_gb"})


def inspect(expertise: Expertise, today: date) -> list[Finding]:
    """What the checks find in the rulebook, sorted by place. ``today`` is the day by which a rule may be too old."""
    return lint(
        expertise.rulebook,
        expertise.vocabulary,
        known_with_heuristics(expertise),
        today,
        produced=produced_facts(expertise.vocabulary),
        consumed=consumed_facts(expertise.vocabulary),
    )


def known_with_heuristics(expertise: Expertise) -> Known:
    """The names that rules may refer to, the ids of the heuristics catalogue among them."""
    return replace(known_names(expertise.knowledge), heuristics=heuristic_ids(Path(expertise.knowledge.folder)))


def heuristic_ids(folder: Path) -> frozenset[str]:
    """The ids in ``heuristics.yaml`` of a knowledge folder; none where it has no such file. Raises KnowledgeError."""
    file = folder / "heuristics.yaml"
    if not file.is_file():
        return frozenset()
    content = read_document(file, error=KnowledgeError, cached=True).plain
    return frozenset(entry["id"] for entry in content["heuristics"])


def produced_facts(vocabulary: Vocabulary) -> frozenset[str]:
    """Facts that something other than a rule settles: calculators, the survey over plans, the rent-or-own reckoning."""
    later = {name for name, fact in vocabulary.facts.items() if fact.available in ("survey", "outcome")}
    return frozenset(registered()) | later - {"procurement"}  # That verdict only rules can give.


def consumed_facts(vocabulary: Vocabulary) -> frozenset[str]:
    """Facts that something other than a rule reads: calculators' inputs, and what sizing, plans and prices are told."""
    read = {name for calculator in registered().values() for name in (*calculator.needs, *calculator.uses)}
    stated = {name for name, fact in vocabulary.facts.items() if fact.role == "input"}
    return READ_BY_THE_PIPELINE | read | stated
