"""The public cases, and their answers, decided once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from whichgpu.engine.advisor.advisor import Advisor
from whichgpu.engine.advisor.decision import Decision


Case = dict[str, Any]
HERE = Path(__file__).parent


def load(path: Path) -> Any:
    """A YAML file of the tests."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)


CASES: list[Case] = [
    {**case, "workload": case["given"]} for case in load(HERE.parents[1] / "rules" / "guides" / "cases.yaml")
]


def below_arithmetic(cases: Iterable[Case], answer_to: Callable[[Any], dict[str, Any]], advisor: Advisor) -> list[str]:
    """Cases whose recommended plan has less memory than the formula of the case comes to."""
    short = []
    for case in cases:
        plan = answer_to(case["workload"])["recommendation"] if "formula_vram_gb" in case else None
        if plan is not None:
            usable = (advisor.knowledge.gpus[plan["gpu"]].usable_gb or 0) * plan["count"]
            if usable < case["formula_vram_gb"]:
                short.append(f"{case['id']}: {plan['count']} x {plan['gpu']} for {case['formula_vram_gb']} GB")
    return short


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``case`` runs over every public case, ``second_case`` over every second one."""
    for name, cases in (("case", CASES), ("second_case", CASES[::2])):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, cases, ids=[case["id"] for case in cases])


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    """All public cases."""
    return CASES


@pytest.fixture(scope="session")
def known_misses() -> dict[str, str]:
    """Cases of strength ``should`` that are missed, with the reason."""
    return load(HERE / "known_misses.yaml") or {}


@pytest.fixture(scope="session")
def known_flips() -> dict[str, str]:
    """``case, change`` whose class of answer turns, with the reason."""
    return load(HERE / "known_flips.yaml") or {}


@pytest.fixture(scope="session")
def answer_to(decide: Callable[..., Decision]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The short answer to a workload, decided once."""
    answers: dict[str, dict[str, Any]] = {}

    def call(workload: Mapping[str, Any]) -> dict[str, Any]:
        key = repr(sorted(workload.items()))
        if key not in answers:
            answers[key] = decide(workload).to_dict(full=False)
        return answers[key]

    return call
