"""Putting suggested tests into the rule files: lines are added or filled in, all else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from whichgpu.engine.authoring.testing.following import Following
from whichgpu.engine.authoring.testing.merging import merged
from whichgpu.engine.authoring.testing.mutation import Survivor
from whichgpu.engine.authoring.testing.suggesting import Suggestion
from whichgpu.engine.core import InputError, Place, Problem, WhichgpuError
from whichgpu.engine.rules import Rule, Rulebook, RuleTest


_FIRES = re.compile(r"fires:\s*(?:true|yes)\b")


class Written(Struct, frozen=True):
    """What was put into a file."""

    path: Path
    tests: int


def write_tests(survivors: Iterable[Survivor], rulebook: Rulebook, load: Callable[[], Rulebook]) -> list[Written]:
    """Put the tests that survivors come with into the files of their rules, each once.

    Args:
        survivors: with their suggestions; those without one are passed over.
        rulebook: the rules, with the places of their tests.
        load: reads the rulebook again. Where it cannot be read any more, or says something else, the files are put
            back as they were.

    Raises:
        InputError: the files cannot be written, or the rules would not be the same.
    """
    edits = _edits(survivors, {rule.id: rule for rule in rulebook.rules})
    before = {path: path.read_text(encoding="utf-8") for path in edits}
    try:
        for path, found in edits.items():
            path.write_text(_edited(before[path], found), encoding="utf-8")
        if load().digest != rulebook.digest:
            raise InputError(Problem("not-written", "with the new tests the rules would say something else"))
    except (WhichgpuError, OSError) as error:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")
        said = error.problems if isinstance(error, WhichgpuError) else (Problem("not-written", str(error)),)
        raise InputError(*said) from None
    return [Written(path, len(found)) for path, found in sorted(edits.items())]


class _Edit(Struct, frozen=True):
    """A text for a file: in the place of ``fires: true`` from this line on, or as a line of its own after a test.

    With ``merges`` the test that stands there says it as well.
    """

    line: int  # of the test, from 1
    column: int
    text: str
    fills: bool
    merges: tuple[RuleTest, Following] | None = None

    def __hash__(self) -> int:
        return hash((self.line, self.column, self.text))


def _edits(survivors: Iterable[Survivor], rules: Mapping[str, Rule]) -> dict[Path, list[_Edit]]:
    found: dict[Path, dict[_Edit, None]] = {}
    for survivor in survivors:
        rule, suggestion = rules.get(survivor.rule), survivor.suggestion
        if rule is None or suggestion is None or not rule.tests:
            continue
        for place, edit in _edit(rule, suggestion):
            found.setdefault(Path(place.path), {})[edit] = None
    return {path: list(edits) for path, edits in found.items()}


def _edit(rule: Rule, suggestion: Suggestion | Following) -> Iterable[tuple[Place, _Edit]]:
    last = rule.tests[-1].place
    if isinstance(suggestion, Suggestion):
        last = _varied(rule) if suggestion.near_miss is not None else last
        if last is not None:
            yield last, _Edit(last.line, last.column, suggestion.text, fills=False)
        return
    test = rule.tests[suggestion.number - 1]
    if test.place is None or last is None:
        return
    if test.expected is None:
        yield test.place, _Edit(test.place.line, test.place.column, suggestion.text, fills=True)
    elif suggestion.expected.says and not test.expected.prefers and not test.expected.answers:
        yield test.place, _Edit(test.place.line, test.place.column, suggestion.text, True, (test, suggestion))
    else:  # It says something already: beside it a test that says the rest.
        stated = Suggestion(test.given, test.plan, fires=True).text.removesuffix("fires: true}")
        yield last, _Edit(last.line, last.column, f"{stated}{suggestion.text}}}", fills=False)


def _varied(rule: Rule) -> Place | None:
    """The test behind which a near miss varies the last test that fires: one that does not fire ends its reach."""
    firing = max((at for at, test in enumerate(rule.tests) if test.fires), default=len(rule.tests) - 1)
    end = firing + 1
    while end < len(rule.tests) and rule.tests[end].near_miss is not None:
        end += 1
    return rule.tests[end - 1].place


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    """The text with all edits, made from the last line to the first so that places stay true."""
    lines = text.split("\n")
    # Each goes in before those of its place that went in earlier; a near miss varies the firing test that was last.
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.fills, "near_miss" not in edit.text), reverse=True):
        if edit.merges is not None:
            _merge(lines, edit, *edit.merges)
        elif edit.fills:
            _fill(lines, edit)
        else:
            dash, end = _extent(lines, edit.line - 1)
            lines.insert(end, f"{' ' * dash}{edit.text}")
    return "\n".join(lines)


def _merge(lines: list[str], edit: _Edit, test: RuleTest, following: Following) -> None:
    """The sentences in the test itself, or beside it in one of its own where its layout does not let them in."""
    dash, end = _extent(lines, edit.line - 1)
    found = merged("\n".join(lines[edit.line - 1 : end]), test, following)
    stated = Suggestion(test.given, test.plan, fires=True).text.removesuffix("fires: true}")
    lines[edit.line - 1 : end] = (
        found.split("\n") if found else [*lines[edit.line - 1 : end], f"{' ' * dash}{stated}{edit.text}}}"]
    )


def _fill(lines: list[str], edit: _Edit) -> None:
    """``then: ...`` in the place of ``fires: true``."""
    _, end = _extent(lines, edit.line - 1)
    for at in range(edit.line - 1, end):
        start = edit.column - 1 if at == edit.line - 1 else 0
        match = _FIRES.search(lines[at], start)
        if match is None:
            continue
        block = lines[at].strip() == match[0]
        said = re.sub(r", (?=silent: )", "\n" + " " * match.start(), edit.text) if block else edit.text
        lines[at] = f"{lines[at][: match.start()]}{said}{lines[at][match.end() :]}"
        return


def _extent(lines: list[str], start: int) -> tuple[int, int]:
    """How far the dash of a test is indented, and the line behind the test."""
    dash = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > dash):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return dash, end
