"""``whichgpu register``: many decisions in one place, appended and never changed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from whichgpu.cli import output
from whichgpu.cli.advisor import load, now
from whichgpu.cli.groups import SuggestingGroup
from whichgpu.cli.layers import load_catalogue
from whichgpu.cli.options import layers_option, output_format
from whichgpu.cli.records import read_saved
from whichgpu.cli.render.blocks import Block, Bullets, Heading, Item, Paragraph, Table
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.advisor import unknown_gpu
from whichgpu.engine.core import InputError, Problem, layer_names
from whichgpu.engine.records import (
    Breach,
    Entry,
    Register,
    Saved,
    breaches,
    by_quarter,
    read_meta,
    read_saved as saved_in,
)


#: Something in the register, or in what it is checked for, does not hold.
DOES_NOT_HOLD = 1
_COLUMNS = ("decided_at", "task", "model", "gpu", "count", "procurement", "usd_per_hour", "usd_per_month", "signed")

_file_option = click.option(
    "--file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The register, in place of your own (also: WHICHGPU_REGISTER).",
)


def register_file(file: str | None = None) -> Path:
    """The register: as named, by WHICHGPU_REGISTER, or in the user's data folder."""
    named = file or os.environ.get("WHICHGPU_REGISTER")
    if named:
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME") or ""
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return folder / "whichgpu" / "register.sqlite"


def add_record(record: Mapping[str, Any], decision: Mapping[str, Any], file: str | None = None) -> Entry:
    """Append a record to the register."""
    return Register(register_file(file)).add(record, decision, now())


@click.group(cls=SuggestingGroup)
def register() -> None:
    """Keep many decisions: add, list, show, compare, export, check."""


