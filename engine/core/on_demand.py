"""Sequences and mappings whose items are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

import msgspec


_Item = TypeVar("_Item")


class OnDemand(Sequence[_Item]):
    """Items by position, each made once, by ``make``."""

    def __init__(self, size: int, make: Callable[[int], _Item]) -> None:
        self._size = size
        self._make = make
        self._made: dict[int, _Item] = {}

    def __len__(self) -> int:
        """The number of items, made or not."""
        return self._size

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | list[_Item]:
        """The item at a position."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._size))]
        place = index + self._size if index < 0 else index
        if place not in self._made:
            if not 0 <= place < self._size:
                raise IndexError(index)
            self._made[place] = self._make(place)
        return self._made[place]

    def __iter__(self) -> Iterator[_Item]:
        """All items, in order."""
        return map(self.__getitem__, range(self._size))


class RecordsOnDemand(Mapping[str, _Item]):
    """Records by id, each decoded from its packed form when it is first asked for, in the order of ``packed``."""

    def __init__(self, packed: Mapping[str, msgspec.Raw], form: type[_Item]) -> None:
        self._packed = packed
        self._form = form
        self._decoded: dict[str, _Item] = {}

    @staticmethod
    def packed(records: Mapping[str, object]) -> dict[str, msgspec.Raw]:
        """The packed form of records."""
        return {key: msgspec.Raw(msgspec.msgpack.encode(record)) for key, record in records.items()}

    def __len__(self) -> int:
        """The number of records, decoded or not."""
        return len(self._packed)

    def __iter__(self) -> Iterator[str]:
        """The ids."""
        return iter(self._packed)

    def __contains__(self, key: object) -> bool:
        """Whether there is a record of this id; nothing is decoded."""
        return key in self._packed

    def __getitem__(self, key: str) -> _Item:
        """The record of this id."""
        if key not in self._decoded:
            self._decoded[key] = msgspec.msgpack.decode(self._packed[key], type=self._form)
        return self._decoded[key]
