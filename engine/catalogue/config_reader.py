"""Typed reading of a model's configuration: keys under several names, every problem kept until the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.errors import nearest_words


_MOST = 10**12


class ConfigReader:
    """Reads keys of one mapping. Problems are collected; ``finish`` raises them together."""

    def __init__(
        self, content: Mapping[str, Any], name: str, text: str = "", problems: list[Problem] | None = None
    ) -> None:
        self.content = content
        self._name = name
        self._text = text
        self._problems: list[Problem] = [] if problems is None else problems

    def nested(self, key: str) -> ConfigReader:
        """A reader of the mapping under ``key``; of nothing where there is none."""
        inner = self.content.get(key)
        return ConfigReader(inner if isinstance(inner, Mapping) else {}, self._name, self._text, self._problems)

    def maybe(self, *keys: str) -> int | None:
        """The first whole number under one of the keys, or None. Zero counts as absent."""
        for key in keys:
            value = self.content.get(key)
            if value is None or isinstance(value, list | Mapping):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                self._blame(key, value)
                continue
            number = _whole(value)
            if number is None:
                self._blame(key, value)
            elif number > 0:
                return number
        return None

    def count(self, *keys: str) -> int | None:
        """Like ``maybe``; a problem when none of the keys is there."""
        number = self.maybe(*keys)
        if number is None:
            self.required(*keys)
        return number

    def required(self, *keys: str) -> None:
        """Note that a key is missing, unless a wrong value under it was noted already."""
        if any(key in self.content for key in keys) and self._problems:
            return
        names = " or ".join(repr(key) for key in keys[:3])
        near = nearest_words(keys[0], sorted(map(str, self.content)))
        message = f"{self._name} has no {names}"
        fix = "is it the config.json of a language model?" if not near else None
        self._problems.append(Problem("missing-key", message, None, nearest=near, fix=fix))

    def flag(self, *keys: str, default: bool) -> bool:
        """The first true or false under one of the keys."""
        for key in keys:
            value = self.content.get(key)
            if isinstance(value, bool):
                return value
        return default

    def word(self, key: str) -> str:
        """The text under a key, or nothing."""
        value = self.content.get(key)
        return value if isinstance(value, str) else ""

    def words(self, key: str) -> list[str]:
        """The list of texts under a key, or nothing."""
        value = self.content.get(key)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def finish(self) -> None:
        """Raise all problems that were found.

        Raises:
            InputError: if there are any.
        """
        if self._problems:
            raise InputError(self._problems)

    def _blame(self, key: str, value: object) -> None:
        message = f"{self._name}: {key} is {value!r}, not a whole number"
        if not any(problem.message == message for problem in self._problems):
            self._problems.append(Problem("not-a-count", message, self._place(key)))

    def _place(self, key: str) -> Place | None:
        for number, line in enumerate(self._text.splitlines(), start=1):
            column = line.find(f'"{key}"')
            if column >= 0:
                return Place(self._name, number, column + 1, len(key) + 2, line)
        return None


def _whole(value: float | str) -> int | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if 0 <= number < _MOST and number == int(number) else None
