"""Intake: what a person wrote, checked against the vocabulary, as the facts that a decision starts from."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core.canonical import rounded
from whichgpu.engine.core.errors import InputError
from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.errors import Problem
from whichgpu.engine.core.values import Value
from whichgpu.engine.core.yaml import Mapping as MappingNode
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar as ScalarNode
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.core.yaml import plain
from whichgpu.engine.rules.facts import RESERVED
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.facts import gpu_and_count
from whichgpu.engine.rules.facts import read_value


@dataclass(frozen=True, slots=True)
class Workload:
    """The given facts by canonical name, and the three reserved keys."""

    given: dict[str, Value]
    id: object = None
    gpu: str | None = None
    count: int | None = None
    remarks: tuple[Problem, ...] = ()  # accepted, but worth saying: an open choice taken as "other"


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns raw workloads into checked ones.

    ``alias_holds`` says whether a conditional alias applies, given the facts read so far.
    """

    vocabulary: Vocabulary
    knowledge: Knowledge
    alias_holds: Callable[[FactDef, Mapping[str, Value]], bool]

    def read(self, raw: Node | Mapping[str, object], changes: Iterable[str] = ()) -> Workload:
        """Read a workload and the ``fact=value`` texts that change it.

        Raises:
            InputError: with every problem found.
        """
        entries, problems = _entries(raw)
        items, more = _changed(entries, changes, self.vocabulary)
        problems += more
        given: dict[str, Value] = {}
        places: dict[str, str] = {}
        remarks: list[Problem] = []
        reserved: dict[str, Any] = {}
        conditional: list[tuple[str, Any, Place | None]] = []
        for name, value, place in items:
            if name in RESERVED:
                reserved[name] = value
            elif self.vocabulary.conditional_aliases(name):
                conditional.append((name, value, place))
            else:
                self._take(name, name, value, place, given, places, problems, remarks)
        for name, value, place in conditional:
            for target in self._targets(name, given):
                self._take(target, name, value, place, given, places, problems, remarks)
        _version_beside_engine(items, self.vocabulary, given)
        gpu, count = self._reserved(reserved, problems)
        if problems:
            raise InputError(_at_names(problems, raw))
        return Workload(given, reserved.get("id"), gpu, count, tuple(remarks))

    def _targets(self, name: str, given: Mapping[str, Value]) -> list[str]:
        """The facts that a name with several meanings stands for here."""
        itself = self.vocabulary.fact(name)
        targets = [] if itself is None or itself.role == "output" else [name]
        for fact in self.vocabulary.conditional_aliases(name):
            if fact.name not in given and (fact.alias_when is None or self.alias_holds(fact, given)):
                targets.append(fact.name)
        return targets or [name]

    def _take(
        self,
        name: str,
        written: str,
        raw: Any,
        place: Place | None,
        given: dict[str, Value],
        places: dict[str, str],
        problems: list[Problem],
        remarks: list[Problem],
    ) -> None:
        fact = self.vocabulary.fact(name)
        if fact is None or fact.scope != "workload":
            problems.append(_unknown_fact(written, place, self.vocabulary))
            return
        if fact.role == "output":
            message = f"{written} is something that the answer says; it cannot be given"
            problems.append(Problem("output-given", message, place, fact=written, fix="take the line out"))
            return
        if fact.name in places and places[fact.name] != written:
            message = f"{written} and {places[fact.name]} name the same fact, {fact.name}"
            problems.append(Problem("given-twice", message, place, fact=fact.name, fix="keep one of them"))
            return
        reading = read_value(fact, raw, place)
        problems.extend(reading.problems)
        remarks.extend(reading.warnings)
        if reading.value is not None:
            # At the digits that a record keeps, so that what is decided again from it is decided from the same.
            value = float(rounded(reading.value)) if isinstance(reading.value, float) else reading.value
            given[fact.name] = self._canonical_gpus(fact, value, place, problems)
            places[fact.name] = written

    def _canonical_gpus(self, fact: FactDef, value: Value, place: Place | None, problems: list[Problem]) -> Value:
        """GPU names in any spelling as the ids, families or series that rules know."""
        if fact.type == "gpu":
            names = self._gpu(str(value), place, problems)
            return names[0] if len(names) == 1 else self.knowledge.gpus[names[0]].series
        if fact.items == "gpu" and isinstance(value, tuple):
            return tuple(dict.fromkeys(name for item in value for name in self._gpu(str(item), place, problems)))
        if fact.items == "gpu_count" and isinstance(value, tuple):
            pairs = (gpu_and_count(str(item)) for item in value)
            return tuple(f"{name}:{count}" for gpu, count in pairs for name in self._gpu(gpu, place, problems))
        return value

    def _gpu(self, name: str, place: Place | None, problems: list[Problem]) -> tuple[str, ...]:
        match = self.knowledge.find_gpu(name)
        if not match.found:
            message = f"no GPU is called {name!r}"
            fix = "see: whichgpu gpus"
            problems.append(Problem("unknown-gpu", message, place, nearest=match.nearest, fix=fix))
            return (name,)
        if match.kind == "id":
            return match.ids
        group = getattr(self.knowledge.gpus[match.ids[0]], match.kind)
        members = self.knowledge.families if match.kind == "family" else self.knowledge.series
        return (group,) if members[group] == match.ids else match.ids

    def _reserved(self, reserved: Mapping[str, Any], problems: list[Problem]) -> tuple[str | None, int | None]:
        """The configuration that ``size`` is asked about; a family or series means its last member by id (SXM)."""
        gpu: str | None = None
        if reserved.get("gpu") not in (None, ""):
            match = self.knowledge.find_gpu(str(reserved["gpu"]))
            gpu = match.ids[-1] if match.found else None
            if gpu is None:
                message = f"no GPU is called {str(reserved['gpu'])!r}"
                problems.append(
                    Problem("unknown-gpu", message, fact="gpu", nearest=match.nearest, fix="see: whichgpu gpus")
                )
        count = read_value(self.vocabulary.facts["num_gpus"], reserved.get("count"))
        problems += count.problems
        return gpu, None if count.value is None else int(count.value)  # type: ignore[arg-type]


