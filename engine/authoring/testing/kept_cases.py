"""Results of cases, kept while nothing that they rest on has changed; of an edited rule, the cases that can meet it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from whichgpu.engine.advisor import Advisor
from whichgpu.engine.authoring.diff.concern import Concern, concern_with
from whichgpu.engine.authoring.diff.rulediff import RuleChange, rule_changes
from whichgpu.engine.authoring.testing.scenarios import FOLDER, GUIDES, Scenario, ScenarioResult
from whichgpu.engine.core import (
    KnowledgeInUse,
    WhichgpuError,
    compiled_key,
    is_rule_file,
    recall_compiled,
    remember_compiled,
)
from whichgpu.engine.rules import PackedRulebook, Rulebook, probing


#: Parts of a rule that change what a case can expect although they change no decision.
_REPORTED_TOO = frozenset({"status", "valid_until"})


class _Kept(Struct, frozen=True):
    """What each case missed under which rules."""

    rules: str  # the digest of the rulebook below
    rulebook: msgspec.Raw  # a PackedRulebook, which only an edit needs
    misses: dict[str, tuple[str, tuple[str, ...]]]  # by the id of a case: its own digest, and what it missed


class KeptResults(Struct, frozen=True):
    """Results of cases, and how many of them are those of an earlier run: nothing that they can meet has changed."""

    results: tuple[ScenarioResult, ...]
    kept: int


def run_or_recall(
    cases: Sequence[Scenario],
    run: Callable[[Iterable[Scenario]], list[ScenarioResult]],
    advisor: Advisor,
    moment: datetime,
) -> KeptResults:
    """The results of cases: those of an earlier run where case, knowledge, program and day are the same.

    So must be the rules that the case can meet. A rule that differs is met by no case whose facts dismiss it, as it
    was and as it is.

    Args:
        cases: what is to be decided and compared.
        run: decides and compares.
        advisor: the rules, the knowledge and the facts that they are decided with.
        moment: when it is decided; prices age by the day.
    """
    key = _key(advisor, moment)
    kept = recall_compiled("guide-cases", key, _Kept)
    digests = {case.id: _digest(case) for case in cases}
    known = _still_so(kept, cases, digests, advisor) if kept is not None else {}
    new = run(case for case in cases if case.id not in known)
    if kept is None or new or kept.rules != advisor.rulebook.digest:
        misses = {name: (digests[name], missed) for name, missed in known.items()}
        misses |= {each.scenario.id: (digests[each.scenario.id], each.misses) for each in new}
        packed = msgspec.Raw(msgspec.msgpack.encode(PackedRulebook.of(advisor.rulebook)))
        remember_compiled("guide-cases", key, _Kept(advisor.rulebook.digest, packed, misses))
    old = [ScenarioResult(case, known[case.id]) for case in cases if case.id in known]
    return KeptResults(tuple(sorted((*old, *new), key=lambda each: each.scenario.id)), len(old))


def _still_so(
    kept: _Kept, cases: Iterable[Scenario], digests: dict[str, str], advisor: Advisor
) -> dict[str, tuple[str, ...]]:
    """What the cases missed of which that still holds."""
    alike = [case for case in cases if kept.misses.get(case.id, ("",))[0] == digests[case.id]]
    if kept.rules != advisor.rulebook.digest:
        changes = rule_changes(_unpacked(kept.rulebook), advisor.rulebook)
        concern = concern_with(
            (rule for change in changes if _may_change_results(change) for rule in change.both), advisor
        )
        alike = [case for case in alike if not _may_meet(case, concern, advisor)]
    return {case.id: kept.misses[case.id][1] for case in alike}


def _unpacked(packed: msgspec.Raw) -> Rulebook:
    return msgspec.msgpack.decode(packed, type=PackedRulebook).rulebook()


def _may_change_results(change: RuleChange) -> bool:
    """Whether a case can come out otherwise; the name of a rule may break a tie."""
    return change.decisive or change.kind == "renamed" or not _REPORTED_TOO.isdisjoint(change.aspects)


def _may_meet(case: Scenario, concern: Concern, advisor: Advisor) -> bool:
    try:
        given = advisor.read(case.given).given
        with probing():
            return concern.may_meet(given, lambda: advisor.context.resolve(given).intake.facts)
    except WhichgpuError:
        return True  # Deciding says what is wrong with it.


def _key(advisor: Advisor, moment: datetime) -> str | None:
    """All that a case rests on but the rules and itself."""
    in_use: KnowledgeInUse = advisor.context.in_use
    of_layers = (path for layer in in_use.layers for path in _files(layer) if not _ruled(path, layer))
    files = (*_files(in_use.folder), *of_layers)
    return compiled_key(files, moment.date().isoformat(), *map(str, advisor.folders))


def _ruled(path: Path, layer: Path) -> bool:
    """Whether a file holds rules or cases, each of which is compared by itself."""
    if path.parent == layer:
        return is_rule_file(path)
    return path.parent.parent == layer and path.parent.name in {FOLDER, GUIDES}


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.suffix in {".yaml", ".yml", ".csv", ".json"})


def _digest(case: Scenario) -> str:
    """Of what is given and expected."""
    content = json.dumps([case.given, case.expect], sort_keys=True, default=repr)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
