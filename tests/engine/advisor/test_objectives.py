"""Objectives: read from the knowledge, chosen by name, by fact or by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.objectives import check_objectives, load_objectives
from whichgpu.engine.core.errors import InputError, KnowledgeError


def test_the_shipped_objectives_minimise_what_their_names_say(advisor: Advisor) -> None:
    known = advisor.objectives
    assert set(known) >= {"cheapest", "balanced", "fastest"}
    assert known["cheapest"].merit(3, 100, 1) < known["cheapest"].merit(4, 1, 1)
    assert known["fastest"].merit(400, 2, 1) < known["fastest"].merit(1, 3, 1)
    assert known["balanced"].merit(2, 3, 1) == known["balanced"].merit(3, 2, 1) == 6
    assert all(objective.sources and objective.meaning for objective in known.values())
    assert not any(objective.stated for objective in known.values())


def test_more_gpus_have_to_bring_something(advisor: Advisor) -> None:
    known = advisor.objectives
    assert known["cheapest"].merit(3, 1, 8) == known["cheapest"].merit(3, 1, 1)
    # A fifth faster with twice the GPUs is the least that is worth it; 1.3 times is, 1.1 times is not.
    fastest = known["fastest"]
    assert fastest.merit(1, 1 / 1.3, 2) < fastest.merit(1, 1, 1) < fastest.merit(1, 1 / 1.1, 2)
    # A job shared among twice the GPUs ends sooner at the same cost: that alone is no gain.
    assert known["balanced"].merit(5, 0.5, 2) == pytest.approx(known["balanced"].merit(5, 1, 1))


def test_preferences_may_cost_a_tenth_a_twentieth_or_a_quarter(advisor: Advisor) -> None:
    shares = {name: objective.preference_share for name, objective in advisor.objectives.items()}
    assert shares["fastest"] < shares["cheapest"] < shares["balanced"] < 1
    assert {o.dominance_margin for o in advisor.objectives.values()} <= {0.05}
    assert all(o.guide_cost_ratio > 1 for o in advisor.objectives.values())


def test_an_objective_is_stated_by_a_fact_or_by_name_and_not_by_default(advisor: Advisor) -> None:
    assert advisor.objective("fastest", {}).stated
    assert advisor.objective(None, {"objective": "cheapest"}).stated
    assert not advisor.objective(None, {}).stated


def test_a_named_objective_beats_the_fact_and_the_fact_the_default(advisor: Advisor) -> None:
    assert advisor.objective("fastest", {"objective": "cheapest"}).name == "fastest"
    assert advisor.objective(None, {"objective": "cheapest"}).name == "cheapest"
    assert advisor.objective(None, {}).name == advisor.default_objective


def test_an_unknown_objective_is_shown_the_nearest(advisor: Advisor) -> None:
    with pytest.raises(InputError, match="did you mean cheapest") as caught:
        advisor.objective("cheapes", {})
    assert caught.value.problems[0].code == "unknown-objective"


def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "objectives.yaml").write_text(
        "default: cheapest\nobjectives:\n  cheapest: {meaning: x, cost_exponent: much}\n"
    )
    with pytest.raises(KnowledgeError, match=r"objectives\.yaml:3"):
        load_objectives(tmp_path)


def test_choices_and_objectives_are_the_same(advisor: Advisor) -> None:
    check_objectives(advisor.vocabulary.facts["objective"].choices, advisor.objectives)
    with pytest.raises(KnowledgeError) as refused:
        check_objectives(("cheapest", "fastet"), ("cheapest", "fastest"))
    assert [problem.code for problem in refused.value.problems] == ["no-such-objective", "objective-without-choice"]
    assert refused.value.problems[0].nearest == ("fastest",)
