"""Rulebooks made at random over small domains, sound ones or with a planted defect, and a judge by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from whichgpu.engine.rules.facts import Code, FactDef, Vocabulary
from whichgpu.engine.rules.language.compiling import compile_expr
from whichgpu.engine.rules.rulebook import Rulebook, load_rules_text
from whichgpu.engine.rules.rulebook.effects import Points, SetFact
from whichgpu.engine.rules.rulebook.model import Rule
from whichgpu.engine.rules.rulebook.resolve import overriders


TASKS = ("train", "tune", "serve")
CODES = tuple(f"A-{letter}" for letter in "ABCDEFGHIJKL")
REASONS = ("fit", "speed", "latency", "cost", "ecosystem", "reliability")
LIMITS = (2, 5, 8)

VOCABULARY = Vocabulary(
    {
        fact.name: fact
        for fact in (
            FactDef(name="task", type="enum", choices=TASKS),
            FactDef(name="urgent", type="bool"),
            FactDef(name="size", type="number", min=0, max=10),
            FactDef(name="hours", type="number", min=0, max=10),
            FactDef(name="cards", type="int", min=1, max=6),
            FactDef(name="kind", type="enum", choices=("a", "b", "c"), role="derived"),
            FactDef(name="tier", type="enum", choices=("low", "middle", "high"), role="derived"),
        )
    },
    {code: Code(code=code, meaning="x") for code in CODES},
)

#: One value of every class that the constants distinguish, and absence. Sound for comparisons of facts with facts too:
#: each pair of classes of ``size`` and ``hours`` holds values in every order that it can have.
GRID: dict[str, tuple[Any, ...]] = {
    "task": (None, *TASKS),
    "urgent": (None, False, True),
    "size": (None, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "hours": (None, 3, 7),
    "cards": (None, 1, 2, 3, 4, 5, 6),
}
POINTS = [
    {name: value for name, value in zip(GRID, values, strict=True) if value is not None}
    for values in product(*GRID.values())
]


@dataclass(slots=True)
class Draft:
    """A rulebook as it is being made: entries as text, by id."""

    entries: dict[str, str] = field(default_factory=dict)
    planted: tuple[str, str] | None = None  # the check that has to find it, and the rule or table it is about

    @property
    def text(self) -> str:
        """The rule file."""
        return "".join(self.entries.values())

    def load(self) -> Rulebook:
        """The rulebook."""
        return load_rules_text(self.text, VOCABULARY)


def rule(name: str, stage: str, when: list[str], then: str, more: str = "") -> str:
    """One rule as text."""
    each = "plan" if stage in ("reject", "prefer") else "workload"
    lines = "".join(f"    - {line}\n" for line in when) or "    - task is known or task is unknown\n"
    head = f"- id: {name}\n  title: T\n  stage: {stage}\n  each: {each}\n"
    return f"{head}  when:\n{lines}  then: {then}\n  because: B.\n{more}"


def split(chance: random.Random, depth: int, free: tuple[str, ...]) -> list[list[str]]:
    """Conditions that divide all known values of some facts between them."""
    if not depth or not free:
        return [[]]
    fact = chance.choice(free)
    rest = tuple(name for name in free if name != fact)
    if fact == "task":
        one, *others = chance.sample(TASKS, 3)
        sides = [f"task == {one}", f"task in [{', '.join(others)}]"]
    elif fact == "urgent":
        sides = ["urgent", "not urgent"]
    elif fact == "cards":
        limit = chance.randint(2, 5)
        sides = [f"cards < {limit}", f"cards >= {limit}"]
    else:
        low, high = sorted(chance.sample(LIMITS, 2))
        sides = chance.choice(
            (
                [f"{fact} <= {low}", f"{fact} > {low}"],
                [f"{fact} < {low}", f"{fact} >= {low} and {fact} < {high}", f"{fact} >= {high}"],
            )
        )
    return [[side, *deeper] for side in sides for deeper in split(chance, depth - 1, rest)]


def cells(chance: random.Random) -> list[list[str]]:
    """Rows of cells for the columns ``size`` and ``task`` that divide everything between them."""
    low, high = sorted(chance.sample(LIMITS, 2))
    one, *others = chance.sample(TASKS, 3)
    bands = chance.choice(([f"'< {low}'", f"'>= {low}'"], [f"'<= {low}'", f"'> {low} and <= {high}'", f"'> {high}'"]))
    return [[band, task] for band in bands for task in (one, f"[{', '.join(others)}]")]


def table(rows: list[list[str]], values: list[str], *, complete: bool = True) -> str:
    """A ``first`` table as text."""
    lines = "".join(
        f"    - {{id: r{at}, if: [{', '.join(row)}], then: {{set: {{tier: {value}}}}}}}\n"
        for at, (row, value) in enumerate(zip(rows, values, strict=True))
    )
    flag = "true" if complete else "false"
    return (
        f"- table: tiers\n  title: T\n  stage: derive\n  hit: first\n  complete: {flag}\n"
        f"  columns: [size, task]\n  because: B.\n  rows:\n{lines}"
    )


def some_conditions(chance: random.Random) -> list[str]:
    """Conditions on some facts, at times with alternatives, derived facts, or a comparison of two facts."""
    found = [chance.choice(split(chance, chance.randint(1, 2), ("task", "urgent", "size", "cards")))]
    if chance.random() < 0.4:
        found.append([chance.choice(("kind == a", "kind in [b, c]", "tier != low", "tier in [low, high]"))])
    if chance.random() < 0.3:
        found.append(["any:\n        - cards == 3\n        - urgent\n        - size > 8"])
    if chance.random() < 0.25:
        found.append(["size > hours"])
    if chance.random() < 0.15:
        found.append(["hours is unknown"] if "size > hours" not in str(found) else ["hours is known"])
    return [line for part in found for line in part]


def sound_draft(chance: random.Random) -> Draft:
    """A rulebook without defects: conditions that divide, codes and reasons that no other rule gives."""
    draft = Draft()
    leaves = split(chance, 2, ("task", "urgent", "cards"))
    for at, when in enumerate(leaves):
        draft.entries[f"kind-{at}"] = rule(f"kind-{at}", "derive", when, f"{{set: {{kind: {'abc'[at % 3]}}}}}")
    rows = cells(chance)
    draft.entries["tiers"] = table(rows, [("low", "middle", "high")[at % 3] for at in range(len(rows))])
    for at in range(chance.randint(2, 4)):
        draft.entries[f"advise-{at}"] = rule(
            f"advise-{at}", "advise", some_conditions(chance), f"{{advise: {CODES[at]}}}"
        )
    for at in range(chance.randint(1, 3)):
        then = f"{{points: {chance.choice((1, 2, 4))}, reason: {REASONS[at]}}}"
        draft.entries[f"prefer-{at}"] = rule(f"prefer-{at}", "prefer", some_conditions(chance), then)
    if chance.random() < 0.5:
        draft.entries["reject-0"] = rule("reject-0", "reject", some_conditions(chance), "{reject: too small}")
    return draft


class Judge:
    """What is wrong with a rulebook, by trying every point of the grid."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.rulebook = rulebook
        self.rules = {entry.id: entry for entry in rulebook.rules}
        self.above = overriders(self.rules)
        self._tests = {
            name: [(bool(c.column), compile_expr(c.expr)) for c in entry.when] for name, entry in self.rules.items()
        }
        self.cases = list(self._cases())

    def matches(self, name: str, facts: dict[str, Any]) -> bool:
        return all(test(facts) is True for _, test in self._tests[name])

    def fires(self, name: str, matched: set[str]) -> bool:
        entry = self.rules[name]
        if name not in matched or any(other in matched for other in self.above.get(name, ())):
            return False
        rows = (self.rules[other] for other in matched)
        return not any(r.table and r.table == entry.table and r.hit == "first" and r.row < entry.row for r in rows)

    def _cases(self) -> Iterator[tuple[dict[str, Any], set[str], set[str]]]:
        """Facts with all that is derived, the rules that match, and those that fire."""
        derive = [entry for entry in self.rulebook.rules if entry.stage == "derive"]
        for point in POINTS:
            matched = {entry.id for entry in derive if self.matches(entry.id, point)}
            derived: dict[str, Any] = {}
            for entry in derive:
                if self.fires(entry.id, matched):
                    derived |= {e.fact: e.expr.value for e in entry.effects if isinstance(e, SetFact)}  # type: ignore[union-attr]
            open_facts = [name for name in ("kind", "tier") if name not in derived]
            for stated in product(*((None, *VOCABULARY.facts[name].choices) for name in open_facts)):
                given = {name: value for name, value in zip(open_facts, stated, strict=True) if value is not None}
                facts = {**point, **derived, **given}
                all_matched = {name for name in self.rules if self.matches(name, facts)}
                yield facts, all_matched, {name for name in all_matched if self.fires(name, all_matched)}

    def defects(self) -> set[tuple[str, str]]:
        """Every defect as check and rule."""
        found: set[tuple[str, str]] = set()
        matching = {name: [matched for _, matched, _ in self.cases if name in matched] for name in self.rules}
        firing = {name: [fired for _, _, fired in self.cases if name in fired] for name in self.rules}
        for name, entry in self.rules.items():
            if not matching[name]:
                found.add(("unreachable-rule", name))
                continue
            if not firing[name]:
                found.add(("shadowed-row" if entry.hit == "first" else "always-overridden", name))
                continue
            if len(matching[name]) == len(self.cases) and not entry.table:
                found.add(("always-true", name))
            found |= set(self._beside(entry, firing))
        return found | set(self._gaps()) | set(self._idle_conditions())

    def _beside(self, entry: Rule, firing: dict[str, list[set[str]]]) -> Iterator[tuple[str, str]]:
        """Defects that a rule has together with others."""
        mine = firing[entry.id]
        rejects = {other.id for other in self.rulebook.rules if other.stage == "reject"}
        if entry.stage == "prefer" and rejects and all(fired & rejects for fired in mine):
            yield "contradicting-preference", entry.id
        for other in self.rulebook.rules:
            if other.id == entry.id or (other.stage, other.each) != (entry.stage, entry.each):
                continue
            always = all(other.id in fired for fired in mine)
            if always and (other.effects == entry.effects or _stronger(other, entry)):
                same = all(entry.id in fired for fired in firing[other.id])
                if not same or entry.id > other.id:
                    yield "subsumed-rule", entry.id
            if other.id < entry.id and _clash(entry, other) and any(other.id in fired for fired in mine):
                yield "conflicting-sets", entry.id

    def _gaps(self) -> Iterator[tuple[str, str]]:
        for made in self.rulebook.tables:
            if not made.complete:
                continue
            for facts, _, _ in self.cases:
                if any(column not in facts for column in made.columns):
                    continue
                if not any(all(test(facts) is True for cell, test in self._tests[row] if cell) for row in made.rows):
                    yield "incomplete-table", made.id
                    break

    def _idle_conditions(self) -> Iterator[tuple[str, str]]:
        """Conditions that no known value fails."""
        for entry in self.rulebook.rules:
            for condition in entry.when:
                test = compile_expr(condition.expr)
                if "known" not in condition.text and all(test(facts) is not False for facts, _, _ in self.cases):
                    yield "always-true", entry.id


