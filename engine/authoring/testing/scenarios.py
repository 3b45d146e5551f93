"""Scenario files: whole workloads, and what any acceptable answer to each contains.

A scenario lies beside the rules, in ``scenarios/*.yaml`` of a rule folder::

    - id: chat-on-8b
      says: One small card serves a chat of an 8B model
      given: {task: inference, model_name: llama-3.1-8b, concurrency: 4}
      expect:
        gpu_count: [1, 1]
        procurement: [rent]
        silent: [fast-link-beyond-eight-gpus]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct

from whichgpu.engine.authoring.testing.expectations import (
    EXPECTATIONS,
    NEEDS_RULES,
    Expectation,
    accelerators_in,
    expects_plans_alone,
    rules_in,
)
from whichgpu.engine.authoring.testing.seen_decision import Outlined
from whichgpu.engine.catalogue import Knowledge
from whichgpu.engine.core import (
    MappingNode,
    Node,
    Place,
    RulebookError,
    SequenceNode,
    WhichgpuError,
    nearest_words,
    place_of,
    plain,
    read_yaml,
)
from whichgpu.engine.rules import Fields, Key, Reader, Rulebook, kind_of


FOLDER = "scenarios"
#: Cases read off the guides: scenarios too, and so many that their results are kept while nothing changes.
GUIDES = "guides"

Strength = Literal["must", "should"]

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
SCENARIO_KEYS = (
    Key("id", "id", "its name in kebab-case", required=True),
    Key("given", "facts", "the workload, as in a workload file", required=True),
    Key("expect", "facts", "what the answer contains", required=True),
    Key("says", "text", "in a sentence what it is about"),
    Key("guide", "text", "the guide that it was read off"),
    Key("section", "text", "where in it"),
    Key("strength", "word", "must (default), or should: another guide or arithmetic disagrees", choices=STRENGTHS),
    Key("heuristics", "names", "the heuristics that it shows"),
    Key("conflicts", "names", "the disagreements that it lies in"),
    Key("formula_vram_gb", "number", "what arithmetic needs at least, in GB"),
)


class Scenario(Struct, frozen=True):
    """One workload with what is expected of the answer."""

    id: str
    says: str
    given: Mapping[str, object]
    expect: Mapping[str, Any]
    place: Place | None = None
    strength: Strength = "must"
    guide: str = ""  # that it was read off


#: Decides the workload of a scenario; gives the whole decision as JSON values, or its plans where it needs no more.
Decide = Callable[[Scenario], Mapping[str, Any] | Outlined]


class ScenarioResult(Struct, frozen=True):
    """What an answer misses, in words; nothing where it passed."""

    scenario: Scenario
    misses: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether the answer has all that is expected, or what it misses is only what one guide among others says."""
        return not self.misses or self.scenario.strength == "should"

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        place = self.scenario.place
        return {
            "scenario": self.scenario.id,
            "says": self.scenario.says,
            "strength": self.scenario.strength,
            "passed": self.passed,
            "misses": list(self.misses),
            "path": place.path if place else None,
            "line": place.line if place else None,
        }


def load_scenarios(
    folders: Iterable[Path], rulebook: Rulebook, knowledge: Knowledge, *, guides: bool = False
) -> list[Scenario]:
    """The scenarios of rule folders, sorted by id; with ``guides`` the cases read off the guides as well.

    Raises:
        RulebookError: with every problem of every file.
    """
    reader = Reader()
    found: dict[str, Scenario] = {}
    for folder in folders:
        names = (FOLDER, GUIDES) if guides else (FOLDER,)
        for path in (path for name in names for path in sorted((folder / name).glob("*.yaml"))):
            try:
                nodes = _items(read_yaml(path, error=RulebookError), reader)
            except RulebookError as error:
                reader.extend(error.problems)
                continue
            for node in nodes:
                scenario = _read(node, rulebook, knowledge, reader)
                if scenario is None:
                    continue
                if scenario.id in found:
                    fix = "give one of them another id"
                    reader.add("named-twice", f"there are two scenarios {scenario.id!r}", scenario.place, fix=fix)
                found[scenario.id] = scenario
    if len(reader):
        raise RulebookError(reader.sorted())
    return [found[name] for name in sorted(found)]


