"""The same decision, byte for byte, whatever the order of files and keys, the hash seed, the engine and the thread."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.advisor.decision import Decision
from whichgpu.engine.core.canonical import canonical_json
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import plain, read_yaml


HERE = Path(__file__).parent
MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def text_of(decision: Decision) -> str:
    """The decision without what may differ: who fired the rules, and where they lay."""
    value = decision.to_dict()
    del value["fired_by"]
    for layer in value["rulebook"]["layers"]:
        del layer["name"]
    return canonical_json(value)


@pytest.fixture(scope="module")
def workloads(examples: dict[str, Path]) -> dict[str, Mapping[str, Any]]:
    return {name: plain(read_yaml(path, error=InputError)) for name, path in examples.items()}


@pytest.fixture(scope="module")
def expected(advisor: Advisor, workloads: dict[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: text_of(advisor.decide(facts, decided_at=MOMENT)) for name, facts in workloads.items()}


def shuffled_rules(folder: Path, seed: int) -> None:
    """All shipped rules in ``folder``: other files, other order, other order of keys."""
    luck = random.Random(seed)
    entries = [
        shuffled_keys(entry, luck)
        for path in sorted(locate("rules").glob("*.yaml"))
        for entry in re.split(r"(?m)^(?=- )", re.sub(r"(?m)^#.*\n", "", path.read_text(encoding="utf-8")))
        if entry.strip()
    ]
    luck.shuffle(entries)
    for number in range(5):
        (folder / f"{luck.choice('abcxyz')}{number}.yaml").write_text("".join(entries[number::5]), encoding="utf-8")


def shuffled_keys(entry: str, luck: random.Random) -> str:
    """An entry with its keys in another order; what stands below each key stays as it is."""
    keys = re.split(r"(?m)^(?=  [a-z])", "  " + entry.removeprefix("- "))
    keys = [key.rstrip("\n") + "\n" for key in keys if key.strip()]
    luck.shuffle(keys)
    return "-" + "".join(keys)[1:]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_rule_files_rules_and_keys_decides_nothing(
    seed: int, tmp_path: Path, workloads: dict[str, Mapping[str, Any]], expected: dict[str, str], advisor: Advisor
) -> None:
    shuffled_rules(tmp_path, seed)
    other = load_advisor(own_rules=tmp_path)
    assert [rule.id for rule in other.rulebook.rules] == [rule.id for rule in advisor.rulebook.rules]
    assert {name: text_of(other.decide(facts, decided_at=MOMENT)) for name, facts in workloads.items()} == expected


def test_the_order_of_facts_decides_nothing(
    workloads: dict[str, Mapping[str, Any]], expected: dict[str, str], advisor: Advisor
) -> None:
    for name, facts in workloads.items():
        backwards = dict(reversed(facts.items()))
        assert text_of(advisor.decide(backwards, decided_at=MOMENT)) == expected[name], name


def test_a_decision_does_not_depend_on_those_before_it(
    workloads: dict[str, Mapping[str, Any]], expected: dict[str, str], advisor: Advisor
) -> None:
    names = [*workloads, *workloads]
    random.Random(3).shuffle(names)
    for name in names:
        assert text_of(advisor.decide(workloads[name], decided_at=MOMENT)) == expected[name], name


def test_threads_may_share_an_expert(
    workloads: dict[str, Mapping[str, Any]], expected: dict[str, str], advisor: Advisor
) -> None:
    def decide(name: str) -> tuple[str, str]:
        return name, text_of(advisor.decide(workloads[name], decided_at=MOMENT))

    with ThreadPoolExecutor(4) as pool:
        for name, text in pool.map(decide, [*workloads, *reversed(workloads)]):
            assert text == expected[name], name


def test_the_generated_evaluator_decides_the_same(
    workloads: dict[str, Mapping[str, Any]],
    expected: dict[str, str],
    advisor: Advisor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WHICHGPU_ENGINE", "generated")
    generated = load_advisor()
    assert generated.fired_by == "generated"
    for name, facts in workloads.items():
        decision = generated.decide(facts, decided_at=MOMENT)
        assert decision.to_dict(full=False)["fired_by"] == "generated"
        assert text_of(decision) == expected[name], name


def test_hash_seeds_and_processes_decide_nothing() -> None:
    runs = [
        subprocess.run(  # noqa: S603
            [sys.executable, str(HERE / "decision_digests.py")],
            cwd=HERE.parents[1],
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1]), "PYTHONHASHSEED": seed, "WHICHGPU_ENGINE": engine},
            capture_output=True,
            text=True,
            check=True,
        )
        for seed, engine in (("0", ""), ("4711", "generated"))
    ]
    assert len(runs[0].stdout.splitlines()) > 12
    assert runs[0].stdout == runs[1].stdout
    assert runs[1].stderr.strip() == "generated"
