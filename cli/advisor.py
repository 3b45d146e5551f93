"""The engine's entry points as the commands use them: load once, read a workload, names for display, the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from whichgpu import Advisor, Workload, load_advisor
from whichgpu.cli.inputs import STDIN, read_stdin
from whichgpu.cli.layers import layer_folders
from whichgpu.cli.prices import own_prices_file, with_own_prices
from whichgpu.cli.render.names import Names
from whichgpu.engine.catalogue import SourceRecord, load_knowledge
from whichgpu.engine.core import InputError, Problem, read_yaml, read_yaml_text


if TYPE_CHECKING:
    from whichgpu.engine.records import Saved


def load(rules: tuple[str, ...] = (), *, builtin: bool = True, tests: bool = True) -> Advisor:
    """Everything the engine knows, with the layers of this place and the prices that the user imported.

    ``rules`` are folders laid over the built-in rules, or used instead of them. Those of ``WHICHGPU_RULES`` lie under
    them. A command that only decides leaves out the ``tests`` inside rules. Raises RulebookError and KnowledgeError.
    """
    folders = layer_folders(rules)
    if not builtin and not folders:
        fix = "name a folder with --rules DIR"
        raise InputError(Problem("bad-option", "--no-builtin-rules leaves no rules at all", fix=fix))
    options: dict[str, Any] = {"tests": tests}
    if not builtin:
        options["own_rules"] = folders[0]
    if own_prices_file().exists():
        options["knowledge"] = with_own_prices(load_knowledge(layers=folders))
    return load_advisor(folders if builtin else folders[1:], **options)


def read(
    advisor: Advisor, file: str, changes: tuple[str, ...], content: bytes | None = None, *, to_size: bool = False
) -> Workload:
    """The workload in a file or on standard input, with ``fact=value`` changes. Raises InputError with all problems.

    What was taken in another sense than it was written is reported on standard error.

    Args:
        advisor: knows the facts.
        file: a path, or ``-``.
        changes: ``fact=value`` texts.
        content: of the file, where it was read already.
        to_size: the configuration that ``gpu`` and ``count`` name is looked at; else a note says they are left out.
    """
    if content is not None:
        node = read_yaml_text(content, "standard input" if file == STDIN else file, error=InputError)
    elif file == STDIN:
        node = read_yaml_text(read_stdin(), "standard input", error=InputError)
    else:
        node = read_yaml(file, error=InputError)
    workload = advisor.read(node, changes)
    for remark in workload.remarks:
        click.echo(f"Note: {remark.render()}", err=True)
    if not to_size and (workload.gpu or workload.count):
        named = {"gpu_candidates": workload.gpu, "num_gpus": workload.count}
        changed = " ".join(f"--set {name}={value}" for name, value in named.items() if value)
        click.echo(f"Note: gpu and count are what `whichgpu size` looks at. To plan with them: {changed}", err=True)
    return workload


def names_of(advisor: Advisor, saved: Saved | None = None) -> Names:
    """Display names of GPUs and sources, and the priorities of warnings and advice.

    Args:
        advisor: whose knowledge names them.
        saved: a record; what it cites goes by the titles and headings that it carries.
    """
    knowledge = advisor.knowledge
    known = [*knowledge.sources.values()]
    if saved and saved.statement:
        from whichgpu.engine.records import sources_in  # noqa: PLC0415 - most decisions are read from no record.

        known += sources_in(saved.statement["data"])
    return Names(
        gpus={gpu.id: gpu.name for gpu in knowledge.gpus.values()},
        sources={source.id: _short_title(source) for source in known},
        priorities={code.code: code.priority for code in advisor.vocabulary.codes.values()},
        citations={source.id: _citation(source) for source in known},
        sections={f"{source.id}/{cited}": source.section(cited) for source in known for cited in source.sections},
        facts={name: fact.label for name, fact in advisor.vocabulary.facts.items() if fact.label},
    )


def _short_title(source: SourceRecord) -> str:
    """A guide goes by who publishes it, as its title is a sentence."""
    if source.kind != "guide":
        return source.title
    return f"{source.publisher} guide" if source.seller else source.title.partition(" on ")[0]


def _citation(source: SourceRecord) -> str:
    parts = [source.title, source.publisher, source.date, source.url]
    sells = "sells what it writes about" if source.seller else None
    return ", ".join(part for part in (*parts, sells) if part)


def now() -> datetime:
    """The moment of a decision. The engine has no clock of its own."""
    return datetime.now(UTC).replace(microsecond=0)
