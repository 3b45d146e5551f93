"""Rules, findings of lint, results of the rules' tests, and coverage as blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table, Tone, Verbatim
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.authoring import Finding, TestResult
from whichgpu.engine.core import Place
from whichgpu.engine.rules import Rule


_TONES: dict[str, Tone] = {"error": "bad", "warning": "strong", "info": "plain"}
_SHOWN_GAPS = 20


def rule_list(rules: Sequence[Rule]) -> list[Block]:
    """Rules by topic."""
    blocks: list[Block] = [Heading(count_of(len(rules), "rule"), 1)]
    for topic, group in groupby(sorted(rules, key=lambda rule: (rule.topic, rule.id)), key=lambda rule: rule.topic):
        rows = tuple((rule.id, rule.stage, rule.each, rule.title) for rule in group)
        blocks += [Heading(topic or "no topic"), Table(("Rule", "Stage", "Each", "Title"), rows)]
    return blocks


def finding_blocks(findings: Sequence[Finding], rules: int) -> list[Block]:
    """Each finding with its place, source line and caret."""
    blocks: list[Block] = []
    for finding in findings:
        head = f"{finding.severity} [{finding.check}] {_where(finding)}{finding.message}"
        blocks.append(Paragraph(head, _TONES[finding.severity]))
        if finding.place and finding.place.text:
            blocks.append(Verbatim(_caret(finding.place)))
        if finding.nearest:
            blocks.append(Paragraph(f"  did you mean {' or '.join(finding.nearest)}?"))
        if finding.fix:
            blocks.append(Paragraph(f"  fix: {finding.fix}"))
    by_severity = Counter(finding.severity for finding in findings)
    counts = ", ".join(count_of(by_severity[kind], kind) for kind in ("error", "warning") if by_severity[kind])
    return [*blocks, Paragraph(f"{count_of(rules, 'rule')} checked: {counts or 'nothing wrong'}.", "strong")]


def _where(finding: Finding) -> str:
    if finding.place:
        return f"{shown_place(finding.place)}: "
    return f"{finding.rule}: " if finding.rule else ""


def shown_place(place: Place) -> str:
    """``file:line:column``, the file from the working folder where it lies below that."""
    return f"{_near(place.path)}:{place.line}:{place.column}"


def _near(path: str) -> str:
    file, here = Path(path), Path.cwd()
    return str(file.relative_to(here)) if file.is_absolute() and file.is_relative_to(here) else path


def _caret(place: Place) -> str:
    return f"    {place.text}\n    {' ' * (place.column - 1)}{'^' * max(1, place.length)}"


def result_blocks(results: Sequence[TestResult]) -> list[Block]:
    """The tests that failed, and how many passed; nothing where none was run."""
    if not results:
        return []
    failed = [result for result in results if not result.passed]
    items = tuple(Item(_result(result), (result.why,), "bad") for result in failed)
    blocks: list[Block] = [Bullets(items)] if items else []
    passed = len(results) - len(failed)
    tested = len({result.rule for result in results})
    summary = f"{passed:,} of {count_of(len(results), 'test')} of {count_of(tested, 'rule')} passed."
    return [*blocks, Paragraph(summary, "bad" if failed else "good")]


def _result(result: TestResult) -> str:
    place = f"{shown_place(result.place)}: " if result.place else ""
    kind = "near miss" if result.near_miss else "test"
    expected = "fire" if result.expected else "not fire"
    outcome = result.outcome.replace("_", " ")
    return f"{place}{result.rule}, {kind} {result.number}: should {expected}, and was {outcome}"


def github_findings(findings: Sequence[Finding]) -> str:
    """Findings as workflow commands that annotate a change."""
    kinds = {"error": "error", "warning": "warning", "info": "notice"}
    return "".join(_annotation(kinds[f.severity], f.place, f.check, f.message) for f in findings)


def github_note(kind: str, place: Place | None, title: str, message: str) -> str:
    """One workflow command that annotates a change."""
    return _annotation(kind, place, title, message)


def github_results(results: Sequence[TestResult]) -> str:
    """Failed tests as workflow commands that annotate a change."""
    failed = (result for result in results if not result.passed)
    return "".join(_annotation("error", r.place, "rule-test", f"{_result(r)}. {r.why}") for r in failed)


def _annotation(kind: str, place: Place | None, title: str, message: str) -> str:
    where = [f"file={_property(_near(place.path))}", f"line={place.line}", f"col={place.column}"] if place else []
    properties = ",".join([*where, f"title={_property(title)}"])
    return f"::{kind} {properties}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def cover_blocks(report: dict[str, Any]) -> list[Block]:
    """Coverage in words."""
    heuristics, rules, workloads = report["heuristics"], report["rules"], report["workloads"]
    blocks: list[Block] = [
        Heading("Coverage", 1),
        Paragraph(
            f"{heuristics['encoded']} of {count_of(heuristics['total'], 'heuristic')} are encoded by a rule, a fact, "
            f"a figure or a value, and {heuristics['set_aside']} are set aside; "
            f"{rules['tested']} of {count_of(rules['total'], 'rule')} have a test; "
            f"rules speak of {workloads['covered']} of {count_of(workloads['total'], 'typical workload')}."
        ),
    ]
    blocks += _gaps("Heuristics that nothing encodes", heuristics["missing"])
    blocks += _gaps("Rules without a test", rules["untested"])
    blocks += _gaps("Workloads without an answer", workloads["unanswered"])
    return blocks + _gaps("Workloads whose answer rests on cost alone", workloads["silent"])


def _gaps(title: str, gaps: Sequence[str]) -> list[Block]:
    if not gaps:
        return []
    items = [Item(gap) for gap in gaps[:_SHOWN_GAPS]]
    if len(gaps) > _SHOWN_GAPS:
        items.append(Item(f"and {len(gaps) - _SHOWN_GAPS} more; --format json lists them"))
    return [Heading(title), Bullets(tuple(items))]