def _clash(one: Rule, two: Rule) -> bool:
    sets = {e.fact: e.expr for e in one.effects if isinstance(e, SetFact)}
    return any(isinstance(e, SetFact) and e.fact in sets and sets[e.fact] != e.expr for e in two.effects)


def _stronger(one: Rule, two: Rule) -> bool:
    mine = [e for e in one.effects if isinstance(e, Points)]
    theirs = [e for e in two.effects if isinstance(e, Points)]
    return bool(mine and theirs) and mine[0].reason == theirs[0].reason and mine[0].points >= theirs[0].points > 0


def plant_unreachable(draft: Draft, chance: random.Random) -> None:
    """A rule whose conditions exclude each other, at times only through a derived fact or whole numbers."""
    when = chance.choice(
        (
            ["size > 5", "size < 2"],
            ["cards > 3", "cards < 4"],
            ["task == train", "task in [tune, serve]"],
            ["urgent", "any:\n        - not urgent and size > 2\n        - task == tune and task == serve"],
            ["size > hours", "hours >= size"],
            ["hours is unknown", "hours > 5"],
        )
    )
    draft.entries["advise-0"] = rule("advise-0", "advise", [*when, *_harmless(chance, when)], f"{{advise: {CODES[0]}}}")
    draft.planted = ("unreachable-rule", "advise-0")


