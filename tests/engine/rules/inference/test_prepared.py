"""What is made of a level is kept as it was made, and only for the rules that it was made of."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from whichgpu.engine.core import sources_alone
from whichgpu.engine.rules.inference.compile import rulesets_of
from whichgpu.engine.rules.inference.firing import Level, fire
from whichgpu.engine.rules.inference.parts import parts_of
from whichgpu.engine.rules.inference.prepared import Prepared, prepared
from whichgpu.engine.rules.language.tree import Compare, Const, FactRef


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("WHICHGPU_CACHE", raising=False)
    return tmp_path


def entries(home: Path) -> list[Path]:
    return sorted((home / "cache").rglob("level-*.msgpack"))


def test_what_is_kept_is_what_is_made(generator, home: Path) -> None:
    rules = {rule.id: rule for rule in generator(random.Random(7), facts=30, odd=0.0).rules(120)}
    parts = parts_of(rules)
    made = Prepared(parts, rulesets_of(parts, native=True))
    first = prepared(rules, "a rulebook")
    (kept,) = entries(home)
    content = kept.read_bytes()
    second = prepared(rules, "a rulebook")
    assert kept.read_bytes() == content
    assert first == second == made
    # Numbers of one value but of another kind are not the same constant.
    assert [repr(part.expr) for part in second.parts.parts] == [repr(part.expr) for part in parts.parts]


def test_other_rules_and_another_rulebook_have_entries_of_their_own(rule_of, home: Path) -> None:
    one, other = rule_of("one", FactRef("a")), rule_of("other", FactRef("b"))
    prepared({"one": one}, "a rulebook")
    prepared({"one": one, "other": other}, "a rulebook")
    assert len(entries(home)) == 2
    changed = prepared({"one": rule_of("one", FactRef("c"))}, "the rulebook with a change")
    assert len(entries(home)) == 3
    assert changed.parts.parts[0].reads == {"c"}


def test_a_damaged_entry_is_made_anew(rule_of, home: Path) -> None:
    rules = {"one": rule_of("one", FactRef("a"))}
    first = prepared(rules, "a rulebook")
    entries(home)[0].write_bytes(b"damaged")
    assert prepared(rules, "a rulebook") == first
    assert entries(home)[0].read_bytes() != b"damaged"


@pytest.mark.usefixtures("durable")
def test_a_kept_level_fires_as_one_that_is_made(rule_of, home: Path) -> None:
    rules = [
        rule_of(f"r{limit}", FactRef("serving"), Compare(">", FactRef("plan.n"), Const(limit))) for limit in (1, 5)
    ]
    plans = [{"plan.n": 3}, {"plan.n": 9}, {}]
    for _ in range(2):
        firing = fire(Level(rules, key="a rulebook"), {"serving": True}, plans)
        assert (firing.fired_by, firing.matches) == ("durable", [{"r1"}, {"r1", "r5"}, frozenset()])
    assert len(entries(home)) == 1


def test_nothing_is_kept_without_a_key_or_for_who_trusts_no_cache(rule_of, home: Path) -> None:
    rules = [rule_of("one", FactRef("a"))]
    fire(Level(rules), {"a": True})
    with sources_alone():
        fire(Level(rules, key="a rulebook"), {"a": True})
    assert entries(home) == []
