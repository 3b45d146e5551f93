"""Folders of rule files to a rulebook, all problems of all files at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from whichgpu.engine.core import (
    LAYER_FILE,
    LAYER_FILES,
    Node,
    RulebookError,
    SequenceNode,
    is_rule_file,
    layer_names,
    nearest_words,
    read_policy,
    read_yaml,
    read_yaml_text,
)
from whichgpu.engine.rules.facts import Vocabulary
from whichgpu.engine.rules.rulebook.entries import read_entry
from whichgpu.engine.rules.rulebook.grammar import RESPONSIBLE_KEYS
from whichgpu.engine.rules.rulebook.layers import Stack, combined, rule_digest
from whichgpu.engine.rules.rulebook.model import KnownNames, Responsible, Rule, Rulebook
from whichgpu.engine.rules.rulebook.order import levels
from whichgpu.engine.rules.rulebook.overriding import check_overrides, without_removed
from whichgpu.engine.rules.rulebook.policy import policy_rules
from whichgpu.engine.rules.rulebook.provenance import read_responsible
from whichgpu.engine.rules.rulebook.reading import Context, kind_of


def assemble_folders(
    folders: Sequence[Path], vocabulary: Vocabulary, known: KnownNames, *, cached: bool, tests: bool
) -> Rulebook:
    """The rulebook of these folders, the lowest layer first; see ``load_rulebook``."""
    context = Context(vocabulary, known, tests=tests)
    names = layer_names(folders)
    layers = [(name, _read_folder(path, context, cached=cached)) for name, path in zip(names, folders, strict=True)]
    return _assemble(layers, context, dict(zip(names, folders, strict=True)))


def load_rules_text(
    text: str, vocabulary: Vocabulary, known: KnownNames | None = None, *, name: str = "rules.yaml"
) -> Rulebook:
    """A rulebook from one text, for editors and tests. ``name`` is what places call it."""
    context = Context(vocabulary, known or KnownNames())
    try:
        nodes = [(Path(name).stem, read_yaml_text(text, name, error=RulebookError))]
    except RulebookError as error:
        context.extend(error.problems)
        nodes = []
    return _assemble([(name, nodes)], context)


def _read_folder(folder: Path, context: Context, *, cached: bool) -> list[tuple[str, Node]]:
    """Topic and content of each file."""
    if not folder.is_dir():
        context.add("folder-missing", f"there is no folder {folder}", None, fix="name a folder of rule files")
        return []
    nodes: list[tuple[str, Node]] = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".yml":
            fix = f"rename it to {path.stem}.yaml"
            context.add("file-name", f"{path} would not be read: rule files end in .yaml", None, fix=fix)
        if not is_rule_file(path):
            continue
        try:
            nodes.append((path.stem, read_yaml(path, error=RulebookError, cached=cached)))
        except RulebookError as error:
            context.extend(error.problems)
    return nodes


def _assemble(
    layers: list[tuple[str, list[tuple[str, Node]]]], context: Context, folders: Mapping[str, Path] | None = None
) -> Rulebook:
    stack = Stack()
    for at, (name, nodes) in enumerate(layers):
        context.layer, context.topmost = name, at == len(layers) - 1
        context.responsible = _responsible((folders or {}).get(name), context)
        read = [read_entry(item, topic, context) for topic, node in nodes for item in _entries(node, context)]
        rules = [rule for found, _ in read for rule in found]
        rules += _policy_rules((folders or {}).get(name), context)
        stack.lay(name, rules, [table for _, table in read if table is not None], context)
    context.places = stack.places
    kept = sorted(stack.tables.values(), key=lambda table: table.id)
    checked = check_overrides(stack.rules.values(), kept, context)
    rules = sorted(without_removed(checked), key=lambda rule: rule.id)
    if not len(context):
        _check_order(rules, context)
    if len(context):
        raise RulebookError(context.sorted())
    digests = {id(rule): rule_digest(rule) for rule in rules}
    layers_laid = stack.layers(digests)
    return Rulebook(tuple(rules), tuple(kept), combined(digests.values()), layers_laid, tuple(stack.changes))


def _policy_rules(folder: Path | None, context: Context) -> list[Rule]:
    """What the policy of a layer comes to."""
    try:
        found = read_policy(folder, RulebookError) if folder and folder.is_dir() else None
    except RulebookError as error:
        context.extend(error.problems)
        return []
    return policy_rules(*found, context) if found else []


def _responsible(folder: Path | None, context: Context) -> Responsible:
    """Who answers for a layer, as its ``layer.yaml`` says."""
    path = folder / LAYER_FILE if folder else None
    if path is None or not path.is_file():
        return Responsible()
    try:
        fields = context.fields(read_yaml(path, error=RulebookError), RESPONSIBLE_KEYS, f"`{LAYER_FILE}`")
    except RulebookError as error:
        context.extend(error.problems)
        return Responsible()
    return read_responsible(fields or {}, Responsible(), context)


def _entries(node: Node, context: Context) -> tuple[Node, ...]:
    """The entries of a rule file."""
    if isinstance(node, SequenceNode):
        return node.items
    name = Path(node.source.name).name
    message, near = f"a rule file is a list, and this one holds {kind_of(node)}", nearest_words(name, LAYER_FILES)
    fix = f"start each rule with `- id: its-name`; what else a layer may hold: {', '.join(LAYER_FILES)}"
    context.add("wrong-form", message, node, nearest=near, fix=fix)
    return ()


def _check_order(rules: list[Rule], context: Context) -> None:
    """Rules that set facts must not feed each other in a circle."""
    for stage in ("derive", "advise"):
        try:
            levels(rule for rule in rules if rule.stage == stage and rule.writes)
        except RulebookError as error:
            context.extend(error.problems)
