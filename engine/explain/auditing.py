"""Three verdicts on a saved decision: authentic, true as of its day, and whether it would be decided the same today.

Beside them: whether all that it says traces to an input or a source, and whether an interview was rightly silent about
what it did not ask.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.core import VERSION, InputError, canonical_json, json_value
from whichgpu.engine.explain.comparing import compare
from whichgpu.engine.explain.evidence import gather, ungrounded
from whichgpu.engine.interview import check_certificate
from whichgpu.engine.records import (
    NO_ARITHMETIC,
    DecidedAgain,
    Saved,
    check_arithmetic,
    decide_again,
    decide_from_folder,
    decide_from_slice,
    engine_digest,
    recorded_facts,
    sha256_of,
    source_revision,
    vocabulary_in,
)


CheckName = Literal["authentic", "complete", "true_then", "certificate", "same_today"]
Verdict = Literal["sound", "altered", "contradicted", "outdated", "incomplete", "unsigned"]

#: Which engine fired the rules, and under which version, does not belong to what was decided.
NOT_COMPARED = ("fired_by", "engine_version", "interview")
SAMPLES = 50
#: The completions that an audit draws are the same each time, so that two audits of one record agree.
_SEED = 20260601
#: Differences that a finding names.
_SHOWN = 6


class Check(Struct, frozen=True):
    """One question of an audit. ``holds`` is None where the question does not arise, or cannot be answered."""

    name: CheckName
    holds: bool | None
    says: str
    findings: tuple[str, ...] = ()


def audit(
    saved: Saved, advisor: Advisor, *, today: datetime, as_of: Path | None = None, samples: int = SAMPLES
) -> tuple[Check, ...]:
    """Audit a record.

    Args:
        saved: as it was read.
        advisor: the rulebook and knowledge of today.
        today: the moment that "today" means.
        as_of: a folder with ``rules`` and ``knowledge`` of the record's day, in place of what the record carries.
        samples: how many completions of unasked facts to decide.
    """
    complete = check_complete(saved)
    return (
        check_authentic(saved),
        complete,
        check_true_then(saved, advisor, as_of, arithmetic_holds=complete.holds is True),
        check_silence(saved.decision, advisor, samples),
        check_same_today(saved, advisor, today),
    )


def quick_checks(saved: Saved) -> tuple[Check, ...]:
    """What can be checked of a record without deciding anything again."""
    return check_authentic(saved), check_complete(saved)


def verdict_of(checks: tuple[Check, ...]) -> Verdict:
    """The one word for an audit: the gravest finding comes first."""
    found = {check.name: check.holds for check in checks}
    if found["authentic"] is False:
        return "altered"
    if found["true_then"] is False or found["certificate"] is False:
        return "contradicted"
    if found["complete"] is False or found["true_then"] is None:
        return "incomplete"
    if found["same_today"] is False:
        return "outdated"
    return "sound" if found["authentic"] else "unsigned"


def check_authentic(saved: Saved) -> Check:
    """Whether the file is what was saved, to the byte, and a key that is trusted vouches for it."""
    standing = saved.standing
    holds = {"signed": True, "altered": False}.get(standing.state)
    return Check("authentic", holds, standing.says, standing.findings)


def check_complete(saved: Saved) -> Check:
    """Whether every figure, point, advice and rejection traces to an input or a source, and its arithmetic holds."""
    decision = saved.decision
    found = ungrounded(gather(decision))
    says = f"everything traces to an input or a source, over {len(decision['trace']):,} trace entries"
    if saved.statement is not None:
        if "arithmetic" not in saved.statement and not found:
            return Check("complete", None, f"{says}; it states no arithmetic, as the first records of this form did")
        sums = check_arithmetic(decision, saved.statement.get("arithmetic", NO_ARITHMETIC), saved.plans)
        found += sums.faults
        says += f"; {sums.derived:,} figures were evaluated again down to inputs and {sums.constants:,} constants"
        says += f"; {sums.searched:,} counts and splits were found by trying"
        says += f"; {sums.in_words} figures end in a human statement ({_some(sums.words)})" if sums.words else ""
    return Check("complete", not found, says if not found else _loose(len(found)), tuple(found))


def _loose(ends: int) -> str:
    return "1 loose end" if ends == 1 else f"{ends:,} loose ends"


def _some(names: tuple[str, ...]) -> str:
    """The first names of many."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def check_true_then(
    saved: Saved, advisor: Advisor, as_of: Path | None = None, *, arithmetic_holds: bool = False
) -> Check:
    """Whether today's engine decides the same by the rules, knowledge and prices of the record's own day.

    Args:
        saved: as it was read.
        advisor: of today; its data is that of a record of the first form where the digests are the same.
        as_of: a folder with the data of that day, in place of what the record carries.
        arithmetic_holds: the record's own figures follow from each other.
    """
    try:
        again = _decided_then(saved, advisor, as_of)
    except InputError as error:
        unread = tuple(str(error).split("\n"))
        return _other_than_stated(saved, "cannot decide", "data of its day", unread, arithmetic_holds=arithmetic_holds)
    if again is None:
        says = "the record carries no rules and no prices, and today's are others; --as-of names those of its day"
        return Check("true_then", None, says)
    findings = _differences_then(saved, again, carried=as_of is None)
    by = (
        "that its --as-of names" if as_of else "that it carries" if saved.statement else "of its day, which are today's"
    )
    if not findings:
        return Check("true_then", True, f"deciding again by the rules, knowledge and prices {by} gives the same bytes")
    return _other_than_stated(
        saved, "decides otherwise", f"rules and prices {by}", findings, arithmetic_holds=arithmetic_holds
    )


