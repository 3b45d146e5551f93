"""Results of cases are those of the run before only while nothing that they rest on has changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from whichgpu.engine.authoring.testing.kept_cases import run_or_recall
from whichgpu.engine.authoring.testing.scenarios import Scenario, ScenarioResult


MOMENT = datetime(2026, 11, 20, tzinfo=UTC)
CASES = [Scenario(name, "", {}, {}, guide="fpt") for name in ("a", "b")]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "r.yaml").write_text("[]\n")
    return []


def _run(
    ran: list[str], folder: Path, cases: list[Scenario] = CASES, moment: datetime = MOMENT
) -> tuple[int, list[str]]:
    def run(wanted: Iterable[Scenario]) -> list[ScenarioResult]:
        found = [ScenarioResult(case, ("missed",) if case.id == "b" else ()) for case in wanted]
        ran.extend(each.scenario.id for each in found)
        return found

    done = run_or_recall(cases, run, [folder / "rules"], moment)
    return done.kept, [f"{each.scenario.id}: {len(each.misses)}" for each in done.results]


def test_the_second_run_decides_nothing_and_says_so(ran: list[str], tmp_path: Path) -> None:
    assert _run(ran, tmp_path, CASES[1:]) == (0, ["b: 1"])
    assert _run(ran, tmp_path) == (1, ["a: 0", "b: 1"])
    assert _run(ran, tmp_path) == (2, ["a: 0", "b: 1"])
    assert ran == ["b", "a"]


def test_an_edit_or_another_day_decides_all_anew(ran: list[str], tmp_path: Path) -> None:
    _run(ran, tmp_path)
    assert _run(ran, tmp_path, moment=datetime(2026, 11, 21, tzinfo=UTC))[0] == 0
    (tmp_path / "rules" / "r.yaml").write_text("[ ]\n")
    assert _run(ran, tmp_path)[0] == 0
    assert ran == ["a", "b"] * 3
