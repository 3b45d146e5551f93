"""Slips made in the rule files as they are written: one entry of a copy at a time, read, checked and tested."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from whichgpu import Advisor, load_advisor
from whichgpu.engine.advisor import known_names
from whichgpu.engine.authoring import RuleTestFacts
from whichgpu.engine.core import RulebookError, locate, plain, read_yaml
from whichgpu.engine.rules import load_rulebook

from .judging import Found, Said, Seeded, looked_for, said


#: A rule or table of a file, as plain values.
Entry = dict[str, Any]
#: Makes the slip in the entry, in place. False: it finds no place in it.
Slip = Callable[[Entry], bool]
#: A rule file and which of its entries.
Site = tuple[Path, int]


class Kind(Struct, frozen=True):
    """A kind of slip, and whether it is made in a rule that was just written, which has no tests."""

    name: str
    slip: Slip
    new: bool = False


def without_tests(entry: Entry) -> Entry:
    """The same rule or table as somebody writes it who has not come to its tests."""
    bare = deepcopy(entry)
    for each in (bare, *bare.get("rows", [])):
        each.pop("tests", None)
    return bare


def name_of(entry: Entry) -> str:
    return str(entry.get("table") or entry["id"])


class RuleFiles:
    """A copy of the rule files, in which one slip at a time is made and looked for.

    Fair: what lint says of a rule that lost its tests before the slip was made does not count as found.
    """

    def __init__(self, folder: Path, *, fair: bool) -> None:
        self._folder, self._fair, self._advisor = folder, fair, load_advisor()
        self._facts_for = RuleTestFacts(self._advisor).facts_for
        self.files: dict[Path, list[Entry]] = {}
        for path in sorted(locate("rules").glob("*.yaml")):
            self.files[folder / path.name] = plain(read_yaml(path, error=RulebookError))  # type: ignore[assignment]
        for path in self.files:
            self._write(path)
        self._before = frozenset(said(self._loaded()))

    def sites(self) -> list[Site]:
        """Every entry of every file."""
        return [(path, at) for path, entries in self.files.items() for at in range(len(entries))]

    def entry(self, site: Site) -> Entry:
        return self.files[site[0]][site[1]]

    def slipped(self, slip: Slip, site: Site, *, tests: bool) -> Found | None:
        """What finds the slip there; None where it has no place."""
        entry = deepcopy(self.entry(site))
        return self.found(entry, site, tests=tests) if slip(entry) else None

    def found(self, entry: Entry, site: Site, *, tests: bool) -> Found:
        """What finds the mistake in an entry that takes the place of the one there, with its tests or without."""
        before: frozenset[Said] = self._before
        if not tests:
            entry = without_tests(entry)
            if self._fair:
                with self._standing(without_tests(self.entry(site)), site):
                    before |= frozenset(said(self._loaded()))
        with self._standing(entry, site):
            return looked_for(self._loaded, before, tested=[name_of(entry)], facts_for=self._facts_for)

    @contextmanager
    def _standing(self, entry: Entry, site: Site) -> Iterator[None]:
        path, at = site
        kept = self.files[path]
        self.files[path] = [*kept[:at], entry, *kept[at + 1 :]]
        try:
            self._write(path)
            yield
        finally:
            self.files[path] = kept
            self._write(path)

    def _write(self, path: Path) -> None:
        path.write_text(json.dumps(self.files[path], default=str))

    def _loaded(self) -> Advisor:
        advisor = self._advisor
        book = load_rulebook([self._folder], advisor.vocabulary, known_names(advisor.knowledge))
        return replace(advisor, rulebook=book)


def seeded_in_files(kinds: Sequence[Kind], seed: int, each: int, *, fair: bool = False) -> Iterator[Seeded]:
    """So many of every kind, at sites drawn with the seed and the kind's name."""
    with tempfile.TemporaryDirectory() as folder:
        files = RuleFiles(Path(folder), fair=fair)
        sites = files.sites()
        for kind in kinds:
            # The older lists go on from the order of the kind before: so the figures said of them were counted.
            sites = files.sites() if fair else sites
            random.Random(f"{seed} {kind.name}").shuffle(sites)
            tried = ((site, files.slipped(kind.slip, site, tests=not kind.new)) for site in sites)
            for site, found in islice(((site, found) for site, found in tried if found), each):
                yield Seeded(kind.name, name_of(files.entry(site)), (found,))


def seeded_in_every_file(kinds: Sequence[Kind], seed: int, each: int) -> Iterator[Seeded]:
    """The same, looked for with the rule's tests and without; the file least seen has its turn first."""
    with tempfile.TemporaryDirectory() as folder:
        files, seen = RuleFiles(Path(folder), fair=True), Counter[Path]()
        for kind in kinds:
            sites, made = files.sites(), 0
            random.Random(f"{seed} {kind.name}").shuffle(sites)
            while sites and made < each:
                site = min(sites, key=lambda site: seen[site[0]])
                sites.remove(site)
                kept = files.slipped(kind.slip, site, tests=True)
                if kept:
                    made += 1
                    seen[site[0]] += 1
                    bare = files.slipped(kind.slip, site, tests=False)
                    assert bare is not None
                    yield Seeded(kind.name, name_of(files.entry(site)), (kept, bare))
