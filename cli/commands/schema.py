"""``whichgpu schema``: the JSON Schemas of what the program prints, and of the files that experts edit."""

from __future__ import annotations

from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.layers import load_catalogue, load_facts
from whichgpu.cli.options import layers_option
from whichgpu.cli.render.figures import count_of
from whichgpu.engine.advisor import SHAPES, schema_of, schema_text, type_schema
from whichgpu.engine.core import InputError, Problem, nearest_words


@click.command()
@click.argument("shape", default="decision")
@click.option("--page", is_flag=True, help="Print every key of every SHAPE in words, as docs/answer.md does.")
@click.option(
    "--write",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the schemas of all rule and knowledge files into DIR.",
)
@layers_option
def schema(*, shape: str, page: bool, folder: Path | None, rules: tuple[str, ...]) -> int:
    """Print the JSON Schema (draft 2020-12) of SHAPE, a decision unless given.

    SHAPE is decision, decision_line, compact_line, record, record_2, size_answer, refused_line or finding; or a kind
    of file: rules, vocabulary, codes, gpus, models, sources, ... With --rules, the names of your own layer are offered
    too.
    """
    if folder is not None:
        return _write(folder, rules)
    if page:
        from whichgpu.cli.render.answerkeys import keys_page  # noqa: PLC0415 - loads every room; most calls need none.

        output.emit(keys_page())
    elif shape == "decision":
        output.emit(schema_text())
    elif shape in SHAPES:
        output.emit_json(schema_of(shape))
    elif shape == "record_2":
        from whichgpu.engine.records import SignedRecord  # noqa: PLC0415

        output.emit_json(type_schema(SignedRecord))
    elif shape == "finding":
        from whichgpu.engine.authoring import PrintedFinding  # noqa: PLC0415

        output.emit_json(type_schema(PrintedFinding))
    else:
        output.emit(_file_schema(shape, rules))
    return 0


def _texts(rules: tuple[str, ...]) -> dict[str, str]:
    from whichgpu.engine.authoring import file_schemas, text_of  # noqa: PLC0415 - loads every room

    schemas = file_schemas(load_facts(rules), load_catalogue(rules, own_prices=False))
    return {name: text_of(content) for name, content in schemas.items()}


def _file_schema(name: str, rules: tuple[str, ...]) -> str:
    texts = _texts(rules)
    if name not in texts:
        known = [*SHAPES, "record_2", "finding", *texts]
        fix = f"one of {', '.join(known)}"
        message = f"there is no schema of {name!r}"
        raise InputError(Problem("unknown-schema", message, nearest=nearest_words(name, known), fix=fix))
    return texts[name]


def _write(folder: Path, rules: tuple[str, ...]) -> int:
    texts = _texts(rules)
    with output.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            output.save(folder / f"{name}.schema.json", text)
    output.emit(f"{count_of(len(texts), 'schema')} in {folder}.\n")
    return 0
