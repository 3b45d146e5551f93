"""Loading a rulebook: from the files, or as it was kept when nothing that it was made of has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple, replace

from whichgpu.engine.core import compiled_key, distinct, keeps_compiled, recall_compiled, remember_compiled
from whichgpu.engine.rules.facts.model import Vocabulary
from whichgpu.engine.rules.rulebook.effect_records import AnyEffect
from whichgpu.engine.rules.rulebook.model import KnownNames, Rulebook


def load_rulebook(
    folders: Iterable[Path | str],
    vocabulary: Vocabulary,
    known: KnownNames | None = None,
    *,
    cached: bool = True,
    tests: bool = True,
) -> Rulebook:
    """Read the rule files of the folders. The order of files, entries and keys never matters.

    Args:
        folders: rule folders; each is one layer, the lowest first. A layer may name rules of the layers below that it
            disables or replaces; else an id may occur once in all of them.
        vocabulary: facts and codes that rules may name.
        known: names that live elsewhere; an empty set of them is not checked.
        cached: keep what was read in the user's cache folder, and take it from there.
        tests: read the tests inside rules; a decision needs none, and a fifth of the work is theirs.

    Raises:
        RulebookError: with every problem of every file, each with its place, the nearest valid word and the fix.
    """
    paths, known = distinct(folders), known or KnownNames()
    # Tests hold values of any kind, which would not all come back as they were; only who checks rules wants them.
    key = _key(paths, vocabulary, known) if cached and not tests else None
    kept = recall_compiled("rulebook", key, PackedRulebook)
    if kept is not None:
        return replace(kept.rulebook(), key=key)
    from whichgpu.engine.rules.rulebook.assembling import assemble_folders  # noqa: PLC0415  # Not where it was kept.

    rulebook = assemble_folders(paths, vocabulary, known, cached=cached, tests=tests)
    if key is not None:
        remember_compiled("rulebook", key, PackedRulebook.of(rulebook))
    return replace(rulebook, key=key)


class PackedRulebook(Struct, frozen=True):
    """What is kept of a rulebook between runs: no tests, and effects apart, since a rule has them of any kind."""

    book: Rulebook
    effects: tuple[tuple[AnyEffect, ...], ...]  # of each rule

    @classmethod
    def of(cls, rulebook: Rulebook) -> PackedRulebook:
        """The form to keep."""
        bare = tuple(replace(rule, effects=(), tests=()) for rule in rulebook.rules)
        return cls(replace(rulebook, rules=bare), tuple(rule.effects for rule in rulebook.rules))  # type: ignore[misc]

    def rulebook(self) -> Rulebook:
        """The rulebook as it was, without its tests."""
        rules = zip(self.book.rules, self.effects, strict=True)
        return replace(self.book, rules=tuple(replace(rule, effects=effects) for rule, effects in rules))


def _key(folders: Sequence[Path], vocabulary: Vocabulary, known: KnownNames) -> str | None:
    """The key of a rulebook; None where nothing is kept, its vocabulary comes from no files, or a folder is none."""
    if not keeps_compiled() or vocabulary.key is None or not all(folder.is_dir() for folder in folders):
        return None
    names = (",".join(sorted(each)) for each in astuple(known))
    files = (path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in {".yaml", ".yml"})
    return compiled_key(files, vocabulary.key, *map(str, folders), *names)
