"""Scenarios, coverage by tests and surviving mutants as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph
from whichgpu.cli.render.figures import count_of
from whichgpu.cli.render.rules import github_note, shown_place
from whichgpu.engine.authoring import Coverage, Following, MutationReport, ScenarioResult, Survivor, Written


def scenario_blocks(results: Sequence[ScenarioResult]) -> list[Block]:
    """The scenarios that failed, each with what its answer misses, and how many passed."""
    if not results:
        return []
    failed = [result for result in results if not result.passed]
    items = tuple(Item(_scenario(result), result.misses, "bad") for result in failed)
    blocks: list[Block] = [Bullets(items)] if items else []
    soft = sum(result.passed and bool(result.misses) for result in results)
    miss = "misses" if soft == 1 else "miss"
    more = f"; {soft:,} of them {miss} what only one guide among others says" if soft else ""
    summary = f"{len(results) - len(failed):,} of {count_of(len(results), 'scenario')} passed{more}."
    return [*blocks, Paragraph(summary, "bad" if failed else "good")]


def _scenario(result: ScenarioResult) -> str:
    scenario = result.scenario
    place = f"{shown_place(scenario.place)}: " if scenario.place else ""
    says = f" ({scenario.says})" if scenario.says else ""
    return f"{place}scenario {scenario.id}{says}"


def github_scenarios(results: Sequence[ScenarioResult]) -> str:
    """Failed scenarios as workflow commands that annotate a change."""
    failed = (result for result in results if not result.passed)
    return "".join(
        github_note("error", r.scenario.place, "scenario", f"{r.scenario.id}: {'; '.join(r.misses)}") for r in failed
    )


def coverage_blocks(found: Coverage, most: int = 40) -> list[Block]:
    """What the tests inside rules exercise both ways, and what they leave out."""
    value = found.to_dict()
    said = ", ".join(
        f"{value[key]['both_ways']:,} of {count_of(value[key]['total'], noun)}"
        for key, noun in (("rules", "rule"), ("rows", "table row"), ("conditions", "condition"))
    )
    gaps = found.gaps
    items = [
        Item(f"{gap.rule} {gap.missing}" if not gap.what else f"`{gap.what}` in {gap.rule} {gap.missing}")
        for gap in gaps[:most]
    ]
    if len(gaps) > most:
        items.append(Item(f"and {len(gaps) - most} more; --format json lists them"))
    blocks: list[Block] = [Heading("By the tests of the rules"), Paragraph(f"Seen both ways: {said}.")]
    return [*blocks, Bullets(tuple(items))] if items else blocks


def mutation_blocks(kind: str, report: MutationReport, most: int = 40) -> list[Block]:
    """How many mistakes of a kind (in conditions, in effects) the tests notice, and a test for each of the others."""
    noticed = report.killed + len(report.survivors)
    blocks: list[Block] = [
        Paragraph(
            f"The tests notice {report.killed} of {count_of(noticed, 'mistake')} made on purpose in {kind} "
            f"({100 * report.score:.1f} %); {report.equivalent} more change nothing.",
            "strong",
        )
    ]
    for (rule, advice), group in groupby(report.survivors[:most], key=lambda each: (each.rule, _advice(each))):
        blocks += [Heading(rule, 3), Bullets(tuple(Item(each.what) for each in group)), Paragraph(advice)]
    if len(report.survivors) > most:
        blocks.append(Paragraph(f"And {len(report.survivors) - most} more; --format json lists them."))
    return blocks


def _advice(survivor: Survivor) -> str:
    suggestion = survivor.suggestion
    if isinstance(suggestion, Following):
        return f"Say in test {suggestion.number}, in the place of `fires: true`: {suggestion.text}"
    return f"Add {suggestion.text}" if suggestion else "No test of one change shows it."


def written_blocks(written: Sequence[Written], firsts: Sequence[Written] = ()) -> list[Block]:
    """What was put into which file; ``firsts``: the first tests of rules that had none."""
    blocks: list[Block] = [
        Paragraph(
            f"{each.path}: {count_of(each.tests, 'rule')} without tests got a first one. "
            "It shows what the rule does, not what it should do: look at it."
        )
        for each in firsts
    ]
    if written:
        bullets = Bullets(tuple(Item(f"{each.path}: {count_of(each.tests, 'test')} written") for each in written))
        return [*blocks, bullets]
    return blocks or [Paragraph("Nothing was written: there is no test to suggest.")]
