"""Records of files: what they accept, what they say of what they do not."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Meta, field

from whichgpu.engine.core import FrozenModel, RecordError, model_of, read_yaml_text, record_of, records_of
from whichgpu.engine.core.errors import KnowledgeError
from whichgpu.engine.core.yaml import plain


class Wheel(FrozenModel):
    inches: Annotated[int, Meta(ge=1, le=30)]
    kind: str = "plain"


class Car(FrozenModel):
    """A car."""

    wheels: tuple[Wheel, ...]
    price: float | None = None
    gears: dict[int, float] = field(default_factory=dict)
    is_: bool = field(name="is", default=True)

    def __post_init__(self) -> None:
        if self.price is not None and self.price < 0:
            raise ValueError("a price is not below zero")


def test_content_becomes_a_record_with_the_types_of_its_fields() -> None:
    car = record_of(Car, {"wheels": [{"inches": 17}], "price": 3, "gears": {"1": 2}, "is": False})
    assert car == Car(wheels=(Wheel(inches=17),), price=3.0, gears={1: 2.0}, is_=False)
    assert isinstance(car.price, float)


def test_what_pydantic_would_take_is_taken() -> None:
    assert record_of(Car, {"wheels": [{"inches": "17"}], "gears": {1: "2"}}).gears == {1: 2.0}
    assert [each.inches for each in records_of(Wheel, [{"inches": 1}, {"inches": "2"}])] == [1, 2]


def test_a_record_does_not_change_and_takes_its_fields_by_name() -> None:
    with pytest.raises(AttributeError):
        Wheel(inches=17).inches = 18  # type: ignore[misc]
    with pytest.raises(TypeError):
        Wheel(17)  # type: ignore[misc]


def test_every_mistake_is_named_at_its_place() -> None:
    text = "wheels:\n- inches: 99\n- inch: 17\nprice: much\n"
    node = read_yaml_text(text, "car.yaml", error=KnowledgeError)
    with pytest.raises(RecordError) as caught:
        record_of(Car, plain(node))
    found = caught.value.problems(node, known=Car.__struct_fields__)
    assert [(problem.code, str(problem.place)) for problem in found] == [
        ("wrong-value", "car.yaml:2:11"),
        ("missing-key", "car.yaml:3:3"),
        ("unknown-key", "car.yaml:3:3"),
        ("wrong-value", "car.yaml:4:8"),
    ]


def test_what_a_record_checks_itself_is_named_too() -> None:
    node = read_yaml_text("wheels: []\nprice: -1\n", "car.yaml", error=KnowledgeError)
    with pytest.raises(RecordError) as caught:
        record_of(Car, plain(node))
    (found,) = caught.value.problems(node)
    assert "a price is not below zero" in found.message


def test_the_schema_of_a_record_says_what_the_record_does() -> None:
    schema = model_of(Car).model_json_schema()
    assert schema["description"] == "A car."
    assert schema["required"] == ["wheels"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Wheel"]["properties"]["inches"] == {
        "title": "Inches",
        "type": "integer",
        "minimum": 1,
        "maximum": 30,
    }
