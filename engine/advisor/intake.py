"""Intake: what a person wrote, checked against the vocabulary, as the facts that a decision starts from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from whichgpu.engine.advisor.misplaced import explained, not_offered, taken_as_other, unknown_fact
from whichgpu.engine.catalogue import GpuMatch, Knowledge, names_a_config
from whichgpu.engine.core import (
    InputError,
    MappingNode,
    Node,
    Place,
    Problem,
    ScalarNode,
    Value,
    place_of,
    plain,
    rounded,
)
from whichgpu.engine.rules import RESERVED, Expr, FactDef, Reading, Vocabulary, evaluate, gpu_and_count, read_value


class Workload(Struct, frozen=True):
    """The given facts by canonical name, and the three reserved keys."""

    given: dict[str, Value]
    id: object = None
    gpu: str | None = None
    count: int | None = None
    remarks: tuple[Problem, ...] = ()  # accepted, but worth saying: an open choice taken as "other"
    as_written: dict[str, str] = {}  # names that stand in ``given`` as the catalogue's, as they were written
    places: dict[str, Place] = {}  # where the values of given facts stand, of those that stand in a file

    @contextmanager
    def located(self) -> Iterator[None]:
        """Problems with given facts that are found later than by reading say where the fact stands, too."""
        try:
            yield
        except InputError as error:
            raise InputError(
                replace(problem, place=self.places.get(problem.fact or "")) if problem.place is None else problem
                for problem in error.problems
            ) from error


class _Item(NamedTuple):
    """A fact as it is written, with the places of value and name; None where they are in no file."""

    name: str
    value: Any
    place: Place | None = None
    name_place: Place | None = None


class Reader(Struct, frozen=True):
    """Turns raw workloads into checked ones.

    ``alias_conditions`` are those of the facts whose other names hold only on some facts, by fact.
    """

    vocabulary: Vocabulary
    knowledge: Knowledge
    alias_conditions: Mapping[str, Expr]

    def read(self, raw: Node | Mapping[str, object], changes: Iterable[str] = ()) -> Workload:
        """Read a workload and the ``fact=value`` texts that change it.

        Raises:
            InputError: with every problem found.
        """
        reading = _Reading(self)
        items = reading.changed(reading.entries(raw), changes)
        reserved: dict[str, _Item] = {}
        conditional: list[_Item] = []
        for item in items:
            if item.name in RESERVED:
                reserved[item.name] = item
            elif self.vocabulary.conditional_aliases(item.name):
                conditional.append(item)
            else:
                reading.take(item.name, item)
        for item in conditional:
            for target in self._targets(item.name, reading.given):
                reading.take(target, item)
        reading.take_besides()
        reading.name_model()
        _version_beside_engine(items, self.vocabulary, reading.given)
        gpu, count = reading.configuration(reserved)
        if reading.problems:
            raise InputError(reading.problems)
        named = reserved["id"].value if "id" in reserved else None
        remarks = tuple(reading.remarks)
        return Workload(reading.given, named, gpu, count, remarks, reading.as_written, reading.places)

    def _targets(self, name: str, given: Mapping[str, Value]) -> list[str]:
        """The facts that a name with several meanings stands for here."""
        itself = self.vocabulary.fact(name)
        targets = [] if itself is None or itself.role == "output" else [name]
        for fact in self.vocabulary.conditional_aliases(name):
            condition = self.alias_conditions.get(fact.name)
            if fact.name not in given and (condition is None or evaluate(condition, given) is True):
                targets.append(fact.name)
        return targets or [name]


class _Reading:
    """One workload as it is read: the facts so far, each with the name that it was written under, and what is wrong."""

    def __init__(self, reader: Reader) -> None:
        self._vocabulary, self._knowledge = reader.vocabulary, reader.knowledge
        self.given: dict[str, Value] = {}
        self._written: dict[str, str] = {}
        self._besides: list[_Item] = []
        self.problems: list[Problem] = []
        self.remarks: list[Problem] = []
        self.as_written: dict[str, str] = {}
        self.places: dict[str, Place] = {}

    def entries(self, raw: Node | Mapping[str, object]) -> list[_Item]:
        """What is written, each with its place."""
        if isinstance(raw, MappingNode):
            # Scalars stay text: the fact they stand for says what they are.
            read = [
                (key, node, node.text if isinstance(node, ScalarNode) else plain(node)) for key, node in raw.entries
            ]
            return [_Item(key.text, value, place_of(node), place_of(key)) for key, node, value in read]
        if isinstance(raw, Mapping):
            return [_Item(str(name), value) for name, value in raw.items()]
        message = "a workload is a mapping of facts to values, such as 'task: inference'"
        self.problems.append(Problem("not-a-workload", message, place_of(raw), fix="write one 'fact: value' a line"))
        return []

    def changed(self, items: list[_Item], changes: Iterable[str]) -> list[_Item]:
        """The entries with ``fact=value`` texts put in place of what they change."""
        resolve = self._vocabulary.resolve
        for change in changes:
            name, equals, value = change.partition("=")
            name = name.strip()
            if not equals or not name:
                message = f"--set {change!r} is not of the form fact=value"
                self.problems.append(Problem("bad-set", message, fix="write, for example, --set param_count_b=8"))
                continue
            canonical = resolve(name) or name
            items = [item for item in items if (resolve(item.name) or item.name) != canonical]
            items.append(_Item(name, value.strip()))
        return items

    def take(self, name: str, item: _Item) -> None:
        """Read what is written, for the fact of that name."""
        fact, written, place = self._vocabulary.fact(name), item.name, item.place
        if fact is None or fact.scope != "workload":
            self.problems.append(unknown_fact(written, item.value, item.name_place, self._vocabulary))
        elif fact.role == "output":
            message = f"{written} is something that the answer says; it cannot be given"
            self.problems.append(Problem("output-given", message, item.name_place, written, fix="take the line out"))
        elif self._written.get(fact.name, written) != written:
            message = f"{written} and {self._written[fact.name]} name the same fact, {fact.name}"
            self.problems.append(Problem("given-twice", message, place, fact=fact.name, fix="keep one of them"))
        else:
            reading = read_value(fact, item.value, place)
            among = item.value, fact, self._vocabulary, self._knowledge
            self.problems += [explained(problem, *among) for problem in reading.problems]
            self.remarks += [taken_as_other(remark, *among) for remark in reading.warnings]
            if reading.value is not None:
                # At the digits that a record keeps, so that what is decided again from it is decided from the same.
                value = float(rounded(reading.value)) if isinstance(reading.value, float) else reading.value
                self.given[fact.name] = self._canonical_gpus(fact, value, place)
                self._written[fact.name] = written
                if place is not None:
                    self.places[fact.name] = place
                self.remarks += not_offered(fact, value, place, self._knowledge)
                if isinstance(item.value, str):
                    self._besides += [_Item(*each, place) for each in fact.stated_besides(item.value).items()]

    def take_besides(self) -> None:
        """The facts that spellings of others state as well, where nothing else is said of them.

        What a model is, its name tells better than a word for the job: people chat with models that see pictures, too.
        """
        name = str(self.given.get("model_name", ""))
        known = bool(name) and (names_a_config(name) or self._knowledge.find_model(name).spec is not None)
        for item in self._besides:
            if item.name not in self.given and not (known and self._vocabulary.facts[item.name].topic == "model"):
                self.take(item.name, item)

    def name_model(self) -> None:
        """A model's name in any spelling as the id that rules know, unless the spelling tells more: a precision."""
        written = self.given.get("model_name")
        if not isinstance(written, str) or names_a_config(written):
            return
        match = self._knowledge.find_model(written)
        exactly = match.how == "as written" and match.weight_precision is None
        if match.spec is not None and exactly and match.spec.id != written:
            self.given["model_name"] = match.spec.id
            self.as_written["model_name"] = written

    def _canonical_gpus(self, fact: FactDef, value: Value, place: Place | None) -> Value:
        """GPU names in any spelling as the ids, families or series that rules know."""
        if fact.type == "gpu":
            names = self._gpu(str(value), fact, place)
            return names[0] if len(names) == 1 else self._knowledge.gpus[names[0]].series
        if fact.items == "gpu" and isinstance(value, tuple):
            return tuple(dict.fromkeys(name for item in value for name in self._gpu(str(item), fact, place)))
        if fact.items == "gpu_count" and isinstance(value, tuple):
            pairs = (self._counted(*gpu_and_count(str(item))) for item in value)
            return tuple(f"{name}:{count}" for gpu, count in pairs for name in self._gpu(gpu, fact, place))
        return value

    def _counted(self, gpu: str, count: int) -> tuple[str, int]:
        """A GPU with its count; a number that belongs to the name is no count: ``rtx 4090`` is one RTX 4090."""
        alone, whole = self._knowledge.find_gpu(gpu), self._knowledge.find_gpu(f"{gpu} {count}")
        part_of_name = not alone.found and (whole.found or (whole.nearest and not alone.nearest))
        return (whole.asked, 1) if part_of_name else (gpu, count)

    def _gpu(self, name: str, fact: FactDef, place: Place | None) -> tuple[str, ...]:
        match = self._knowledge.find_gpu(name)
        if not match.found:
            problem = unknown_gpu(match, place)
            self.problems.append(explained(problem, name, fact, self._vocabulary, self._knowledge))
            return (name,)
        if match.kind == "id":
            return match.ids
        group = getattr(self._knowledge.gpus[match.ids[0]], match.kind)
        members = self._knowledge.families if match.kind == "family" else self._knowledge.series
        return (group,) if members[group] == match.ids else match.ids

    def configuration(self, reserved: Mapping[str, _Item]) -> tuple[str | None, int | None]:
        """The configuration that ``size`` is asked about; a family or series means its usual card."""
        gpu: str | None = None
        named, counted = (reserved.get(name, _Item(name, None)) for name in ("gpu", "count"))
        if named.value not in (None, ""):
            match = self._knowledge.find_gpu(str(named.value))
            if match.found:
                gpu = match.usual
            else:
                self.problems.append(unknown_gpu(match, named.place, fact="gpu"))
        count = read_count(self._vocabulary, counted.value, counted.place)
        self.problems += count.problems
        return gpu, None if count.value is None else int(count.value)  # type: ignore[arg-type]


def read_count(vocabulary: Vocabulary, raw: object, place: Place | None = None) -> Reading:
    """How many GPUs ``size`` is asked about, within the bounds of ``num_gpus``."""
    return read_value(replace(vocabulary.facts["num_gpus"], name="count"), raw, place)


def unknown_gpu(match: GpuMatch, place: Place | None = None, fact: str | None = None) -> Problem:
    """The problem with a name that means no GPU."""
    message = f"no GPU is called {match.asked!r}"
    return Problem("unknown-gpu", message, place, fact, match.nearest, "see: whichgpu gpus")


def _version_beside_engine(items: list[_Item], vocabulary: Vocabulary, given: dict[str, Value]) -> None:
    """A version written beside the serving engine ("vLLM 0.10.0") is its version, unless one is stated."""
    if "serving_engine" not in given or "serving_engine_version" in given:
        return
    written = next((item.value for item in items if vocabulary.resolve(item.name) == "serving_engine"), None)
    version = _VERSION.search(written) if isinstance(written, str) else None
    if version is not None:
        given["serving_engine_version"] = version.group(1)


_VERSION = re.compile(r"[a-z.]\s*v?~?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
