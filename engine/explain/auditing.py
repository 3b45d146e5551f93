"""Whether a saved decision holds: intact, complete, reproducible, and rightly silent about what was not asked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.advisor import Advisor, Record
from whichgpu.engine.core import InputError, canonical_json
from whichgpu.engine.explain.comparing import compare
from whichgpu.engine.explain.evidence import gather, loose_ends
from whichgpu.engine.explain.rerun import decide_again, recorded_facts
from whichgpu.engine.interview import check_certificate


CheckName = Literal["intact", "complete", "reproducible", "certificate"]

#: Which engine fired the rules, and under which version, does not belong to what was decided.
NOT_COMPARED = ("fired_by", "engine_version", "interview")
SAMPLES = 50
#: The completions that an audit draws are the same each time, so that two audits of one record agree.
_SEED = 20260601


class Check(Struct, frozen=True):
    """One question of an audit. ``holds`` is None where the question does not arise."""

    name: CheckName
    holds: bool | None
    says: str
    findings: tuple[str, ...] = ()


def audit(record: Record, text: str, advisor: Advisor, *, samples: int = SAMPLES) -> tuple[Check, ...]:
    """Audit a record.

    Args:
        record: whose decision has the shape of the contract.
        text: the text of its file, which must be the record's own spelling to the byte.
        advisor: the rulebook and knowledge to decide by again.
        samples: how many completions of unasked facts to decide.
    """
    return (
        check_intact(record, text),
        check_complete(record.decision),
        check_reproducible(record.decision, advisor),
        check_silence(record.decision, advisor, samples),
    )


def check_intact(record: Record, text: str) -> Check:
    """Whether the file is what was saved, to the byte."""
    findings = []
    try:
        if not record.intact:
            findings.append("the SHA-256 of the decision is not the one in the record: the decision was changed")
        if record.to_json() != text:
            findings.append("the file is not spelt as it was saved: bytes were changed outside the decision's digest")
    except (ValueError, TypeError) as error:
        findings.append(f"the decision has no canonical form: {error}")
    says = "the digest and every byte are as saved" if not findings else "this is not what was saved"
    return Check("intact", not findings, says, tuple(findings))


def check_complete(decision: Mapping[str, Any]) -> Check:
    """Whether every figure, point, advice and rejection traces to an input or a source."""
    found = loose_ends(gather(decision))
    amount = len(decision["trace"])
    says = f"everything traces to an input or a source, over {amount} trace entries"
    return Check("complete", not found, says if not found else f"{len(found)} loose ends", tuple(found))


def check_reproducible(decision: Mapping[str, Any], advisor: Advisor) -> Check:
    """Whether the present rulebook and knowledge decide the same, byte for byte."""
    try:
        again = decide_again(decision, advisor).to_dict(trade_offs="trade_offs" in decision)
    except InputError as error:
        return Check("reproducible", False, "the recorded facts are not taken any more", tuple(str(error).split("\n")))
    if canonical_json(compared(decision)) == canonical_json(compared(again)):
        return Check("reproducible", True, "deciding again by this rulebook and knowledge gives the same bytes")
    found = compare(decision, again)
    changed = tuple(f"{cause.what}: {cause.says}" for cause in found.causes)
    changed += tuple(f"{change.what}: {change.before} became {change.after}" for change in found.answer)
    parts = sorted(key for key in {*compared(decision), *compared(again)} if decision.get(key) != again.get(key))
    findings = changed or (f"these parts differ: {', '.join(parts)}",)
    return Check("reproducible", False, "deciding again gives another decision; replay shows all of it", findings)


def compared(decision: Mapping[str, Any]) -> dict[str, Any]:
    """The decision without what does not belong to it."""
    head = {key: value for key, value in decision.items() if key not in NOT_COMPARED}
    head["rulebook"] = {key: value for key, value in head["rulebook"].items() if key != "version"}
    return head


def check_silence(decision: Mapping[str, Any], advisor: Advisor, samples: int) -> Check:
    """Whether what an interview did not ask can indeed not matter, by sampling."""
    interview = decision.get("interview")
    if interview is None:
        return Check("certificate", None, "no interview, so nothing was left unasked on purpose")
    unasked = [entry["fact"] for entry in interview["unasked"]]
    unknown = [name for name in unasked if name not in advisor.vocabulary.facts]
    if unknown:
        findings = tuple(f"{name} is no fact of this vocabulary" for name in unknown)
        return Check("certificate", False, "it names facts that do not exist", findings)
    try:
        found = check_certificate(
            advisor,
            recorded_facts(decision, advisor),
            unasked,
            samples=samples,
            chance=random.Random(_SEED),  # noqa: S311 - a sample, not a secret.
            decided_at=datetime.fromisoformat(decision["decided_at"]),
        )
    except InputError as error:
        return Check("certificate", False, "the recorded facts are not taken any more", tuple(str(error).split("\n")))
    findings = tuple(f"with {dict(example.completion)} the answer is {example.answer}" for example in found)
    if findings:
        says = f"{len(findings)} of {samples} ways to fill in the rest answer otherwise"
        return Check("certificate", False, says, findings)
    says = f"{samples} ways to fill in the {len(unasked)} facts that were not asked all give the same answer"
    return Check("certificate", True, says)
