"""The constants file is read whole, and says what is wrong with it and where."""

from __future__ import annotations

import pytest

from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.folders import locate
from whichgpu.engine.sizing.constants import sizing_constants


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sizing.yaml").write_text(
        (locate("knowledge") / "sizing.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return tmp_path


def test_every_constant_has_a_source():
    for name, entry in sizing_constants().weights.items():
        assert entry.source, name
    for name, entries in sizing_constants().engines.items():
        assert all(entry.source for entry in entries), name
        assert [entry.before for entry in entries][-1] is None, f"{name}: the newest version comes last"
        for entry in entries:
            assert entry.low_gib <= entry.activation_gib + entry.outside_gib <= entry.high_gib


def test_another_folder_gives_the_same(folder):
    assert sizing_constants(folder) == sizing_constants()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("hidden_per_layer: 128", "hidden_per_layer: wide", "wrong-value"),
        ("hidden_per_layer: 128", "hiden_per_layer: 128", "unknown-key"),
        ("  vae_b: ", "  vea_b: ", "missing-key"),
        ('matched: "yolov?(?:6', 'matched: "yolov?(?:(6', "wrong-value"),
    ],
)
def test_a_broken_file_names_the_place(folder, old, new, code):
    path = folder / "sizing.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(KnowledgeError) as caught:
        sizing_constants(folder)
    problems = caught.value.problems
    assert code in {problem.code for problem in problems}
    assert all(problem.place is not None for problem in problems)
