"""Two rulebooks side by side: rules that differ, regions with a case, and workloads that get another answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from whichgpu import Advisor, load_advisor
from whichgpu.cli.render.rulediff import _summary, comparison_blocks
from whichgpu.engine.advisor.advisor import shipped_advisor
from whichgpu.engine.authoring.diff.answers import PARTS, Answer, Edition, Pair, answer_of, answer_pairs
from whichgpu.engine.authoring.diff.comparing import Comparison, by_task, compare
from whichgpu.engine.authoring.diff.concern import Shares, concern_of, shares_of
from whichgpu.engine.authoring.diff.rulediff import rule_changes
from whichgpu.engine.authoring.diff.touched import Touched, touched_by
from whichgpu.engine.authoring.diff.workloads import (
    example_workloads,
    sample_workloads,
    scenario_workloads,
    workloads_in_tests,
)
from whichgpu.engine.core.folders import locate


MOMENT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RULE = """\
- id: no-small-cards
  title: No small cards in production
  stage: reject
  each: plan
  when:
    - gpu.vram_gb < {limit}
    - lifecycle_stage == production
  then:
    reject: "{{gpu.name}} is too small"
  because: {because}
  sources: [whichgpu-judgement]
"""
Lay = Callable[..., Edition]


@pytest.fixture
def lay(tmp_path: Path) -> Lay:
    def lay(text: str, name: str = "new") -> Edition:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "house.yaml").write_text(text)
        return Edition(name, (folder,))

    return lay


@pytest.fixture(scope="module")
def loaded() -> dict[str, Advisor]:
    """Rulebooks by what the files of their layers say."""
    return {"": load_advisor()}


@pytest.fixture(autouse=True)
def loaded_once(loaded: dict[str, Advisor], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rules are loaded once for all tests."""

    def load(layers: Sequence[Path] = (), **options: Any) -> Advisor:
        says = "".join(path.read_text() for layer in layers for path in sorted(layer.iterdir()))
        if says not in loaded:
            loaded[says] = load_advisor(layers, **options)
        return loaded[says]

    monkeypatch.setattr("whichgpu.engine.authoring.diff.answers.load_advisor", load)