def _harmless(chance: random.Random, when: list[str]) -> list[str]:
    more = ("tier != low", "kind is known", "hours >= 2", "size is known")
    return [line for line in more if chance.random() < 0.3 and line.split()[0] not in " ".join(when)]


def plant_behind_derived(draft: Draft, chance: random.Random) -> None:
    """A rule that asks for a tier which its own size never has."""
    limit = chance.choice(LIMITS)
    rows = [[f"'< {limit}'", "'-'"], [f"'>= {limit}'", "'-'"]]
    draft.entries["tiers"] = table(rows, ["low", "high"])
    wanted = chance.choice((f"size < {limit}", f"size >= {limit}"))
    tier = "high" if "<" in wanted else "low"
    when = [wanted, "task is known", f"tier == {tier}"]
    draft.entries["advise-0"] = rule("advise-0", "advise", when, f"{{advise: {CODES[0]}}}")
    draft.planted = ("unreachable-rule", "advise-0")


def plant_shadow(draft: Draft, chance: random.Random) -> None:
    """A last row that the rows above take, one alone or several together."""
    rows = cells(chance)
    extra = chance.choice((["'-'", "train"], ["2..8", "'-'"], ["'> 5'", "tune"], ["'-'", "'-'"]))
    if extra == ["'-'", "'-'"]:  # Being unknown is left to it, so ask for known ones.
        extra = ["is known", "is known"]
    values = [("low", "middle", "high")[at % 3] for at in range(len(rows) + 1)]
    draft.entries["tiers"] = table([*rows, extra], values)
    draft.planted = ("shadowed-row", f"tiers/r{len(rows)}")


