"""Parameters: numbers under a name, filled in wherever rule and knowledge files name them, changed by a layer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whichgpu.engine.core import (
    FrozenModel,
    InputError,
    KnowledgeError,
    KnowledgeInUse,
    kept_in_use,
    knowledge_in_use,
    read_constants,
    read_yaml,
    use_knowledge,
)
from whichgpu.engine.core.yaml import plain


BASE = """\
parameters:
  limit_pct: {value: 70, unit: '%', meaning: A limit., sources: [gmi]}
  many_hours: {value: 2600, unit: h, meaning: Hours., sources: [gmi]}
"""


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A knowledge folder and a layer; what was in use before is in use again afterwards."""
    before = knowledge_in_use()
    base, layer = tmp_path / "knowledge", tmp_path / "layer"
    base.mkdir()
    layer.mkdir()
    (base / "parameters.yaml").write_text(BASE)
    yield base, layer
    use_knowledge(before)


def lay(layer: Path, text: str) -> None:
    (layer / "parameters.yaml").write_text(f"parameters:\n  {text}\n")


def test_a_name_is_the_number_and_in_braces_as_a_sentence_writes_it(folders: tuple[Path, Path]) -> None:
    base, layer = folders
    file = base / "some.yaml"
    file.write_text(
        "# $schema=x $other\nwhen: use < $limit_pct\nsays: '${many_hours} hours, $2.50, {fact}'\nown: $many_hours\n"
    )
    use_knowledge(KnowledgeInUse(base))
    assert plain(read_yaml(file, error=KnowledgeError)) == {
        "when": "use < 70",
        "says": "2,600 hours, $2.50, {fact}",
        "own": 2600,
    }
    lay(layer, "limit_pct: {value: 60.5, because: Ours.}")
    use_knowledge(KnowledgeInUse(base, [layer]))
    assert plain(read_yaml(file, error=KnowledgeError))["when"] == "use < 60.5"
    assert plain(read_yaml(file, error=InputError))["when"] == "use < $limit_pct"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit_pct: {value: 60}", "'limit_pct' is a parameter already"),
        ("limit_pct: {value: low, because: Ours.}", "value"),
        ("ours: {value: 60}", "unit"),
        ("- limit_pct", "lists no parameters"),
        ("limit_pct: 60", "2:14: 'limit_pct' is no entry of a parameter"),
    ],
)
def test_a_wrong_parameter_of_a_layer_is_refused(text: str, said: str, folders: tuple[Path, Path]) -> None:
    base, layer = folders
    lay(layer, text)
    with pytest.raises(KnowledgeError, match=said):
        _ = KnowledgeInUse(base, [layer]).parameters


def test_a_name_that_no_parameter_has_is_named_with_the_nearest(folders: tuple[Path, Path]) -> None:
    base, _ = folders
    (base / "some.yaml").write_text("a: 1\nwhen: use < $limit_pc\n")
    use_knowledge(KnowledgeInUse(base))
    with pytest.raises(KnowledgeError, match=r"line 2 has \$limit_pc, which is no parameter") as caught:
        read_yaml(base / "some.yaml", error=KnowledgeError)
    assert caught.value.problems[0].nearest == ("limit_pct",)


class Constants(FrozenModel):
    safety: dict[str, float]
    most: int


def test_a_layer_writes_only_the_constants_that_differ(folders: tuple[Path, Path]) -> None:
    base, layer = folders
    (base / "plans.yaml").write_text("safety: {training: 1.1, serving: 1.2}\nmost: 8\n")
    (layer / "plans.yaml").write_text("safety: {serving: 1.5}\n")
    use_knowledge(KnowledgeInUse(base, [layer]))
    with pytest.raises(KnowledgeError, match="does not say why"):
        read_constants(Constants, "plans.yaml", base)
    (layer / "plans.yaml").write_text("because: Ours.\nsafety: {serving: 1.5}\n")
    found = read_constants(Constants, "plans.yaml", base)
    assert (found.safety, found.most) == ({"training": 1.1, "serving": 1.5}, 8)


def test_what_is_kept_is_kept_for_each_knowledge(folders: tuple[Path, Path]) -> None:
    base, _ = folders
    one, two = KnowledgeInUse(base), KnowledgeInUse(base)
    calls: list[int] = []

    @kept_in_use
    def count() -> int:
        calls.append(1)
        return len(calls)

    use_knowledge(one)
    assert (count(), count()) == (1, 1)
    use_knowledge(two)
    assert count() == 2
