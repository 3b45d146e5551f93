"""Plain edits of the files as they are, written by somebody who had not seen the checks.

``blind_edits.yaml`` has each with its kind, the file, the text before and after, and what an expert would see in it.
Each is looked for with the tests of the rule that was edited, and without them, where only what is said of the edit
counts.

Run once before anything was mended for it: 67 of 70 (96 %) with the tests kept, 39 of 70 (56 %) with them taken away.
By the checks of the day before it was 67 and 33. After mending, with the list in view: 69 and 49.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from whichgpu.engine.core import RulebookError, locate, plain, read_yaml

from .judging import Found, Seeded
from .knowledge_files import KnowledgeFiles
from .rule_files import RuleFiles


LIST = Path(__file__).with_suffix(".yaml")


def seeded(_seed: int, _each: int) -> Iterator[Seeded]:
    """Every edit whose text still stands in its file, once; the others are named."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rules, knowledge = RuleFiles(Path(one), fair=True), KnowledgeFiles(Path(other))
        for edit in yaml.safe_load(LIST.read_text()):
            folder, _, name = edit["file"].partition("/")
            text = (locate(folder) / name).read_text()
            if text.count(edit["old"]) != 1:
                print(f"left out: {edit['id']}, whose text stands no more in {edit['file']}, or not once", flush=True)
                continue
            changed = text.replace(edit["old"], edit["new"])
            found = (
                in_rules(name, changed, rules) if folder == "rules" else in_knowledge(name, text, changed, knowledge)
            )
            yield Seeded(edit["kind"], edit["id"], found)


def in_rules(name: str, changed: str, files: RuleFiles) -> tuple[Found, Found]:
    """The rule that differs in the changed text is the edited one."""
    with tempfile.TemporaryDirectory() as scratch:
        edited = Path(scratch) / name
        edited.write_text(changed)
        try:
            entries: Any = plain(read_yaml(edited, error=RulebookError))
        except RulebookError as error:
            return (Found("loading", str(error)),) * 2
    path = next(path for path in files.files if path.name == name)
    pairs = enumerate(zip(entries, files.files[path], strict=True))
    edit = next((((path, at), entry) for at, (entry, old) in pairs if entry != old), None)
    if edit is None:
        # Another parameter of the same value: the rules say the same, until one of the two is moved.
        return (Found(None),) * 2
    site, entry = edit
    return files.found(entry, site, tests=True), files.found(entry, site, tests=False)


def in_knowledge(name: str, text: str, changed: str, files: KnowledgeFiles) -> tuple[Found, Found]:
    """The rules that use the parameter that differs are the edited ones."""
    old, new = (yaml.safe_load(each)["parameters"] for each in (text, changed))
    parameter = next((key for key in old if old[key] != new.get(key)), "")
    return files.found(name, changed), files.found_untested(name, changed, parameter)
