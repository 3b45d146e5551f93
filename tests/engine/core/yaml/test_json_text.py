from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from whichgpu.engine.core import InputError, read_yaml_text
from whichgpu.engine.core.yaml.composing import MAX_DEPTH
from whichgpu.engine.core.yaml.json_text import NotJsonError, nodes_of_json
from whichgpu.engine.core.yaml.node import MappingNode, Node, ScalarNode, Source


def _value(node: Node) -> Any:
    if isinstance(node, ScalarNode):
        return node.text if node.quoted else json.loads(node.text)
    if isinstance(node, MappingNode):
        return {key.text: _value(value) for key, value in node.entries}
    return [_value(item) for item in node.items]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_any_json_is_read_as_json_reads_it(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert _value(nodes_of_json(Source("text", text), MAX_DEPTH)) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":}',
        "[1,]",
        "[1 2]",
        '{"a" 1}',
        "{'a': 1}",
        '"open',
        "nul",
        "[1]x",
        '{"a":1,"a":2}',
        "[" * 50 + "]" * 50,
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError):
        nodes_of_json(Source("text", text), MAX_DEPTH)


def test_escapes_of_pairs_and_long_keys_are_read() -> None:
    node: Any = read_yaml_text('{"id": "\\ud83d\\ude00",\n "' + "k" * 2000 + '": 1}', "text", error=InputError)
    assert node.get("id").text == "\N{GRINNING FACE}"
    assert (node.key("k" * 2000).line, node.key("k" * 2000).column) == (2, 2)


def test_broken_json_is_reported_as_before() -> None:
    with pytest.raises(InputError, match="broken YAML"):
        read_yaml_text('{"a": "\\ud83d\\ude00", }}', "text", error=InputError)
