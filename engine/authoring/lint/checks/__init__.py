"""All checks over a rulebook, one module each."""

from whichgpu.engine.authoring.lint.checks import always_overridden
from whichgpu.engine.authoring.lint.checks import always_true
from whichgpu.engine.authoring.lint.checks import bad_silence
from whichgpu.engine.authoring.lint.checks import conflicting_sets
from whichgpu.engine.authoring.lint.checks import contradicting_preference
from whichgpu.engine.authoring.lint.checks import cyclic_derivation
from whichgpu.engine.authoring.lint.checks import dead_source
from whichgpu.engine.authoring.lint.checks import draft
from whichgpu.engine.authoring.lint.checks import duplicate_rule
from whichgpu.engine.authoring.lint.checks import evidence_twice
from whichgpu.engine.authoring.lint.checks import expired
from whichgpu.engine.authoring.lint.checks import heuristic_threshold
from whichgpu.engine.authoring.lint.checks import incomplete_table
from whichgpu.engine.authoring.lint.checks import knowledge_number
from whichgpu.engine.authoring.lint.checks import missing_encodes
from whichgpu.engine.authoring.lint.checks import missing_near_miss
from whichgpu.engine.authoring.lint.checks import missing_source
from whichgpu.engine.authoring.lint.checks import missing_tests
from whichgpu.engine.authoring.lint.checks import never_read
from whichgpu.engine.authoring.lint.checks import never_set
from whichgpu.engine.authoring.lint.checks import open_table
from whichgpu.engine.authoring.lint.checks import overlapping_rows
from whichgpu.engine.authoring.lint.checks import shadowed_row
from whichgpu.engine.authoring.lint.checks import subsumed_rule
from whichgpu.engine.authoring.lint.checks import unbound_band
from whichgpu.engine.authoring.lint.checks import unneeded_question
from whichgpu.engine.authoring.lint.checks import unreachable_rule
from whichgpu.engine.authoring.lint.checks import untyped_claim
from whichgpu.engine.authoring.lint.finding import Check


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
