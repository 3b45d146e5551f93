"""Whether all evaluators agree on the shipped rulebook: ``evaluators_agree.py [--sets 1000000] [--durable 50000]``.

Random fact sets lean on what the rules compare facts with: the constants themselves, values beside them, everything a
fact may be, and unknown. Each set goes through the oracle of the tests (a plain walk over every condition), the
generated evaluator's scalar form and its form over columns; some also through durable-rules. On some sets the three
values of every rule are compared too, and not only the matches.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


ROOT = Path(__file__).parents[1]
if find_spec("whichgpu") is None:
    sys.path.append(str(ROOT))

import numpy as np

from whichgpu.engine.core import FactTable, Value, locate
from whichgpu.engine.rules import FactDef, Level, Rule, Vocabulary, constants, facts_read, is_local, leaves
from whichgpu.engine.rules.facts import load_vocabulary
from whichgpu.engine.rules.inference.differences import gathering_differences
from whichgpu.engine.rules.inference.firing import confirm
from whichgpu.engine.rules.language.tree import Const, Expr, Has
from whichgpu.engine.rules.rulebook import load_rulebook


CARDS, ROWS = 12, 50


def main() -> None:
    """Compare, and print how many of what were the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1_000_000, help="fact sets")
    parser.add_argument("--durable", type=int, default=50_000, help="of these also through durable-rules")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started, counts = time.process_time(), Counter[str]()
    makers = Makers(options.seed)
    for done in range(0, options.sets, ROWS):
        counts.update(makers.compare(durable=done < options.durable, outcomes=done % (ROWS * 40) == 0))
    print("\n".join(f"{count:>14,} {what}" for what, count in counts.items()))
    print(f"seed {options.seed}, {time.process_time() - started:.0f} s of CPU time")
    sys.exit(bool(sum(count for what, count in counts.items() if what.startswith("DIFFER"))))


class Makers:
    """Random facts for the shipped rules, and the evaluators that are to agree on them."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.oracle = _oracle()
        vocabulary = load_vocabulary(locate("knowledge"))
        self.rules: tuple[Rule, ...] = load_rulebook([locate("rules")], vocabulary, tests=False).rules
        self.level = Level(self.rules)
        conditions = [condition.expr for rule in self.rules for condition in rule.when]
        named: dict[str, set[Value]] = {}
        for name in sorted({name for expr in conditions for name in facts_read(expr)}):
            named[name] = set()
        for expr in conditions:
            for name, value in [*constants(expr), *_items(expr), *_beside(expr)]:
                named[name].add(value)
        self.values = {name: _values(name, found, vocabulary) for name, found in named.items()}

    def compare(self, *, durable: bool, outcomes: bool) -> Counter[str]:
        """Judge one workload and some plans, and count what was the same and what not."""
        missing = self.dice.choice([0.0, 0.1, 0.5])
        shared = self._draw([name for name in self.values if not is_local(name)], missing)
        of_cards = [name for name in self.values if name.startswith("gpu.")]
        of_plans = [name for name in self.values if is_local(name) and not name.startswith("gpu.")]
        cards = [self._draw(of_cards, missing) for _ in range(CARDS)]
        plans = [self._draw(of_plans, missing) for _ in range(ROWS)]
        which = [self.dice.randrange(CARDS) for _ in plans]
        fact_sets = [{**cards[card], **plan} for card, plan in zip(which, plans, strict=True)]
        table = FactTable.of(plans).sharing(FactTable.of(cards), np.array(which, np.intp))
        expected = self.oracle.matches(self.rules, fact_sets, shared)
        columns = self.level.evaluate_table(shared, table)
        cases = [self.level.evaluate(shared, [facts]) for facts in fact_sets]
        counts = Counter[str]({"fact sets": ROWS, "matches": sum(map(len, expected))})
        counts["DIFFER: columns"] += columns.matches != expected
        counts["DIFFER: scalar"] += [case.matches[0] for case in cases] != expected
        if outcomes:
            for row, facts in enumerate(fact_sets):
                whole = {**shared, **facts}
                right = {rule.id: self.oracle.outcome(rule, whole) for rule in self.rules}
                counts["three-valued outcomes"] += len(right)
                counts["of them undecided"] += sum(value is None for value in right.values())
                counts["DIFFER: outcomes of columns"] += columns.outcomes(row) != right
                counts["DIFFER: outcomes of scalar"] += cases[row].outcomes() != right
        if durable:
            with gathering_differences() as differences:
                fired_by = confirm(self.level, columns, range(ROWS))
            counts[f"fact sets also fired by {fired_by}"] += ROWS
            counts["DIFFER: durable"] += len(differences)
        return counts

    def _draw(self, names: Sequence[str], missing: float) -> dict[str, Value]:
        return {name: self.dice.choice(self.values[name]) for name in names if self.dice.random() >= missing}


def _items(expr: Expr) -> list[tuple[str, Value]]:
    return [(part.fact.name, part.item) for part in leaves(expr) if isinstance(part, Has)]


def _beside(expr: Expr) -> list[tuple[str, Value]]:
    """Every number of a condition for every fact that it reads: sums and products come near their limits."""
    text = [part.value for part in _nodes(expr) if isinstance(part, Const)]
    return [(name, value) for name in facts_read(expr) for value in text if not isinstance(value, str)]


def _nodes(expr: object) -> list[object]:
    parts = [getattr(expr, name) for name in getattr(expr, "__struct_fields__", ())]
    flat = [item for part in parts for item in (part if isinstance(part, tuple) else (part,))]
    return [expr, *(node for part in flat for node in _nodes(part))]


def _values(name: str, named: set[Value], vocabulary: Vocabulary) -> list[Value]:
    fact: FactDef | None = vocabulary.fact(name)
    kind = fact.type if fact else "text"
    if kind == "bool":
        return [True, False]
    if kind in ("int", "number"):
        numbers = {float(value) for value in named if isinstance(value, int | float)} | {0.0, 1.0, 1e9}
        near = sorted(numbers | {value * factor for value in numbers for factor in (0.5, 0.999, 1.001, 3.0)})
        return [int(value) for value in near] if kind == "int" else [*near]
    words = sorted(
        {value for value in named if isinstance(value, str)} | set((fact and fact.choices) or ()) | {"another"}
    )
    if kind != "list":
        return [*words]
    items = [*words, *(value for value in named if isinstance(value, int))]
    return [(), *((item,) for item in items), tuple(items)]


def _oracle() -> ModuleType:
    path = ROOT / "tests" / "engine" / "rules" / "inference" / "oracle.py"
    spec = importlib.util.spec_from_file_location("oracle", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = sys.modules["oracle"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
