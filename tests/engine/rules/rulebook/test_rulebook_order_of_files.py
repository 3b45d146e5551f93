"""Neither the order of files, entries and keys nor comments change what is loaded."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, Rule, Rulebook, load_rulebook, load_rules_text


RULES: list[dict[str, Any]] = [
    {
        "id": "small-by-parameters",
        "title": "Small",
        "stage": "derive",
        "when": ["param_count_b <= 3", {"any": ["training", "run_hours > 2"]}],
        "then": {"set": {"size_class": "small", "num_models": "2"}},
        "because": "It is small.",
        "sources": ["fpt/3.4"],
        "tests": [
            {"given": {"param_count_b": 2, "training": "yes"}, "fires": True},
            {"near_miss": {"training": "no"}},
        ],
    },
    {
        "id": "small-by-name",
        "title": "Small by name",
        "stage": "derive",
        "when": ["model_name == phi"],
        "then": {"set": {"size_class": "small"}},
        "because": "It is known.",
        "sources": ["runpod"],
        "overrides": ["small-by-parameters"],
    },
    {
        "id": "warn-pcie",
        "title": "Slow",
        "stage": "advise",
        "each": "chosen",
        "when": ["plan.link == pcie"],
        "then": {"warn": "W-PCIE-BOTTLENECK", "text": "{plan.link}", "figure": "cloud_idle_pct"},
        "because": "PCIe is slow.",
        "sources": ["fpt"],
    },
    {
        "table": "bands",
        "title": "Bands",
        "stage": "prefer",
        "each": "plan",
        "columns": ["param_count_b", "gpu.series"],
        "then": {"reason": "fit"},
        "because": "The guides say so.",
        "sources": ["fpt"],
        "rows": [
            {"id": "low", "if": ["< 7", "t4"], "then": {"points": 2}},
            {"id": "high", "if": ["7..70", ["l40s", "a100"]], "then": {"points": 3}},
        ],
    },
]


def shuffled(value: Any, dice: random.Random, *, rules: bool = True) -> Any:
    """The same content with keys (and rules, but no other lists) in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice, rules=False) for key in keys}
    if isinstance(value, list):
        items = [shuffled(item, dice, rules=False) for item in value]
        if rules:
            dice.shuffle(items)
        return items
    return value


def without_places(rule: Rule) -> Rule:
    """The rule without where it stood."""
    return replace(
        rule,
        place=None,
        topic="",
        when=tuple(replace(line, place=None) for line in rule.when),
        tests=tuple(replace(test, place=None) for test in rule.tests),
    )


@given(seed=st.integers(0, 10**9))
@settings(max_examples=25, deadline=None)
def test_shuffled_keys_and_entries_give_the_same_rulebook(seed: int, vocabulary: Vocabulary, known: KnownNames) -> None:
    dice = random.Random(seed)
    straight = load_rules_text(yaml.safe_dump(RULES, sort_keys=False), vocabulary, known)
    mixed = load_rules_text(yaml.safe_dump(shuffled(RULES, dice), sort_keys=False), vocabulary, known)
    assert mixed.digest == straight.digest
    assert [without_places(rule) for rule in mixed.rules] == [without_places(rule) for rule in straight.rules]


def test_spread_over_files_and_folders_the_rules_are_the_same(
    tmp_path: Path, vocabulary: Vocabulary, known: KnownNames
) -> None:
    for number, entry in enumerate(RULES):
        folder = tmp_path / f"layer{number % 2}"
        folder.mkdir(exist_ok=True)
        text = "# a comment\n" + yaml.safe_dump([entry], sort_keys=False)
        (folder / f"{9 - number}.yaml").write_text(text)
    folders = [tmp_path / "layer1", tmp_path / "layer0"]
    spread = load_rulebook(folders, vocabulary, known, cached=False)
    whole = load_rules_text(yaml.safe_dump(RULES, sort_keys=False), vocabulary, known)
    assert spread.digest == whole.digest
    assert [rule.id for rule in spread.rules] == sorted(rule.id for rule in whole.rules)
    assert [(layer.name, layer.rules) for layer in spread.layers] == [("layer1", 3), ("layer0", 2)]
    turned = load_rulebook(folders[::-1], vocabulary, known, cached=False)
    assert (turned.rules, turned.tables, turned.digest) == (spread.rules, spread.tables, spread.digest)


def test_the_digest_follows_what_a_rule_says(load: Callable[[str], Rulebook]) -> None:
    def digest(**changes: Any) -> str:
        return load(yaml.safe_dump([{**RULES[0], **changes}], sort_keys=False)).digest

    plain = digest()
    assert digest(when=["param_count_b   <= 3.0", RULES[0]["when"][1]]) == plain
    assert digest(title="Other") != plain
    assert digest(when=["param_count_b <= 4", RULES[0]["when"][1]]) != plain
    assert digest(then={"set": {"size_class": "medium", "num_models": "2"}}) != plain
    assert digest(sources=["runpod"]) != plain


def test_all_files_are_judged_at_once(tmp_path: Path, vocabulary: Vocabulary, known: KnownNames) -> None:
    (tmp_path / "a.yaml").write_text("- id: a\n  id: b\n")
    (tmp_path / "b.yaml").write_text("id: not-a-list\n")
    (tmp_path / "c.yml").write_text("- id: never-read\n")
    (tmp_path / "notes.txt").write_text("not looked at")
    with pytest.raises(RulebookError) as caught:
        load_rulebook([tmp_path, tmp_path / "nowhere"], vocabulary, known, cached=False)
    codes = [problem.code for problem in caught.value.problems]
    assert sorted(codes) == ["duplicate-key", "file-name", "folder-missing", "wrong-form"]


def test_one_id_in_two_layers_is_refused_with_both_places(tmp_path: Path, vocabulary: Vocabulary) -> None:
    for name in ("base", "own"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(yaml.safe_dump([RULES[0]], sort_keys=False))
    with pytest.raises(RulebookError) as caught:
        load_rulebook([tmp_path / "base", tmp_path / "own"], vocabulary, cached=False)
    (problem,) = caught.value.problems
    assert problem.code == "duplicate-id"
    assert problem.place is not None
    assert "own" in problem.place.path
    assert str(tmp_path / "base" / "x.yaml") + ":1:7" in problem.message
