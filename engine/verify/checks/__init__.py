"""All checks over a rulebook, one module each."""

from engine.verify.checks import always_true
from engine.verify.checks import conflicting_sets
from engine.verify.checks import dead_source
from engine.verify.checks import draft
from engine.verify.checks import duplicate_rule
from engine.verify.checks import expired
from engine.verify.checks import incomplete_table
from engine.verify.checks import missing_encodes
from engine.verify.checks import missing_near_miss
from engine.verify.checks import missing_source
from engine.verify.checks import missing_tests
from engine.verify.checks import never_read
from engine.verify.checks import never_set
from engine.verify.checks import shadowed_row
from engine.verify.checks import unreachable_rule
from engine.verify.finding import Check


#: Every check, sorted by id.
ALL_CHECKS: tuple[Check, ...] = (
    always_true.CHECK,
    conflicting_sets.CHECK,
    dead_source.CHECK,
    draft.CHECK,
    duplicate_rule.CHECK,
    expired.CHECK,
    incomplete_table.CHECK,
    missing_encodes.CHECK,
    missing_near_miss.CHECK,
    missing_source.CHECK,
    missing_tests.CHECK,
    never_read.CHECK,
    never_set.CHECK,
    shadowed_row.CHECK,
    unreachable_rule.CHECK,
)

__all__ = ["ALL_CHECKS"]
