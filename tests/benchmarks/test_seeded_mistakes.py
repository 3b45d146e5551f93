"""The mistakes that ``benchmarks/seeded_mistakes`` makes: each changes the rule or the entry that it is made in."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from whichgpu import load_advisor
from whichgpu.engine.core import RulebookError, locate, plain, read_yaml


sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from seeded_mistakes import (
    counterparts,
    foreseen_kinds,
    hasty_edits,
    impossible_demands,
    limits_and_branches,
    names_and_amounts,
    units_and_negations,
)
from seeded_mistakes.loaded_rules import seeded_in_rules
from seeded_mistakes.rule_files import name_of, without_tests


LISTS = (counterparts, hasty_edits, impossible_demands, limits_and_branches, names_and_amounts, units_and_negations)
ENTRIES = [
    entry for path in sorted(locate("rules").glob("*.yaml")) for entry in plain(read_yaml(path, error=RulebookError))
]


def test_a_hundred_mistakes_of_every_foreseen_kind_change_their_rule() -> None:
    advisor = load_advisor()
    made = list(foreseen_kinds.mistakes(advisor, seed=17, each=4))
    assert len(made) >= 100
    assert {*foreseen_kinds.KINDS} <= {kind for kind, _, _ in made}
    for kind, where, instead in made:
        assert any(new != (advisor.rules[name],) for name, new in instead.items()), (kind, where)


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.__name__.rpartition(".")[2])
def test_slips_change_the_entries_that_they_find_a_place_in(each: Any) -> None:
    placed = 0
    for kind in each.KINDS:
        for entry in ENTRIES:
            slipped = deepcopy(entry)
            if kind.slip(slipped):
                assert without_tests(slipped) != without_tests(entry), (kind.name, name_of(entry))
                placed += 1
                break
    assert placed > 0.8 * len(each.KINDS)


def test_a_source_taken_away_is_found_and_an_untouched_rulebook_has_nothing_to_find() -> None:
    advisor = load_advisor()
    rule = advisor.rulebook.rules[0]
    without = {rule.id: (replace(rule, sources=()),)}
    tried = seeded_in_rules(advisor, [("nothing", rule.id, {}), ("no source", rule.id, without)])
    assert [mistake.found[0].by for mistake in tried] == [None, "missing-source"]