def _version_beside_engine(items: list[_Item], vocabulary: Vocabulary, given: dict[str, Value]) -> None:
    """A version written beside the serving engine ("vLLM 0.10.0") is its version, unless one is stated."""
    if "serving_engine" not in given or "serving_engine_version" in given:
        return
    written = next((raw for name, raw, _ in items if vocabulary.resolve(name) == "serving_engine"), None)
    version = _VERSION.search(written) if isinstance(written, str) else None
    if version is not None:
        given["serving_engine_version"] = version.group(1)


_VERSION = re.compile(r"[a-z.]\s*v?~?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
_Item = tuple[str, Any, Place | None]


def _entries(raw: Node | Mapping[str, object]) -> tuple[list[_Item], list[Problem]]:
    if isinstance(raw, MappingNode):
        items: list[_Item] = []
        for key, node in raw.entries:
            # Scalars stay text: the fact they stand for says what they are.
            value = node.text if isinstance(node, ScalarNode) else plain(node)
            items.append((key.text, value, place_of(node)))
        return items, []
    if isinstance(raw, Mapping):
        return [(str(name), value, None) for name, value in raw.items()], []
    message = "a workload is a mapping of facts to values, such as 'task: inference'"
    place = place_of(raw)
    return [], [Problem("not-a-workload", message, place, fix="write one 'fact: value' a line")]


def _at_names(problems: list[Problem], raw: Node | Mapping[str, object]) -> list[Problem]:
    """Problems with a fact's name point at the name and not at its value."""
    if not isinstance(raw, MappingNode):
        return problems
    moved = []
    for problem in problems:
        key = raw.key(problem.fact) if problem.code in {"unknown-fact", "output-given"} and problem.fact else None
        moved.append(replace(problem, place=place_of(key)) if key is not None and problem.place else problem)
    return moved


def _changed(items: list[_Item], changes: Iterable[str], vocabulary: Vocabulary) -> tuple[list[_Item], list[Problem]]:
    """The entries with ``fact=value`` texts put in place of what they change."""
    problems: list[Problem] = []
    for change in changes:
        name, equals, value = change.partition("=")
        name = name.strip()
        if not equals or not name:
            message = f"--set {change!r} is not of the form fact=value"
            problems.append(Problem("bad-set", message, fix="write, for example, --set param_count_b=8"))
            continue
        canonical = vocabulary.resolve(name) or name
        items = [item for item in items if (vocabulary.resolve(item[0]) or item[0]) != canonical]
        items.append((name, value.strip(), None))
    return items, problems


def _unknown_fact(name: str, place: Place | None, vocabulary: Vocabulary) -> Problem:
    known = [
        fact for fact in vocabulary.nearest(name) if (found := vocabulary.fact(fact)) and found.scope == "workload"
    ]
    return Problem(
        "unknown-fact",
        f"{name!r} is no fact of a workload",
        place,
        fact=name,
        nearest=tuple(known),
        fix=f"write {known[0]}" if known else "see: whichgpu facts",
    )