@register.command()
@click.argument("records", metavar="RECORD...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@_file_option
def add(records: tuple[str, ...], file: str | None) -> int:
    """Append records. One that is there already is not added twice."""
    for name in records:
        saved = read_saved(name)
        if saved.record is None:
            fix = "decide it again: whichgpu recommend FILE --register"
            raise InputError(Problem("first-form", f"{name} does not carry what it was decided with", fix=fix))
        entry = add_record(saved.record, saved.decision, file)
        output.emit(f"{entry.id}: entry {entry.seq}\n")
    return 0


@register.command(name="list")
@click.option("--since", metavar="DAY", help="Decided on this day (2026-11-27) or later.")
@click.option("--until", metavar="DAY", help="Decided on this day or earlier.")
@click.option("--meta", metavar="KEY=VALUE", multiple=True, help="Only decisions with this note. May be repeated.")
@click.option("--gpu", metavar="ID", help="Only decisions for this GPU, by id or any of its names.")
@_file_option
@output_format("text", "json", "markdown")
def list_entries(
    *, since: str | None, until: str | None, meta: tuple[str, ...], gpu: str | None, file: str | None, form: str
) -> int:
    """List decisions, the oldest first."""
    wanted = read_meta(meta)
    first, last = _day(since, "--since") or "", _day(until, "--until") or "9999"
    entries = Register(register_file(file)).entries()
    gpus = None if gpu is None else _meant(gpu, entries)
    found = [
        entry
        for entry in entries
        if first <= entry.summary["decided_at"][:10] <= last
        and (gpus is None or entry.summary["gpu"] in gpus)
        and all(entry.summary["meta"].get(key) == value for key, value in wanted.items())
    ]
    if form == "json":
        output.emit_json([to_builtins(entry) for entry in found])
        return 0
    rows = tuple((entry.id, *(_cell(entry.summary[name]) for name in _COLUMNS)) for entry in found)
    head = ("id", *(name.replace("_", " ") for name in _COLUMNS))
    blocks: list[Block] = [Heading("Register", 1)]
    blocks += [Table(head, rows), Paragraph(f"{count_of(len(found), 'decision')}.", "faint")]
    output.emit_blocks(blocks, form)
    return 0


def _day(written: str | None, option: str) -> str | None:
    """A day as ISO writes it. Raises InputError."""
    if written is None:
        return None
    try:
        return date.fromisoformat(written).isoformat()
    except ValueError as error:
        message = f"{option} {written!r} is no day"
        raise InputError(
            Problem("bad-option", message, fix=f"write, for example, {option} {now():%Y-%m-%d}")
        ) from error


def _meant(gpu: str, entries: Iterable[Entry]) -> frozenset[str]:
    """The ids that a name means: one that a decision of the register names, else those of the catalogue."""
    if any(entry.summary["gpu"] == gpu for entry in entries):
        return frozenset((gpu,))
    match = load_catalogue().find_gpu(gpu)
    if not match.found:
        raise InputError(unknown_gpu(match))
    return frozenset(match.ids)


@register.command()
@click.argument("decision", metavar="ID")
@_file_option
def show(decision: str, file: str | None) -> int:
    """Print the record of ID, or of its beginning. Read it with: whichgpu why -, whichgpu report -."""
    output.emit(Register(register_file(file)).record_text(decision))
    return 0


@register.command()
@_file_option
@output_format("text", "json", "markdown")
def compare(file: str | None, form: str) -> int:
    """Compare the quarters: decisions, spending, GPUs, renting and buying."""
    found = by_quarter(Register(register_file(file)).entries())
    if form == "json":
        output.emit_json(found)
        return 0
    rows = tuple(
        (
            quarter,
            str(kept["decisions"]),
            str(kept["answered"]),
            f"${kept['usd_per_month']:,.0f}",
            _tally(kept["gpus"]),
            _tally(kept["procurement"]),
        )
        for quarter, kept in found.items()
    )
    head = ("quarter", "decisions", "with an answer", "per month", "GPUs", "rent or buy")
    output.emit_blocks([Heading("Quarters", 1), Table(head, rows, frozenset({1, 2, 3}))], form)
    return 0


@register.command()
@click.option("--format", "form", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@_file_option
def export(form: str, file: str | None) -> int:
    """Export all entries: a line each, as CSV or JSON Lines, without the records themselves."""
    entries = Register(register_file(file)).entries()
    if form == "jsonl":
        output.emit("".join(json.dumps(to_builtins(entry), sort_keys=True) + "\n" for entry in entries))
        return 0
    text = io.StringIO()
    keys = sorted({key for entry in entries for key in entry.summary["meta"]})
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["seq", "id", "added_at", *_COLUMNS, "sha256", "chain", *(f"meta.{key}" for key in keys)])
    for entry in entries:
        said = entry.summary
        row = [entry.seq, entry.id, entry.added_at, *(said[name] for name in _COLUMNS), entry.sha256, entry.chain]
        writer.writerow([*row, *(said["meta"].get(key) for key in keys)])
    output.emit(text.getvalue())
    return 0


@register.command()
@_file_option
def verify(file: str | None) -> int:
    """Check that nothing was changed, taken out or put in. Exits with 1 where something was."""
    store = Register(register_file(file))
    found = store.faults()
    amount = count_of(len(store.entries()), "entry", "entries")
    output.emit("".join(f"{fault}\n" for fault in found) or f"The register holds, over {amount}.\n")
    return DOES_NOT_HOLD if found else 0


@register.command()
@click.argument("records", metavar="[RECORD]...", nargs=-1, type=click.Path(allow_dash=True))
@_file_option
@layers_option
@output_format("text", "json", "markdown")
def check(*, records: tuple[str, ...], file: str | None, rules: tuple[str, ...], form: str) -> int:
    """Hold the rules in --rules DIR against RECORDs, or against all decisions of the register.

    A decision breaks a rule that rejects or warns and fires on what the record says of its workload and its plan.
    Exits with 1 where some decision breaks one.
    """
    if not rules:
        raise InputError(Problem("bad-option", "there is nothing to check", fix="name a folder with --rules DIR"))
    advisor = load(rules, tests=False)
    names = set(layer_names(advisor.folders)[1:])
    policy = tuple(rule for rule in advisor.rulebook.rules if rule.layer in names)
    found = [(saved, breaches(saved.decision, policy)) for saved in _records(records, file)]
    broken = any(not breach.missing for _, each in found for breach in each)
    if form == "json":
        listed = [{"id": saved.id, "name": saved.name, "breaches": to_builtins(each)} for saved, each in found]
        output.emit_json(listed)
    else:
        output.emit_blocks(_check_blocks(found, len(policy)), form)
    return DOES_NOT_HOLD if broken else 0


def _records(names: tuple[str, ...], file: str | None) -> list[Saved]:
    if names:
        return [read_saved(name) for name in names]
    store = Register(register_file(file))
    return [saved_in(store.record_text(entry.id), entry.id).believed() for entry in store.entries()]


def _check_blocks(found: list[tuple[Saved, tuple[Breach, ...]]], rules: int) -> list[Block]:
    items = tuple(
        Item(f"{saved.id or saved.name}: {_standing(each)}", tuple(map(_breach, each))) for saved, each in found if each
    )
    broken = sum(any(not breach.missing for breach in each) for _, each in found)
    says = f"{count_of(len(found), 'decision')} held against {count_of(rules, 'rule')}: {broken} broken."
    return [Heading("Policy check", 1), *([Bullets(items)] if items else []), Paragraph(says)]


def _standing(each: tuple[Breach, ...]) -> str:
    return "breaks the policy" if any(not breach.missing for breach in each) else "cannot be determined"


def _breach(breach: Breach) -> str:
    tail = f" (not known: {', '.join(breach.missing)})" if breach.missing else ""
    return f"rule {breach.rule}: {breach.title}{tail}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _tally(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {amount}" for name, amount in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    )
