"""All checks over a rulebook, one module each."""

from engine.authoring.lint.checks import always_overridden
from engine.authoring.lint.checks import always_true
from engine.authoring.lint.checks import bad_silence
from engine.authoring.lint.checks import conflicting_sets
from engine.authoring.lint.checks import contradicting_preference
from engine.authoring.lint.checks import cyclic_derivation
from engine.authoring.lint.checks import dead_source
from engine.authoring.lint.checks import draft
from engine.authoring.lint.checks import duplicate_rule
from engine.authoring.lint.checks import evidence_twice
from engine.authoring.lint.checks import expired
from engine.authoring.lint.checks import heuristic_threshold
from engine.authoring.lint.checks import incomplete_table
from engine.authoring.lint.checks import knowledge_number
from engine.authoring.lint.checks import missing_encodes
from engine.authoring.lint.checks import missing_near_miss
from engine.authoring.lint.checks import missing_source
from engine.authoring.lint.checks import missing_tests
from engine.authoring.lint.checks import never_read
from engine.authoring.lint.checks import never_set
from engine.authoring.lint.checks import open_table
from engine.authoring.lint.checks import overlapping_rows
from engine.authoring.lint.checks import shadowed_row
from engine.authoring.lint.checks import subsumed_rule
from engine.authoring.lint.checks import unbound_band
from engine.authoring.lint.checks import unneeded_question
from engine.authoring.lint.checks import unreachable_rule
from engine.authoring.lint.checks import untyped_claim
from engine.authoring.lint.finding import Check


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