def _other_than_stated(
    saved: Saved, does: str, data: str, findings: tuple[str, ...], *, arithmetic_holds: bool
) -> Check:
    """What it means that today's program does not come to what a record says: the same code is a contradiction.

    Where the code is another, a signature and arithmetic that holds speak for the record; nothing else does.
    """
    statement = saved.statement
    engine = statement["digests"]["engine"] if statement else None
    if engine == engine_digest():
        return Check("true_then", False, f"this program {does} by the {data}", findings)
    then, now = (f"{version} at revision {known[:12]}" if known else version for version, known in _programs(saved))
    if saved.standing.state == "signed" and engine is not None and arithmetic_holds:
        says = "the record is as it was signed and its figures, evaluated again, agree; the program's code is another"
        return Check("true_then", True, f"{says} ({then} then, {now} now) and {does} by the {data}", findings)
    says = f"today's program {does} by the {data}: it ({then} then, {now} now) or the record was changed"
    return Check("true_then", None, says, findings)


def _programs(saved: Saved) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """The version and the source revision, where it is known, of the program of a record and of today's."""
    then = saved.statement["revision"] if saved.statement else None
    return (str(saved.decision["engine_version"]), then), (VERSION, source_revision())


def _decided_then(saved: Saved, advisor: Advisor, as_of: Path | None) -> DecidedAgain | None:
    decision = saved.decision
    if as_of is not None:
        return decide_from_folder(decision, as_of)
    if saved.statement is not None:
        return decide_from_slice(decision, saved.statement["data"])
    now = {"rulebook": advisor.rulebook.digest, "knowledge": advisor.knowledge.digest}
    if any(decision[part]["digest"] != found for part, found in now.items()):
        return None
    answer = decide_again(decision, advisor).to_dict(trade_offs="trade_offs" in decision)
    return DecidedAgain(json_value(answer), [], {}, {})


def _differences_then(saved: Saved, again: DecidedAgain, *, carried: bool) -> tuple[str, ...]:
    """What a record says otherwise than today's engine does by the data of its day."""
    before, after = compared(saved.decision), compared(again.answer)
    if carried and saved.statement is not None:  # A slice leaves out what decides nothing, so its digest is another.
        after["knowledge"] = {**after["knowledge"], "digest": before["knowledge"]["digest"]}
    found = list(_differences(saved.decision, before, after))
    statement = saved.statement
    if statement is None or not carried:
        return tuple(found)
    if canonical_json(statement["plans"]) != canonical_json(again.plans):
        found.append("the lines of the plans that were evaluated differ")
    if statement["rules"] != again.rules:
        found.append("the digests of the rules are not those of the rules that it carries")
    if sha256_of(vocabulary_in(statement["data"])) != statement["digests"]["vocabulary"]:
        found.append("the digest of the vocabulary is not that of the one that it carries")
    # An older program stated other formulas; they were evaluated, whatever they are.
    same_code = statement["digests"]["engine"] == engine_digest()
    if same_code and statement.get("arithmetic") != again.arithmetic:
        found.append("the formulas and constants that it states are not those of its figures")
    for part in ("rulebook", "knowledge"):
        if statement["digests"][part] != saved.decision[part]["digest"]:
            found.append(f"the digest of the {part} is not the one in its answer")
    return tuple(found)


def _differences(decision: Mapping[str, Any], before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    if canonical_json(before) == canonical_json(after):
        return ()
    found = compare(decision, {**after, **{key: decision.get(key) for key in NOT_COMPARED}})
    differences = tuple(f"{change.what}: {change.before} became {change.after}" for change in found.answer)
    differences += tuple(f"{cause.what}: {cause.says}" for cause in found.causes)
    parts = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    return (*differences[:_SHOWN], f"these parts differ: {', '.join(parts)}")


def compared(decision: Mapping[str, Any]) -> dict[str, Any]:
    """The decision without what does not belong to it."""
    head = {key: value for key, value in decision.items() if key not in NOT_COMPARED}
    # Folders of another day lie elsewhere, so that layers may go by other names.
    head["rulebook"] = {"digest": decision["rulebook"]["digest"]}
    return head


def check_same_today(saved: Saved, advisor: Advisor, today: datetime) -> Check:
    """Whether the same workload gets the same answer today, and what changed it where it does not."""
    decision = saved.decision
    try:
        again = json_value(decide_again(decision, advisor, decided_at=today).to_dict())
    except InputError as error:
        says = "today's facts do not take this workload any more"
        return Check("same_today", False, says, tuple(str(error).split("\n")))
    found = compare(decision, again)
    causes = [f"{cause.what}: {cause.says}" for cause in found.causes]
    if saved.statement and saved.statement["digests"]["engine"] != engine_digest():
        causes.append("engine: the program's code is another")
    if not found.answer:
        figures = f"; {len(found.figures)} of its figures differ" if found.figures else ""
        return Check("same_today", True, f"the same workload gets the same answer today{figures}")
    changed = [f"{change.what}: {change.before} became {change.after}" for change in found.answer]
    return Check("same_today", False, "the same workload gets another answer today", (*changed, *causes))


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
    against = found.counterexamples
    findings = tuple(f"with {dict(example.completion)} the answer is {example.answer}" for example in against)
    if findings:
        says = f"{len(findings)} of {found.decided} ways to fill in the rest answer otherwise"
        return Check("certificate", False, says, findings)
    if not found.decided and unasked:
        return Check("certificate", None, "no way to fill in what was not asked is free of contradictions")
    says = f"{found.decided} ways to fill in the {len(unasked)} facts that were not asked all give the same answer"
    return Check("certificate", True, says)