def plant_conflict(draft: Draft, chance: random.Random) -> None:
    """A rule that gives a kind that another rule contradicts somewhere."""
    first = next(text for name, text in draft.entries.items() if name == "kind-0")
    lines = first.split("  when:\n")[1].split("  then:")[0]
    extra = chance.choice(("size > 5", "size <= 2", "hours < 8", "size is known"))
    text = rule("kind-z", "derive", [extra], "{set: {kind: c}}").replace("  when:\n", f"  when:\n{lines}")
    draft.entries["kind-z"] = text
    draft.planted = ("conflicting-sets", "kind-z")


def plant_gap(draft: Draft, chance: random.Random) -> None:
    """A complete table that lacks a row."""
    rows = cells(chance)
    rows.pop(chance.randrange(len(rows)))
    draft.entries["tiers"] = table(rows, [("low", "middle", "high")[at % 3] for at in range(len(rows))])
    draft.planted = ("incomplete-table", "tiers")


def plant_subsumed(draft: Draft, chance: random.Random) -> None:
    """A narrower rule with the same advice."""
    when = split(chance, 1, ("task", "urgent", "cards"))[0]
    draft.entries["advise-0"] = rule("advise-0", "advise", when, f"{{advise: {CODES[0]}}}")
    narrow = [chance.choice(("size > 5", "hours <= 2", "tier == low", "size > hours")), *when]
    draft.entries["advise-y"] = rule("advise-y", "advise", narrow, f"{{advise: {CODES[0]}}}")
    draft.planted = ("subsumed-rule", "advise-y")


def plant_idle_condition(draft: Draft, chance: random.Random) -> None:
    """A condition that every value passes."""
    idle = chance.choice(
        ("size >= 0", "cards >= 1 and cards <= 6", "task in [train, tune, serve]", "urgent or not urgent")
    )
    free = tuple(name for name in ("task", "urgent", "cards") if name not in idle)
    when = [*split(chance, 1, free)[0], idle]
    draft.entries["advise-0"] = rule("advise-0", "advise", when, f"{{advise: {CODES[0]}}}")
    draft.planted = ("always-true", "advise-0")


def plant_override(draft: Draft, chance: random.Random) -> None:
    """A rule that one or two others override wherever it matches."""
    then = [f"{{advise: {code}}}" for code in CODES[6:9]]
    draft.entries["advise-v"] = rule("advise-v", "advise", ["size > 5", "urgent"], then[0])
    if chance.random() < 0.5:
        draft.entries["advise-w"] = rule("advise-w", "advise", ["size >= 5"], then[1], "  overrides: [advise-v]\n")
    else:
        more = "  overrides: [advise-v]\n"
        draft.entries["advise-w"] = rule("advise-w", "advise", ["size > 5", "size <= 8"], then[1], more)
        draft.entries["advise-x"] = rule("advise-x", "advise", ["size > 8", "urgent"], then[2], more)
    draft.planted = ("always-overridden", "advise-v")


def plant_vain_preference(draft: Draft, chance: random.Random) -> None:
    """Points for plans that are always rejected."""
    draft.entries["prefer-y"] = rule("prefer-y", "prefer", ["cards > 3", "task == train"], "{points: 2, reason: fit}")
    if chance.random() < 0.5:
        draft.entries["reject-1"] = rule("reject-1", "reject", ["cards >= 4"], "{reject: too many}")
    else:
        draft.entries["reject-1"] = rule("reject-1", "reject", ["cards in [4, 5]"], "{reject: too many}")
        draft.entries["reject-2"] = rule(
            "reject-2", "reject", ["cards == 6", "task != serve"], "{reject: far too many}"
        )
    draft.planted = ("contradicting-preference", "prefer-y")


PLANTERS: tuple[Callable[[Draft, random.Random], None], ...] = (
    plant_unreachable,
    plant_behind_derived,
    plant_shadow,
    plant_conflict,
    plant_gap,
    plant_subsumed,
    plant_idle_condition,
    plant_override,
    plant_vain_preference,
)


def sound_rulebook(seed: int) -> tuple[Rulebook, Judge]:
    """A rulebook that the judge finds nothing wrong with."""
    chance = random.Random(seed)
    while True:
        rulebook = sound_draft(chance).load()
        judge = Judge(rulebook)
        if not judge.defects():
            return rulebook, judge


def flawed_rulebook(seed: int) -> tuple[Rulebook, tuple[str, str], Judge]:
    """A rulebook with one planted defect, which the judge confirms, and what it is."""
    chance = random.Random(seed)
    planter = PLANTERS[seed % len(PLANTERS)]
    while True:
        draft = sound_draft(chance)
        planter(draft, chance)
        rulebook = draft.load()
        judge = Judge(rulebook)
        if draft.planted is not None and draft.planted in judge.defects():
            return rulebook, draft.planted, judge
