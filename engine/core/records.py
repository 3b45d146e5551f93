"""Records that come from files: structures that are converted in one go, and checked anew for people where that fails.

``msgspec`` converts plain content and stops at the first mistake, in its own words. Whoever wrote a file wants all of
them, each at its place: so where converting fails, pydantic checks the same record, which is imported only then.
"""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct, StructMeta, field
from typing_extensions import dataclass_transform


if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel, ValidationError

    from whichgpu.engine.core.errors import Problem
    from whichgpu.engine.core.yaml import Node


RecordT = TypeVar("RecordT", bound=Struct)


class _RecordMeta(StructMeta):
    """Every class of records is frozen, closed to unknown keys, and takes its fields by name."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> _RecordMeta:
        usual = {"frozen": True, "forbid_unknown_fields": True, "kw_only": True}
        return super().__new__(mcls, name, bases, namespace, **usual | options)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class FrozenModel(Struct, frozen=True, metaclass=_RecordMeta):
    """A record of a file: frozen, closed to unknown keys.

    ``__post_init__`` may raise ValueError for what the types of the fields cannot say. Modules of records that a start
    reads leave out ``from __future__ import annotations``: msgspec would compile each annotation when it first decodes.
    """


class RecordError(ValueError):
    """Content that is no such record."""

    def __init__(self, findings: ValidationError) -> None:
        super().__init__(str(findings))
        self.findings = findings

    def problems(self, node: Node, path: tuple[str | int, ...] = (), *, known: Iterable[str] = ()) -> list[Problem]:
        """Everything that is wrong, at its place.

        Args:
            node: the document that holds the content.
            path: where in ``node`` it lies.
            known: the keys that are allowed, for "did you mean" beside an unknown one.
        """
        from whichgpu.engine.core.yaml.validation import problems_from_pydantic  # noqa: PLC0415  # Mistakes are rare.

        return problems_from_pydantic(self.findings, node, path, known=known)


def record_of(record: type[RecordT], content: object) -> RecordT:
    """The record that plain content (mappings, lists, scalars) describes.

    Raises:
        RecordError: it describes none; with every reason.
    """
    try:
        return msgspec.convert(content, record, str_keys=True)
    except msgspec.ValidationError:
        from pydantic import ValidationError  # noqa: PLC0415  # A fifth of a second that sound files do not need.

        try:
            model = model_of(record).model_validate(content)
        except ValidationError as findings:
            raise RecordError(findings) from None
    # pydantic takes a little more, such as "5" for a number; what it makes of it is converted.
    stated = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return msgspec.convert(stated, record, str_keys=True)


def records_of(record: type[RecordT], content: Sequence[object]) -> list[RecordT]:
    """The records that a list describes; see ``record_of``."""
    try:
        return msgspec.convert(content, list[record], str_keys=True)  # type: ignore[valid-type]
    except msgspec.ValidationError:
        return [record_of(record, each) for each in content]


@cache
def model_of(record: type[Struct]) -> type[BaseModel]:
    """The pydantic model of a record: the same fields, limits and checks. For messages and JSON Schemas."""
    from pydantic import ConfigDict, Field, create_model, model_validator  # noqa: PLC0415

    def checked(model: BaseModel) -> BaseModel:
        record(**{name: getattr(model, name) for name in record.__struct_fields__})
        return model

    fields: dict[str, Any] = {}
    for each in msgspec.structs.fields(record):
        options: dict[str, Any] = {} if each.encode_name == each.name else {"alias": each.encode_name}
        if each.default is not NODEFAULT:
            stated = each.default
            options["default"] = (
                model_of(type(stated))(**msgspec.to_builtins(stated)) if isinstance(stated, Struct) else stated
            )
        elif each.default_factory is not NODEFAULT:
            options["default_factory"] = each.default_factory
        if each.default != each.default:  # NaN: the record finds the value itself.
            options["json_schema_extra"] = lambda schema: schema.pop("default", None)
        fields[each.name] = (_modelled(each.type), Field(**options))
    config = ConfigDict(extra="forbid" if record.__struct_config__.forbid_unknown_fields else "ignore")
    checks: dict[str, Any] = (
        {"checked": model_validator(mode="after")(checked)} if hasattr(record, "__post_init__") else {}
    )
    made: type[BaseModel] = create_model(
        record.__name__, __config__=config, __doc__=record.__doc__, __validators__=checks, **fields
    )
    return made


class _Generic(Protocol):
    def __getitem__(self, parts: tuple[Any, ...]) -> Any: ...


def _modelled(kind: Any) -> Any:
    """A type with the models of records in place of the records."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        return model_of(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return Annotated[(_modelled(parts[0]), *map(_limited, parts[1:]))]
    if origin in {Union, UnionType}:
        return reduce(or_, map(_modelled, parts))
    if parts and any(map(_is_ours, parts)):
        generic: _Generic = origin
        return generic[tuple(map(_modelled, parts))]
    return kind


def _is_ours(kind: Any) -> bool:
    """Whether pydantic cannot know a type as it is: one with a record in it, or with a limit of msgspec."""
    own = get_origin(kind) is Annotated or (isinstance(kind, type) and issubclass(kind, Struct))
    return own or any(map(_is_ours, get_args(kind)))


def _limited(limit: Any) -> Any:
    from pydantic import Field  # noqa: PLC0415

    if not isinstance(limit, Meta):
        return limit
    return Field(**{key: value for key in ("gt", "ge", "lt", "le") if (value := getattr(limit, key)) is not None})
