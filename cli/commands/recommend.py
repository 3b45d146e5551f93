"""``whichgpu recommend``: one decision from a file, or one a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from whichgpu import Advisor
from whichgpu.cli import output
from whichgpu.cli.advisor import load, names_of, now, read
from whichgpu.cli.batch import answer_lines
from whichgpu.cli.inputs import file_or_settings, read_bytes, refuse_overwriting
from whichgpu.cli.options import (
    all_option,
    compact_option,
    currency_option,
    full_option,
    here_option,
    jsonl_option,
    meta_option,
    output_format,
    plain_option,
    rules_options,
    save_option,
    set_option,
    show_option,
    sign_option,
)
from whichgpu.cli.pages import page_blocks, sections_of
from whichgpu.engine.advisor import shipped_objectives
from whichgpu.engine.core import InputError, Problem
from whichgpu.engine.rules import probing


if TYPE_CHECKING:
    from whichgpu import Decision
    from whichgpu.engine.records import Asked


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(allow_dash=True))
@set_option
@currency_option
@here_option
@click.option("--objective", type=click.Choice([*shipped_objectives()]), help="What to rank by.")
@output_format("text", "json", "markdown")
@save_option
@meta_option
@sign_option
@click.option("--register", "registered", is_flag=True, help="Append the record to the register.")
@jsonl_option
@full_option
@compact_option
@show_option
@all_option
@plain_option
@rules_options
def recommend(
    *,
    file: str | None,
    sets: tuple[str, ...],
    currency: str,
    here: bool,
    objective: str | None,
    form: str,
    save: str | None,
    meta: tuple[str, ...],
    sign: bool | None,
    registered: bool,
    jsonl: bool,
    full: bool,
    compact: bool,
    shown: str | None,
    everything: bool,
    plain: bool,
    rules: tuple[str, ...],
    builtin: bool,
) -> int:
    """Recommend GPUs for the workload in FILE (YAML or JSON; - reads standard input), or for what --set states.

    The answer fits one screen. --show prints sections of the whole page by name, --all the page with nothing left out.

    With --jsonl, FILE holds one workload a line, and each is answered by one line of JSON. A line that is wrong is
    answered by an error and does not end the run; the exit code is 2 then.
    """
    kept = bool(save) or registered
    if jsonl and kept:
        raise InputError(Problem("bad-option", "--save keeps one decision, so it does not go with --jsonl"))
    if not kept and (meta or sign is not None):
        raise InputError(Problem("bad-option", "--meta and --sign are about a record; say where with --save RECORD"))
    if compact and (full or not jsonl):
        raise InputError(Problem("bad-option", "--compact goes with --jsonl, and without --full"))
    if not jsonl and full:
        fix = "leave it out: --format json has all of it"
        raise InputError(Problem("bad-option", "--full goes with --jsonl", fix=fix))
    file, empty = file_or_settings(file, stated=bool(sets or here) and not jsonl)
    refuse_overwriting(save, file)
    sections = sections_of(shown)
    advisor = load(rules, builtin=builtin, tests=False)
    if here:
        from whichgpu.cli.hardware import owned_here  # noqa: PLC0415 - it starts programs, as few commands do.

        sets = (owned_here(advisor.knowledge), *sets)
    if jsonl and compact:
        return _answer_short_lines(advisor, file, sets, objective)
    if jsonl:
        return _answer_lines(advisor, file, sets, objective=objective, full=full)
    asked = _asked(file, empty, _stated(sets, objective), meta) if kept else None
    content = asked.content if asked else empty
    decision = advisor.decide(read(advisor, file, sets, content), objective=objective, decided_at=now())
    if kept or form == "json":
        answer: Mapping[str, Any] = decision.to_dict(full=True, trade_offs=True)
    else:  # A page shows no trace, and of the rest a part.
        answer = decision.lazily(trade_offs=True, traced=False)
    if asked:
        _keep(decision, answer, asked, save, sign=sign, registered=registered)
    if form == "json":
        output.emit_json(answer)
    else:
        blocks = page_blocks(answer, names_of(advisor), sections, everything=everything)
        output.emit_blocks(blocks, form, currency, plain=plain, paged=True)
    return decision.exit_code


def _asked(file: str, content: bytes | None, changes: tuple[str, ...], meta: tuple[str, ...]) -> Asked:
    """What a record says that a decision was asked with."""
    from whichgpu.engine.records import Asked, read_meta  # noqa: PLC0415 - few decisions are kept.

    noted = read_meta(meta)
    return Asked(file, read_bytes(file)[0] if content is None else content, changes, noted)


def _keep(
    decision: Decision, answer: Any, asked: Asked, save: str | None, *, sign: bool | None, registered: bool
) -> None:
    """Save the record of a decision, append it to the register, or both."""
    from whichgpu.cli.records import save_record  # noqa: PLC0415

    record = save_record(decision, answer, save, asked, sign=sign)
    if registered:
        from whichgpu.cli.commands.register import add_record  # noqa: PLC0415

        add_record(record, answer)


def _answer_lines(advisor: Advisor, file: str, changes: tuple[str, ...], *, objective: str | None, full: bool) -> int:
    moment = now()

    def answer(workload: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = advisor.read(workload, changes)
        return advisor.decide(facts, objective=objective, decided_at=moment).to_dict(full=full, trade_offs=full)

    return answer_lines(file, answer)


def _answer_short_lines(advisor: Advisor, file: str, changes: tuple[str, ...], objective: str | None) -> int:
    moment = now()

    @probing()
    def answer(workload: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = advisor.read(workload, changes)
        return advisor.decide(facts, objective=objective, decided_at=moment).compact()

    return answer_lines(file, answer, output.emit_short_line)


def _stated(changes: tuple[str, ...], objective: str | None) -> tuple[str, ...]:
    """What the command line stated over the file."""
    return (*changes, *([f"objective={objective}"] if objective else []))
