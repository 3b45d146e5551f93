from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.yaml import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    Source,
    find,
    place_of,
    place_within,
    plain,
    problems_from_pydantic,
    read_yaml_text,
    typed,
    untyped,
)
from whichgpu.engine.core.yaml.cache import pack, unpack


def read(text: str) -> Node:
    return read_yaml_text(text, "x.yaml", error=InputError)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("Yes", True),
        ("ON", True),
        ("no", False),
        ("off", False),
        ("yEs", "yEs"),
        ("~", None),
        ("", None),
        ("null", None),
        ("none", "none"),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("0xZZ", "0xZZ"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e30", 1e30),
        ("-1.5E-3", -0.0015),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("2024-01-31", "2024-01-31"),
        ("24 GB", "24 GB"),
        ("7..13", "7..13"),
        ("-", "-"),
        ("9" * 400, "9" * 400),
    ],
)
def test_plain_scalars_are_typed(text: str, value: object):
    result = typed(text)
    assert result == value
    assert type(result) is type(value)


def test_nan_is_read():
    assert math.isnan(typed(".nan"))  # type: ignore[arg-type]


def test_quoted_scalars_and_keys_stay_text():
    assert plain(read("yes: '1'\n2: \"true\"\n3: |\n  5\n")) == {"yes": "1", "2": "true", "3": "5\n"}


def test_untyped_leaves_the_words_as_written():
    assert untyped(read("a: yes\nb: ['1', 70b]\nc: {d: 1e30}\n")) == {
        "a": "yes",
        "b": ["1", "70b"],
        "c": {"d": "1e30"},
    }


def test_place_of_spans_the_text():
    node = read("key: value here  # note\nother: 'it''s'\nlist: [a]\n")
    value = find(node, ("key",))
    assert (place_of(value).column, place_of(value).length) == (6, 10)
    quoted = place_of(find(node, ("other",)))
    assert (quoted.line, quoted.column, quoted.length) == (2, 8, 4)
    assert (place_of(find(node, ("list",))).column, str(place_of(node))) == (7, "x.yaml:1:1")


def test_an_open_quote_spans_the_line():
    node = read("a: 'b\n  c'\n")
    place = place_of(find(node, ("a",)))
    assert (place.column, place.length) == (4, 2)


def test_overlong_lines_and_control_characters_are_not_shown():
    node = read(f'a: {"x" * 400}\nb: "\x85z"\n')
    assert place_of(find(node, ("a",))).text == ""
    source = Source("x", "a\x1bb")
    assert source.place(1, 1).text == "a b"
    assert source.place(9, 1).text == ""


@pytest.mark.parametrize(
    ("text", "part", "line", "column"),
    [
        ("- a > 3 and b < 4\n", "b", 1, 13),
        ("- 'a > 3 and b < 4'\n", "b", 1, 14),
        ('- "a > 3 and b < 4"\n', "b", 1, 14),
        ("- a > 3\n    and b < 4\n", "b", 2, 9),
        ("- >\n  a > 3\n  and b < 4\n", "b", 3, 7),
        ("- |\n  a > 3\n\n  and b < 4\n", "b", 4, 7),
        ('- "\\x61 > 3 and b < 4"\n', "b", 1, 3),
    ],
)
def test_place_within_follows_quotes_and_folds(text: str, part: str, line: int, column: int):
    node = read(text)
    assert isinstance(node, SequenceNode)
    scalar = node.items[0]
    assert isinstance(scalar, ScalarNode)
    place = place_within(scalar, scalar.text.index(part), 1)
    assert (place.line, place.column) == (line, column)


def test_place_within_beyond_the_text_stays_in_the_scalar():
    source = Source("x", "- ab")
    place = place_within(ScalarNode("ab cd", 1, 3, False, source), 3, 2)
    assert (place.line, place.column) == (1, 3)
    spaced = place_within(ScalarNode("a b", 1, 1, False, Source("x", "a b")), 1, 1)
    assert spaced.column == 2


def test_find_goes_as_deep_as_it_can():
    node = read("a:\n  - b: 1\n  - c: 2\n")
    assert find(node, ("a", 1, "c")) == ScalarNode("2", 3, 8, False, node.source)
    assert find(node, ("a", "some-union-member", 0, "b")).line == 2
    assert find(node, ("a", 9)).line == 2
    assert find(node, ("zzz",)) is node


class Wheel(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int
    kind: str = "round"


class Car(BaseModel):
    model_config = ConfigDict(extra="forbid")
    wheels: list[Wheel]


def test_pydantic_errors_get_places_and_nearest_keys():
    text = "cars:\n  first:\n    wheels:\n      - size: big\n        knid: round\n      - kind: x\n"
    node = read(text)
    with pytest.raises(ValidationError) as caught:
        Car.model_validate(plain(find(node, ("cars", "first"))))
    found = {
        problem.code: problem
        for problem in problems_from_pydantic(caught.value, node, ("cars", "first"), known=Wheel.model_fields)
    }
    assert (found["wrong-value"].place.line, found["wrong-value"].place.column) == (4, 15)
    assert (found["unknown-key"].place.line, found["unknown-key"].nearest) == (5, ("kind",))
    assert found["missing-key"].place.line == 6
    assert "'size'" in found["missing-key"].message


def test_an_unknown_key_far_from_all_lists_them():
    node = read("wheels: []\nqqq: 1\n")
    with pytest.raises(ValidationError) as caught:
        Car.model_validate(plain(node))
    (found,) = problems_from_pydantic(caught.value, node, known=Car.model_fields)
    assert found.fix is not None
    assert "wheels" in found.fix
    (bare,) = problems_from_pydantic(caught.value, node)
    assert bare.fix == "remove it"
    assert str(bare.place) == "x.yaml:2:1"


NODES = st.recursive(
    st.builds(ScalarNode, st.text(max_size=5), st.integers(1, 9), st.integers(1, 9), st.booleans(), st.none()),
    lambda inner: (
        st.builds(SequenceNode, st.lists(inner, max_size=3).map(tuple), st.integers(1, 9), st.integers(1, 9), st.none())
        | st.builds(
            MappingNode,
            st.lists(
                st.tuples(
                    st.builds(ScalarNode, st.text(max_size=3), st.just(1), st.just(1), st.just(False), st.none()), inner
                ),
                max_size=3,
            ).map(tuple),
            st.integers(1, 9),
            st.integers(1, 9),
            st.none(),
        )
    ),
    max_leaves=8,
)


@given(NODES)
def test_packing_keeps_everything(node: Node):
    assert unpack(pack(node), None) == node  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", [None, 3, [], {}, ["a"], [1, 2, ["a", 1, 1]], [[], 1], [1, 2, 3, 4], "x"])
def test_what_is_no_packed_node_unpacks_to_nothing(broken: object):
    assert unpack(broken, Source("x", "")) is None
