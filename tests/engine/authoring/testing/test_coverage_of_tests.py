"""The manifest of coverage against the rulebook and the knowledge, in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from whichgpu.engine.advisor.advisor import Advisor, load_advisor
from whichgpu.engine.authoring.guides.guides import CoverageEntry, check_coverage, read_manifest, standings, unreported
from whichgpu.engine.authoring.guides.manifest import refreshed_manifest
from whichgpu.engine.authoring.guides.numbers import numbers_in
from whichgpu.engine.core import record_of
from whichgpu.engine.core.errors import KnowledgeError


@pytest.fixture(scope="module")
def advisor() -> Advisor:
    """With the tests inside rules."""
    return load_advisor()


@pytest.fixture(scope="module")
def manifest(advisor: Advisor) -> dict[str, CoverageEntry]:
    """The manifest as it is shipped."""
    return read_manifest(Path(advisor.knowledge.folder))


def changed(manifest: dict[str, CoverageEntry], name: str, **fields: Any) -> dict[str, CoverageEntry]:
    """The manifest with one entry changed."""
    return {**manifest, name: replace(manifest[name], **fields)}


def test_every_heuristic_is_carried_or_set_aside_and_says_so(advisor: Advisor) -> None:
    assert check_coverage(advisor) == []


def test_all_heuristics_are_there_and_few_are_set_aside(advisor: Advisor) -> None:
    listed = standings(advisor)
    assert len({standing.id for standing in listed}) == len(listed) > 100
    aside = [standing for standing in listed if standing.entry is not None and standing.entry.set_aside]
    assert 0 < len(aside) < 60
    assert all(standing.entry and standing.entry.because for standing in aside)


def test_every_disagreement_is_reported_by_some_rule(advisor: Advisor) -> None:
    assert unreported(advisor) == []
    assert advisor.knowledge.disagreements


def test_the_file_is_as_it_would_be_written_anew(advisor: Advisor) -> None:
    text = (Path(advisor.knowledge.folder) / "coverage.yaml").read_text(encoding="utf-8")
    assert refreshed_manifest(advisor) == text


@pytest.mark.parametrize(
    ("name", "fields", "fault"),
    [
        ("thunder-mem-must-fit", {"rules": ("does-not-fit",)}, "warn-candidate-out-of-memory says that it carries it"),
        ("thunder-mem-must-fit", {"rules": ("does-not-fit", "no-such-rule")}, "lists no-such-rule among the rules"),
        ("gmi-roi-70-pct", {"figures": ()}, "rent_below_utilization_pct says that it carries it"),
        ("thunder-faq-t4-16gb", {"values": ()}, "nothing carries it"),
        ("gmi-lat-training-tolerant", {"code": ("whichgpu.engine.plans.targets:goals",)}, "there is no code"),
        ("gmi-lat-training-tolerant", {"code": ("whichgpu.engine.nowhere:goals",)}, "there is no code"),
        ("thunder-mem-must-fit", {"without_numbers": "none"}, "and none is"),
        ("thunder-vendor-cli", {"because": None}, "set aside without because"),
        ("thunder-vendor-cli", {"code": ("whichgpu.engine.plans.targets:goals_of",)}, "and something carries it"),
        ("thunder-vendor-cli", {"set_aside": "superseded", "instead": "C99"}, "superseded needs instead"),
        ("thunder-vendor-cli", {"set_aside": "duplicate", "instead": "thunder-vendor"}, "duplicate needs instead"),
        ("fpt-a100-312-624", {"without_numbers": None}, "its numbers 624 TFLOPS stand in nothing"),
    ],
)
def test_a_slip_in_the_manifest_is_found(
    advisor: Advisor, manifest: dict[str, CoverageEntry], name: str, fields: dict[str, Any], fault: str
) -> None:
    faults = check_coverage(advisor, changed(manifest, name, **fields))
    assert [said for said in faults if said.startswith(f"{name}: ") and fault in said]


@pytest.mark.parametrize(
    ("name", "entry", "fault"),
    [
        ("thunder-faq-t4-16gb", {"values": [{"gpu": "nvidia-t4", "field": "vram_gb", "is": 24}]}, "is 16.0, not 24"),
        (
            "thunder-a100-bandwidth-over-t4",
            {"values": [{"gpu": "nvidia-t4", "field": "mem_bw_tbs", "above": "nvidia-a100-40gb-sxm"}]},
            "not above 1.555",
        ),
        (
            "thunder-size-inference-2-bytes",
            {"sums": [{"calculator": "weights_gb", "given": {"param_count_b": 1}, "is": 4}]},
            "is 2.0, not 4",
        ),
        (
            "thunder-size-inference-2-bytes",
            {"sums": [{"calculator": "no_such_gb", "given": {}, "is": 4}]},
            "nothing computes no_such_gb",
        ),
        ("gmi-power-pue-air", {"costs": {"pue-air": [1.2, 1.5]}}, "pue-air is [1.3, 1.5], not [1.2, 1.5]"),
        ("gmi-power-pue-air", {"costs": {"pue-steam": 2}}, "there is no cost pue-steam"),
    ],
)
def test_a_value_that_the_knowledge_does_not_have_is_found(
    advisor: Advisor, manifest: dict[str, CoverageEntry], name: str, entry: dict[str, Any], fault: str
) -> None:
    changed_entry = record_of(CoverageEntry, {**to_builtins(manifest[name]), **entry})
    faults = check_coverage(advisor, {**manifest, name: changed_entry})
    assert [said for said in faults if said.startswith(f"{name}: ") and fault in said]


def test_ids_that_either_side_does_not_know_are_found(advisor: Advisor, manifest: dict[str, CoverageEntry]) -> None:
    stranger = {**manifest, "nobody-said-this": CoverageEntry(code=("whichgpu.engine.plans.targets:goals_of",))}
    assert "nobody-said-this is not in the catalogue of heuristics" in check_coverage(advisor, stranger)
    missing = {name: entry for name, entry in manifest.items() if name != "thunder-mem-must-fit"}
    assert "thunder-mem-must-fit is not in the manifest" in check_coverage(advisor, missing)


def test_setting_much_aside_is_found(advisor: Advisor, manifest: dict[str, CoverageEntry]) -> None:
    aside = CoverageEntry(set_aside="promotion", because="a test")
    lazy = {name: aside if index < 60 else entry for index, (name, entry) in enumerate(manifest.items())}
    assert any("fewer than 60 may be" in said for said in check_coverage(advisor, lazy))


def test_a_misspelt_key_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "coverage.yaml").write_text("coverage:\n  some-heuristic: {rulez: [a]}\n", encoding="utf-8")
    with pytest.raises(KnowledgeError, match="rulez"):
        read_manifest(tmp_path)


def test_a_folder_without_manifest_has_no_entries(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("24 GB and 1,120 GB", {24, 1120}),
        ("gpu.family == nvidia-a100-40gb", {40}),
        ("an A100", set()),
        ("nine tenths of two cards", {90, 9, 2}),
        ("param_count_b >= 6.5", {6.5}),
        ("7B", {7}),
    ],
)
def test_numbers_are_read_from_figures_words_and_names(text: str, numbers: set[float]) -> None:
    assert set(numbers_in(text)) == numbers
