"""Records with a key missing or wrong: refused with the place of it, or read all the same; never an internal error."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from whichgpu.cli.commands import report
from whichgpu.cli.main import COMMANDS, LazyGroup
from whichgpu.engine.advisor.answer.check import check_saved
from whichgpu.engine.core.canonical import canonical_json
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.records.first_form import decision_digest, make_record


Whichgpu = Callable[..., Any]
Place = tuple[str | int, ...]
Fault = tuple[Place, object]

GONE = object()
WRONG = (GONE, None, "x", "", -1, 0, True, [], {}, ["x"], {"x": 1}, 1e308)
#: Objects whose keys are names of facts, figures or terms: one of them stands for all.
BY_NAME = frozenset({"facts", "sizing", "figures", "breakdown", "speed", "effects", "change", "set", "monitor"})

#: All but 3, an internal error. From 4 on it is an audit's verdict.
KNOWN = {0, 1, 2, 4, 5, 6, 7}
QUICK = {
    "why": ("why", "{}", "memory"),
    "verdicts": ("verdicts", "{}"),
    "diff": ("diff", "{}", "{}"),
}
SLOW = {
    "audit": ("audit", "{}"),
    "replay": ("replay", "{}"),
    "what-if": ("what-if", "{}", "--set", "always_on=yes"),
    "why-not": ("why-not", "{}", "h100", "--limit", "1"),
    "sensitivity": ("sensitivity", "{}", "--limit", "1"),
    "report": ("report", "{}", "-o", "{}.html"),
}


@pytest.fixture(autouse=True)
def _few_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report varies what was not stated: three decisions are enough to see that it reads what it is given."""
    monkeypatch.setattr(report, "_DECISIONS", 3)


@pytest.fixture(scope="module")
def record(example_answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A whole record, of whose long lists a few entries of each kind are kept."""
    decision = copy.deepcopy(example_answers["llm-serving-70b"])
    seen: Counter[tuple[str, bool]] = Counter()
    kept = []
    for entry in decision["trace"]:
        kind = (entry["kind"], entry["rule"] is None)
        seen[kind] += 1
        kept += [entry] if seen[kind] <= 5 else []
    decision["trace"] = kept
    for key in ("rules", "rejected", "outranked", "alternatives"):
        decision[key] = decision[key][:3]
    value: dict[str, Any] = json.loads(make_record(decision).to_json())
    return value


@pytest.fixture(scope="module")
def accepted(record: dict[str, Any]) -> list[Fault]:
    """Every fault that is none by the contract. The others are refused by their place."""
    found = []
    for place in dict(_places(record)).values():
        for wrong in WRONG:
            if wrong is GONE and isinstance(place[-1], int):
                continue
            try:
                check_saved(_with(record, (place, wrong)), "r.json")
            except InputError as error:
                said = error.problems[0].message
                assert said.startswith("r.json is not a whole "), said
                # A value of a wrong type is reported at its own place, one of a wrong inside below it.
                assert f": {_path(place)}" in said or place == ("decision", "recommendation"), (place, wrong, said)
            else:
                found.append((place, wrong))
    return found


def _places(value: Any, place: Place = (), kind: Place = ()) -> Iterator[tuple[Place, Place]]:
    """One place for each key of the contract, by its path with names and numbers left open."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        named = isinstance(key, int) or (kind and kind[-1] in BY_NAME)
        below = (*kind, "*" if named else key)
        yield below, (*place, key)
        yield from _places(inner, (*place, key), below)


def _with(value: Any, *faults: Fault) -> Any:
    """The value with faults in it."""
    for place, wrong in faults:
        changed = value = copy.copy(value)
        for key in place[:-1]:
            changed[key] = copy.copy(changed[key])
            changed = changed[key]
        if wrong is not GONE:
            changed[place[-1]] = wrong
        elif isinstance(changed, dict):
            changed.pop(place[-1], None)
    return value


def _path(place: Place) -> str:
    steps = (f"[{s}]" if isinstance(s, int) else f".{s}" if s.isidentifier() else f"[{json.dumps(s)}]" for s in place)
    return "$" + "".join(steps)


def _run(whichgpu: Whichgpu, command: tuple[str, ...], value: Any, folder: Path) -> Any:
    file = folder / "record.json"
    if isinstance(value.get("decision"), dict) and "sha256" in value:
        value = {**value, "sha256": decision_digest(value["decision"])}  # As who changes a decision would seal it.
    file.write_text(canonical_json(value) + "\n", encoding="utf-8")
    return whichgpu(*(word.replace("{}", str(file)) for word in command))


def test_all_commands_that_read_records_are_here() -> None:
    group = LazyGroup()
    commands = {name: group.get_command(click.Context(group), name) for name in COMMANDS}
    reading = {
        name for name, found in commands.items() if found and {p.name for p in found.params} & {"decision", "before"}
    }
    assert reading == {*QUICK, *SLOW}


def test_faults_are_refused_by_their_place(record: dict[str, Any], accepted: list[Fault]) -> None:
    required = [place for place in dict(_places(record)).values() if (place, GONE) not in accepted]
    assert ("decision", "recommendation", "cost", "usd_per_hour") in required
    assert len(accepted) < len(dict(_places(record))) * len(WRONG) / 2


@pytest.mark.parametrize("command", [*QUICK, *SLOW])
def test_every_command_says_what_is_missing(
    whichgpu: Whichgpu, record: dict[str, Any], tmp_path: Path, command: str
) -> None:
    broken = _with(record, (("decision", "recommendation", "cost", "usd_per_hour"), GONE))
    ran = _run(whichgpu, (QUICK | SLOW)[command], broken, tmp_path)
    assert ran.code == 2
    assert "$.decision.recommendation.cost.usd_per_hour is missing" in ran.err


@pytest.mark.parametrize("command", [*QUICK, *SLOW])
def test_all_that_may_be_missing_at_once(
    whichgpu: Whichgpu, record: dict[str, Any], accepted: list[Fault], tmp_path: Path, command: str
) -> None:
    gone = [fault for fault in accepted if fault[1] is GONE]
    deepest_first = sorted(gone, key=lambda fault: -len(fault[0]))
    ran = _run(whichgpu, (QUICK | SLOW)[command], _with(record, *deepest_first), tmp_path)
    assert ran.code in KNOWN, ran.err


@pytest.mark.parametrize("command", QUICK)
def test_what_is_accepted_is_read(
    whichgpu: Whichgpu, record: dict[str, Any], accepted: list[Fault], tmp_path: Path, command: str
) -> None:
    for fault in random.Random(5).sample(accepted, 60):
        ran = _run(whichgpu, QUICK[command], _with(record, fault), tmp_path)
        assert ran.code in KNOWN, (fault, ran.err)


@pytest.mark.parametrize("command", SLOW)
def test_what_is_accepted_is_decided_again(
    whichgpu: Whichgpu, record: dict[str, Any], accepted: list[Fault], tmp_path: Path, command: str
) -> None:
    for fault in random.Random(6).sample(accepted, 8):
        ran = _run(whichgpu, SLOW[command], _with(record, fault), tmp_path)
        assert ran.code in KNOWN, (fault, ran.err)