def needs_plans_alone(scenario: Scenario) -> bool:
    """Whether all that is expected is seen in which plans come first."""
    return all(expects_plans_alone(key, value) for key, value in scenario.expect.items())


def needs_all(scenario: Scenario) -> bool:
    """Whether what is expected can only be seen in the whole decision, with its rules and rejections."""
    return bool(NEEDS_RULES & scenario.expect.keys())


def run_scenarios(scenarios: Iterable[Scenario], decide: Decide, knowledge: Knowledge) -> list[ScenarioResult]:
    """Decide each workload and compare. A workload that cannot be decided misses everything, and says why."""
    results = []
    for scenario in scenarios:
        try:
            misses = Expectation(decide(scenario), knowledge).check(scenario.expect)
        except WhichgpuError as error:
            misses = [problem.message for problem in error.problems]
        results.append(ScenarioResult(scenario, tuple(misses)))
    return results


def _items(node: Node, reader: Reader) -> tuple[Node, ...]:
    if isinstance(node, SequenceNode):
        return node.items
    reader.add(
        "wrong-form",
        f"a scenario file is a list, and this one holds {kind_of(node)}",
        node,
        fix="start each scenario with `- id: its-name`",
    )
    return ()


def _read(node: Node, rulebook: Rulebook, knowledge: Knowledge, reader: Reader) -> Scenario | None:
    fields = reader.fields(node, SCENARIO_KEYS, "a scenario")
    if fields is None or not {"id", "given", "expect"} <= set(fields):
        return None
    name = reader.id(fields["id"][1], "the id of a scenario")
    says = reader.text(fields, "says")
    given, expect = _mapping(fields, "given", reader), _mapping(fields, "expect", reader)
    if name is None or given is None or expect is None:
        return None
    if not expect.entries:
        reader.add("wrong-form", f"the scenario {name} expects nothing", fields["expect"][0], fix="say what it expects")
    for key, value in expect.entries:
        if key.text not in EXPECTATIONS:
            nearest = nearest_words(key.text, sorted(EXPECTATIONS), limit=1)
            fix = None if nearest else f"known are {', '.join(sorted(EXPECTATIONS))}"
            reader.add("unknown-key", f"there is no expectation {key.text!r}", key, nearest=nearest, fix=fix)
        else:
            _check_names(key.text, value, rulebook, knowledge, reader)
    strength = reader.word(fields, "strength", STRENGTHS) or "must"
    return Scenario(
        name, says, plain(given), plain(expect), place_of(fields["id"][1]), strength, reader.text(fields, "guide")
    )


def _mapping(fields: Fields, key: str, reader: Reader) -> MappingNode | None:
    node = fields[key][1]
    if isinstance(node, MappingNode):
        return node
    reader.add("wrong-form", f"`{key}` is {kind_of(node)}", node, fix="write {name: value}")
    return None


def _check_names(key: str, node: Node, rulebook: Rulebook, knowledge: Knowledge, reader: Reader) -> None:
    """Rules and accelerators that an expectation names have to exist."""
    value = plain(node)
    ids = {rule.id for rule in rulebook.rules} | {table.id for table in rulebook.tables}
    for name in rules_in(key, value):
        if name not in ids:
            nearest = nearest_words(name, sorted(ids), limit=1)
            reader.add("unknown-rule", f"there is no rule {name!r}", node, nearest=nearest)
    for name in accelerators_in(key, value):
        match = knowledge.find_gpu(name)
        if not match.found:
            reader.add("unknown-gpu", f"no GPU is called {name!r}", node, nearest=match.nearest)
