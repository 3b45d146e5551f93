"""Task profiles: every task has one, and none is taken for another in silence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from whichgpu import Advisor, KnowledgeError, load_advisor
from whichgpu.engine.catalogue.tasks import check_profiles, profile_of, task_profiles
from whichgpu.engine.core.folders import locate
from whichgpu.engine.sizing.intake import job_from_facts


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the knowledge, to be changed."""
    folder = tmp_path / "knowledge"
    shutil.copytree(locate("knowledge"), folder)
    return folder


def test_a_task_without_a_profile_is_refused_when_the_knowledge_loads(copied: Path) -> None:
    file = copied / "vocabulary.yaml"
    text = file.read_text(encoding="utf-8")
    changed = text.replace(
        "peft_finetuning, inference, experimentation]",
        "peft_finetuning, inference, experimentation, reinforcement_learning]",
        1,
    )
    assert changed != text
    file.write_text(changed, encoding="utf-8")
    with pytest.raises(KnowledgeError) as refused:
        load_advisor(knowledge_folder=copied)
    (problem,) = refused.value.problems
    assert problem.code == "no-task-profile"
    assert "'reinforcement_learning' has no profile in knowledge/tasks.yaml" in problem.message
    assert problem.fix


def test_a_profile_that_sizing_would_not_follow_is_refused(copied: Path) -> None:
    file = copied / "tasks.yaml"
    file.write_text(
        file.read_text(encoding="utf-8").replace("sized_as: full", "sized_as: adapters", 1), encoding="utf-8"
    )
    with pytest.raises(KnowledgeError) as refused:
        load_advisor(knowledge_folder=copied)
    assert [problem.code for problem in refused.value.problems] == ["task-profile-not-followed"]


def test_a_task_that_is_not_defined_is_not_sized() -> None:
    with pytest.raises(KnowledgeError, match="'reinforcement_learning' has no profile"):
        job_from_facts({"task": "reinforcement_learning", "param_count_b": 7}, None)


def test_the_other_phase_is_a_task(copied: Path) -> None:
    file = copied / "tasks.yaml"
    file.write_text(
        file.read_text(encoding="utf-8").replace("other_phase: inference", "other_phase: inferense", 1),
        encoding="utf-8",
    )
    with pytest.raises(KnowledgeError, match="'inferense' as its other phase"):
        check_profiles((), copied)


def test_profiles_and_tasks_are_the_same(advisor: Advisor) -> None:
    assert set(task_profiles()) == set(advisor.vocabulary.facts["task"].choices)
    topics = {fact.topic for fact in advisor.vocabulary.facts.values()}
    for task, profile in task_profiles().items():
        assert set(profile.skips_topics) <= topics
        assert profile.trains != (profile.sized_as in {"serving", "trial"}), task
        assert profile_of(profile.other_phase).serves != profile.serves or profile.sized_as == "trial"
        assert set(profile.sources) <= advisor.knowledge.sources.keys()
