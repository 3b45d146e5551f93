"""A sixth list of slips, written by somebody who had not seen the checks: plain edits of the files as they are.

``python benchmarks/planted_sixth.py``. ``planted_sixth.yaml`` has each with its kind, the file, the text before and
after, and what an expert would see in it. As in ``planted_fifth``, each is looked for with the tests of the rule that
was edited, and with those tests taken away, where only what is said of the slip counts.

Run once before anything was mended for it: 67 of 70 (96 %) with the tests kept, 39 of 70 (56 %) with them taken away.
By the checks of the day before it was 67 and 33. After mending, with the list in view: 69 and 49.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from planted_by_hand import TODAY, Bench, Entry, _key_of

from whichgpu.engine.advisor import load_advisor
from whichgpu.engine.authoring import RuleTestFacts, inspect
from whichgpu.engine.authoring.testing.rule_tests import run_rule_tests
from whichgpu.engine.core import KnowledgeError, RulebookError, locate, plain, read_yaml


LIST = Path(__file__).with_suffix(".yaml")


def without_tests(entry: Entry) -> Entry:
    """The same rule or table as somebody writes it who has not come to its tests."""
    bare = deepcopy(entry)
    for each in (bare, *bare.get("rows", [])):
        each.pop("tests", None)
    return bare


class EditBench(Bench):
    """Makes one edit at a time in a copy of the rule files, and looks for it."""

    def edited(self, edit: dict[str, Any]) -> tuple[Path, int, Entry] | tuple[str, str]:
        """The entry that the edit changes, with its file and place; what loading says where the file cannot be read."""
        source = locate("rules") / Path(edit["file"]).name
        text = _with(source.read_text(), edit)
        path = self._folder / source.name
        path.write_text(text)
        try:
            entries: list[Entry] = plain(read_yaml(path, error=RulebookError))  # type: ignore[assignment]
        except RulebookError as error:
            return "loading", str(error)
        finally:
            self._write(path)
        pairs = zip(entries, self.files[path], strict=True)
        changed = [(at, entry) for at, (entry, old) in enumerate(pairs) if json.dumps(entry) != json.dumps(old)]
        # Another parameter of the same value: the rules say the same, until one of the two is moved.
        return (path, *changed[0]) if changed else ("nothing", "")

    def twice(self, edit: dict[str, Any]) -> tuple[tuple[str, str], tuple[str, str]]:
        """What finds the edit with the rule's tests and without, and what it says."""
        found = self.edited(edit)
        if len(found) == 2:
            return found, found
        path, at, entry = found
        old, before = self.files[path][at], self._before
        kept = self._with_entry(path, at, entry, self._judged)
        self._before = before | self._with_entry(path, at, without_tests(old), lambda _: self._findings())
        try:
            removed = self._with_entry(path, at, without_tests(entry), self._judged)
        finally:
            self._before = before
        return kept, removed

    def _findings(self) -> set[tuple[str, str | None, str]]:
        return {_key_of(finding) for finding in inspect(self._loaded(), TODAY)}

    def _with_entry(self, path: Path, at: int, entry: Entry, judge: Any) -> Any:
        kept = self.files[path]
        self.files[path] = [*kept[:at], entry, *kept[at + 1 :]]
        try:
            self._write(path)
            return judge(entry)
        finally:
            self.files[path] = kept
            self._write(path)


def _with(text: str, edit: dict[str, Any]) -> str:
    if text.count(edit["old"]) != 1:
        raise ValueError(f"{edit['id']}: its text stands {text.count(edit['old'])} times in {edit['file']}")
    return text.replace(edit["old"], edit["new"])


class ParameterBench:
    """The same for the parameters: the rules that use the one that was edited are the edited ones."""

    def __init__(self, folder: Path) -> None:
        self._rules, self._knowledge = folder / "rules", folder / "knowledge"
        shutil.copytree(locate("rules"), self._rules)
        shutil.copytree(locate("knowledge"), self._knowledge)

    def twice(self, edit: dict[str, Any]) -> tuple[tuple[str, str], tuple[str, str]]:
        """As of ``EditBench``."""
        path = self._knowledge / Path(edit["file"]).name
        text = path.read_text()
        changed = _with(text, edit)
        old, new = (yaml.safe_load(each)["parameters"] for each in (text, changed))
        name = next((key for key in old if old[key] != new.get(key)), "")
        files = {each: each.read_text() for each in self._rules.glob("*.yaml")}
        bare = {each: self._without_tests(content, name) for each, content in files.items()}
        both = []
        try:
            for contents in (files, bare):
                self._write(contents)
                path.write_text(text)
                before = self._found()[1]
                path.write_text(changed)
                both.append(self._judged(before))
        finally:
            path.write_text(text)
            self._write(files)
        return both[0], both[1]

    def _without_tests(self, content: str, name: str) -> str:
        entries = yaml.safe_load(content)
        uses = [f"${name}" in str(entry) or f"${{{name}}}" in str(entry) for entry in entries]
        if not any(uses):
            return content
        shown = [without_tests(entry) if used else entry for entry, used in zip(entries, uses, strict=True)]
        # A parameter that stood without quotes has to: a number in quotes is a word.
        return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=10_000)

    def _write(self, contents: dict[Path, str]) -> None:
        for each, content in contents.items():
            each.write_text(content)

    def _found(self) -> tuple[list[str], set[tuple[str, str | None, str]]]:
        advisor = load_advisor(knowledge_folder=self._knowledge, own_rules=self._rules)
        results = run_rule_tests(advisor.rulebook, RuleTestFacts(advisor).facts_for, advisor.vocabulary)
        failed = [f"{each.rule}: {each.why}" for each in results if not each.passed]
        said = {_key_of(each) for each in inspect(advisor, TODAY) if each.severity != "info"}
        return failed, said

    def _judged(self, before: set[tuple[str, str | None, str]]) -> tuple[str, str]:
        try:
            failed, said = self._found()
        except (RulebookError, KnowledgeError) as error:
            return "loading", str(error)
        if failed:
            return "the rules' tests", failed[0]
        new = sorted(each for each in said - before if not each[0].startswith("missing-"))
        return (new[0][0], new[0][2]) if new else ("nothing", "")


def main() -> int:
    """Plant, try and print."""
    kept, removed = Counter[str](), Counter[str]()
    edits = yaml.safe_load(LIST.read_text())
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        rules, parameters = EditBench(Path(one)), ParameterBench(Path(other))
        for edit in edits:
            bench = parameters if edit["file"].startswith("knowledge/") else rules
            with_tests, without = bench.twice(edit)
            kept[edit["id"]] += with_tests[0] != "nothing"
            removed[edit["id"]] += without[0] != "nothing"
            said = json.dumps(without[1][:90], ensure_ascii=False)
            print(f"{with_tests[0]:20} {without[0]:20} {edit['id']} {edit['kind']}: {said}", flush=True)
    for reading, found in (("with", kept), ("without", removed)):
        missed = ", ".join(name for name, n in found.items() if not n)
        print(f"{reading} the rules' own tests not found: {missed}")
        print(f"{found.total()} of {len(edits)} found: {100 * found.total() / len(edits):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
