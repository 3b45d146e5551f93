"""``whichgpu rules new``: a commented template of a rule, ready to be loaded, tested and changed."""

from __future__ import annotations

import re
from pathlib import Path

import click

from whichgpu.cli import output
from whichgpu.cli.inputs import read_text
from whichgpu.cli.layers import load_catalogue, load_facts
from whichgpu.cli.ruletemplate import DEFAULT_EACH, rule_template, table_template
from whichgpu.engine.authoring import LAYER_FOLDER, LAYER_SCHEMAS, file_schemas, text_of
from whichgpu.engine.core import InputError, Problem, is_rule_file
from whichgpu.engine.rules import EACH, EACH_OF_STAGE, ID_PATTERN, STAGES, Each, Stage


@click.command(name="new")
@click.argument("rule_id", metavar="ID")
@click.option("--stage", type=click.Choice(STAGES), default="reject", show_default=True, help="When it runs.")
@click.option("--each", type=click.Choice(EACH), help="What it looks at.")
@click.option("--table", is_flag=True, help="A decision table instead of a single rule.")
@click.option("--topic", metavar="NAME", help="The file to write it into; the last part of --in unless given.")
@click.option("--in", "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Your layer.")
def new_rules(
    *, rule_id: str, stage: Stage, each: Each | None, table: bool, topic: str | None, folder: Path | None
) -> int:
    """Write a commented template of the rule ID, to be changed.

    With --in it goes to the end of DIR/TOPIC.yaml, and the schemas that editors need go beside it. Else it is printed.
    """
    _check_name(rule_id, "the id")
    text = table_template(rule_id) if table else rule_template(rule_id, stage, _each(stage, each))
    if folder is None:
        output.emit(text)
        return 0
    topic = topic or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "rules"
    _check_name(topic, "the topic")
    file = folder / f"{topic}.yaml"
    if not is_rule_file(file):
        fix = "give another --topic"
        raise InputError(Problem("bad-option", f"{file.name} holds no rules in a layer", fix=fix))
    _append(file, rule_id, text)
    _write_schemas(folder)
    output.emit(
        f"Wrote {rule_id} into {file}. Change it, then run:\n"
        f"  whichgpu rules test {rule_id} --rules {folder}\n"
        f"  whichgpu rules diff builtin {folder}\n"
    )
    return 0


def _each(stage: Stage, each: Each | None) -> Each:
    scopes = EACH_OF_STAGE[stage]
    if each is None:
        return DEFAULT_EACH[stage]
    if each not in scopes:
        fix = f"--each {' or '.join(scopes)}"
        raise InputError(Problem("bad-option", f"a rule of the stage {stage} cannot be for each {each}", fix=fix))
    return each


def _check_name(name: str, what: str) -> None:
    if not re.match(ID_PATTERN, name):
        fix = "write it in kebab-case: small letters and digits, joined by single hyphens"
        raise InputError(Problem("bad-id", f"{what} cannot be {name!r}", fix=fix))


def _append(file: Path, rule_id: str, text: str) -> None:
    before = read_text(str(file))[0] if file.exists() else ""
    if re.search(rf"^- (id|table): {re.escape(rule_id)}\s*(#.*)?$", before, re.MULTILINE):
        raise InputError(Problem("duplicate-id", f"{file} has a rule {rule_id!r} already", fix="give another id"))
    head = before.rstrip("\n") or f"# yaml-language-server: $schema={LAYER_FOLDER}/rules.schema.json"
    with output.writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        output.save(file, f"{head}\n\n{text}")


def _write_schemas(folder: Path) -> None:
    """The schemas, beside the files that name them, with the facts of the built-in vocabulary to complete."""
    target = folder / LAYER_FOLDER
    schemas = file_schemas(load_facts(), load_catalogue(own_prices=False))
    with output.writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for name in LAYER_SCHEMAS:
            output.save(target / f"{name}.schema.json", text_of(schemas[name]))
