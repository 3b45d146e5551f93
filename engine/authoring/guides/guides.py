"""Where each heuristic of the catalogue stands: the manifest ``knowledge/coverage.yaml``, held against the rulebook.

Every heuristic is either carried by something (rules, facts that are asked for, figures, values of the knowledge,
calculators, code of the pipeline, disagreements that rules report) or set aside with a reason. The manifest says by
what; ``check_coverage`` says where the manifest and what it speaks of differ.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.book.links import turned_round
from whichgpu.engine.authoring.guides.numbers import missing_numbers
from whichgpu.engine.authoring.testing.expectations import same
from whichgpu.engine.core import FrozenModel, KnowledgeError, Problem, RecordError, read_document, record_of, registered
from whichgpu.engine.rules import Disagree


#: Why a heuristic is carried by nothing: a seller's praise of itself, a statement that another is followed instead of
#: (the disagreement says which), or the same statement in other words.
SetAside = Literal["promotion", "superseded", "duplicate"]
#: What says of itself that it carries a heuristic, and is listed in the manifest to be held against that.
DECLARED = ("rules", "facts", "figures", "disagreements")
_FEWER_THAN = 60
_CLOSE = 0.02


class GpuValue(FrozenModel):
    """A figure of one GPU in the catalogue: what it ``is``, or the GPU whose figure it is ``above``."""

    gpu: str
    is_: Any = field(name="is", default=None)
    field: str
    above: str | None = None


class Sum(FrozenModel):
    """What a calculator gives for stated facts."""

    calculator: str
    given: dict[str, Any]
    is_: float = field(name="is")


class CoverageEntry(FrozenModel, omit_defaults=True):
    """One heuristic of the manifest."""

    rules: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    values: tuple[GpuValue, ...] = ()
    sums: tuple[Sum, ...] = ()
    costs: dict[str, Any] = field(default_factory=dict)
    code: tuple[str, ...] = ()
    without_numbers: str | None = None  # why a number that the heuristic states stands nowhere
    set_aside: SetAside | None = None
    instead: str | None = None  # the heuristic or the disagreement that stands for it
    because: str | None = None

    @property
    def carried(self) -> bool:
        """Whether anything carries it."""
        declared = any((self.rules, self.facts, self.figures)) or (bool(self.disagreements) and self.set_aside is None)
        return declared or self.by_hand

    @property
    def by_hand(self) -> bool:
        """Whether something carries it that does not say so itself: values, calculators, costs, code."""
        return any((self.values, self.sums, self.costs, self.code))


class Standing(Struct, frozen=True):
    """A heuristic as the catalogue has it, with its entry in the manifest."""

    id: str
    guide: str
    section: str
    paraphrase: str
    numbers: tuple[str, ...]
    entry: CoverageEntry | None

    def where(self) -> list[str]:
        """What carries it, in short; or that it is set aside, and why."""
        entry = self.entry
        if entry is None:
            return ["nowhere"]
        said = [f"{kind.removesuffix('s')} {name}" for kind in DECLARED for name in getattr(entry, kind)]
        said += [f"value {value.gpu} {value.field}" for value in entry.values]
        said += [f"calculator {done.calculator}" for done in entry.sums]
        said += [f"cost {name}" for name in entry.costs] + [f"code {name}" for name in entry.code]
        if entry.set_aside:
            said.insert(0, f"set aside ({entry.set_aside}): {entry.because}")
        return said


def read_manifest(folder: Path) -> dict[str, CoverageEntry]:
    """The manifest of a knowledge folder; empty where it has none.

    Raises:
        KnowledgeError: with every problem of the file.
    """
    if not (folder / "coverage.yaml").is_file():
        return {}
    document = read_document(folder / "coverage.yaml", error=KnowledgeError, cached=True)
    listed = document.plain.get("coverage") if isinstance(document.plain, dict) else None
    if not isinstance(listed, dict):
        message, fix = (
            f"{document.source.name} lists no coverage",
            "write `coverage:` with {heuristic: {rules, ...}} below it",
        )
        raise KnowledgeError(Problem("wrong-form", message, document.source.place(1, 1), fix=fix))
    entries: dict[str, CoverageEntry] = {}
    problems = []
    for name, raw in listed.items():
        try:
            entries[name] = record_of(CoverageEntry, raw)
        except RecordError as error:
            problems += error.problems(document.node, ("coverage", name))
    if problems:
        raise KnowledgeError(problems)
    return entries


def standings(advisor: Advisor, manifest: Mapping[str, CoverageEntry] | None = None) -> list[Standing]:
    """Every heuristic with its entry, in the order of the catalogue; by default of the manifest beside it."""
    entries = manifest_of(advisor) if manifest is None else manifest
    return [
        Standing(
            **{key: str(row.get(key, "")) for key in ("id", "guide", "section", "paraphrase")},
            numbers=tuple(map(str, row.get("numbers", ()))),
            entry=entries.get(row["id"]),
        )
        for row in catalogue_of(*guide_folders(advisor))
    ]


def guide_folders(advisor: Advisor) -> list[Path]:
    """The folders that may hold guides: the knowledge, and the layers over it."""
    return [Path(advisor.knowledge.folder), *(Path(layer.folder) for layer in advisor.knowledge.layers)]


def manifest_of(advisor: Advisor) -> dict[str, CoverageEntry]:
    """The manifests of the knowledge and of the layers over it; of a heuristic that several list the last counts."""
    return {name: entry for folder in guide_folders(advisor) for name, entry in read_manifest(folder).items()}


def catalogue_of(*folders: Path) -> list[dict[str, Any]]:
    """The heuristics of folders as they stand in their files; none of one that has no such file."""
    found: list[dict[str, Any]] = []
    for file in (folder / "heuristics.yaml" for folder in folders):
        if not file.is_file():
            continue
        document = read_document(file, error=KnowledgeError, cached=True)
        content = document.plain
        rows = content.get("heuristics") if isinstance(content, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
            fix = "write `heuristics:` with a list of {id, guide, section, paraphrase, numbers} below it"
            message = f"{document.source.name} lists no heuristics"
            raise KnowledgeError([Problem("wrong-form", message, document.source.place(1, 1), fix=fix)])
        found += rows
    return found


def carriers(advisor: Advisor) -> dict[str, dict[str, tuple[str, ...]]]:
    """By kind and heuristic, what says of itself that it carries the heuristic; sorted."""
    figures, disputes = advisor.knowledge.figures.items(), advisor.knowledge.disagreements.items()
    return {
        "rules": turned_round((rule.id, rule.encodes) for rule in advisor.rulebook.rules),
        "facts": turned_round((fact.name, fact.encodes) for fact in advisor.vocabulary.facts.values()),
        "figures": turned_round((name, figure.get("encodes", ())) for name, figure in figures),
        "disagreements": turned_round((name, dispute.get("heuristics", ())) for name, dispute in disputes),
    }


def uncarried(advisor: Advisor) -> list[str]:
    """Heuristics that nothing in this rulebook and knowledge carries, and that are not set aside; sorted."""
    carried = {name for kind in carriers(advisor).values() for name in kind}
    rest = (standing for standing in standings(advisor) if standing.id not in carried)
    return sorted(s.id for s in rest if s.entry is None or not (s.entry.by_hand or s.entry.set_aside))


def check_coverage(advisor: Advisor, manifest: Mapping[str, CoverageEntry] | None = None) -> list[str]:
    """Everything in which the manifest, the catalogue and the rest of the project differ, in words."""
    entries = manifest_of(advisor) if manifest is None else manifest
    listed = standings(advisor, entries)
    known = {standing.id for standing in listed}
    own = {row["id"] for row in catalogue_of(*guide_folders(advisor)[1:])}
    if own:  # A layer with a guide of its own is judged by that one.
        listed = [standing for standing in listed if standing.id in own]
        entries = {name: entry for name, entry in entries.items() if name in own or name not in known}
    actual = carriers(advisor)
    carried = {name for kind in actual.values() for name in kind}
    said = [f"{name} is not in the catalogue of heuristics" for name in sorted((set(entries) | carried) - known)]
    for standing in listed:
        if standing.entry is None:
            said.append(f"{standing.id} is not in the manifest")
        else:
            said += [f"{standing.id}: {what}" for what in _faults(standing, standing.entry, actual, known, advisor)]
    aside = [standing for standing in listed if standing.entry and standing.entry.set_aside]
    if len(aside) >= _FEWER_THAN:
        said.append(f"{len(aside)} heuristics are set aside; fewer than {_FEWER_THAN} may be")
    return said + [f"disagreement {name} is reported by no rule" for name in unreported(advisor)]


def unreported(advisor: Advisor) -> list[str]:
    """Disagreements that no rule reports."""
    reported = {
        effect.conflict for rule in advisor.rulebook.rules for effect in rule.effects if isinstance(effect, Disagree)
    }
    return sorted(set(advisor.knowledge.disagreements) - reported)


def _faults(
    standing: Standing,
    entry: CoverageEntry,
    actual: Mapping[str, Mapping[str, tuple[str, ...]]],
    known: set[str],
    advisor: Advisor,
) -> Iterator[str]:
    for kind, by_heuristic in actual.items():
        listed, found = set(getattr(entry, kind)), set(by_heuristic.get(standing.id, ()))
        for name in sorted(found - listed):
            yield f"{name} says that it carries it, and the manifest does not list it among the {kind}"
        for name in sorted(listed - found):
            yield f"the manifest lists {name} among the {kind}, which says nothing of it"
    if entry.set_aside:
        yield from _aside_faults(entry, known, advisor)
    elif not entry.carried:
        yield "nothing carries it, and it is not set aside"
    yield from (fault for value in entry.values if (fault := _value_fault(value, advisor)))
    yield from (fault for done in entry.sums if (fault := _sum_fault(done)))
    yield from (fault for name, value in entry.costs.items() if (fault := _cost_fault(name, value, advisor)))
    yield from (f"there is no code {name}" for name in entry.code if not _exists(name))
    if not entry.set_aside:
        missing = missing_numbers(standing.numbers, entry, advisor)
        if missing and entry.without_numbers is None:
            yield f"its numbers {', '.join(missing)} stand in nothing that carries it"
        if not missing and entry.without_numbers is not None:
            yield "without_numbers says why numbers are missing, and none is"


def _aside_faults(entry: CoverageEntry, known: set[str], advisor: Advisor) -> Iterator[str]:
    if not entry.because:
        yield "it is set aside without because"
    if entry.carried:
        yield "it is set aside, and something carries it"
    if entry.set_aside == "superseded" and entry.instead not in advisor.knowledge.disagreements:
        yield "superseded needs instead: the disagreement that says what is followed"
    if entry.set_aside == "duplicate" and entry.instead not in known:
        yield "duplicate needs instead: the heuristic that it repeats"


def _value_fault(value: GpuValue, advisor: Advisor) -> str | None:
    found = gpu_figure(value.gpu, value.field, advisor)
    if value.above is not None:
        other = gpu_figure(value.above, value.field, advisor)
        return None if found > other else f"{value.field} of {value.gpu} is {found}, not above {other} of {value.above}"
    return None if same(value.is_, found, _CLOSE) else f"{value.field} of {value.gpu} is {found}, not {value.is_}"


def gpu_figure(gpu_id: str, field: str, advisor: Advisor) -> Any:
    """A field of a GPU in the catalogue, ``tflops.fp16`` among them; None where it is not known."""
    gpu = advisor.knowledge.gpus[gpu_id]
    if field.startswith("tflops."):
        return gpu.tflops.get(field.removeprefix("tflops."))
    known = advisor.knowledge.gpu_facts[gpu_id].get(f"gpu.{field}")
    return getattr(gpu, field, None) if known is None else known


def _sum_fault(done: Sum) -> str | None:
    calculator = registered().get(done.calculator)
    if calculator is None:
        return f"nothing computes {done.calculator}"
    inputs = dict.fromkeys((*calculator.needs, *calculator.uses)) | done.given
    found = calculator.function(**inputs)
    return None if same(done.is_, found, _CLOSE) else f"{done.calculator} of {done.given} is {found}, not {done.is_}"


def _cost_fault(name: str, wanted: Any, advisor: Advisor) -> str | None:
    item = advisor.knowledge.costs.get(name)
    if item is None:
        return f"there is no cost {name}"
    found = item.value if item.value is not None else [item.low, item.high]
    return None if same(wanted, found, _CLOSE) else f"{name} is {found}, not {wanted}"


def _exists(name: str) -> bool:
    module, _, attribute = name.partition(":")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False
