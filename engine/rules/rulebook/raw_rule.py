"""A rule on its way from the file: the nodes gathered from rule, or from table and row, before they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field

from whichgpu.engine.core.errors import Place
from whichgpu.engine.core.yaml import Node
from whichgpu.engine.core.yaml import Scalar
from whichgpu.engine.core.yaml import place_of
from whichgpu.engine.rules.facts import FactDef
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.model import Condition
from whichgpu.engine.rules.rulebook.model import Each
from whichgpu.engine.rules.rulebook.model import HitPolicy
from whichgpu.engine.rules.rulebook.model import Known
from whichgpu.engine.rules.rulebook.model import Stage
from whichgpu.engine.rules.rulebook.reading import Fields
from whichgpu.engine.rules.rulebook.reading import Problems


@dataclass(slots=True)
class Draft:
    """What a rule is made of. ``fields`` and ``then`` hold the row's nodes over the table's."""

    id: str
    place: Place
    title: str
    stage: Stage
    each: Each
    when: tuple[Condition, ...]
    fields: Fields
    then: Fields | None  # None where it cannot be read
    then_node: Node
    topic: str
    table: str | None = None
    row: int = 0
    hit: HitPolicy = "collect"


@dataclass(frozen=True, slots=True)
class Removal:
    """A rule or table of a layer below that is disabled, or replaced ``by`` another."""

    name: Scalar
    because: str
    by: str | None = None


@dataclass(slots=True)
class Context:
    """What all readers share: the vocabulary, outside names, and what was found so far."""

    vocabulary: Vocabulary
    known: Known
    tests: bool = True  # whether the tests inside rules are read
    problems: Problems = field(default_factory=Problems)
    places: dict[str, list[Place]] = field(default_factory=dict)  # rule and table ids -> where they stand
    overrides: list[tuple[str, Scalar]] = field(default_factory=list)  # rule -> name it overrides, as written
    removals: list[Removal] = field(default_factory=list)  # what the layer being read takes from those below
    layer: str = ""  # the layer being read

    def claim(self, name: str, node: Node) -> None:
        """Note that ``name`` is defined at ``node``; a second definition is a problem that names both places."""
        place = place_of(node)
        seen = self.places.setdefault(name, [])
        if seen:
            self.problems.add(
                "duplicate-id",
                f"{name!r} is defined twice, first at {seen[0]}",
                node,
                fix="give one of them another id",
            )
        seen.append(place)

    def fact(self, node: Scalar, what: str) -> FactDef | None:
        """The fact that is named at ``node``."""
        asked = node.text.strip()
        found = self.vocabulary.fact(asked)
        if found is None:
            nearest = self.vocabulary.nearest(asked, limit=1)
            fix = None if nearest else "use a fact of the vocabulary, or define it there"
            self.problems.add(
                "unknown-fact", f"{what} names {asked!r}, which is no fact", node, nearest=nearest, fix=fix, fact=asked
            )
        return found
