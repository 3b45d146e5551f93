"""A sequence whose items are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, overload


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
