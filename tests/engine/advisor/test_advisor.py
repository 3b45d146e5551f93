"""The doors of the engine: loading, deciding, the public names, and what is refused at the door."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

import whichgpu
from whichgpu.engine.advisor.advisor import Advisor, load_advisor, shipped_advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.core.errors import InputError, KnowledgeError, RulebookError
from whichgpu.engine.core.version import VERSION


ROOT = Path(__file__).parents[3]
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


def test_the_version_is_that_of_the_distribution() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_every_public_name_is_there_and_nothing_else() -> None:
    assert all(getattr(whichgpu, name) for name in whichgpu.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = whichgpu.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "first",
    ["", "import whichgpu.engine.advisor.rank", "from whichgpu import load_advisor", "import whichgpu.cli.main"],
)
def test_decide_can_be_called_whatever_was_imported_before(first: str) -> None:
    """The room of that name must not stand in the way of the function of that name."""
    code = f"{first}\nfrom whichgpu import decide; decide({{'task': 'inference'}}, objective='fastest')"
    assert run_python(code) == 0


def run_python(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode  # noqa: S603


def test_importing_the_engine_costs_nothing() -> None:
    code = "import sys, whichgpu; sys.exit(any(name.startswith(('pydantic', 'yaml', 'click')) for name in sys.modules))"
    assert run_python(code) == 0


def test_the_engine_never_loads_the_command_line() -> None:
    code = (
        "import sys; from whichgpu import decide; decide({'task': 'inference', 'param_count_b': 1}).to_dict();"
        "sys.exit(any(name.startswith(('whichgpu.cli', 'click')) for name in sys.modules))"
    )
    assert run_python(code) == 0


@pytest.mark.parametrize("task", ["inference", "full_finetuning"])
def test_deciding_loads_no_masked_arrays(task: str) -> None:
    """A hundredth of a second of each start, for which a few functions of numpy are to blame, as ``np.setdiff1d``."""
    code = (
        f"import sys; from whichgpu import decide; decide({{'task': {task!r}, 'param_count_b': 8}}).to_dict();"
        "sys.exit('numpy.ma' in sys.modules)"
    )
    assert run_python(code) == 0


def test_deciding_offhand_takes_the_shipped_rules_and_the_clock() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    decision = whichgpu.decide({"task": "inference", "model_name": "llama-3.1-8b"}, objective="fastest")
    assert isinstance(decision, Decision)
    assert before <= decision.decided_at <= datetime.now(UTC)
    assert decision.advisor is shipped_advisor()
    answer = decision.to_dict()
    assert (answer["objective"], decision.exit_code) == ("fastest", 0)
    assert answer["recommendation"]["count"] >= 1


def test_the_time_may_be_passed_in() -> None:
    decision = whichgpu.decide({"task": "inference", "param_count_b": 1}, decided_at=MOMENT)
    assert decision.to_dict()["decided_at"] == "2026-11-20T00:00:00+00:00"


def test_an_unknown_objective_is_refused(advisor: Advisor) -> None:
    with pytest.raises(InputError, match="no objective is called 'best'"):
        advisor.decide({"task": "inference"}, objective="best", decided_at=MOMENT)


def test_the_objective_may_be_a_fact(advisor: Advisor) -> None:
    facts = {"task": "inference", "param_count_b": 1, "objective": "fastest"}
    assert advisor.decide(facts, decided_at=MOMENT).outcome.objective.name == "fastest"


def test_without_a_recommendation_the_exit_code_is_one(advisor: Advisor) -> None:
    assert advisor.decide({}, decided_at=MOMENT).exit_code == 1


def test_a_further_layer_of_rules_is_laid_over_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(
        "- id: house-rule\n  title: t\n  stage: reject\n  each: plan\n  when: [gpu.vendor == nvidia]\n"
        "  then: {reject: 'The house buys no NVIDIA'}\n  because: House rule.\n  sources: [whichgpu-judgement]\n"
    )
    layered = load_advisor([tmp_path])
    assert len(layered.rulebook.rules) == len(shipped_advisor().rulebook.rules) + 1
    assert [layer.rules for layer in layered.rulebook.layers][-1] == 1
    assert layered.rulebook.digest != shipped_advisor().rulebook.digest
    answer = layered.decide({"task": "inference", "model_name": "llama-3.1-8b"}, decided_at=MOMENT).to_dict()
    assert not answer["recommendation"]["gpu"].startswith("nvidia")


def test_a_rulebook_of_ones_own_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "- id: only\n  title: t\n  stage: advise\n  when: [task == inference]\n"
        "  then: {warn: W-HIDDEN-COSTS-CLOUD}\n  because: It matters.\n  sources: [whichgpu-judgement]\n"
    )
    own = load_advisor(own_rules=tmp_path)
    answer = own.decide({"task": "inference", "param_count_b": 1}, decided_at=MOMENT).to_dict()
    assert [entry["rule"] for entry in answer["warnings"]] == ["only"]
    assert answer["advice"] == []


def test_broken_rules_and_missing_knowledge_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("- id: x\n  when: [taks == inference]\n")
    with pytest.raises(RulebookError, match=r"bad\.yaml:"):
        load_advisor([tmp_path])
    with pytest.raises(RulebookError):
        load_advisor(own_rules=tmp_path / "nowhere")
    with pytest.raises(KnowledgeError):
        load_advisor(knowledge_folder=tmp_path)
