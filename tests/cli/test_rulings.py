from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor
from whichgpu.cli.rulings import OUTCOMES, rulings
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import read_yaml


Decided = Callable[[str], dict[str, Any]]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    return shipped_advisor()


@pytest.fixture(scope="module")
def decided(advisor: Advisor) -> Decided:
    def decide(name: str) -> dict[str, Any]:
        workload = advisor.read(read_yaml(EXAMPLES / f"{name}.yaml", error=InputError))
        return advisor.decide(workload, decided_at=datetime(2026, 6, 1, tzinfo=UTC)).to_dict()

    return cache(decide)


def test_every_rule_is_ruled_upon_once(decided: Decided, advisor: Advisor) -> None:
    found = rulings(decided("qlora-7b"), advisor.rules)
    assert [ruling.id for ruling in found] == sorted(advisor.rules)
    for ruling in found:
        assert ruling.verdict in OUTCOMES
        assert bool(ruling.missing) == (ruling.verdict == "undecided")
        assert bool(ruling.failed) == (ruling.verdict == "not_fired")


def test_filters_of_one_kind_widen_and_of_two_kinds_narrow(decided: Decided, advisor: Advisor) -> None:
    decision = decided("qlora-7b")
    fired = rulings(decision, advisor.rules, ("fired",))
    both = rulings(decision, advisor.rules, ("fired", "undecided"))
    narrow = rulings(decision, advisor.rules, ("fired", "prefer"))
    assert {r.verdict for r in fired} == {"fired"}
    assert {r.verdict for r in both} == {"fired", "undecided"}
    assert narrow == [r for r in fired if r.stage == "prefer"]
    assert rulings(decision, advisor.rules, ("not-fired",)) == rulings(decision, advisor.rules, ("not_fired",))
    assert all(r.topic == "finetuning" for r in rulings(decision, advisor.rules, ("finetuning",)))
    assert rulings(decision, advisor.rules, ("nvidia-is-the",))[0].id.startswith("nvidia-is-the")


def test_a_rule_that_is_gone_is_still_listed(decided: Decided, advisor: Advisor) -> None:
    found = rulings(decided("qlora-7b"), {})
    assert len(found) == len(advisor.rules)
    assert all(r.stage is None for r in found)


def test_a_filter_that_names_nothing_is_refused(decided: Decided, advisor: Advisor) -> None:
    with pytest.raises(InputError, match="did you mean"):
        rulings(decided("qlora-7b"), advisor.rules, ("overriden",))
