from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.core.yaml import plain, read_yaml
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, load_rules_text, rule_file_schema
from whichgpu.engine.rules.rulebook.effects import EFFECT_KEYS
from whichgpu.engine.rules.rulebook.grammar import NEAR_MISS_KEYS, ROW_KEYS, RULE_KEYS, TABLE_KEYS, TEST_KEYS


BROKEN = Path(__file__).parent / "broken"
RULE: dict[str, Any] = {
    "id": "slow-link",
    "title": "Slow",
    "stage": "prefer",
    "each": "plan",
    "when": ["training", {"any": ["plan.count > 8", "plan.link == pcie"]}],
    "then": {"points": -2, "reason": "interconnect", "text": "{plan.count} GPUs"},
    "because": "It matters.",
    "sources": ["fpt/3.4"],
    "status": "draft",
    "valid_until": "2027-01-31",
    "tests": [
        {"given": {"training": True}, "plan": {"gpu": "nvidia-t4", "count": 9}, "fires": True},
        {"near_miss": {"training": False}},
    ],
}
TABLE: dict[str, Any] = {
    "table": "bands",
    "title": "Bands",
    "stage": "prefer",
    "each": "plan",
    "hit": "first",
    "columns": ["param_count_b"],
    "then": {"reason": "fit"},
    "because": "It matters.",
    "rows": [{"id": "low", "if": ["< 7"], "then": {"points": 2}}, {"id": "rest", "if": ["-"], "then": {"points": 1}}],
}


def accepts(content: Any) -> bool:
    return bool(jsonschema_rs.Draft202012Validator(rule_file_schema()).is_valid(content))


def loads(content: Any, vocabulary: Vocabulary, known: KnownNames) -> bool:
    try:
        load_rules_text(yaml.safe_dump(content, sort_keys=False), vocabulary, known)
    except RulebookError:
        return False
    return True


def test_the_schema_is_one() -> None:
    jsonschema_rs.meta.validate(rule_file_schema())


@pytest.mark.parametrize(
    "more",
    [
        {"claim": "speed"},
        {"claim": {"quantity": "cost", "ratio": 0.5, "over": "nvidia-t4"}},
        {"band": "cards"},
        {"band": "counts"},
    ],
    ids=str,
)
def test_schema_and_loader_take_claims(more: dict[str, Any], vocabulary: Vocabulary, known: KnownNames) -> None:
    rule = {**RULE, "then": {**RULE["then"], **more}}
    assert accepts([rule])
    assert loads([rule], vocabulary, known)


def test_the_schema_takes_what_the_loader_takes(vocabulary: Vocabulary, known: KnownNames) -> None:
    assert accepts([RULE, TABLE])
    assert loads([RULE, TABLE], vocabulary, known)


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"id": "Not Kebab"},
        {"stage": "rejct"},
        {"each": "workload"},
        {"then": {}},
        {"then": {"points": 2, "reason": "fitt"}},
        {"then": {"reject": "no"}},
        {"then": {"points": 0, "reason": "fit"}},
        {"then": {"points": 2, "reason": "fit", "claim": "sped"}},
        {"then": {"points": 2, "reason": "fit", "claim": {"ratio": 2}}},
        {"then": {"points": 2, "reason": "fit", "claim": {"quantity": "cost", "ratio": -1}}},
        {"then": {"points": 2, "reason": "fit", "claim": {"quantity": "cost", "than": "nvidia-t4"}}},
        {"then": {"points": 2, "reason": "fit", "claim": "cost", "band": "cards"}},
        {"then": {"points": 2, "reason": "fit", "band": "both"}},
        {"when": "training"},
        {"when": [{"all": ["training"]}]},
        {"when": [{"any": []}]},
        {"valid_until": "soon"},
        {"status": "done"},
        {"tests": [{"given": {"training": True}}]},
        {"tests": [{"given": {"training": True}, "fires": "maybe"}]},
        {"tests": [{"given": {"training": True}, "fires": False, "then": {"points": 2}}]},
        {"tests": [{"given": {"training": True}, "then": {}}]},
        {"tests": [RULE["tests"][0], {"near_miss": {}}]},
        {"tests": [RULE["tests"][0], {"near_miss": {"training": False, "run_hours": 2}}]},
    ],
    ids=str,
)
def test_schema_and_loader_refuse_the_same_forms(change: Any, vocabulary: Vocabulary, known: KnownNames) -> None:
    assert not loads([{**RULE, **change}], vocabulary, known)
    assert not accepts([{**RULE, **change}])


@pytest.mark.parametrize("missing", ["id", "title", "stage", "when", "then", "because"])
def test_schema_and_loader_miss_the_same_keys(missing: str, vocabulary: Vocabulary, known: KnownNames) -> None:
    rule = {key: value for key, value in RULE.items() if key != missing}
    assert not loads([rule], vocabulary, known)
    assert not accepts([rule])


def test_every_key_of_the_loader_is_described_in_the_schema() -> None:
    definitions = rule_file_schema()["$defs"]
    forms = {"rule": RULE_KEYS, "table": TABLE_KEYS, "row": ROW_KEYS, "effects": EFFECT_KEYS}
    for name, keys in forms.items():
        assert set(definitions[name]["properties"]) == {key.name for key in keys}
        assert all(entry["description"] for entry in definitions[name]["properties"].values())
    tests = [set(form["properties"]) for form in definitions["test"]["anyOf"]]
    assert tests == [{key.name for key in TEST_KEYS}, {key.name for key in NEAR_MISS_KEYS}]


@pytest.mark.parametrize("path", sorted(locate("rules").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_shipped_rules_fit_the_schema(path: Path) -> None:
    validator = jsonschema_rs.Draft202012Validator(rule_file_schema())
    found = [
        f"{list(error.instance_path)}: {error.message[:200]}"
        for error in validator.iter_errors(plain(read_yaml(path, error=RulebookError)))
    ]
    assert found == []
