"""The whole sentences of a rule: whether a test that states them has them right, and how a test would state them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from whichgpu.engine.core import Facts, RulebookError, filled, read_document, untyped
from whichgpu.engine.rules import Fallback, Reject, Rule, RuleTest, Vocabulary, render


#: A fact in braces, and no parameter.
SHOWN = re.compile(r"(?<!\$)\{([^{}]+)\}")
#: What a card is called follows from the card that a test names.
_OF_THE_CARD = ("gpu.name", "gpu.id", "gpu.series", "gpu.family", "plan.gpu")


def sentences(rule: Rule) -> dict[str, str]:
    """What a rule says, by its key: title, text, reason of a rejection, reason in general; facts in braces."""
    found = {"title": rule.title, "because": rule.because}
    found |= {"text": rule.text} if rule.text else {}
    return found | {effect.word: effect.text for effect in rule.effects if isinstance(effect, Reject | Fallback)}


def said_otherwise(rule: Rule, wanted: Mapping[str, str], facts: Facts, vocabulary: Vocabulary) -> Iterator[str]:
    """What a rule does not say word for word as a test states it. A fact stands in braces, or with its value."""
    templates = sentences(rule)
    for key, sentence in wanted.items():
        template = templates.get(key)
        if template is None:
            yield f"it has no `{key}`"
        elif sentence != template and not _reads(sentence, template, facts, vocabulary):
            rendered = render(template, facts, vocabulary) if key not in ("title", "because") else template
            yield f"`{key}` says {rendered!r}, not {sentence!r}"


def _reads(sentence: str, template: str, facts: Facts, vocabulary: Vocabulary) -> bool:
    """Whether a sentence is the template with some facts filled in."""
    pieces = SHOWN.split(template)
    for at in range(1, len(pieces), 2):
        shown = "{" + pieces[at] + "}"
        pieces[at] = f"(?:{re.escape(shown)}|{re.escape(render(shown, facts, vocabulary))})"
    pieces[::2] = map(re.escape, pieces[::2])
    return re.fullmatch("".join(pieces), sentence) is not None


def with_numbers(says: Mapping[str, str]) -> dict[str, str]:
    """The sentences with parameters filled in."""
    return {key: filled(text.encode(), "a test", RulebookError).decode() for key, text in says.items()}


class Sentences:
    """How tests state what rules say: as it is written in the files, so that parameters stay what they are."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Files are read when they are first asked for."""
        self._vocabulary = vocabulary
        self._files: dict[str, dict[str, Mapping[str, Any]]] = {}

    def of(self, rule: Rule, test: RuleTest, number: int, facts: Facts) -> dict[str, str]:
        """The sentences that stand at the rule; of a table's title and reason only in the first row that has them."""
        own = sentences(rule)
        written = self._written(rule)
        tests = written.get("tests") or []
        follows = number <= len(tests) and "$" in str(tests[number - 1])
        raw = {**written, **(written.get("then") or {})} if written else own
        found = {key: str(raw.get(key, text)) for key, text in own.items()}
        for key in ("title", "because"):
            if not raw.get(key) or (rule.row and raw.get(f"inherited {key}")):
                found.pop(key)
        return {key: self._filled(text, test, facts, follows=follows) for key, text in found.items()}

    def _filled(self, template: str, test: RuleTest, facts: Facts, *, follows: bool) -> str:
        """With the values of what the test states, where each reads in its own way; the others stay in braces."""
        stated = {*test.given, *test.plan, *(_OF_THE_CARD if "gpu" in test.plan else ())}
        stated |= {"plan.count"} if "count" in test.plan else set()
        shown = {name: render("{" + name + "}", facts, self._vocabulary) for name in SHOWN.findall(template)}
        values = list(shown.values())
        for name, value in shown.items():
            if name in stated and not follows and values.count(value) == 1 and not re.search(r"[{}$]", value):
                template = re.sub(rf"(?<!\$)\{{{re.escape(name)}\}}", lambda _: value, template)  # noqa: B023
        return template

    def _written(self, rule: Rule) -> Mapping[str, Any]:
        if rule.place is None or not Path(rule.place.path).is_file():
            return {}
        path = rule.place.path
        if path not in self._files:
            content = untyped(read_document(path, error=RulebookError, parameters=False).node)
            self._files[path] = dict(_entries(content if isinstance(content, list) else ()))
        return self._files[path].get(rule.id, {})


def _entries(content: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rules and rows by id; rows with the title and reason of their table, and whether a row above has them too."""
    for entry in content:
        if not isinstance(entry, dict):
            continue
        if "table" not in entry:
            yield str(entry.get("id")), entry
            continue
        for at, row in enumerate(entry.get("rows") or ()):
            inherited = {key: entry.get(key) for key in ("title", "because") if key not in row}
            marks = {f"inherited {key}": any(key not in above for above in entry["rows"][:at]) for key in inherited}
            yield f"{entry['table']}/{row.get('id')}", {**inherited, **row, **marks}
