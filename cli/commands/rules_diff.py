"""``whichgpu rules diff``: which rules differ between two rulebooks, and which workloads get another answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from whichgpu.cli import output
from whichgpu.cli.advisor import now
from whichgpu.cli.layers import layer_folders
from whichgpu.cli.options import output_format, rules_options
from whichgpu.cli.render.rulediff import comparison_blocks
from whichgpu.cli.revisions import Editions
from whichgpu.engine.authoring import ChangedRule, Comparison, Moved, by_task, compare


@click.command(name="diff")
@click.argument("old")
@click.argument("new", default=".")
@output_format("text", "json", "markdown")
@click.option("--sample", type=click.IntRange(0, 100_000), default=2000, show_default=True, help="Workloads to draw.")
@click.option("--seed", type=int, default=1, show_default=True, help="Draws the same workloads again.")
@click.option(
    "--examples",
    metavar="DIR",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of workload files to compare on. May be repeated.",
)
@click.option("--processes", type=click.IntRange(1, 64), default=2, show_default=True, help="Worker processes.")
@click.option("--all", "everything", is_flag=True, help="Every workload with another answer, not only the first.")
@rules_options
def diff_rules(
    *,
    old: str,
    new: str,
    form: str,
    sample: int,
    seed: int,
    examples: tuple[Path, ...],
    processes: int,
    everything: bool,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Say which rules differ between OLD and NEW, and which workloads get another answer.

    OLD and NEW are folders, git revisions, or the word builtin. A folder with rules/ and knowledge/ in it is a whole
    edition; any other is a layer over the built-in rules. NEW is the working folder unless given.

    Exits with 0, whether or not anything differs.
    """
    with Editions(layer_folders(rules), builtin=builtin) as editions, output.working("comparing answers"):
        found = compare(
            editions.find(old),
            editions.find(new),
            moment=now(),
            examples=examples or default_examples(),
            sample=sample,
            seed=seed,
            processes=processes,
        )
    if form == "json":
        output.emit_json(_plain(found))
    else:
        output.emit_blocks(comparison_blocks(found, everything=everything), form)
    return 0


def default_examples() -> tuple[Path, ...]:
    """The folder ``examples`` here, if there is one."""
    folder = Path("examples")
    return (folder,) if folder.is_dir() else ()


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        "old": found.old,
        "new": found.new,
        "digests": list(found.digests),
        "rules": [_changed_rule(entry) for entry in found.rules],
        "knowledge": {
            names.kind: {
                "added": list(names.added),
                "removed": list(names.removed),
                "changed": list(names.changed),
            }
            for names in found.knowledge
        },
        "compared": found.compared,
        "cannot_meet_a_changed_rule": found.spared,
        "seed": found.seed,
        "by_task": {
            str(task): {"moved": len(moved), "another_recommendation": firm, "example": moved[0].workload.name}
            for task, (moved, firm) in by_task(found.moved).items()
        },
        "moved": [_moved(entry) for entry in found.moved],
    }


def _changed_rule(entry: ChangedRule) -> dict[str, Any]:
    change = entry.change
    return {
        "id": change.id,
        "kind": change.kind,
        "title": change.rule.title,
        "aspects": list(change.aspects),
        "decisive": change.decisive,
        "exercised": entry.exercised,
        "answered_otherwise": entry.turned,
        "regions": [
            {
                "says": region.says,
                "where": list(region.conditions),
                "except_where": list(region.excluded),
                "example": region.example,
                "certain": region.certain,
                "nowhere": region.proved_empty,
            }
            for region in entry.regions
        ],
    }


def _moved(entry: Moved) -> dict[str, Any]:
    return {
        "workload": entry.workload.name,
        "origin": entry.workload.origin,
        "facts": entry.workload.facts,
        "parts": {part: {"old": getattr(entry.old, part), "new": getattr(entry.new, part)} for part in entry.parts},
        "rules": list(entry.rules),
    }