@pytest.fixture(autouse=True)
def fewer_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests inside rules are hundreds of workloads; a few of every origin will do here."""
    for find in (example_workloads, scenario_workloads, workloads_in_tests):
        place = f"whichgpu.engine.authoring.diff.comparing.{find.__name__}"
        monkeypatch.setattr(place, lambda source, find=find: list(find(source))[:4])


#: Beside the tests, wherever the package itself is installed.
EXAMPLES = Path(__file__).parents[4] / "examples"


def compared(old: Edition, new: Edition, sample: int = 4, processes: int = 1) -> Comparison:
    examples = [EXAMPLES]
    return compare(old, new, moment=MOMENT, examples=examples, sample=sample, processes=processes)


def test_a_rulebook_does_not_differ_from_itself() -> None:
    found = compared(Edition("a"), Edition("b"))
    assert (found.rules, found.knowledge, found.moved) == ((), (), ())
    assert found.digests[0] == found.digests[1]
    assert found.compared == {}, "nothing can differ, so nothing is decided"


def test_a_new_rule_moves_what_it_rejects(lay: Lay) -> None:
    found = compared(Edition("a"), lay(RULE.format(limit=40, because="So it is.")), sample=6)
    assert set(found.compared) == {"example", "region", "sample", "scenario", "test"}
    (changed,) = found.rules
    assert (changed.change.kind, changed.change.id, changed.change.decisive) == ("added", "no-small-cards", True)
    (region,) = changed.regions
    assert region.conditions == ("gpu.vram_gb < 40", "lifecycle_stage == production")
    assert region.certain
    assert "lifecycle_stage = production" in (region.example or "")
    assert found.moved
    assert {rule for entry in found.moved for rule in entry.rules} == {"no-small-cards"}
    chat = next(entry for entry in found.moved if entry.workload.name == "llm-chat-8b")
    assert chat.parts[0] == "recommendation"
    assert "gpu.vram_gb < 40" in region.conditions
    assert chat.old.recommendation != chat.new.recommendation
    assert found.moved[0].workload.origin == "example"


def test_a_moved_threshold_has_two_regions(lay: Lay) -> None:
    old = lay(RULE.format(limit=40, because="So it is."), "old")
    found = compared(old, lay(RULE.format(limit=32, because="So it is.")), sample=6)
    (changed,) = found.rules
    assert changed.change.aspects == ("when",)
    fresh, dropped = changed.regions
    assert fresh.proved_empty
    assert dropped.says == "no longer fires"
    assert dropped.excluded == ("gpu.vram_gb < 32",)
    vram = float((dropped.example or "").partition("gpu.vram_gb = ")[2].partition(",")[0])
    assert 32 <= vram < 40


def test_wording_alone_moves_nothing(lay: Lay) -> None:
    old = lay(RULE.format(limit=40, because="So it is."), "old")
    found = compared(old, lay(RULE.format(limit=40, because="So it was.")), sample=6)
    (changed,) = found.rules
    assert changed.change.aspects == ("because",)
    assert not changed.change.decisive
    assert (changed.regions, found.moved) == ((), ())


def test_a_renamed_rule_is_recognised(lay: Lay) -> None:
    old = lay(RULE.format(limit=40, because="So it is."), "old")
    new = lay(RULE.format(limit=40, because="So it is.").replace("no-small-cards", "only-large-cards"))
    (changed,) = compared(old, new).rules
    assert (changed.change.kind, changed.change.id) == ("renamed", "only-large-cards")
    assert changed.change.old is not None
    assert changed.change.old.id == "no-small-cards"


def test_other_effects_are_distinguished(lay: Lay) -> None:
    old = lay(RULE.format(limit=40, because="So it is."), "old")
    new = lay(RULE.format(limit=40, because="So it is.").replace("is too small", "is tiny"))
    (changed,) = compared(old, new).rules
    assert changed.change.aspects == ("effects",)
    assert changed.regions[0].says == "does something else"


def test_what_a_layer_brings_is_named(lay: Lay, tmp_path: Path) -> None:
    new = lay(RULE.format(limit=40, because="So it is."))
    (tmp_path / "new" / "vocabulary.yaml").write_text(
        "facts:\n  own: {type: bool, question: Own?, askable: if_it_matters}\n"
    )
    (tmp_path / "new" / "gpus.yaml").write_text("gpus:\n  - {id: nvidia-l4, because: Ours., buy_usd: 1}\n")
    found = compared(Edition("a"), new)
    assert [(names.kind, names.added, names.changed) for names in found.knowledge] == [
        ("facts", ("own",), ()),
        ("GPUs", (), ("nvidia-l4",)),
    ]


def test_two_processes_answer_as_one_does(lay: Lay) -> None:
    new = lay(RULE.format(limit=90, because="So it is.").replace("    - lifecycle_stage == production\n", ""))
    alone, both = (compared(Edition("a"), new, sample=1, processes=number) for number in (1, 2))
    assert [(entry.workload, entry.old, entry.new) for entry in alone.moved] == [
        (entry.workload, entry.old, entry.new) for entry in both.moved
    ]
    assert len(alone.moved) > 4


def parts_of(pair: Pair) -> list[tuple[Any, ...]]:
    return [tuple(getattr(answer, part) for part in (*PARTS, "refused")) for answer in (pair.old, pair.new)]


def test_plans_that_are_lent_change_no_answer(lay: Lay, advisor: Advisor) -> None:
    everywhere = RULE.format(limit=90, because="So it is.").replace("    - lifecycle_stage == production\n", "")
    old, new = Edition("a"), lay(everywhere)
    workloads = sample_workloads(advisor.vocabulary, 6, seed=3)
    apart = [old.load(), new.load()]
    each = [Pair(*(answer_of(edition, workload, MOMENT) for edition in apart)) for workload in workloads]
    pairs = answer_pairs(*apart, workloads, MOMENT)
    assert [parts_of(pair) for pair in pairs] == [parts_of(pair) for pair in each]
    assert any(one.old != one.new for one in pairs)
    assert all(pair in each for pair in pairs if pair.old.differs_from(pair.new))


def test_the_sample_is_the_same_for_one_seed(advisor: Advisor) -> None:
    vocabulary = advisor.vocabulary
    first = sample_workloads(vocabulary, 30)
    assert first == sample_workloads(vocabulary, 60)[:30]
    assert first != [{**facts, "id": "x"} for facts in sample_workloads(vocabulary, 30, seed=2)]
    assert {facts["task"] for facts in sample_workloads(vocabulary, 200)} == set(vocabulary.facts["task"].choices)


def test_the_sample_is_realistic(advisor: Advisor) -> None:
    """Nearly all can be read, most get a recommendation, and together they fire most of the rulebook."""
    answers = [answer_of(advisor, facts, MOMENT) for facts in sample_workloads(advisor.vocabulary, 60)]
    assert sum(answer.refused is not None for answer in answers) <= 2
    assert sum(answer.recommendation is not None for answer in answers) > 0.8 * len(answers)
    fired = set().union(*(answer.fired for answer in answers))
    assert len(fired & set(advisor.rules)) > 0.5 * len(advisor.rules)
    assert {answer.procurement for answer in answers} >= {"rent", "hybrid"}


def test_facts_that_an_edition_does_not_know_are_left_out(advisor: Advisor) -> None:
    known = {"task": "inference", "param_count_b": 8}
    assert answer_of(advisor, {**known, "no_such_fact": 1}, MOMENT) == answer_of(advisor, known, MOMENT)


def test_a_workload_that_cannot_be_read_is_reported(advisor: Advisor) -> None:
    refused = answer_of(advisor, {"task": "inference", "param_count_b": "many"}, MOMENT)
    assert refused.refused is not None
    assert refused.differs_from(Answer()) == ("refused",)
    assert refused.differs_from(refused) == ()


def test_no_rule_differs_where_nothing_does(advisor: Advisor) -> None:
    assert rule_changes(advisor.rulebook, advisor.rulebook) == ()


def test_scenarios_beside_rules_are_workloads(tmp_path: Path) -> None:
    assert any(named.origin == "scenario" for named in scenario_workloads([locate("rules")]))
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "a.yaml").write_text("- {id: one, given: {task: inference}, expect: {}}\n- 3\n- {id: two, given: {}}\n")
    (folder / "b.yaml").write_text("not: [closed\n")
    assert [named.name for named in scenario_workloads([tmp_path])] == ["one"]


@pytest.mark.parametrize(
    "change",
    [
        ("gpu.vram_gb < 40", "gpu.vram_gb < 90"),
        ("lifecycle_stage == production", "task == inference"),
        ("lifecycle_stage == production", "peak_qps > 1"),
        ("lifecycle_stage == production", "fits_one_gpu is known"),
        ("lifecycle_stage == production", "plan.usd_per_hour > 1"),
    ],
)
def test_whoever_is_spared_gets_the_same_answer(lay: Lay, change: tuple[str, str]) -> None:
    text = RULE.format(limit=40, because="So it is.").replace(*change)
    if "fits_one_gpu" in text:
        text = text.replace("stage: reject", "stage: prefer").replace(
            'reject: "{gpu.name} is too small"', "points: -9\n    reason: fit"
        )
    old, new = shipped_advisor(), lay(text).load()
    changes = rule_changes(old.rulebook, new.rulebook)
    concern = concern_of(old, new, changes)
    assert concern is not None
    workloads = sample_workloads(new.vocabulary, 40, seed=5)
    spared = [facts for facts in workloads if not Touched(frozenset(), new, concern).meets(facts)]
    for pair in answer_pairs(old, new, spared[:5], MOMENT, shares_of(old, new, changes)):
        assert pair.old == pair.new
    assert len(spared) < 40
    assert bool(spared) == ("lifecycle_stage" in text or "task" in text or "qps" in text)


def test_a_rule_that_sets_a_fact_of_its_own_concerns_those_whom_it_meets(lay: Lay) -> None:
    text = RULE.format(limit=40, because="So it is.")
    text = text.replace("stage: reject", "stage: derive").replace("each: plan", "each: workload")
    text = text.replace("    - gpu.vram_gb < 40\n", "    - fits_one_gpu == true\n")
    text = text.replace('reject: "{gpu.name} is too small"', "set: {monitoring_needed: true}")
    new = lay(text, "late")
    (Path(new.layers[0]) / "vocabulary.yaml").write_text(
        "facts:\n  monitoring_needed: {type: bool, role: derived, available: survey, label: Watch?}\n"
    )
    old, loaded = shipped_advisor(), new.load()
    touched = Touched(frozenset(), loaded, concern_of(old, loaded, rule_changes(old.rulebook, loaded.rulebook)))
    served = {"task": "inference", "param_count_b": 8}
    assert touched.meets({**served, "lifecycle_stage": "production"})
    assert not touched.meets({**served, "lifecycle_stage": "prototype"})


def test_other_knowledge_concerns_everyone(lay: Lay, tmp_path: Path) -> None:
    new = lay(RULE.format(limit=40, because="So it is."))
    (tmp_path / "new" / "gpus.yaml").write_text("gpus:\n  - {id: nvidia-l4, because: Ours., buy_usd: 1}\n")
    old, loaded = shipped_advisor(), new.load()
    assert concern_of(old, loaded, rule_changes(old.rulebook, loaded.rulebook)) is None
    assert shares_of(old, loaded, ()) == Shares()


def test_the_same_files_are_loaded_once_and_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("whichgpu.engine.authoring.diff.comparing.rule_changes", None)
    found = compare(Edition("a"), Edition("b", (tmp_path / "empty",)), moment=MOMENT)
    assert (found.rules, found.workloads, found.digests[0]) == ((), 0, found.digests[1])


def test_how_many_are_spared_is_reported(lay: Lay) -> None:
    found = compared(Edition("a"), lay(RULE.format(limit=40, because="So it is.")), sample=6)
    assert 0 < found.spared < found.workloads
    assert f"{found.spared} of them cannot meet a rule that differs." in _summary(found)


def test_workloads_are_drawn_where_rules_differ_and_who_meets_none_is_named(lay: Lay) -> None:
    rule = RULE.format(limit=40, because="So it is.")
    seldom = rule.replace("  when:\n", "  when:\n    - video_streams > 77\n")
    never = rule.replace("gpu.vram_gb < 40", "gpu.vram_gb == 41.5").replace("- id: ", "- id: never-")
    found = compared(Edition("a"), lay(seldom + never), sample=0)
    assert {changed.change.id.startswith("never-"): changed.exercised for changed in found.rules} == {
        False: True,
        True: False,
    }
    assert any(entry.workload.origin == "region" for entry in found.moved)
    assert sum(len(moved) for moved, _ in by_task(found.moved).values()) == len(found.moved)
    (idle,) = (changed.change.id for changed in found.rules if not changed.exercised)
    assert f"Not exercised by any workload: {idle}." in str(comparison_blocks(found))
    (met,) = (changed for changed in found.rules if changed.exercised)
    assert met.turned == sum(met.change.id in entry.rules for entry in found.moved) > 0
    verb = "workload gets" if met.turned == 1 else "workloads get"
    assert f"{met.turned} {verb} another answer by it." in str(comparison_blocks(found))


def test_an_edit_touches_what_hangs_on_it(lay: Lay) -> None:
    text = RULE.format(limit=40, because="So it is.")
    old = lay(text).load()
    same, other = touched_by(old, old), touched_by(old, lay(text.replace("< 40", "< 41"), "other").load())
    assert same is not None
    assert other is not None
    assert same.rules == frozenset()
    assert len(other.rules) == 1
