"""What a change of the rules comes to: findings that are new or gone, tests that fail, answers that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from whichgpu import Advisor
from whichgpu.cli.commands.rules_test import run_tests
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.rules import result_blocks, shown_place
from whichgpu.cli.render.ruletests import scenario_blocks
from whichgpu.engine.authoring import (
    Finding,
    Scenario,
    ScenarioResult,
    TestResult,
    Touched,
    inspect,
    load_scenarios,
    needs_all,
    run_scenarios,
    touched_by,
)


#: What of an answer is compared.
Answer = Mapping[str, Any]


class Checked(Struct, frozen=True):
    """What the checks and the tests inside rules say at one moment; workloads are not answered yet."""

    advisor: Advisor
    findings: tuple[Finding, ...]
    tests: tuple[TestResult, ...]
    touched: Touched | None = None  # what an edit touches beside a look before; None for everything


class Snapshot(Struct, frozen=True):
    """The state of the rules at one moment."""

    checked: Checked
    scenarios: tuple[ScenarioResult, ...]
    answers: Mapping[str, Answer]


def stamps(folders: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Every rule and scenario file with the time of its last change and its size."""
    found: dict[str, tuple[int, int]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")):
            try:
                state = path.stat()
            except OSError:
                continue  # Editors replace files; the next look sees the new one.
            found[str(path)] = (state.st_mtime_ns, state.st_size)
    return found


def check(advisor: Advisor, moment: datetime, last: Snapshot | None = None) -> Checked:
    """Check the rules and run their tests; beside a ``last`` look, the tests that an edit can touch."""
    findings = tuple(f for f in inspect(advisor, moment.date()) if f.severity != "info")
    touched = touched_by(last.checked.advisor, advisor) if last else None
    if last is None or touched is None:
        return Checked(advisor, findings, tuple(run_tests(advisor, moment)))
    kept = [each for each in last.checked.tests if each.rule in advisor.rules and each.rule not in touched.rules]
    names = tuple(sorted(touched.rules & advisor.rules.keys()))
    tests = [*kept, *(run_tests(advisor, moment, names) if names else ())]
    return Checked(advisor, findings, tuple(sorted(tests, key=_place_of)), touched)


def answer(checked: Checked, folders: list[Path], moment: datetime, last: Snapshot | None = None) -> Snapshot:
    """Answer the workloads of all scenarios; beside a ``last`` look, those that the edit can touch."""
    advisor, touched = checked.advisor, checked.touched
    answers = dict(last.answers) if last else {}
    before = {each.scenario.id: each for each in last.scenarios} if last else {}

    def decide(scenario: Scenario) -> Mapping[str, Any]:
        decision = advisor.decide(scenario.given, decided_at=moment).to_dict(full=needs_all(scenario))
        answers[scenario.id] = brief(decision)
        return decision

    scenarios: list[ScenarioResult] = []
    for scenario in load_scenarios(folders, advisor.rulebook, advisor.knowledge):
        result = before.get(scenario.id)
        if result and touched and result.scenario == scenario and not touched.meets(scenario.given):
            scenarios.append(result)
        else:
            scenarios += run_scenarios([scenario], decide, advisor.knowledge)
    answered = {
        result.scenario.id: answers[result.scenario.id] for result in scenarios if result.scenario.id in answers
    }
    return Snapshot(checked, tuple(scenarios), answered)


def _place_of(result: TestResult) -> tuple[str, int]:
    return result.rule, result.number


def brief(decision: Mapping[str, Any]) -> Answer:
    """What a person would see change."""
    plan = decision["recommendation"]
    return {
        "recommended": f"{plan['count']} x {plan['gpu']}" if plan else "nothing",
        "verdict": decision["procurement"]["verdict"],
        "advice": sorted({entry["code"] for entry in decision["advice"]}),
        "warnings": sorted({entry["code"] for entry in decision["warnings"]}),
    }


def report(old: Snapshot | None, new: Checked) -> list[Block]:
    """Findings and tests in a few lines; beside an older look, what became of the findings."""
    blocks: list[Block] = []
    before = {_key(finding) for finding in old.checked.findings} if old else set()
    after = {_key(finding) for finding in new.findings}
    fresh = [finding for finding in new.findings if _key(finding) not in before]
    if fresh:
        items = tuple(Item(_finding(f), (f"fix: {f.fix}",) if f.fix else ()) for f in fresh)
        blocks += [Heading("New findings" if old else "Findings", 3), Bullets(items)]
    gone = len(before - after)
    if gone:
        blocks.append(Paragraph(f"{count_of(gone, 'finding')} gone."))
    return [*blocks, *result_blocks(new.tests)]


def report_answers(old: Snapshot | None, new: Snapshot) -> list[Block]:
    """The scenarios, and beside an older look which of them are answered otherwise."""
    return [*scenario_blocks(new.scenarios), *(_answers(old.answers, new.answers) if old else ())]


def _key(finding: Finding) -> tuple[str, str | None, str]:
    """A finding whatever its line: lines move with every edit."""
    return finding.check, finding.rule, finding.message


def _finding(finding: Finding) -> str:
    place = f"{shown_place(finding.place)}: " if finding.place else ""
    return f"{finding.severity} [{finding.check}] {place}{finding.message}"


def _answers(old: Mapping[str, Answer], new: Mapping[str, Answer]) -> list[Block]:
    changed = [name for name in sorted(old.keys() & new.keys()) if old[name] != new[name]]
    if not changed:
        return [Paragraph("No scenario is answered otherwise.")]
    items = tuple(Item(name, tuple(_difference(old[name], new[name]))) for name in changed)
    return [Heading(f"{count_of(len(changed), 'scenario')} answered otherwise", 3), Bullets(items)]


def _difference(old: Answer, new: Answer) -> Iterable[str]:
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if isinstance(before, list) and isinstance(after, list):
            yield from (f"{key}: no longer {code}" for code in before if code not in after)
            yield from (f"{key}: now {code}" for code in after if code not in before)
        else:
            yield f"{key}: {before} became {after}"
