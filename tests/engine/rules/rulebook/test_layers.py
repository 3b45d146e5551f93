"""Layers: rules that are added, replaced and disabled, with the ground, and every mistake at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whichgpu.engine.core.errors import RulebookError
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook import KnownNames, Rulebook, load_rulebook
from whichgpu.engine.rules.rulebook.order import rows_above


BASE = """\
- id: slow-link
  title: Slow
  stage: prefer
  each: plan
  when: [training]
  then: {points: -2, reason: interconnect}
  because: It matters.
- id: slower-link
  title: Slower
  stage: prefer
  each: plan
  when: [training, plan.count > 8]
  then: {points: -4, reason: interconnect}
  because: It matters more.
  overrides: [slow-link]
- table: bands
  title: Bands
  stage: prefer
  each: plan
  hit: first
  columns: [param_count_b]
  then: {reason: fit}
  because: It matters.
  rows:
    - {id: low, if: [< 7], then: {points: 2}}
    - {id: rest, if: ['-'], then: {points: 1}}
"""
RULE = """\
- id: {id}
  {replaces}
  title: Ours
  stage: prefer
  each: plan
  when: [training]
  then: {{points: -1, reason: interconnect}}
  because: Our links are faster.
"""
Lay = Callable[..., Rulebook]


@pytest.fixture
def lay(tmp_path: Path, vocabulary: Vocabulary, known: KnownNames) -> Lay:
    """Loads the base with the given texts over it, each a layer of its own."""

    def lay(*texts: str) -> Rulebook:
        folders = []
        for number, text in enumerate((BASE, *texts)):
            folder = tmp_path / ("base" if number == 0 else f"layer{number}")
            folder.mkdir(exist_ok=True)
            (folder / "links.yaml").write_text(text)
            folders.append(folder)
        return load_rulebook(folders, vocabulary, known, cached=False)

    return lay


def complaint(lay: Lay, *texts: str) -> str:
    with pytest.raises(RulebookError) as caught:
        lay(*texts)
    return str(caught.value)


def ids(book: Rulebook) -> list[str]:
    return [rule.id for rule in book.rules]


def test_a_layer_adds(lay: Lay) -> None:
    book = lay(RULE.format(id="ours", replaces="status: stable"))
    assert "ours" in ids(book)
    assert book.rule("ours").layer == "layer1"
    assert [(change.kind, change.rule, change.layer) for change in book.changes] == [("added", "ours", "layer1")]
    assert [(layer.name, layer.rules) for layer in book.layers] == [("base", 4), ("layer1", 1)]


def test_a_rule_is_disabled_with_its_ground(lay: Lay) -> None:
    book = lay("- disable: slow-link\n  because: Our links are fast.\n")
    assert "slow-link" not in ids(book)
    assert book.rule("slower-link").overrides == ()
    (change,) = book.changes
    assert (change.kind, change.rule, change.below) == ("disabled", "slow-link", "base")
    assert change.because == "Our links are fast."
    assert change.place is not None
    assert (change.place.line, change.place.column) == (1, 12)


def test_the_digest_of_a_layer_covers_what_it_takes_away(lay: Lay) -> None:
    first = lay("- disable: slow-link\n  because: Our links are fast.\n")
    second = lay("- disable: slow-link\n  because: Our links are faster.\n")
    assert first.layers[0].digest == second.layers[0].digest == lay().layers[0].digest
    assert first.layers[1].digest != second.layers[1].digest
    assert first.digest == second.digest != lay().digest


def test_a_row_and_a_table_are_disabled(lay: Lay) -> None:
    row = lay("- disable: bands/low\n  because: No.\n")
    assert [name for name in ids(row) if name.startswith("bands")] == ["bands/rest"]
    assert row.tables[0].rows == ("bands/rest",)
    table = lay("- disable: [bands, slow-link]\n  because: No.\n")
    assert ids(table) == ["slower-link"]
    assert table.tables == ()
    assert [change.rule for change in table.changes] == ["bands/low", "bands/rest", "slow-link"]


def test_a_rule_takes_the_place_of_another(lay: Lay) -> None:
    same = lay(RULE.format(id="slow-link", replaces="replaces: slow-link"))
    assert same.rule("slow-link").title == "Ours"
    assert same.rule("slower-link").overrides == ("slow-link",)
    assert [(change.kind, change.rule, change.by) for change in same.changes] == [
        ("replaced", "slow-link", "slow-link")
    ]
    assert same.changes[0].because == "Our links are faster."
    other = lay(RULE.format(id="ours", replaces="replaces: bands/low"))
    assert ids(other) == ["bands/rest", "ours", "slow-link", "slower-link"]


def test_a_table_takes_the_place_of_another(lay: Lay) -> None:
    table = (
        BASE.partition("- table")[2]
        .replace("points: 2", "points: 3")
        .replace("title: Bands", "replaces: bands\n  title: B")
    )
    book = lay("- table" + table)
    assert {change.kind for change in book.changes} == {"replaced"}
    assert book.tables[0].layer == "layer1"
    assert book.rule("bands/low").layer == "layer1"


def test_a_third_layer_sees_the_second(lay: Lay) -> None:
    book = lay(RULE.format(id="ours", replaces="status: stable"), "- disable: ours\n  because: Not here.\n")
    assert "ours" not in ids(book)
    assert [(change.kind, change.layer) for change in book.changes] == [("added", "layer1"), ("disabled", "layer2")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RULE.format(id="slow-link", replaces="status: stable"), "write `replaces: slow-link`"),
        ("- disable: slow-lnk\n  because: No.\n", "did you mean slow-link?"),
        ("- disable: nowhere-at-all\n  because: No.\n", "rules list"),
        ("- disable: slow-link\n", "lacks `because`"),
        ("- disable: slow-link\n  becuse: No.\n", "did you mean because?"),
        ("- disable: {a: b}\n  because: No.\n", "`disable` holds a mapping"),
        (RULE.format(id="ours", replaces="replaces: [slow-link]"), "name one rule or table"),
        ("- disable: ours\n  because: No.\n" + RULE.format(id="ours", replaces="status: stable"), "the same layer"),
    ],
)
def test_mistakes_are_reported_at_their_place(lay: Lay, text: str, said: str) -> None:
    found = complaint(lay, text)
    assert said in found
    assert "layer1/links.yaml:" in found


def test_what_is_gone_cannot_be_taken_again(lay: Lay) -> None:
    gone = "- disable: slow-link\n  because: No.\n"
    assert "which layer1 took away already" in complaint(lay, gone, gone)


def test_the_lowest_layer_has_nothing_below(tmp_path: Path, vocabulary: Vocabulary) -> None:
    (tmp_path / "a.yaml").write_text("- disable: x\n  because: No.\n")
    with pytest.raises(RulebookError, match="there is no layer below"):
        load_rulebook([tmp_path], vocabulary, cached=False)


def test_layers_of_one_name_are_distinguished(tmp_path: Path, vocabulary: Vocabulary) -> None:
    folders = []
    for number, parent in enumerate(("a", "b", "c/b")):
        folder = tmp_path / parent / "rules"
        folder.mkdir(parents=True)
        (folder / "x.yaml").write_text(RULE.format(id=f"r{number}", replaces="status: stable"))
        folders.append(folder)
    book = load_rulebook([*folders, folders[0]], vocabulary, cached=False)
    assert [layer.name for layer in book.layers] == ["rules", "b/rules", "rules-2"]


def test_a_row_that_is_replaced_keeps_its_place(lay: Lay) -> None:
    book = lay(RULE.format(id="ours", replaces="replaces: bands/low").replace("reason: interconnect", "reason: fit"))
    (table,) = book.tables
    assert table.rows == ("ours", "bands/rest")
    ours = book.rule("ours")
    assert (ours.table, ours.row, ours.hit) == ("bands", 0, "first")
    assert rows_above(book.rules)["bands/rest"] == (ours,)


def test_a_rule_of_another_scope_takes_no_place_in_a_table(lay: Lay) -> None:
    text = RULE.format(id="ours", replaces="replaces: bands/low").replace("stage: prefer", "stage: reject")
    book = lay(text.replace("{points: -1, reason: interconnect}", "{reject: no}"))
    assert book.rule("ours").table is None
    assert book.tables[0].rows == ("bands/rest",)
