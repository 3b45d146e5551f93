"""Objectives: read from the knowledge, chosen by name, by fact or by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.expertise import Expertise
from engine.objectives import load_objectives
from engine.problems import InputError
from engine.problems import KnowledgeError


def test_the_shipped_objectives_weigh_what_their_names_say(expertise: Expertise) -> None:
    known = expertise.objectives
    assert set(known) == {"cheapest", "balanced", "fastest"}
    assert known["cheapest"].cost_weight > known["balanced"].cost_weight > known["fastest"].cost_weight
    assert known["fastest"].speed_weight > known["cheapest"].speed_weight
    assert all(objective.sources and objective.meaning for objective in known.values())


def test_a_named_objective_beats_the_fact_and_the_fact_the_default(expertise: Expertise) -> None:
    assert expertise.objective("fastest", {"objective": "cheapest"}).name == "fastest"
    assert expertise.objective(None, {"objective": "cheapest"}).name == "cheapest"
    assert expertise.objective(None, {}).name == expertise.default_objective


def test_an_unknown_objective_is_told_the_nearest(expertise: Expertise) -> None:
    with pytest.raises(InputError, match="did you mean cheapest") as caught:
        expertise.objective("cheapes", {})
    assert caught.value.problems[0].code == "unknown-objective"


def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "objectives.yaml").write_text(
        "default: cheapest\nobjectives:\n  cheapest: {meaning: x, cost_weight: much}\n"
    )
    with pytest.raises(KnowledgeError, match=r"objectives\.yaml:3"):
        load_objectives(tmp_path)
