from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from whichgpu.engine.core.errors import InputError, KnowledgeError
from whichgpu.engine.core.yaml import (
    MappingNode,
    ScalarNode,
    SequenceNode,
    Source,
    plain,
    read_document,
    read_yaml,
    read_yaml_text,
)
from whichgpu.engine.core.yaml.composing import compose
from whichgpu.engine.core.yaml.reading import MAX_BYTES


def read(text: str | bytes):
    return read_yaml_text(text, "x.yaml", error=InputError)


def problems(text: str | bytes):
    with pytest.raises(InputError) as caught:
        read(text)
    return caught.value.problems


def test_nodes_carry_line_column_and_quoting():
    node = read("a: 1\nb:\n  - 'x y'\n  - {c: d}\n")
    assert isinstance(node, MappingNode)
    assert node.keys() == ("a", "b")
    items = node.get("b")
    assert isinstance(items, SequenceNode)
    first, second = items.items
    assert isinstance(first, ScalarNode)
    assert (first.text, first.line, first.column, first.quoted) == ("x y", 3, 5, True)
    assert isinstance(second, MappingNode)
    assert (second.line, second.column) == (4, 5)
    assert node.get("nothing") is None
    assert node.key("nothing") is None


def test_all_problems_of_a_text_are_reported_at_once():
    text = "a: 1\na: 2\nb: &x 3\nc: *x\nd: !!str 4\n? [1, 2]\n: 3\n? {e: f}\n: 4\n"
    found = problems(text)
    codes = [(problem.code, problem.place.line) for problem in found]
    assert codes == [
        ("duplicate-key", 2),
        ("anchor", 3),
        ("alias", 4),
        ("tag", 5),
        ("compound-key", 6),
        ("compound-key", 8),
    ]
    assert found[0].place.text == "a: 2"
    assert "line 1" in found[0].message


def test_an_alias_bomb_is_refused_before_it_expands():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]" for i in range(12)]
    assert {problem.code for problem in problems("\n".join(lines))} == {"anchor", "alias"}


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: [1, 2", "broken-yaml", 2),
        ("a: b: c", "broken-yaml", 1),
        ("a:\n\t- 1", "broken-yaml", 2),
        ("- > 3", "broken-yaml", 1),
        ("- != x", "tag", 1),
        ("a: 1\n---\nb: 2", "several-documents", 2),
        ("[" * 5000, "nested-too-deep", 1),
        ("{a: " * 5000, "nested-too-deep", 1),
        ("a: 1\nb: \x01", "broken-yaml", 2),
        ("", "empty-file", 1),
        ("# only a comment\n", "empty-file", 1),
        ("? \n: 3", "empty-key", 1),
    ],
)
def test_broken_texts_are_explained(text: str, code: str, line: int):
    found = problems(text)
    assert [(problem.code, problem.place.line) for problem in found] == [(code, line)]
    assert found[0].fix


def test_a_flood_of_problems_is_cut_off():
    assert len(problems("\n".join("a: 1" for _ in range(500)))) == 40


def test_bytes_that_are_no_text():
    assert problems("a: 1".encode("utf-16"))[0].code == "not-utf8"
    assert problems(b"\x7fELF\x00\x01")[0].code == "binary-file"
    found = problems(b"a: 1\nb: caf\xe9\n")[0]
    assert found.code == "not-utf8"
    assert "line 2" in found.message
    assert problems("a: \ud800")[0].code == "not-utf8"
    assert problems(b"a" * (MAX_BYTES + 1))[0].code == "file-too-large"


def test_a_byte_order_mark_is_dropped():
    assert plain(read(b"\xef\xbb\xbfa: 1\n")) == {"a": 1}


def test_file_errors_name_the_fix(tmp_path: Path):
    (tmp_path / "workload.yaml").write_text("a: 1\n")
    with pytest.raises(InputError) as missing:
        read_yaml(tmp_path / "workloda.yaml", error=InputError, name="workloda.yaml")
    assert missing.value.problems[0].nearest == ("workload.yaml",)
    with pytest.raises(KnowledgeError) as missing_folder:
        read_yaml(tmp_path / "no" / "a.yaml", error=KnowledgeError)
    assert missing_folder.value.problems[0].code == "file-missing"
    with pytest.raises(InputError) as folder:
        read_yaml(tmp_path, error=InputError)
    assert folder.value.problems[0].code == "file-is-folder"
    (tmp_path / "big.yaml").write_bytes(b"a" * (MAX_BYTES + 1))
    with pytest.raises(InputError) as big:
        read_yaml(tmp_path / "big.yaml", error=InputError)
    assert big.value.problems[0].code == "file-too-large"
    with pytest.raises(InputError) as null:
        read_yaml("a\0b", error=InputError)
    assert null.value.problems[0].code in {"file-unreadable", "file-missing"}
    with pytest.raises(InputError) as under_file:
        read_yaml(tmp_path / "workload.yaml" / "x", error=InputError)
    assert under_file.value.problems[0].code == "file-unreadable"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError) as caught:
        read_yaml(tmp_path / "a.yaml", error=InputError)
    assert caught.value.problems[0].code == "file-unreadable"


def test_the_pure_python_loader_gives_the_same_nodes():
    text = "a: 1\nb: ['x', \"y\", 3]\nc: {d: e}\nf: |\n  block\n"
    source = Source("x.yaml", text)
    assert compose(source, InputError, yaml.SafeLoader) == compose(source, InputError, yaml.CSafeLoader)


def test_python_loader_errors_are_explained_too():
    with pytest.raises(InputError) as caught:
        compose(Source("x.yaml", "a: \x01"), InputError, yaml.SafeLoader)
    assert caught.value.problems[0].code == "broken-yaml"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_plain_reads_back_what_yaml_writes(value: object):
    text = yaml.safe_dump(value)
    if value is None:
        return
    assert plain(read_yaml_text("root:\n" + indent(text), "x", error=InputError)) == {"root": value}


def indent(text: str) -> str:
    # A flow dump keeps the indentation of multi-line scalars out of the test.
    value = yaml.safe_load(text)
    return "  " + yaml.safe_dump(value, default_flow_style=True, width=float("inf")).replace("\n...\n", "\n")


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_bring_a_traceback(content: bytes):
    try:
        node = read(content)
    except InputError as error:
        report = str(error)
    else:
        report = repr(plain(node))
    assert report


def test_documents_read_lazily_and_without_cache_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "a.yaml"
    path.write_text("a: [\n")
    document = read_document(path, error=InputError, name="a.yaml")
    with pytest.raises(InputError):
        _ = document.plain
    path.write_text("a: 1\n")
    assert read_document(path, error=InputError).plain == {"a": 1}
    assert not (tmp_path / "cache").exists()
    assert os.fspath(path) in repr(read_document(path, error=InputError).source)
