"""All checks over a rulebook, one module each."""

from engine.verify.checks import always_overridden
from engine.verify.checks import always_true
from engine.verify.checks import bad_silence
from engine.verify.checks import conflicting_sets
from engine.verify.checks import contradicting_preference
from engine.verify.checks import cyclic_derivation
from engine.verify.checks import dead_source
from engine.verify.checks import draft
from engine.verify.checks import duplicate_rule
from engine.verify.checks import evidence_twice
from engine.verify.checks import expired
from engine.verify.checks import heuristic_threshold
from engine.verify.checks import incomplete_table
from engine.verify.checks import knowledge_number
from engine.verify.checks import missing_encodes
from engine.verify.checks import missing_near_miss
from engine.verify.checks import missing_source
from engine.verify.checks import missing_tests
from engine.verify.checks import never_read
from engine.verify.checks import never_set
from engine.verify.checks import open_table
from engine.verify.checks import overlapping_rows
from engine.verify.checks import shadowed_row
from engine.verify.checks import subsumed_rule
from engine.verify.checks import unbound_band
from engine.verify.checks import unneeded_question
from engine.verify.checks import unreachable_rule
from engine.verify.checks import untyped_claim
from engine.verify.finding import Check


#: Every check, sorted by id.
ALL_CHECKS: tuple[Check, ...] = (
    always_overridden.CHECK,
    always_true.CHECK,
    bad_silence.CHECK,
    conflicting_sets.CHECK,
    contradicting_preference.CHECK,
    cyclic_derivation.CHECK,
    dead_source.CHECK,
    draft.CHECK,
    duplicate_rule.CHECK,
    evidence_twice.CHECK,
    expired.CHECK,
    heuristic_threshold.CHECK,
    incomplete_table.CHECK,
    knowledge_number.CHECK,
    missing_encodes.CHECK,
    missing_near_miss.CHECK,
    missing_source.CHECK,
    missing_tests.CHECK,
    never_read.CHECK,
    never_set.CHECK,
    open_table.CHECK,
    overlapping_rows.CHECK,
    shadowed_row.CHECK,
    subsumed_rule.CHECK,
    unbound_band.CHECK,
    unneeded_question.CHECK,
    unreachable_rule.CHECK,
    untyped_claim.CHECK,
)

__all__ = ["ALL_CHECKS"]
